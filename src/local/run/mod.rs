//! A run of the program that a finished task left in a folder, on this machine.

mod environment;
mod error;
mod finished;
mod for_each;
pub(crate) mod given;
mod item_folder;
pub mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tempfile::TempDir;

pub use error::LocalRunError;
pub use finished::FinishedTask;
pub use for_each::{ForEachOptions, ItemCounts, for_each};

use super::credentials::sandbox_variables;
use super::execute::worker;
use super::objects::Objects;
use super::on_disk::check;
use codegen_api::common::LocalRef;
use codegen_api::run::{CodeGenRun, CodeGenRunSpec, RunInput, Validation};
use codegen_api::run_status::{CodeGenRunStatus, Finding, InputOrigin, RunInputStatus};
use codegen_api::sandbox::Sandbox as SandboxSpec;
use codegen_api::values::Output;
use codegen_core::digest::sha256_hex;
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
use codegen_sandbox::LocalSandbox;
use given::{GivenInputs, freeze_given};

/// Prefix of the names of what is not yet whole.
const WRITING: &str = ".writing-";

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
    doing("reading the inputs");
    let ready = ReadyRun::read(finished, options).await?;
    ready.run(options.output_dir.as_deref(), objects, doing).await
}

/// A run whose inputs have been read: nothing that it goes by changes any more.
pub struct ReadyRun<'a> {
    finished: &'a FinishedTask,
    allowed_hosts: &'a [AllowedHost],
    run: ResolvedRun,
    /// The values that it was given.
    values: Vec<RunInput>,
    /// Copies of the files that it was given.
    given: TempDir,
}

impl<'a> ReadyRun<'a> {
    /// Reads the inputs, or says everything that is wrong with them.
    pub async fn read(
        finished: &'a FinishedTask,
        options: &'a LocalRunOptions,
    ) -> Result<Self, LocalRunError> {
        let task = &finished.task;
        let folder = tempfile::tempdir().map_err(LocalRunError::NoTemporaryFolder)?;
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
        let run = resolve(task, &given.values, &files, settings).map_err(LocalRunError::Faults)?;
        Ok(Self {
            finished,
            allowed_hosts: &options.allowed_hosts,
            run,
            values: text_inputs(&given),
            given: folder,
        })
    }

    /// Hash of all that decides the outputs.
    #[must_use]
    pub fn key(&self) -> String {
        let program = sha256_hex(self.finished.program.as_bytes());
        self.run.key(&program, &self.finished.built.image)
    }

    /// Runs the program, which writes below `place`, or where temporary files lie.
    pub async fn run(
        self,
        place: Option<&Path>,
        objects: &Objects,
        doing: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<RunOutcome, LocalRunError> {
        let Self { finished, run, .. } = &self;
        LocalSandbox::check_network(&run.sandbox.network).map_err(LocalRunError::Sandbox)?;
        for (_, file) in run
            .files()
            .filter(|(input, _)| input.from == InputOrigin::Default)
        {
            finished.run.check_input(file)?;
        }
        let secrets = sandbox_variables(&run.sandbox.secrets, &finished.task.namespace, objects)?;
        let secret_env = secrets
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let disk = match place {
            Some(folder) => tempfile::Builder::new().prefix(WRITING).tempdir_in(folder),
            None => tempfile::tempdir(),
        };
        let disk = disk.map_err(LocalRunError::NoTemporaryFolder)?;
        let output_folder = disk.path().join("outputs");
        std::fs::create_dir(&output_folder).map_err(LocalRunError::NoTemporaryFolder)?;
        let running = Running {
            ready: &self,
            output_folder,
            secret_env: secret_env.collect(),
            doing,
        };
        let (mut object, end, notices) = Box::pin(running.to_its_end()).await?;
        object.spec.inputs = self.values;
        Ok(RunOutcome {
            object,
            end,
            notices,
            disk,
        })
    }
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
    ready: &'a ReadyRun<'a>,
    /// The folder that the program writes to.
    output_folder: PathBuf,
    secret_env: BTreeMap<String, String>,
    doing: &'a (dyn Fn(&str) + Send + Sync),
}

impl Running<'_> {
    async fn to_its_end(&self) -> Result<(CodeGenRun, RunEnd, Vec<String>), LocalRunError> {
        let ReadyRun { finished, run, .. } = self.ready;
        let started = Timestamp::now();
        let redactor = Redactor::new(self.secret_env.iter());
        let worker = worker().map_err(|error| LocalRunError::Stopped(error.to_string()))?;
        let data = RunData {
            client: &worker,
            columns: &finished.columns,
            checks: &finished.checks,
        };
        let source = |input: &ResolvedInput, file: &FrozenFile| Some(Source::path(&self.path(input, file)));
        // Checked before the program runs, which may take long.
        let checked = data.inputs(run, source).await?;
        let mut inputs: Vec<RunInputStatus> = run.inputs.iter().map(ResolvedInput::status).collect();
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
        let ReadyRun { finished, run, .. } = self.ready;
        let sandbox = LocalSandbox::for_user()?.opening(self.ready.allowed_hosts);
        let environment = finished.environment(&sandbox, self.doing).await?;
        (self.doing)("the program runs");
        let report = self.execute(&sandbox, &environment.image).await?;
        let read = match program_end(&report) {
            Ok(phase) => {
                let severity = Severities::from(run.validation).outputs;
                let mut read = data.outputs(&run.outputs, severity, &phase.outputs).await?;
                self.read_large(&mut read, data).await?;
                read
            }
            Err(_) => OutputsRead::default(),
        };
        Ok(Ended {
            seconds: report.phases.first().map(|phase| phase.seconds),
            findings: without_secrets(read.findings.clone(), redactor),
            end: conclude(report, read, redactor),
            notices: finished.drift().into_iter().collect(),
        })
    }

    /// Reads where they lie what was too large for the report.
    async fn read_large(&self, read: &mut OutputsRead, data: &RunData<'_>) -> Result<(), LocalRunError> {
        let run = &self.ready.run;
        read.room = OutputRoom::Disk;
        let is_large = |output: &&Output| read.too_large.iter().any(|large| large.output == output.name);
        let outputs: Vec<Output> = run.outputs.iter().filter(is_large).cloned().collect();
        if outputs.is_empty() {
            return Ok(());
        }
        let asked = OutputsAsked {
            outputs,
            checks: data.checks.to_vec(),
            severity: Severities::from(run.validation).outputs,
        };
        let found = check(&self.output_folder, &asked, data.client).await?;
        let found = asked.outputs.iter().zip(found).collect();
        read.join(&run.outputs, found, |output, _| {
            OutputPlace::Disk(self.output_folder.join(&output.name))
        });
        Ok(())
    }

    /// Returns the path of a file: what the run was given beside its other files, what is the task's in the record of the task.
    fn path(&self, input: &ResolvedInput, file: &FrozenFile) -> PathBuf {
        match input.from {
            InputOrigin::Given => given::path(self.ready.given.path(), file),
            InputOrigin::Default => self.ready.finished.run.input(&file.file_name),
        }
    }

    async fn execute(&self, sandbox: &LocalSandbox, image: &str) -> Result<Report, LocalRunError> {
        let ReadyRun { finished, run, .. } = self.ready;
        let mut job: Job = run.job(&finished.program, &self.secret_env, |input, file| {
            self.path(input, file).display().to_string()
        });
        for phase in &mut job.phases {
            if let Phase::Program(program) = phase {
                program.disk_bytes = Some(run.sandbox.output_bytes());
            }
        }
        let mut repeat = 0;
        loop {
            // The run's own retries count: those of the task were for its tests.
            let is_last = repeat >= run.sandbox.retries;
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
        let task = &self.ready.finished.task;
        let spec = CodeGenRunSpec {
            task_ref: Some(LocalRef {
                name: task.name.clone(),
            }),
            validation: self.ready.run.validation,
            ..CodeGenRunSpec::default()
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
