//! A run of the program that a finished task left in a folder, on this machine.

mod error;
mod finished;
pub(crate) mod given;
pub mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tempfile::TempDir;

pub use error::LocalRunError;
pub use finished::FinishedTask;

use super::credentials::sandbox_variables;
use super::execute::worker;
use super::objects::Objects;
use super::on_disk::check;
use codegen_api::common::LocalRef;
use codegen_api::run::{CodeGenRun, CodeGenRunSpec, RunInput, Validation};
use codegen_api::run_status::{CodeGenRunStatus, Finding, InputOrigin, RunInputStatus};
use codegen_api::sandbox::Sandbox as SandboxSpec;
use codegen_api::values::Output;
use codegen_core::redact::Redactor;
use codegen_core::run::checks::Severities;
use codegen_core::run::{
    OutputPlace, OutputRoom, OutputsRead, ProgramOptions, ResolvedInput, ResolvedRun, RunEnd, RunSettings,
    conclude, duration, program_end, redacted_finding, refused, resolve,
};
use codegen_core::sandbox::{Job, Phase, Report};
use codegen_core::stage::Category;
use codegen_core::stored_outputs::OutputsAsked;
use codegen_core::task::FrozenFile;
use codegen_data::source::Source;
use codegen_egress::AllowedHost;
use codegen_engine::run_data::RunData;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox as _};
use given::{GivenInputs, freeze_given};

/// Options of the command line about a run.
#[derive(Clone, Debug, Default)]
pub struct LocalRunOptions {
    /// Inputs by name, as they were written.
    pub inputs: Vec<(String, String)>,
    /// Treatment of data that breaks a rule.
    pub validation: Option<Validation>,
    /// Wall time of the program, in the place of the task's.
    pub timeout: Option<String>,
    /// The folder that outputs go to: the program writes to the same disk, so that large ones are moved and not copied.
    pub output_dir: Option<PathBuf>,
    /// Hosts that the program reaches although they are not public, where its task opens the internet.
    pub allowed_hosts: Vec<AllowedHost>,
}

/// Outcome of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run as an object with its status.
    pub object: CodeGenRun,
    /// Its end.
    pub end: RunEnd,
    /// Further notices for a person.
    pub notices: Vec<String>,
    /// Folder with large outputs, which lie in it as long as this is there.
    pub disk: TempDir,
}

/// Runs the program of a finished task. `objects` hold its Secrets, where it has any. `doing` receives what goes on; dropping
/// the future ends the program.
pub async fn run(
    finished: &FinishedTask,
    options: &LocalRunOptions,
    objects: &Objects,
    doing: &(dyn Fn(&str) + Send + Sync),
) -> Result<RunOutcome, LocalRunError> {
    let task = &finished.task;
    let folder = tempfile::tempdir().map_err(LocalRunError::NoTemporaryFolder)?;
    doing("reading the inputs");
    // Only decides: what is wrong shows before a file is read.
    let given = given::sort(&ProgramOptions::from(task), &options.inputs)?;
    let files = freeze_given(task, &given, folder.path()).await?;
    let own = options.timeout.clone().map(|timeout| SandboxSpec {
        timeout: Some(timeout),
        ..SandboxSpec::default()
    });
    let settings = RunSettings {
        sandbox: own.as_ref(),
        validation: options.validation,
        claim: None,
    };
    let resolved = resolve(task, &given.values, &files, settings).map_err(LocalRunError::Faults)?;
    LocalSandbox::check_network(&resolved.sandbox.network).map_err(LocalRunError::Sandbox)?;
    for (_, file) in resolved
        .files()
        .filter(|(input, _)| input.from == InputOrigin::Default)
    {
        finished.run.check_input(file)?;
    }
    let secrets = sandbox_variables(&resolved.sandbox.secrets, &task.namespace, objects)?;
    let secret_env = secrets
        .iter()
        .map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let disk = match &options.output_dir {
        Some(folder) => tempfile::Builder::new().prefix(".writing-").tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let disk = disk.map_err(LocalRunError::NoTemporaryFolder)?;
    let output_folder = disk.path().join("outputs");
    std::fs::create_dir(&output_folder).map_err(LocalRunError::NoTemporaryFolder)?;
    let running = Running {
        finished,
        output_folder,
        run: &resolved,
        given: folder,
        secret_env: secret_env.collect(),
        allowed_hosts: &options.allowed_hosts,
        doing,
    };
    let (mut object, end, notices) = Box::pin(running.to_its_end()).await?;
    object.spec.inputs = text_inputs(&given);
    Ok(RunOutcome {
        object,
        end,
        notices,
        disk,
    })
}

/// Outcome of the program.
struct Ended {
    end: RunEnd,
    seconds: Option<f64>,
    findings: Vec<Finding>,
    notices: Vec<String>,
}

/// A run with everything that it needs.
struct Running<'a> {
    finished: &'a FinishedTask,
    run: &'a ResolvedRun,
    given: TempDir,
    /// The folder that the program writes to.
    output_folder: PathBuf,
    secret_env: BTreeMap<String, String>,
    allowed_hosts: &'a [AllowedHost],
    doing: &'a (dyn Fn(&str) + Send + Sync),
}

impl Running<'_> {
    async fn to_its_end(&self) -> Result<(CodeGenRun, RunEnd, Vec<String>), LocalRunError> {
        let started = Timestamp::now();
        let redactor = Redactor::new(self.secret_env.iter());
        let worker = worker().map_err(|error| LocalRunError::Stopped(error.to_string()))?;
        let data = RunData {
            client: &worker,
            columns: &self.finished.columns,
            checks: &self.finished.checks,
        };
        let source = |input: &ResolvedInput, file: &FrozenFile| Some(Source::path(&self.path(input, file)));
        // Checked before the program runs, which may take long.
        let checked = data.inputs(self.run, source).await?;
        let mut inputs: Vec<RunInputStatus> = self.run.inputs.iter().map(ResolvedInput::status).collect();
        checked.mark(&mut inputs);
        let findings = without_secrets(checked.findings, &redactor);
        let ended = if let Some(refusal) = refused(&findings) {
            Ended {
                end: RunEnd::Failed(refusal),
                seconds: None,
                findings,
                notices: Vec::new(),
            }
        } else {
            let ended = Box::pin(self.program(&data, &redactor)).await?;
            Ended {
                findings: [findings, ended.findings].concat(),
                ..ended
            }
        };
        let end = ended.end;
        let mut status = CodeGenRunStatus {
            inputs,
            findings: ended.findings,
            duration: ended.seconds.map(duration),
            started_at: Some(Time(started)),
            completed_at: Some(Time(Timestamp::now())),
            ..CodeGenRunStatus::default()
        };
        end.describe(&mut status);
        Ok((self.object(status), end, ended.notices))
    }

    /// Runs the program and reads what it wrote.
    async fn program(&self, data: &RunData<'_>, redactor: &Redactor) -> Result<Ended, LocalRunError> {
        let sandbox = LocalSandbox::for_user()?.opening(self.allowed_hosts);
        let (image, notices) = self.environment(&sandbox).await?;
        (self.doing)("the program runs");
        let report = self.execute(&sandbox, &image).await?;
        let read = match program_end(&report) {
            Ok(phase) => {
                let severity = Severities::from(self.run.validation).outputs;
                let mut read = data.outputs(&self.run.outputs, severity, &phase.outputs).await?;
                self.read_large(&mut read, data).await?;
                read
            }
            Err(_) => OutputsRead::default(),
        };
        Ok(Ended {
            seconds: report.phases.first().map(|phase| phase.seconds),
            findings: without_secrets(read.findings.clone(), redactor),
            end: conclude(report, read, redactor),
            notices,
        })
    }

    /// Reads where they lie what was too large for the report.
    async fn read_large(&self, read: &mut OutputsRead, data: &RunData<'_>) -> Result<(), LocalRunError> {
        read.room = OutputRoom::Disk;
        let is_large = |output: &&Output| read.too_large.iter().any(|large| large.output == output.name);
        let outputs: Vec<Output> = self.run.outputs.iter().filter(is_large).cloned().collect();
        if outputs.is_empty() {
            return Ok(());
        }
        let asked = OutputsAsked {
            outputs,
            checks: data.checks.to_vec(),
            severity: Severities::from(self.run.validation).outputs,
        };
        let found = check(&self.output_folder, &asked, data.client).await?;
        let found = asked.outputs.iter().zip(found).collect();
        read.join(&self.run.outputs, found, |output, _| {
            OutputPlace::Disk(self.output_folder.join(&output.name))
        });
        Ok(())
    }

    /// Returns the path of a file: what the run was given beside its other files, what is the task's in the record of the task.
    fn path(&self, input: &ResolvedInput, file: &FrozenFile) -> PathBuf {
        match input.from {
            InputOrigin::Given => given::path(self.given.path(), file),
            InputOrigin::Default => self.finished.run.input(&file.file_name),
        }
    }

    /// The environment that the tests ran in, made again where it is gone.
    async fn environment(&self, sandbox: &LocalSandbox) -> Result<(String, Vec<String>), LocalRunError> {
        let task = &self.finished.task;
        let before = &self.finished.built;
        let mut spec = ImageSpec::new(task.language, &task.image, &before.packages).under(&task.packages);
        spec.lock = self
            .finished
            .lock
            .clone()
            // A list for another environment says nothing about this one.
            .filter(|(environment, _)| *environment == spec.content_hash())
            .map(|(_, lock)| lock);
        (self.doing)("the environment with the packages of the program");
        let built = match sandbox.build(&spec, 0).await? {
            Progressing::Done(built) => built,
            Progressing::Pending | Progressing::Unseen | Progressing::Queued(_) => {
                return Err(LocalRunError::Stopped(
                    "the environment is not ready: run again".to_owned(),
                ));
            }
        };
        let notices = drift(&built, &before.resolved).into_iter().collect();
        Ok((built.image, notices))
    }

    async fn execute(&self, sandbox: &LocalSandbox, image: &str) -> Result<Report, LocalRunError> {
        let mut job: Job = self
            .run
            .job(&self.finished.program, &self.secret_env, |input, file| {
                self.path(input, file).display().to_string()
            });
        for phase in &mut job.phases {
            if let Phase::Program(program) = phase {
                program.disk_bytes = Some(self.run.sandbox.output_bytes());
            }
        }
        let mut repeat = 0;
        loop {
            // The run's own retries count: those of the task were for its tests.
            let is_last = repeat >= self.run.sandbox.retries;
            match sandbox.run_in(image, &job, &self.output_folder).await {
                Ok(report) if is_last || !may_be_repeated(&report) => return Ok(report),
                Err(error) if is_last || error.category() != Category::Infrastructure => {
                    return Err(error.into());
                }
                _ => repeat += 1,
            }
        }
    }

    fn object(&self, status: CodeGenRunStatus) -> CodeGenRun {
        let task = &self.finished.task;
        let spec = CodeGenRunSpec {
            task_ref: Some(LocalRef {
                name: task.name.clone(),
            }),
            program_image: None,
            pull_secret_ref: None,
            inputs: Vec::new(),
            sandbox: None,
            validation: self.run.validation,
            cache: None,
            outputs: None,
            ttl_seconds_after_finished: None,
        };
        let mut object = CodeGenRun::new(&task.name, spec);
        object.metadata.namespace = Some(task.namespace.clone());
        object.status = Some(status);
        object
    }
}

fn may_be_repeated(report: &Report) -> bool {
    program_end(report).is_err_and(|failure| failure.may_be_repeated())
}

fn without_secrets(findings: Vec<Finding>, redactor: &Redactor) -> Vec<Finding> {
    findings
        .into_iter()
        .map(|finding| redacted_finding(finding, redactor))
        .collect()
}

/// Other versions than the tests passed with, where the environment had to be made again.
fn drift(built: &BuiltEnvironment, before: &[String]) -> Option<String> {
    if !built.fresh || built.resolved == before {
        return None;
    }
    let new: Vec<&str> = built
        .resolved
        .iter()
        .filter(|package| !before.contains(package))
        .map(String::as_str)
        .collect();
    Some(format!(
        "the environment was made again and has other versions than the tests passed with: {}",
        new.join(", ")
    ))
}

/// Values alone: a manifest cannot name a file of this machine.
fn text_inputs(given: &GivenInputs) -> Vec<RunInput> {
    let values = given.values.iter();
    values
        .map(|(name, text)| RunInput {
            name: name.clone(),
            value: Some(text.clone()),
            source: None,
        })
        .collect()
}
