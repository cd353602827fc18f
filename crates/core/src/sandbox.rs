//! Contract between decisions, sandboxes and the Python harness: what a sandbox is asked to do, and what it reports.
//!
//! A job runs its phases one after another, each from fresh directories. The report carries facts only; the verdict is
//! computed in `pipeline::verdict`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::agent::{AgentCommand, CommandRun, MAX_BYTES, MAX_FILES, Workspace};

pub use codegen_data::outputs::OutputContent;

/// Largest output that is brought back from a sandbox, bytes: a folder with all its files.
pub const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// Most bytes of all outputs of a run together. The harness knows it as four times the above.
pub const MAX_OUTPUTS_BYTES: u64 = 4 * MAX_OUTPUT_BYTES;

/// Most bytes of all outputs of a run on a claim.
pub const MAX_DISK_BYTES: u64 = 4 << 30;

/// The packages of an image (locally of a virtual environment).
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub struct Packages {
    /// pip requirements, normalised, sorted, without duplicates (`pandas`, `pyyaml`, `requests<3`).
    pub pip: Vec<String>,
    /// apt packages, sorted, without duplicates.
    pub apt: Vec<String>,
}

/// Work of a sandbox in one session.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Phases in order.
    pub phases: Vec<Phase>,
    /// Read-only inputs, mounted under `/var/inputs` before every phase.
    pub inputs: Vec<InputMount>,
    /// Environment variables of tests and programs.
    pub env: BTreeMap<String, String>,
    /// Limits of the whole process tree.
    pub limits: JobLimits,
    /// Network that the sandbox may reach.
    pub network: NetworkAccess,
}

impl Job {
    /// Seconds that it can take at most: a phase that uses up its time is the last one, but for the session without bodies.
    #[must_use]
    pub fn longest_seconds(&self) -> f64 {
        // At least one: a reader has no phases, and the time of one.
        self.limits.timeout_seconds.max(0.0) * self.phases.len().max(1) as f64
    }

    /// Reports whether phases have inputs of their own, for which `/var/inputs` is a folder that the harness writes.
    #[must_use]
    pub fn has_own_inputs(&self) -> bool {
        self.phases.iter().any(|phase| match phase {
            Phase::Program(program) => !program.files.is_empty(),
            Phase::Tests(tests) => tests.channel.is_some(),
            Phase::Commands(_) => false,
        })
    }
}

/// A file or folder of the snapshot that the program reads.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct InputMount {
    /// Name of the input: also reachable as `/var/inputs/<name>`.
    pub name: String,
    /// File name with its ending (`measurements.csv`): reachable as `/var/inputs/<file_name>`. Equal to `name` for folders.
    pub file_name: String,
    /// Place in the snapshot (a path locally, a volume path in a cluster).
    pub source: String,
    /// Content of an input that lies nowhere: of a case that is executed as a run is. The path of a file's content is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<PhaseFile>,
}

/// Limits of one job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct JobLimits {
    /// Wall time of each phase, seconds.
    pub timeout_seconds: f64,
    /// CPUs (1.0 is one core).
    pub cpus: f64,
    /// Memory of the whole process tree, bytes.
    pub memory_bytes: u64,
    /// Processes and threads of the whole tree.
    pub processes: u32,
    /// Size of one written file, bytes.
    pub file_bytes: u64,
}

/// Network that a job may reach.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    /// Nothing.
    Denied,
    /// Public addresses.
    Internet,
    /// These ranges and ports (no ports: all).
    List(Vec<(String, Vec<u16>)>),
}

/// One step of a job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// A pytest session.
    Tests(TestPhase),
    /// A run of the program.
    Program(ProgramPhase),
    /// Commands of an agent.
    Commands(CommandsPhase),
}

/// Step of a job.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub enum PhaseName {
    /// The generated suite against the program.
    Tests,
    /// The generated suite against the stub of the program.
    Vacuity,
    /// The user's acceptance tests.
    Acceptance,
    /// The program on the samples.
    Rehearsal,
    /// The program on what a run gives it.
    Run,
    /// The program on the inputs of one case.
    Case,
    /// Commands of an agent.
    Commands,
}

/// A pytest session.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TestPhase {
    /// Suite that is run.
    pub name: PhaseName,
    /// Source of `solution.py`.
    pub solution: String,
    /// Test files by name (`test_solution.py`).
    pub tests: BTreeMap<String, String>,
    /// By what the tests see the program when it does not lie beside them; `None` where they import it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ProgramChannel>,
}

/// Seconds that a command has at least: a model that gives seconds for milliseconds would have nothing done.
const SHORTEST_TIMEOUT: f64 = 1.0;

/// Commands of an agent, in its workspace.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CommandsPhase {
    /// Phase in which the commands run.
    pub name: PhaseName,
    /// The files of the workspace.
    pub files: Vec<PhaseFile>,
    /// The commands, in order.
    pub commands: Vec<PhaseCommand>,
    /// Programs that they are refused besides those that have no use there.
    pub denied: Vec<String>,
    /// Most files and most bytes of the workspace afterwards.
    pub most_files: usize,
    /// Most bytes of them together.
    pub most_bytes: usize,
    /// True where a small report may be in the termination message of a Pod, as that of a run: it is read without asking the node. Commands
    /// are given no Secret.
    pub in_message: bool,
}

/// One command line.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PhaseCommand {
    /// As the agent wrote it, for `bash -c`.
    pub command: String,
    /// Seconds that it may take, where that is less than the phase may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl CommandsPhase {
    /// These commands on those files, without the programs that are denied besides.
    #[must_use]
    pub fn new(workspace: &Workspace, commands: &[AgentCommand], denied: &[String]) -> Self {
        let file = |(path, content): (&str, &[u8])| PhaseFile {
            path: path.to_owned(),
            content: STANDARD.encode(content),
            also: Vec::new(),
        };
        let command = |command: &AgentCommand| PhaseCommand {
            command: command.line.clone(),
            seconds: command
                .timeout
                .map(|milliseconds| (milliseconds / 1_000.0).max(SHORTEST_TIMEOUT)),
        };
        Self {
            name: PhaseName::Commands,
            files: workspace.files().map(file).collect(),
            commands: commands.iter().map(command).collect(),
            denied: denied.to_vec(),
            most_files: MAX_FILES,
            most_bytes: MAX_BYTES,
            in_message: true,
        }
    }
}

/// Channel by which tests see a program that is never there while they are: it runs for their calls, alone, and they get what it came to.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ProgramChannel {
    /// Names of the outputs that the tests are given.
    pub outputs: Vec<String>,
    /// Largest of them, bytes.
    pub max_output_bytes: u64,
}

/// A run of the program as a program.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProgramPhase {
    /// Run of the program.
    pub name: PhaseName,
    /// Source of `solution.py`.
    pub solution: String,
    /// Command-line arguments.
    pub args: Vec<String>,
    /// Input files of this phase alone, laid out below `/var/inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PhaseFile>,
    /// Names of the outputs to bring back from `/var/outputs`.
    pub outputs: Vec<String>,
    /// Largest output that is brought back, bytes.
    pub max_output_bytes: u64,
    /// Most bytes that the outputs may have together, where they go to a disk; `None` where they are memory of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// True where a small report may be in the termination message of a Pod, which everyone reads who may see the Pod: not where the
    /// program is given a secret, which it might print.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_message: bool,
}

/// An input file of one phase.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PhaseFile {
    /// Path below the folder: a name, or a folder and a name.
    pub path: String,
    /// Its bytes in base64.
    pub content: String,
    /// Other names beside it, with the same bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// Report on the phases of a job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One report a phase, in order; shorter than the job when the whole job met a limit.
    pub phases: Vec<PhaseReport>,
    /// Wall time of the job, seconds.
    pub seconds: f64,
}

/// Report on one phase.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PhaseReport {
    /// Phase that it is about.
    pub name: PhaseName,
    /// End of its process.
    pub end: PhaseEnd,
    /// Wall time, seconds.
    pub seconds: f64,
    /// Last 64 KiB of its standard output, lossily decoded.
    pub stdout: String,
    /// Last 64 KiB of its standard error, lossily decoded.
    pub stderr: String,
    /// Of which of the two there was more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Stream>,
    /// Report of pytest; `None` for a program.
    #[serde(default)]
    pub tests: Option<TestReport>,
    /// Outputs that the program wrote, of those declared; empty for tests.
    #[serde(default)]
    pub outputs: Vec<OutputReport>,
    /// Cause for which a program was not started: the system's words about the disk that its outputs go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_writable: Option<String>,
    /// Results of an agent's commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandRun>,
}

impl Report {
    /// The report of a job that had no phase, or of which nothing came back.
    #[must_use]
    pub const fn nothing() -> Self {
        Self {
            phases: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Reports whether the execution of `job` as such failed: a limit, a signal, a phase that never started. How the program without bodies
    /// fares is no matter of the execution.
    #[must_use]
    pub fn is_failed_execution(&self, job: &Job) -> bool {
        // This run is about the suite: a program without bodies may well hang.
        let of_the_suite = |phase: &Phase| match phase {
            Phase::Tests(asked) => asked.name == PhaseName::Vacuity,
            // What commands come to is told, whatever it is.
            Phase::Commands(_) => true,
            Phase::Program(_) => false,
        };
        job.phases
            .iter()
            .enumerate()
            .filter(|(_, phase)| !of_the_suite(phase))
            .any(|(index, _)| {
                !self
                    .phases
                    .get(index)
                    .is_some_and(|done| matches!(done.end, PhaseEnd::Exited(_)))
            })
    }
}

/// An output stream of a process.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// End of a phase's process.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum PhaseEnd {
    /// It ended by itself.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It ran out of wall time.
    TimedOut,
    /// The tree met a limit.
    LimitHit(LimitKind),
}

/// A limit of the process tree.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// Memory of the tree.
    Memory,
    /// CPU time of a process.
    Cpu,
    /// Processes of the tree.
    Processes,
    /// Size of a written file.
    FileSize,
    /// Space of all outputs on a disk.
    Disk,
}

/// Report of pytest, as streamed by the harness's plugin.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct TestReport {
    /// Node ids in collection order (`test_solution.py::TestMean::test_empty[a-1]`).
    pub collected: Vec<String>,
    /// Files that could not be collected.
    pub collection_errors: Vec<TestFailure>,
    /// One result a test that ran.
    pub results: Vec<TestResult>,
    /// pytest's own exit status from the session-finish hook; `None` when the session never finished.
    pub session_exit: Option<i32>,
}

/// Result of one test.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// Node id.
    pub id: String,
    /// Outcome of the test.
    pub outcome: TestOutcome,
    /// Failure of the test; `None` unless `outcome` is `Failed` or `Error`.
    #[serde(default)]
    pub failure: Option<TestFailure>,
    /// Standard output of the test, cut to 4 KiB.
    #[serde(default)]
    pub stdout: String,
}

/// Outcome of a test.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum TestOutcome {
    /// Setup, call and teardown passed.
    Passed,
    /// The call failed.
    Failed,
    /// Setup or teardown failed.
    Error,
    /// Skipped.
    Skipped,
    /// Expected to fail, and failed.
    XFailed,
    /// Expected to fail, and passed.
    XPassed,
}

/// Failure of a test, or of the collection of a file.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct TestFailure {
    /// Node id, or the file that could not be collected.
    pub id: String,
    /// Type of the exception (`AssertionError`, `ModuleNotFoundError`).
    pub exception: String,
    /// Its message, cut to 2 KiB.
    pub message: String,
    /// Frames in the files of the job, outermost first.
    pub frames: Vec<Frame>,
    /// pytest's own text of the failure, cut to 8 KiB.
    pub text: String,
}

/// One frame of a traceback.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// File (`solution.py`, `test_solution.py`).
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Function (`<module>` at the top).
    pub function: String,
}

/// Content of one declared output.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct OutputReport {
    /// Name of the output.
    pub name: String,
    /// Content that was found.
    pub content: OutputContent,
}
