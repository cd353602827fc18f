//! A turn as far as it goes without a sandbox: what its calls come to, and what is waited for.

use jiff::Timestamp;

use crate::Engine;
use crate::data::DataReader;
use codegen_core::accept::{
    AcceptedWorkspace, accept_workspace, packages_of_acceptance_tests, workspace_packages,
};
use codegen_core::agent::{
    AgentProgress, AgentSession, AgentStep, CallResult, Next, Pending, build_failed, doubtful, missing,
    reported_cases, test_result,
};
use codegen_core::progress::Progress;
use codegen_core::prompts::Material;
use codegen_core::sandbox::Packages;
use codegen_core::verdict::Verdict;
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::Sandbox;

/// A file of pytest that the tests do not load.
const FIXTURES: &str = "conftest.py";

/// Listed packages, and those that are needed.
type AcceptedPackages = (Packages, Packages);

/// State of a turn, and its next step.
pub(super) struct Move {
    pub step: AgentStep,
    pub next: Next,
    pub sources: Option<AcceptedWorkspace>,
    pub packages: Option<AcceptedPackages>,
    pub doubtful_cases: Vec<String>,
    /// Fault that nobody but the user can put right.
    pub users_fault: Option<String>,
}

impl Move {
    pub(super) const fn to(step: AgentStep, next: Next) -> Self {
        Self {
            step,
            next,
            sources: None,
            packages: None,
            doubtful_cases: Vec::new(),
            users_fault: None,
        }
    }
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Makes the calls of the turn up to one that needs a sandbox. Only decides.
    pub(super) fn drive(
        &self,
        progress: &Progress,
        material: &Material,
        session: &mut AgentSession,
        mut step: AgentStep,
    ) -> Move {
        let now = (self.clock)();
        let mut tested = test_times(progress);
        loop {
            let proceeded = session.proceed(now);
            step.results.extend(proceeded.results);
            if proceeded.pending.needs_packages()
                && let Some(why) = self.fault_of_acceptance_tests(progress, material, session)
            {
                return Move {
                    users_fault: Some(why),
                    ..Move::to(step, Next::Continue)
                };
            }
            let answer = match proceeded.pending {
                Pending::Turn => return Move::to(step, Next::Ask),
                Pending::Unfinished(note) => Answer::Note(note),
                Pending::Commands(commands) => match self.packages(progress, material, session) {
                    Ok(packages) => {
                        return Move {
                            packages: Some(packages),
                            ..Move::to(step, Next::Run)
                        };
                    }
                    Err(why) => Answer::Commands(commands.len(), why),
                },
                waits @ (Pending::Tests | Pending::Claim) => {
                    let is_claim = waits == Pending::Claim;
                    match self.tests(progress, material, session) {
                        Tests::Due(sources) => {
                            return Move {
                                sources: Some(*sources),
                                ..Move::to(step, Next::Test)
                            };
                        }
                        Tests::Doubtful(doubtful_cases) => {
                            return Move {
                                doubtful_cases,
                                ..Move::to(step, Next::Continue)
                            };
                        }
                        Tests::Passed(_) if is_claim => return Move::to(step, Next::Done),
                        Tests::Passed(told) => Answer::Tests(Ok(told)),
                        Tests::Failed(failed) => {
                            report(&failed, session, &mut step);
                            if is_claim {
                                Answer::Note(missing(&failed.message))
                            } else {
                                Answer::Tests(Err(failed.message))
                            }
                        }
                    }
                }
            };
            let times = tested.take_if(|_| matches!(answer, Answer::Tests(_)));
            answer.take(session, &mut step, times.unwrap_or((now, now)));
        }
    }

    /// Finds the reason for which nothing can run, where the user's acceptance tests import a package that cannot be installed.
    fn fault_of_acceptance_tests(
        &self,
        progress: &Progress,
        material: &Material,
        session: &AgentSession,
    ) -> Option<String> {
        let fault = progress.build.present_fault()?;
        let workspace = session.workspace();
        let theirs = packages_of_acceptance_tests(self.task, progress, material, workspace);
        let is_named = |name: &&String| words(&fault.message).any(|word| word == name.as_str());
        let name = theirs.iter().find(is_named)?;
        Some(format!(
            "spec.acceptanceTests imports a module of the package {name}, and that cannot be installed: {}. The acceptance tests are one \
             file, and no other of yours is beside it: put what they need into it, correct the name of the import, or use an index that has \
             the package (docs/packages.md).",
            fault.message.trim_end_matches('.')
        ))
    }

    /// Returns the packages that commands need, unless they cannot be had.
    fn packages(
        &self,
        progress: &Progress,
        material: &Material,
        session: &AgentSession,
    ) -> Result<AcceptedPackages, String> {
        let packages = workspace_packages(self.task, progress, material, session.workspace())?;
        fault_of(progress, &packages.1).map_or(Ok(packages), Err)
    }

    /// Returns the result of the tests of the files as they are, where they ran.
    fn tests(&self, progress: &Progress, material: &Material, session: &AgentSession) -> Tests {
        let sources = match accept_workspace(self.task, progress, material, session.workspace()) {
            Ok(sources) => sources,
            Err(why) => return Tests::Failed(Failed::of(why)),
        };
        if let Some(why) = fault_of(progress, &sources.wanted) {
            return Tests::Failed(Failed::of(why));
        }
        let agent = progress.agent.clone().unwrap_or_default();
        match &material.verdict {
            Some(verdict) if agent.tested.as_ref() == Some(&session.tested_state()) => {
                of_verdict(verdict, session, &agent)
            }
            _ => Tests::Due(Box::new(sources)),
        }
    }
}

/// Turns a verdict on the files as they are into a result of the tests.
fn of_verdict(verdict: &Verdict, session: &AgentSession, agent: &AgentProgress) -> Tests {
    let told = test_result(verdict, &agent.rechecked_cases, session.workspace().suite());
    if verdict.passed() {
        return Tests::Passed(told);
    }
    let cases = doubtful(verdict, session.reported_cases(), &agent.rechecked_cases);
    if !cases.is_empty() {
        return Tests::Doubtful(cases);
    }
    Tests::Failed(Failed {
        message: with_notes(told, session),
        is_refused: false,
        cases: reported_cases(verdict),
    })
}

/// Adds to the findings a note about the files that the tests do not read.
fn with_notes(told: String, session: &AgentSession) -> String {
    if session.workspace().get(FIXTURES).is_none() {
        return told;
    }
    format!("({FIXTURES} is not loaded: put its fixtures into the suite, which is one file.)\n{told}")
}

/// Result of the tests.
enum Tests {
    Passed(String),
    Failed(Failed),
    /// These cases are worked out again before the agent is told.
    Doubtful(Vec<String>),
    /// They did not run on these files yet.
    Due(Box<AcceptedWorkspace>),
}

/// Reason for which tests did not pass.
struct Failed {
    message: String,
    /// True where nothing ran.
    is_refused: bool,
    /// Cases that it is told of.
    cases: Vec<String>,
}

impl Failed {
    /// Nothing ran.
    const fn of(why: String) -> Self {
        Self {
            message: why,
            is_refused: true,
            cases: Vec::new(),
        }
    }
}

fn report(failed: &Failed, session: &mut AgentSession, step: &mut AgentStep) {
    session.report_cases(&failed.cases);
    step.reported_cases.extend(failed.cases.iter().cloned());
    step.not_tested = if failed.is_refused {
        failed.message.clone()
    } else {
        String::new()
    };
}

/// Answer to a request that is told at once.
enum Answer {
    Commands(usize, String),
    Tests(Result<String, String>),
    Note(String),
}

impl Answer {
    fn take(self, session: &mut AgentSession, step: &mut AgentStep, (began, ended): (Timestamp, Timestamp)) {
        let result = |result| CallResult {
            started_at: began,
            ..CallResult::at_once("Bash", result, ended)
        };
        match self {
            Self::Commands(count, why) => {
                for _ in 0..count {
                    let result = CallResult {
                        class: "Safe".to_owned(),
                        ..result(Err(why.clone()))
                    };
                    step.results.push(session.answer(result));
                }
            }
            Self::Tests(tests) => step.results.push(session.answer_tests(result(tests))),
            Self::Note(note) => {
                session.say(&note);
                step.note = note;
            }
        }
    }
}

/// The words of a message that may be names of packages.
fn words(message: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    message
        .split(move |c| !is_of_name(c))
        .map(|word| word.trim_matches('.'))
}

/// Returns the times at which the tests that the turn waited for began and ended.
fn test_times(progress: &Progress) -> Option<(Timestamp, Timestamp)> {
    let waited = progress
        .agent
        .as_ref()
        .is_some_and(|agent| agent.next == Next::Continue);
    let attempt = progress.attempts.last().filter(|_| waited)?;
    Some((attempt.started_at.as_ref()?.0, attempt.completed_at.as_ref()?.0))
}

/// Returns the reason for which packages cannot be installed, where that is known.
fn fault_of(progress: &Progress, wanted: &Packages) -> Option<String> {
    let fault = progress
        .build
        .fault
        .as_ref()
        .filter(|fault| fault.packages == *wanted)?;
    Some(build_failed(&fault.message))
}
