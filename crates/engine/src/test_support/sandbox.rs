//! A sandbox that knows the bug.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use codegen_core::agent::{CommandResult, CommandRun};
use codegen_core::digest::sha256_hex;
use codegen_core::lock::{Lock, Locked};
use codegen_core::machine::LostChild;
use codegen_core::sandbox::{
    CommandsPhase, Job, OutputReport, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramPhase, Report,
    TestFailure, TestOutcome, TestPhase, TestReport, TestResult,
};
use codegen_sandbox::{
    BuiltEnvironment, ImageSpec, PackageProblem, PackageProblemKind, Progressing, Publication, Published,
    Sandbox, SandboxError,
};

/// Answer of the sandbox to the generated suite for a program and a suite: ids of failing tests and their failures.
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
    /// Begins and ends of jobs, in order, by their phases.
    pub log: Mutex<Vec<String>>,
    /// Reports whether a program hangs in a run.
    pub hangs: fn(&ProgramPhase) -> bool,
    pub acceptance_passes: fn(&str) -> bool,
    /// Reports whether this suite passes whatever the program does.
    pub notices_nothing: fn(&str) -> bool,
    /// The image is gone at the next run.
    pub loses_image: AtomicBool,
    /// Every build is lost.
    pub loses_builds: AtomicBool,
    /// Lock that each build was to install, where it had one.
    pub locks: Mutex<Vec<Option<Lock>>>,
    installed: Mutex<BTreeMap<String, Vec<String>>>,
    /// Printed text of a program in a case.
    pub prints: fn(&str) -> String,
    /// Outputs of a program in a case.
    pub writes: fn(&ProgramPhase) -> Vec<OutputReport>,
    /// Result of an agent's commands.
    pub runs_commands: fn(&CommandsPhase) -> CommandRun,
    /// Every sandbox ends without a report.
    pub reports_nothing: AtomicBool,
    /// Ends of the next sandboxes, which never answer.
    pub unanswered: Mutex<VecDeque<LostChild>>,
    /// Numbers of the executions that were asked for.
    pub executions: Mutex<Vec<u32>>,
    /// Seconds that each sandbox says that it took.
    pub seconds: f64,
    /// Commands that steps asked for.
    pub asked: Mutex<Vec<Job>>,
    /// Number of inputs of each sandbox of commands.
    pub command_inputs: Mutex<Vec<usize>>,
    /// No program can be published.
    pub refuses_programs: AtomicBool,
    /// Publications so far; a registry has equal ones once.
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
            reports_nothing: AtomicBool::new(false),
            unanswered: Mutex::default(),
            executions: Mutex::default(),
            seconds: 0.0,
            asked: Mutex::default(),
            command_inputs: Mutex::default(),
            runs_commands: |phase| CommandRun {
                results: vec![CommandResult::default(); phase.commands.len()],
                ..CommandRun::default()
            },
            refuses_programs: AtomicBool::new(false),
            published: Mutex::default(),
        }
    }

    fn commands(&self, phase: &CommandsPhase) -> PhaseReport {
        PhaseReport {
            commands: Some(shimmed(phase, (self.runs_commands)(phase))),
            ..codegen_core::test_support::phase(PhaseName::Commands, 0)
        }
    }

    fn session(&self, phase: &TestPhase, installed: &[String]) -> PhaseReport {
        let tests = phase.tests.values().next().cloned().unwrap_or_default();
        let failures = match phase.name {
            PhaseName::Vacuity if (self.notices_nothing)(&tests) => Vec::new(),
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
            | PhaseName::Rehearsal
            | PhaseName::Run
            | PhaseName::Commands
            | PhaseName::Case => (self.judge)(&phase.solution, &tests, installed),
        };
        let result = |id: &str, outcome, failure| TestResult {
            id: id.to_owned(),
            outcome,
            failure,
            stdout: String::new(),
        };
        let mut results = Vec::new();
        let code = i32::from(!failures.is_empty());
        if failures.is_empty() {
            results.push(result("test_solution.py::test_counts", TestOutcome::Passed, None));
        }
        for failure in failures {
            results.push(result(&failure.id.clone(), TestOutcome::Failed, Some(failure)));
        }
        PhaseReport {
            name: phase.name,
            end: PhaseEnd::Exited(code),
            seconds: 0.0,
            stdout: String::new(),
            stderr: String::new(),
            cut: Vec::new(),
            tests: Some(TestReport {
                collected: results.iter().map(|result| result.id.clone()).collect(),
                collection_errors: Vec::new(),
                results,
                session_exit: Some(code),
            }),
            outputs: Vec::new(),
            not_writable: None,
            commands: None,
        }
    }
}

impl Fake {
    fn program(&self, program: &ProgramPhase, hangs: bool) -> PhaseReport {
        let is_case = program.name == PhaseName::Case;
        PhaseReport {
            name: program.name,
            end: if hangs {
                PhaseEnd::TimedOut
            } else {
                PhaseEnd::Exited(0)
            },
            seconds: 0.0,
            stdout: if is_case {
                (self.prints)(&program.solution)
            } else {
                String::new()
            },
            stderr: String::new(),
            cut: Vec::new(),
            tests: None,
            outputs: if is_case {
                (self.writes)(program)
            } else {
                Vec::new()
            },
            not_writable: None,
            commands: None,
        }
    }
}

/// Returns the result of commands where shims stand before their programs: `curl` and what is denied is refused, and a command that goes
/// well as far as pytest is ended there, and the row with it.
fn shimmed(phase: &CommandsPhase, mut run: CommandRun) -> CommandRun {
    for (command, result) in phase.commands.iter().zip(&mut run.results) {
        let mut words = command.command.split_whitespace();
        let refused = words.find(|word| *word == "curl" || phase.denied.iter().any(|name| name == word));
        if let Some(name) = refused {
            result.exit = 126;
            result.denied = vec![format!("{name} is not run")];
        }
        result.asks_for_tests = result.exit == 0 && command.command.contains("pytest");
    }
    let asks = run.results.iter().position(|result| result.asks_for_tests);
    run.results
        .truncate(asks.map_or(run.results.len(), |index| index + 1));
    run
}

/// Returns the lock that the fake installs for `spec`, with made-up digests.
fn lock_of(spec: &ImageSpec) -> Lock {
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
    async fn build(
        &self,
        spec: &ImageSpec,
        repeat: u32,
    ) -> Result<Progressing<BuiltEnvironment>, SandboxError> {
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
            return Err(SandboxError::Packages(PackageProblem {
                manager: "pip",
                names: vec![name.clone()],
                kind: PackageProblemKind::NotFound,
                detail: format!("ERROR: No matching distribution found for {name}"),
                is_foreseen: false,
            }));
        }
        let fresh = self
            .installed
            .lock()
            .unwrap()
            .insert(image.clone(), spec.packages.pip.clone())
            .is_none();
        self.builds.fetch_add(usize::from(fresh), Ordering::SeqCst);
        Ok(Progressing::Done(BuiltEnvironment {
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

    async fn run(&self, image: &str, job: &Job, repeat: u32) -> Result<Progressing<Report>, SandboxError> {
        self.executions.lock().unwrap().push(repeat);
        match self.unanswered.lock().unwrap().pop_front() {
            Some(LostChild::Gone) => {
                return Err(SandboxError::Lost {
                    child: format!("Pod data/tests-{repeat}"),
                    reason: "its node is gone".to_owned(),
                });
            }
            Some(LostChild::Silent) => return Err(SandboxError::NoReport("exit code 137".to_owned())),
            None => {}
        }
        if self.loses_image.swap(false, Ordering::SeqCst) {
            self.installed.lock().unwrap().clear();
            return Err(SandboxError::EnvironmentMissing(image.to_owned()));
        }
        self.runs.fetch_add(1, Ordering::SeqCst);
        if self.reports_nothing.load(Ordering::SeqCst) {
            return Ok(Progressing::Done(Report::nothing()));
        }
        if matches!(job.phases.first(), Some(Phase::Commands(_))) {
            self.command_inputs.lock().unwrap().push(job.inputs.len());
            self.asked.lock().unwrap().push(job.clone());
        }
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
                Phase::Program(program) => self.program(&with_inputs(program, job), hung(phase)),
                Phase::Commands(phase) => self.commands(phase),
            })
            .collect();
        Ok(Progressing::Done(Report {
            phases,
            seconds: self.seconds,
        }))
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

/// The program with what is mounted for it alone, as if it were laid out.
fn with_inputs(program: &ProgramPhase, job: &Job) -> ProgramPhase {
    let mut program = program.clone();
    let mounted = job.inputs.iter().flat_map(|input| &input.content);
    program.files.extend(mounted.cloned());
    program
}

fn name_of(phase: &Phase) -> String {
    match phase {
        Phase::Tests(tests) => format!("{:?}", tests.name),
        Phase::Program(program) => format!("{:?}", program.name),
        Phase::Commands(_) => "Commands".to_owned(),
    }
}
