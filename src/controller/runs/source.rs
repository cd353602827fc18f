//! Origin of a run's input, and its bytes where they are not on a claim.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _};

use super::outputs;
use super::status::ended_in;
use crate::controller::context::Context;
use crate::controller::hold::{Blocked, misconfigured, unreachable};
use crate::controller::record::parts::{Contents, SourceFile};
use crate::controller::sources::read::{config_map, digest_of, take};
use codegen_api::CodeGenRun;
use codegen_api::conditions::run_reason;
use codegen_api::run::{RunInput, RunOutputRef, RunSource};
use codegen_api::run_status::{OutputOnClaim, RunOutputStatus};
use codegen_api::source::ContentSource;
use codegen_api::values::ValueType;
use codegen_core::stage::Stage;
use codegen_core::status::{Hold, Until};
use codegen_core::task::FrozenFile;
use codegen_sources::{NotFound, ObjectData, SourceOrigin, WantedSource, keys_text, place, usable};

/// An input of a run that has a source.
pub struct SourcedInput<'a> {
    /// The run.
    pub object: &'a CodeGenRun,
    /// Position in its inputs.
    pub index: usize,
    /// The input.
    pub input: &'a RunInput,
    /// Its source.
    pub source: &'a RunSource,
    /// True where the program takes a folder.
    pub is_dir: bool,
}

/// Returns the hold of a run whose input cannot be used as it is.
pub fn invalid(message: String) -> Blocked {
    Blocked(Hold {
        reason: run_reason::INVALID_INPUTS,
        message,
        until: Until::Corrected,
    })
}

/// The field of a run's source that says where the content is.
const fn field_of(source: ContentSource<'_>) -> &'static str {
    match source {
        ContentSource::Inline(_) => "inline",
        ContentSource::ConfigMapKey(_) => "configMapKeyRef",
        ContentSource::ConfigMap(_) => "configMapRef",
        ContentSource::Url(_) => "url",
        ContentSource::Claim(_) => "persistentVolumeClaim",
    }
}

/// A run is not changed once it is there, so each fault asks for another one where the cluster cannot be put right.
fn refused(field: &str, fault: NotFound) -> Blocked {
    match fault {
        NotFound::ConfigMap { name } => misconfigured(format!(
            "{field} refers to the ConfigMap {name}, which is not there: create it, or make another run with the right name"
        )),
        NotFound::Key { name, key, present } => misconfigured(format!(
            "{field} refers to the key {key} of the ConfigMap {name}, which has {}: add it, or make another run with the right key",
            keys_text(&present)
        )),
        NotFound::OutsideClaim { .. } => invalid(format!(
            "{field}.path leaves the claim: make another run with a path inside of it"
        )),
    }
}

impl SourcedInput<'_> {
    /// The content, or where it lies on a claim.
    pub async fn read(&self, context: &Context) -> Result<(FrozenFile, Contents), Blocked> {
        let (source, found_name) = match &self.source.run_output {
            Some(reference) => return self.output_of_a_run(context, reference).await,
            None => self.place(context).await?,
        };
        let file_name = self.source.file_name.clone();
        let wanted = WantedSource {
            name: self.input.name.clone(),
            file_name: if self.is_dir {
                self.input.name.clone()
            } else {
                file_name.unwrap_or_else(|| usable(&found_name, &self.input.name))
            },
            source,
            sha256: self.source.sha256.clone(),
        };
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        take(&context.downloads, uid, wanted).await
    }

    /// Finds the bytes of the input, and the name of its file there.
    async fn place(&self, context: &Context) -> Result<(SourceOrigin, String), Blocked> {
        let name = &self.input.name;
        let Some(source) = self.source.content() else {
            return Err(invalid(format!(
                "input {name:?} has no source: make another run that gives one"
            )));
        };
        let field = self.field(field_of(source));
        let keys = match source.config_map() {
            Some(name) => Some(self.config_map(context, &field, name).await?),
            None => None,
        };
        place(source, name, self.is_dir, |_| keys.as_ref()).map_err(|fault| refused(&field, fault))
    }

    async fn config_map(&self, context: &Context, field: &str, name: &str) -> Result<ObjectData, Blocked> {
        let namespace = self.object.namespace().unwrap_or_default();
        config_map(&context.client, &namespace, field, name).await
    }

    fn field(&self, of_source: &str) -> String {
        format!("spec.inputs[{}].source.{of_source}", self.index)
    }

    /// Reads an output of another run, once that has succeeded.
    async fn output_of_a_run(
        &self,
        context: &Context,
        reference: &RunOutputRef,
    ) -> Result<(FrozenFile, Contents), Blocked> {
        let output = self.output(context, reference).await?;
        let (field, name) = (self.field("runOutput"), &self.input.name);
        if (output.type_ == ValueType::Dir) != self.is_dir {
            let wanted = if self.is_dir { "a Dir" } else { "a File" };
            return Err(invalid(format!(
                "input {name:?} is {wanted}, and the output {} of the run {} is of type {}: make another run with an output that fits",
                reference.output, reference.run, output.type_
            )));
        }
        if let Some(place) = &output.claim {
            return self.on_claim(place, &output);
        }
        let namespace = self.object.namespace().unwrap_or_default();
        let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
        let files = outputs::read(&secrets, &output).await;
        let files = files.map_err(|error| unreachable(&format!("read what {field} refers to"), &error))?;
        let Some(files) = files else {
            return Err(misconfigured(format!(
                "{field}: what the run {} wrote to {} is gone: make that run again",
                reference.run, reference.output
            )));
        };
        let contents: Vec<SourceFile> = files
            .into_iter()
            .map(|file| SourceFile {
                path: file.path,
                bytes: file.bytes,
            })
            .collect();
        let sha256 = digest_of(&contents, self.is_dir);
        self.expect(&sha256)?;
        let bytes = contents.iter().map(|content| content.bytes.len() as u64).sum();
        Ok((self.frozen(&output, sha256, bytes), Contents::Here(contents)))
    }

    /// Takes an output of another run on a claim: it is mounted from there, if it still has the digest that it had then.
    fn on_claim(
        &self,
        place: &OutputOnClaim,
        output: &RunOutputStatus,
    ) -> Result<(FrozenFile, Contents), Blocked> {
        self.expect(&output.sha256)?;
        let contents = Contents::OnClaim {
            claim: place.claim_name.clone(),
            path: place.path.clone(),
        };
        let bytes = u64::try_from(output.bytes).unwrap_or_default();
        Ok((self.frozen(output, output.sha256.clone(), bytes), contents))
    }

    /// The content must be what the run says that it is.
    fn expect(&self, sha256: &str) -> Result<(), Blocked> {
        let expected = self.source.sha256.as_deref();
        match expected.filter(|expected| *expected != sha256) {
            None => Ok(()),
            Some(expected) => Err(invalid(format!(
                "{}: the content has sha256 {sha256}, the run says {expected}: make another run with the right digest",
                self.input.name
            ))),
        }
    }

    fn frozen(&self, output: &RunOutputStatus, sha256: String, bytes: u64) -> FrozenFile {
        let name = &self.input.name;
        let own_name = self.source.file_name.as_ref().unwrap_or(&output.file_name);
        FrozenFile {
            name: name.clone(),
            file_name: if self.is_dir { name } else { own_name }.clone(),
            sha256,
            bytes,
            is_dir: self.is_dir,
        }
    }

    async fn output(&self, context: &Context, reference: &RunOutputRef) -> Result<RunOutputStatus, Blocked> {
        let namespace = self.object.namespace().unwrap_or_default();
        let (field, name) = (self.field("runOutput"), &reference.run);
        let runs: Api<CodeGenRun> = Api::namespaced(context.client.clone(), &namespace);
        let found = runs.get_opt(name).await;
        let found =
            found.map_err(|error| unreachable(&format!("read the CodeGenRun {namespace}/{name}"), &error))?;
        let Some(run) = found else {
            return Err(misconfigured(format!(
                "{field} refers to the CodeGenRun {namespace}/{name}, which is not there: create it, and this run goes on by itself"
            )));
        };
        match ended_in(&run) {
            Some(Stage::Succeeded) => {}
            Some(_) => {
                return Err(invalid(format!(
                    "{field} refers to the CodeGenRun {namespace}/{name}, which has failed: make another run that refers to one \
                     that succeeded"
                )));
            }
            None => {
                return Err(Blocked(Hold {
                    reason: run_reason::AWAITING_RUN,
                    message: format!(
                        "the CodeGenRun {namespace}/{name} has not succeeded yet; this one goes on by itself when it has"
                    ),
                    until: Until::Room,
                }));
            }
        }
        let outputs = run.status.unwrap_or_default().outputs;
        let names: Vec<String> = outputs.iter().map(|output| output.name.clone()).collect();
        let output = outputs.into_iter().find(|output| output.name == reference.output);
        output.ok_or_else(|| {
            invalid(format!(
                "{field} refers to the output {} of the CodeGenRun {namespace}/{name}, which has {}: make another run with one of them",
                reference.output,
                names.join(", ")
            ))
        })
    }
}
