//! The program in an image that a task has published, of this cluster or another.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::program::FinishedProgram;
use super::source::invalid;
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unavailable};
use codegen_api::CodeGenRun;
use codegen_api::common::LocalRef;
use codegen_api::conditions::run_reason;
use codegen_core::causes::with_causes;
use codegen_core::digest::sha256_hex;
use codegen_core::run::ResolvedRun;
use codegen_core::stage::Category;
use codegen_core::status::{Hold, Until};
use codegen_engine::program_file::ProgramFile;
use codegen_sandbox::SandboxError;
use codegen_sandbox::kubernetes::{ImageToInspect, InImage};

/// In the place of a task's uid, where programs are remembered.
const IMAGE: &str = "image";
/// Name of the task that stands for what an image says.
const NAME: &str = "program";

/// Fields that name an image, for messages.
#[derive(Clone, Copy, Debug)]
pub struct ImageFields {
    /// The field with the image.
    pub image: &'static str,
    /// The field with the Secret to pull it with.
    pub pull_secret: &'static str,
    /// Remedy that names another image.
    pub another: &'static str,
}

impl ImageFields {
    /// Those of a run.
    pub const OF_RUN: Self = Self {
        image: "spec.programImage",
        pull_secret: "spec.pullSecretRef",
        another: "make another run with the right name",
    };
    /// Those of a tool of an agent.
    pub const OF_TOOL: Self = Self {
        image: "programImage.reference",
        pull_secret: "programImage.pullSecretRef",
        another: "correct the name",
    };
}

/// The program in `spec.programImage` of a run.
pub async fn program_of_run(context: &Context, object: &CodeGenRun) -> Result<Arc<FinishedProgram>, Blocked> {
    let reference = object.spec.program_image.as_deref().unwrap_or_default();
    let namespace = object.namespace().unwrap_or_default();
    let secret = object.spec.pull_secret_ref.as_ref();
    program_in(context, &namespace, (reference, ImageFields::OF_RUN), secret).await
}

/// The program in an image. `secret` is that of `namespace` to pull it with.
pub async fn program_in(
    context: &Context,
    namespace: &str,
    (reference, fields): (&str, ImageFields),
    secret: Option<&LocalRef>,
) -> Result<Arc<FinishedProgram>, Blocked> {
    let secret = secret.map(|secret| secret.name.as_str());
    // What a digest names does not change; who may see it is asked of the registry by namespace and Secret.
    let remembered = format!("{namespace} {} {reference}", secret.unwrap_or_default());
    if reference.contains('@')
        && let Some(program) = context.runs.program(IMAGE, &remembered)
    {
        return Ok(program);
    }
    let image = ImageToInspect {
        namespace,
        reference,
        secret,
        field: fields.pull_secret,
    };
    let read = image.read(&context.client, &context.settings.registries, &context.registries);
    let unusable = |why: String| {
        let ImageFields { image, another, .. } = fields;
        let message =
            format!("{image}: the image {reference} cannot be run: {why}; publish it again, or {another}");
        stalled(run_reason::NO_PROGRAM, message)
    };
    let found = match read
        .await
        .map_err(|error| blocked_by(fields, reference, &error))?
    {
        InImage::Program(found) => found,
        InImage::Nothing(why) => return Err(unusable(why)),
        InImage::Gone => return Err(stalled(run_reason::IMAGE_GONE, gone(fields, reference))),
    };
    let (file, mut task) = ProgramFile::read(&found.file, namespace, NAME).map_err(unusable)?;
    task.image.reference = Some(found.image.clone());
    task.image.pull_secret = secret.map(str::to_owned);
    let program = Arc::new(FinishedProgram {
        sha256: sha256_hex(found.program.as_bytes()),
        task,
        source: found.program,
        image: found.image,
        checks: file.checks,
        columns: file.columns,
        variables: file.variables,
    });
    context
        .runs
        .cache_program(IMAGE, &remembered, Arc::clone(&program));
    Ok(program)
}

/// Returns the message about an image that a registry does not have, with its remedy.
pub fn gone(ImageFields { image, another, .. }: ImageFields, reference: &str) -> String {
    format!("{image}: the registry does not have the image {reference}: push it again, or {another}")
}

/// Checks that the run gives every variable that the program was tested with.
pub fn check_variables(program: &FinishedProgram, run: &ResolvedRun) -> Result<(), Blocked> {
    let sandbox = &run.sandbox;
    let is_given = |name: &String| {
        sandbox.env.contains_key(name) || sandbox.secrets.iter().any(|secret| secret.name == *name)
    };
    let missing: Vec<&str> = program
        .variables
        .iter()
        .filter(|name| !is_given(name))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(invalid(format!(
        "the program was tested with variables from Secrets: give {} under spec.sandbox.secrets; a run stays as it was made: make \
         another one",
        missing.join(", ")
    )))
}

fn stalled(reason: &'static str, message: String) -> Blocked {
    Blocked(Hold {
        reason,
        message,
        until: Until::Corrected,
    })
}

fn blocked_by(fields: ImageFields, reference: &str, error: &SandboxError) -> Blocked {
    let why = with_causes(error);
    let message = if why.contains(reference) {
        format!("{}: {why}", fields.image)
    } else {
        format!("{}: the image {reference}: {why}", fields.image)
    };
    match error.category() {
        Category::Configuration => misconfigured(message),
        Category::Infrastructure => unavailable(&message),
    }
}
