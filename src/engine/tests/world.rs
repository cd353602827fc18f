//! A world in memory: a scripted model, a sandbox that knows the bug, a store that can stop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::api::approval::{ApprovalDecision, ApprovalStatus, AwaitedApproval};
use crate::api::status::{ConstraintStatus, SampleStatus};
use crate::data::DataError;
use crate::data::context::Context;
use crate::engine::data::{DataReader, Described};
use crate::engine::event::{Event, Observer};
use crate::engine::{Engine, EngineError, Step, Surroundings};
use crate::ledger::Store;
use crate::model::{Model, ModelError};
use crate::pipeline::call::{CallKind, FinishReason, Reply, Request, Usage};
use crate::pipeline::checks::ColumnCheck;
use crate::pipeline::digest::sha256_hex;
use crate::pipeline::lock::{Lock, Locked};
use crate::pipeline::machine::Outcome;
use crate::pipeline::mutants::{MutantOutcome, MutantPhase, MutantReport, MutantResult};
use crate::pipeline::progress::Progress;
use crate::pipeline::reply::ConstraintsReply;
use crate::pipeline::sandbox::{
    Job, OutputReport, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramPhase, Report, TestFailure,
    TestOutcome, TestPhase, TestReport, TestResult,
};
use crate::pipeline::task::Task;
use crate::pipeline::verdict::RehearsalFindings;
use crate::sandbox::{
    Built, ImageSpec, PackageProblem, PackageProblemKind, Progressing, Publication, Published, Sandbox,
    SandboxError,
};

/// A model that answers from a script: replies by kind, the last of a kind repeated for ever.
#[derive(Default)]
pub struct Script {
    replies: BTreeMap<CallKind, Vec<Scripted>>,
    asked: Mutex<BTreeMap<CallKind, usize>>,
    /// Every request that came in, lives of the task together.
    pub requests: Mutex<Vec<Request>>,
}

#[derive(Clone)]
enum Scripted {
    Reply(Reply),
    Error(ModelError),
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(self, kind: CallKind, reply: &Value) -> Self {
        self.with_text(kind, &reply.to_string(), FinishReason::Complete)
    }

    pub fn with_text(mut self, kind: CallKind, text: &str, finish: FinishReason) -> Self {
        let usage = Usage {
            input: 100,
            output: 10,
        };
        let reply = Reply {
            text: text.to_owned(),
            finish,
            usage,
        };
        self.replies.entry(kind).or_default().push(Scripted::Reply(reply));
        self
    }

    pub fn with_error(mut self, kind: CallKind, error: ModelError) -> Self {
        self.replies.entry(kind).or_default().push(Scripted::Error(error));
        self
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Calls whose reply is recorded are not made again, so the n-th call of a kind is known by what the ledger holds: a call
    /// that was lost is answered as it would have been.
    pub fn forget_lost(&self, kind: CallKind) {
        *self.asked.lock().unwrap().entry(kind).or_insert(1) -= 1;
    }
}

impl Model for Script {
    async fn call(&self, request: &Request) -> Result<Reply, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        let mut asked = self.asked.lock().unwrap();
        let number = asked.entry(request.kind).or_insert(0);
        let replies = self
            .replies
            .get(&request.kind)
            .unwrap_or_else(|| panic!("no reply of kind {}", request.kind));
        let reply = replies[(*number).min(replies.len() - 1)].clone();
        *number += 1;
        match reply {
            Scripted::Reply(reply) => Ok(reply),
            Scripted::Error(error) => Err(error),
        }
    }
}

/// What the sandbox answers to the generated suite for a program and a suite: ids of failing tests and their failures.
pub type Judge = fn(solution: &str, tests: &str, installed: &[String]) -> Vec<TestFailure>;

/// A sandbox that does not run anything but knows what would happen.
pub struct Fake {
    pub judge: Judge,
    /// Packages that do not exist.
    pub unknown: Vec<String>,
    /// Packages that the index, asked before a build, does not have.
    pub foreseen: Vec<String>,
    /// Packages that others bring along.
    pub brings: Vec<String>,
    /// Nobody knows what is installed.
    pub is_unlisted: bool,
    pub builds: AtomicUsize,
    pub runs: AtomicUsize,
    /// Which jobs began and ended, in order, by their phases.
    pub log: Mutex<Vec<String>>,
    /// Whether a program hangs in a run.
    pub hangs: fn(&ProgramPhase) -> bool,
    pub acceptance_passes: fn(&str) -> bool,
    /// Whether this suite notices no mutant.
    pub notices_nothing: fn(&str) -> bool,
    /// The image is gone at the next run.
    pub loses_image: AtomicBool,
    /// Every build is lost.
    pub loses_builds: AtomicBool,
    /// What each build was told to install, where it was.
    pub locks: Mutex<Vec<Option<Lock>>>,
    installed: Mutex<BTreeMap<String, Vec<String>>>,
    /// What a program prints in a case.
    pub prints: fn(&str) -> String,
    /// What a program writes in a case.
    pub writes: fn(&ProgramPhase) -> Vec<OutputReport>,
    /// No program can be published.
    pub refuses_programs: AtomicBool,
    /// What was published; a registry has what is equal once.
    pub published: Mutex<Vec<Publication>>,
}

impl Fake {
    pub fn new(judge: Judge) -> Self {
        Self {
            judge,
            unknown: Vec::new(),
            foreseen: Vec::new(),
            brings: Vec::new(),
            is_unlisted: false,
            builds: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            log: Mutex::default(),
            hangs: |_| false,
            acceptance_passes: |_| true,
            notices_nothing: |_| false,
            loses_image: AtomicBool::new(false),
            loses_builds: AtomicBool::new(false),
            locks: Mutex::default(),
            installed: Mutex::default(),
            prints: |_| String::new(),
            writes: |_| Vec::new(),
            refuses_programs: AtomicBool::new(false),
            published: Mutex::default(),
        }
    }

    fn session(&self, phase: &TestPhase, installed: &[String]) -> PhaseReport {
        let tests = phase.tests.values().next().cloned().unwrap_or_default();
        let failures = match phase.name {
            PhaseName::Vacuity => vec![failure(
                "test_solution.py::test_counts",
                "AssertionError",
                "assert None == 2",
            )],
            PhaseName::Acceptance if (self.acceptance_passes)(&phase.solution) => Vec::new(),
            PhaseName::Acceptance => vec![failure(
                "test_acceptance.py::test_hidden",
                "AssertionError",
                "hidden 4711",
            )],
            PhaseName::Tests
            | PhaseName::Mutants
            | PhaseName::Rehearsal
            | PhaseName::Run
            | PhaseName::Case => (self.judge)(&phase.solution, &tests, installed),
        };
        let result = |id: &str, outcome, failure| TestResult {
            id: id.to_owned(),
            outcome,
            failure,
            stdout: String::new(),
        };
        let mut results = vec![result(&phase.sentinels.must_pass, TestOutcome::Passed, None)];
        if failures.is_empty() {
            results.push(result("test_solution.py::test_counts", TestOutcome::Passed, None));
        }
        for failure in failures {
            results.push(result(&failure.id.clone(), TestOutcome::Failed, Some(failure)));
        }
        results.push(result(&phase.sentinels.must_fail, TestOutcome::Failed, None));
        PhaseReport {
            name: phase.name,
            end: PhaseEnd::Exited(1),
            seconds: 0.0,
            stdout: String::new(),
            stderr: String::new(),
            cut: Vec::new(),
            tests: Some(TestReport {
                collected: results.iter().map(|result| result.id.clone()).collect(),
                collection_errors: Vec::new(),
                results,
                session_exit: Some(1),
            }),
            outputs: Vec::new(),
            not_writable: None,
            mutants: None,
        }
    }
}

impl Fake {
    fn against_mutants(&self, phase: &MutantPhase) -> PhaseReport {
        let suite = phase.tests.values().next().cloned().unwrap_or_default();
        let outcome = if (self.notices_nothing)(&suite) {
            MutantOutcome::Survived
        } else {
            MutantOutcome::Caught
        };
        let run = phase.mutants.iter().take(phase.most as usize);
        let results = run.map(|mutant| MutantResult {
            id: mutant.id.clone(),
            outcome,
        });
        PhaseReport {
            name: PhaseName::Mutants,
            end: PhaseEnd::Exited(0),
            seconds: 0.0,
            stdout: String::new(),
            stderr: String::new(),
            cut: Vec::new(),
            tests: None,
            outputs: Vec::new(),
            not_writable: None,
            mutants: Some(MutantReport {
                results: results.collect(),
                not_run: 0,
            }),
        }
    }
}

/// What the fake installs for `spec`, with made-up digests.
pub fn lock_of(spec: &ImageSpec) -> Lock {
    let packages = spec.packages.pip.iter().map(|name| Locked {
        package: format!("{name}==1.0"),
        sha256: Some(sha256_hex(name.as_bytes())),
        via: Vec::new(),
    });
    Lock {
        python: "3.12.1".into(),
        architecture: "x86_64".into(),
        packages: packages.collect(),
    }
}

pub fn failure(id: &str, exception: &str, message: &str) -> TestFailure {
    TestFailure {
        id: id.into(),
        exception: exception.into(),
        message: message.into(),
        ..TestFailure::default()
    }
}

impl Sandbox for Fake {
    async fn build(&self, spec: &ImageSpec, repeat: u32) -> Result<Progressing<Built>, SandboxError> {
        if self.loses_builds.load(Ordering::SeqCst) {
            return Err(SandboxError::Lost {
                child: format!("Job data/build-{repeat}"),
                reason: "the push ended with exit code 101".to_owned(),
            });
        }
        self.locks.lock().unwrap().push(spec.lock.clone());
        let image = spec.content_hash();
        if let Some(name) = self.foreseen.iter().find(|name| spec.packages.pip.contains(name)) {
            return Err(SandboxError::Packages(PackageProblem {
                manager: "pip",
                names: vec![name.clone()],
                kind: PackageProblemKind::NotFound,
                detail: String::new(),
                is_foreseen: true,
            }));
        }
        if let Some(name) = self.unknown.iter().find(|name| spec.packages.pip.contains(name)) {
            self.builds.fetch_add(1, Ordering::SeqCst);
            let said = format!("ERROR: No matching distribution found for {name}");
            return Err(crate::sandbox::packages::classify(&said));
        }
        let fresh = self
            .installed
            .lock()
            .unwrap()
            .insert(image.clone(), spec.packages.pip.clone())
            .is_none();
        self.builds.fetch_add(usize::from(fresh), Ordering::SeqCst);
        Ok(Progressing::Done(Built {
            image,
            resolved: if self.is_unlisted {
                Vec::new()
            } else {
                [spec.packages.pip.clone(), self.brings.clone()].concat()
            },
            lock: (!self.is_unlisted).then(|| lock_of(spec)),
            python: "3.12.1".into(),
            fresh,
            seconds: None,
            remark: None,
        }))
    }

    async fn run(&self, image: &str, job: &Job, _repeat: u32) -> Result<Progressing<Report>, SandboxError> {
        if self.loses_image.swap(false, Ordering::SeqCst) {
            self.installed.lock().unwrap().clear();
            return Err(SandboxError::EnvironmentMissing(image.to_owned()));
        }
        self.runs.fetch_add(1, Ordering::SeqCst);
        let installed = self
            .installed
            .lock()
            .unwrap()
            .get(image)
            .cloned()
            .unwrap_or_default();
        let names: Vec<String> = job.phases.iter().map(name_of).collect();
        let note = |what: &str| {
            let line = format!("{what} {}", names.join(" "));
            self.log.lock().unwrap().push(line);
        };
        note("begin");
        // Whatever is run beside it begins now.
        tokio::task::yield_now().await;
        note("end");
        let hung = |phase: &Phase| matches!(phase, Phase::Program(program) if (self.hangs)(program));
        let reached = job
            .phases
            .iter()
            .position(hung)
            .map_or(job.phases.len(), |at| at + 1);
        let phases = job.phases[..reached]
            .iter()
            .map(|phase| match phase {
                Phase::Tests(phase) => self.session(phase, &installed),
                Phase::Program(program) => PhaseReport {
                    name: program.name,
                    end: if hung(phase) {
                        PhaseEnd::TimedOut
                    } else {
                        PhaseEnd::Exited(0)
                    },
                    seconds: 0.0,
                    stdout: if program.name == PhaseName::Case {
                        (self.prints)(&program.solution)
                    } else {
                        String::new()
                    },
                    stderr: String::new(),
                    cut: Vec::new(),
                    tests: None,
                    outputs: if program.name == PhaseName::Case {
                        (self.writes)(program)
                    } else {
                        Vec::new()
                    },
                    not_writable: None,
                    mutants: None,
                },
                Phase::Mutants(phase) => self.against_mutants(phase),
            })
            .collect();
        Ok(Progressing::Done(Report { phases, seconds: 0.0 }))
    }

    async fn publish(&self, publication: &Publication) -> Result<Published, SandboxError> {
        if self.refuses_programs.load(Ordering::SeqCst) {
            return Err(SandboxError::Refused {
                object: "image registry.example/lab:v1".to_owned(),
                reason: "registry.example refused the login".to_owned(),
                remedy: "see image.pushSecretRef".to_owned(),
            });
        }
        let mut published = self.published.lock().unwrap();
        if !published.contains(publication) {
            published.push(publication.clone());
        }
        Ok(Published {
            image: format!("registry.example/lab@{}", publication.environment),
            tag: "registry.example/lab:data.penguins".to_owned(),
            uploaded_bytes: 1,
        })
    }
}

fn name_of(phase: &Phase) -> String {
    match phase {
        Phase::Tests(tests) => format!("{:?}", tests.name),
        Phase::Program(program) => format!("{:?}", program.name),
        Phase::Mutants(_) => "Mutants".to_owned(),
    }
}

/// No samples, no outputs; or a context that is given.
#[derive(Default)]
pub struct FixedData {
    pub context: String,
    /// What is found in the outputs.
    pub findings: RehearsalFindings,
    /// How the samples are written.
    pub forms: crate::pipeline::cases::Forms,
}

impl DataReader for FixedData {
    async fn describe(&self, _task: &Task) -> Result<Described, DataError> {
        Ok(Described {
            context: Context {
                text: self.context.clone(),
                ..Context::default()
            },
            profiles: b"[]".to_vec(),
            joins: Vec::new(),
            samples: Vec::<SampleStatus>::new(),
        })
    }

    fn bind(
        &self,
        task: &Task,
        _profiles: &[u8],
        _reply: &ConstraintsReply,
    ) -> (Vec<ColumnCheck>, Vec<ConstraintStatus>) {
        let status = |text: &String| ConstraintStatus {
            text: text.clone(),
            bound_to: Vec::new(),
            check: "none".into(),
        };
        (Vec::new(), task.constraints.iter().map(status).collect())
    }

    fn columns(&self, _task: &Task, _profiles: &[u8]) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn forms(&self, _profiles: &[u8]) -> crate::pipeline::cases::Forms {
        self.forms.clone()
    }

    async fn judge(
        &self,
        _task: &Task,
        _outputs: &[OutputReport],
        _checks: &[ColumnCheck],
    ) -> Result<RehearsalFindings, DataError> {
        Ok(self.findings.clone())
    }
}

/// Keeps every event.
#[derive(Default)]
pub struct Watcher(pub Mutex<VecDeque<Event>>);

impl Observer for Watcher {
    fn event(&self, event: &Event) {
        self.0.lock().unwrap().push_back(event.clone());
    }
}

/// A task in its world.
pub struct World {
    pub task: Task,
    pub script: Script,
    pub sandbox: Fake,
    pub data: FixedData,
    pub surroundings: Surroundings,
    pub watcher: Watcher,
    pub clock: fn() -> Timestamp,
}

impl World {
    pub fn new(task: Task, script: Script, judge: Judge) -> Self {
        Self {
            task,
            script,
            sandbox: Fake::new(judge),
            data: FixedData::default(),
            surroundings: Surroundings::default(),
            watcher: Watcher::default(),
            clock: || Timestamp::from_second(1_000).unwrap(),
        }
    }

    /// Steps until the task ends, waits, or the store stops.
    pub async fn live<S: Store>(&self, store: &S) -> Result<Progress, EngineError> {
        let (in_call, _) = watch::channel(false);
        let engine = Engine {
            task: &self.task,
            model: &self.script,
            store,
            sandbox: &self.sandbox,
            data: &self.data,
            surroundings: &self.surroundings,
            observer: &self.watcher,
            clock: self.clock,
            in_call: &in_call,
            announced: &AtomicU32::new(0),
        };
        let mut progress = engine.load("run").await?;
        for _ in 0..500 {
            let (next, step) = Box::pin(engine.step(progress)).await?;
            progress = next;
            match step {
                Step::Advanced => {}
                Step::Gate(asked) => progress = Box::pin(engine.apply(progress, approval(&asked))).await?,
                Step::Finished | Step::Waiting(_) => return Ok(progress),
                Step::Pending | Step::Unseen | Step::Queued(_) => panic!("nothing in this world is pending"),
            }
        }
        panic!("the task neither ends nor waits: {:?}", progress.stage);
    }
}

/// Somebody approves of what is asked.
fn approval(asked: &AwaitedApproval) -> Outcome {
    Outcome::Decided(ApprovalStatus {
        gate: asked.gate,
        decision: ApprovalDecision::Approve,
        decided_by: "ada".into(),
        verified: false,
        decided_at: Time(Timestamp::UNIX_EPOCH),
        hash: asked.hash.clone(),
        reason: None,
    })
}

pub fn plan() -> Value {
    json!({"description": "Counts words.", "approach": "Split at white space.", "libraries": []})
}

/// A program whose `count` has this body.
pub fn code(body: &str) -> Value {
    let code = format!(
        "\"\"\"Count words.\"\"\"\n\n\ndef count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    {body}\n\n\n\
         def main() -> None:\n    \"\"\"Print the count of an example.\"\"\"\n    print(count(\"a b\"))\n\n\n\
         if __name__ == \"__main__\":\n    main()\n"
    );
    json!({"code": code, "packages": [], "systemPackages": []})
}

/// A suite that expects this number for two words.
pub fn tests(expected: u32) -> Value {
    json!({"code": format!("import solution\n\n\ndef test_counts():\n    assert solution.count(\"a b\") == {expected}\n")})
}

pub fn fixed_count(body: &str) -> Value {
    json!({"code": format!("def count(text: str) -> int:\n    \"\"\"Number of words.\"\"\"\n    {body}\n")})
}

pub fn fixed_test(expected: u32) -> Value {
    json!({"code": format!("def test_counts():\n    assert solution.count(\"a b\") == {expected}\n")})
}

pub fn diagnosis(error_type: &str, functions: &[&str], packages: &[&str]) -> Value {
    json!({"failures": [{
        "failure": 1, "errorType": error_type, "expected": "2", "actual": "3", "rootCause": "It counts characters.",
        "suggestedFix": "Split first.", "functions": functions, "packages": packages, "systemPackages": [],
    }]})
}

/// Fails until the program splits and the suite expects 2.
pub fn splits(solution: &str, tests: &str, _installed: &[String]) -> Vec<TestFailure> {
    let right = if solution.contains("split()") { 2 } else { 3 };
    if tests.contains(&format!("\") == {right}\n")) {
        return Vec::new();
    }
    vec![failure(
        "test_solution.py::test_counts",
        "AssertionError",
        &format!("assert {right} == ?"),
    )]
}

/// Plan, a program that counts characters, a right suite, its diagnosis and its fix.
pub fn one_logic_bug() -> Script {
    Script::new()
        .with(CallKind::Plan, &plan())
        .with(CallKind::Code, &code("return len(text)"))
        .with(CallKind::Tests, &tests(2))
        .with(CallKind::Diagnosis, &diagnosis("logic", &["count"], &[]))
        .with(CallKind::FixCode, &fixed_count("return len(text.split())"))
}
