//! The program in an image that a task has published, of this cluster or another.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::program::Program;
use super::source::invalid;
use crate::api::CodeGenRun;
use crate::api::common::LocalRef;
use crate::api::conditions::run_reason;
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unavailable};
use crate::engine::program_file::ProgramFile;
use crate::pipeline::causes::with_causes;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::run::ResolvedRun;
use crate::pipeline::stage::Category;
use crate::pipeline::status::{Hold, Until};
use crate::sandbox::SandboxError;
use crate::sandbox::kubernetes::{InImage, ProgramImage};

/// In the place of a task's uid, where programs are remembered.
const IMAGE: &str = "image";
/// Name of the task that stands for what an image says.
const NAME: &str = "program";

/// The program in `spec.programImage` of a run.
pub async fn program_of_run(context: &Context, object: &CodeGenRun) -> Result<Arc<Program>, Blocked> {
    let reference = object.spec.program_image.as_deref().unwrap_or_default();
    let namespace = object.namespace().unwrap_or_default();
    let secret = object.spec.pull_secret_ref.as_ref();
    program_in(context, &namespace, reference, secret).await
}

/// The program in an image. `secret` is that of `namespace` to pull it with.
pub async fn program_in(
    context: &Context,
    namespace: &str,
    reference: &str,
    secret: Option<&LocalRef>,
) -> Result<Arc<Program>, Blocked> {
    let secret = secret.map(|secret| secret.name.as_str());
    // What a digest names does not change; who may see it is asked of the registry by namespace and Secret.
    let remembered = format!("{namespace} {} {reference}", secret.unwrap_or_default());
    if reference.contains('@')
        && let Some(program) = context.runs.program(IMAGE, &remembered)
    {
        return Ok(program);
    }
    let image = ProgramImage {
        namespace,
        reference,
        secret,
        field: "spec.pullSecretRef",
    };
    let read = image.read(&context.client, &context.settings.registries, &context.registries);
    let unusable = |why: String| {
        let message = format!("spec.programImage: the image {reference} cannot be run: {why}");
        stalled(run_reason::NO_PROGRAM, message)
    };
    let found = match read.await.map_err(|error| blocked_by(&error))? {
        InImage::Program(found) => found,
        InImage::Nothing(why) => return Err(unusable(why)),
        InImage::Gone => return Err(stalled(run_reason::IMAGE_GONE, gone(reference))),
    };
    let (file, mut task) = ProgramFile::read(&found.file, namespace, NAME).map_err(unusable)?;
    task.image.reference = Some(found.image.clone());
    task.image.pull_secret = secret.map(str::to_owned);
    let program = Arc::new(Program {
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

/// What to do where a registry does not have what `spec.programImage` names.
pub fn gone(reference: &str) -> String {
    format!(
        "spec.programImage: the registry does not have the image {reference}: push it again, or make another run with the right name"
    )
}

/// Whether the run gives every variable that the program was tested with.
pub fn check_variables(program: &Program, run: &ResolvedRun) -> Result<(), Blocked> {
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
        until: Until::Mended,
    })
}

fn blocked_by(error: &SandboxError) -> Blocked {
    let message = format!("spec.programImage: {}", with_causes(error));
    match error.category() {
        Category::Configuration => misconfigured(message),
        Category::Infrastructure => unavailable(&message),
    }
}
