//! The state machine of a task, from top to bottom: what can happen (`Outcome`), where it can happen and where it leads
//! (`TRANSITIONS`), what is next (`decide`), and what follows from an outcome (`advance`). Stages: [`Stage`].
//!
//! Pure and total. What an outcome does to the progress in detail stands in `machine/effects.rs`.

use jiff::Timestamp;
use strum::{EnumDiscriminants, IntoStaticStr};

use codegen_api::approval::{ApprovalStatus, AwaitedApproval};
use codegen_api::status::{CaseEvidence, ConstraintStatus, PlanStatus};

use super::agent::Next;
use super::approval;
use super::budget;
use super::call::{CallKind, ReplyFault};
use super::package_policy::denial;
use super::progress::{Document, Progress, PublishedImage};
use super::publication;
use super::retry::Retry;
use super::sandbox::Packages;
use super::stage::{Stage, Stop};
use super::task::Task;

mod agent;
mod effects;
mod ends;
mod fixes;
mod outcome;
mod retry;

pub use effects::{MAX_FIX_TRIES, MAX_REJECTIONS};
pub use outcome::{
    AgentMoved, AgentSources, BlockedTask, BuildFailed, CasesRevised, Diagnosed, ImageReady, LostChild,
    NewSource, SamplesRead, ScopesDecided, Tested,
};

/// Outcome of a step.
#[derive(Clone, Debug, PartialEq, EnumDiscriminants)]
#[strum_discriminants(name(OutcomeKind), vis(pub), derive(Hash, PartialOrd, Ord, IntoStaticStr))]
pub enum Outcome {
    /// The samples were read.
    SamplesRead(SamplesRead),
    /// The constraints are checks now.
    ConstraintsRead {
        /// The checks.
        checks: Document,
        /// Status of each constraint.
        constraints: Vec<ConstraintStatus>,
    },
    /// There is a plan.
    Planned {
        /// The plan.
        plan: PlanStatus,
        /// Its cases; `None` where there are none.
        cases: Option<(Document, CaseEvidence)>,
    },
    /// There is a program.
    CodeWritten(NewSource),
    /// There is a suite.
    TestsWritten(NewSource),
    /// An agent's turn went on.
    AgentMoved(Box<AgentMoved>),
    /// There is an image.
    ImageReady(ImageReady),
    /// The image cannot be built for want of a package.
    BuildFailed(BuildFailed),
    /// The image that the tests should run in is gone; it is built again.
    ImageLost,
    /// Other packages took the place of those that cannot be installed.
    EnvironmentFixed {
        /// Replaced packages, each with its replacement.
        replaced: Vec<(String, String)>,
        /// Packages that are wanted now.
        wanted: Packages,
    },
    /// Tests and rehearsal were executed.
    Tested(Tested),
    /// The failures have a diagnosis.
    Diagnosed(Diagnosed),
    /// Cases that were blamed were worked out again.
    CasesRevised(CasesRevised),
    /// It is decided whether constraints that outputs break speak of them.
    ScopesDecided(ScopesDecided),
    /// There are further cases.
    CasesAdded {
        /// All cases from now on.
        cases: (Document, CaseEvidence),
        /// Each in one line, those that decide.
        lines: Vec<String>,
    },
    /// The program was changed, and every named function with it.
    CodeFixed(NewSource),
    /// The suite was changed, and every named test with it.
    TestsFixed(NewSource),
    /// A fix came back that changes nothing, or not what it should.
    FixNotApplied(ReplyFault),
    /// A reply cannot be used.
    ReplyRejected(ReplyFault),
    /// Something must change before the task can go on.
    Blocked(BlockedTask),
    /// A person says that the cause is gone.
    Resumed,
    /// A person decided at the gate that the task waits at.
    Decided(ApprovalStatus),
    /// The program passed, no gate is left, and it is not to be published.
    Accepted,
    /// The program is an image in a registry.
    Published(PublishedImage),
    /// A limit is spent.
    Stopped(Stop),
    /// The limit that stopped the task was raised.
    LimitRaised,
    /// Somebody asks for another try.
    Retried(Retry),
}

/// Stages in which an outcome can happen, and those to which it leads.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    /// The stages in which it can happen.
    pub from: &'static [Stage],
    /// The outcome.
    pub outcome: OutcomeKind,
    /// The stages that can follow.
    pub to: &'static [Stage],
    /// True where the task can also stay where it is.
    pub stays: bool,
}

/// Every transition, in the order in which a task takes them.
pub const TRANSITIONS: &[Transition] = {
    use OutcomeKind as On;
    use Stage as At;
    &[
        Transition::new(
            &[At::ReadingSamples],
            On::SamplesRead,
            &[At::ReadingConstraints, At::Planning],
        ),
        Transition::new(&[At::ReadingConstraints], On::ConstraintsRead, &[At::Planning]),
        Transition::new(&[At::Planning], On::Planned, &[At::GeneratingCode, At::Working]),
        Transition::new(
            &[At::Working],
            On::AgentMoved,
            &[
                At::AwaitingImage,
                At::RunningTests,
                At::RecheckingCases,
                At::Failed,
            ],
        )
        .or_stays(),
        Transition::new(&[At::Working], On::AgentMoved, PASSED),
        Transition::new(&[At::Working], On::ImageLost, &[At::AwaitingImage]),
        Transition::new(
            &[At::GeneratingCode],
            On::CodeWritten,
            &[At::GeneratingTests, At::AwaitingImage, At::RunningTests],
        ),
        Transition::new(
            &[At::GeneratingTests],
            On::TestsWritten,
            &[At::AwaitingImage, At::FixingEnvironment, At::RunningTests],
        ),
        // A suite that finds no fault is used as it is where none is better, and left out where others decide.
        Transition::new(
            &[At::GeneratingTests],
            On::ReplyRejected,
            &[At::AwaitingImage, At::FixingEnvironment, At::RunningTests],
        ),
        // While the suite is on its way, the image only has to be there when it arrives.
        Transition::new(&[At::GeneratingTests], On::ImageReady, &[]).or_stays(),
        Transition::new(&[At::GeneratingTests], On::BuildFailed, &[]).or_stays(),
        Transition::new(
            &[At::AwaitingImage],
            On::ImageReady,
            &[At::RunningTests, At::Working],
        ),
        Transition::new(
            &[At::AwaitingImage],
            On::BuildFailed,
            &[At::FixingEnvironment, At::Working, At::Failed],
        ),
        Transition::new(
            &[At::FixingEnvironment],
            On::EnvironmentFixed,
            &[At::AwaitingImage],
        ),
        Transition::new(&[At::RunningTests], On::ImageLost, &[At::AwaitingImage]),
        Transition::new(&[At::RunningTests], On::Tested, PASSED),
        Transition::new(
            &[At::RunningTests],
            On::Tested,
            &[
                At::RecheckingCases,
                At::RecheckingConstraints,
                At::ExtendingCases,
                At::Diagnosing,
                At::GeneratingTests,
                At::Working,
                At::Failed,
            ],
        )
        .or_stays(),
        Transition::new(
            &[At::Diagnosing],
            On::Diagnosed,
            &[At::RecheckingCases, At::FixingCode, At::FixingTests],
        ),
        Transition::new(&[At::Diagnosing], On::Diagnosed, AFTER_FIX),
        Transition::new(
            &[At::RecheckingCases],
            On::CasesRevised,
            &[
                At::Diagnosing,
                At::FixingCode,
                At::FixingTests,
                At::Working,
                At::Failed,
            ],
        ),
        Transition::new(&[At::RecheckingCases], On::CasesRevised, AFTER_FIX),
        Transition::new(
            &[At::RecheckingConstraints],
            On::ScopesDecided,
            &[At::Diagnosing, At::Working, At::RunningTests, At::Failed],
        ),
        // What cannot be decided holds.
        Transition::new(
            &[At::RecheckingConstraints],
            On::ReplyRejected,
            &[At::Diagnosing, At::Working],
        ),
        Transition::new(
            &[At::ExtendingCases],
            On::CasesAdded,
            &[At::RunningTests, At::Working],
        ),
        // A program that passed has passed, whatever its cases are worth.
        Transition::new(&[At::ExtendingCases], On::ReplyRejected, &[At::Working]),
        Transition::new(&[At::ExtendingCases], On::ReplyRejected, PASSED).or_stays(),
        Transition::new(&[At::ExtendingCases], On::Accepted, &[At::Working]),
        Transition::new(&[At::ExtendingCases], On::Accepted, PASSED),
        Transition::new(&[At::FixingCode], On::CodeFixed, &[At::FixingTests]),
        Transition::new(&[At::FixingCode], On::CodeFixed, AFTER_FIX),
        Transition::new(&[At::FixingTests], On::TestsFixed, AFTER_FIX),
        Transition::new(
            &[At::FixingCode],
            On::FixNotApplied,
            &[At::FixingTests, At::Failed],
        )
        .or_stays(),
        Transition::new(&[At::FixingCode, At::FixingTests], On::FixNotApplied, AFTER_FIX).or_stays(),
        Transition::new(&[At::FixingTests], On::FixNotApplied, &[At::Failed]),
        Transition::new(&[At::FixingCode], On::ReplyRejected, &[At::FixingTests]),
        Transition::new(&[At::FixingCode, At::FixingTests], On::ReplyRejected, AFTER_FIX),
        Transition::new(&Stage::CALLING, On::ReplyRejected, &[At::Failed]).or_stays(),
        Transition::new(&Stage::GATED, On::Decided, &[At::Failed]).or_stays(),
        Transition::new(&[At::Passed], On::Accepted, &[At::Publishing, At::Succeeded]),
        Transition::new(&[At::Publishing], On::Accepted, &[At::Succeeded]),
        Transition::new(&[At::Publishing], On::Published, &[At::Succeeded]),
        Transition::new(&[At::Succeeded], On::Published, &[]).or_stays(),
        Transition::new(Stage::WAITING, On::Blocked, &[]).or_stays(),
        Transition::new(Stage::WAITING, On::Resumed, &[]).or_stays(),
        Transition::new(Stage::LIVE, On::Stopped, &[At::Failed]),
        Transition::new(&[At::Failed], On::LimitRaised, Stage::LIVE),
        // What cannot be tried again says why, and stays where it is.
        Transition::new(&[At::Failed], On::Retried, Stage::LIVE).or_stays(),
        Transition::new(
            &[At::Succeeded],
            On::Retried,
            &[At::Planning, At::GeneratingCode, At::Working],
        )
        .or_stays(),
        Transition::new(Stage::LIVE, On::Retried, &[]).or_stays(),
    ]
};
/// To the tests where the image holds everything, to the builder where not.
const AFTER_FIX: &[Stage] = &[Stage::AwaitingImage, Stage::RunningTests];
/// Stages to which a program goes that passed everything.
const PASSED: &[Stage] = &[Stage::Passed, Stage::Publishing, Stage::Succeeded];

impl Transition {
    const fn new(from: &'static [Stage], outcome: OutcomeKind, to: &'static [Stage]) -> Self {
        let stays = false;
        Self {
            from,
            outcome,
            to,
            stays,
        }
    }

    const fn or_stays(self) -> Self {
        Self { stays: true, ..self }
    }

    fn of(outcome: OutcomeKind, stage: Stage) -> impl Iterator<Item = &'static Self> {
        let fits = move |row: &&Self| row.outcome == outcome && row.from.contains(&stage);
        TRANSITIONS.iter().filter(fits)
    }

    fn leads(&self, from: Stage, to: Stage) -> bool {
        self.to.contains(&to) || (self.stays && from == to)
    }
}

/// An outcome that cannot happen in a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outcome {outcome} cannot happen in stage {stage}; this is a bug of the operator, please report it")]
pub struct IllegalTransition {
    /// The stage.
    pub stage: Stage,
    /// The outcome.
    pub outcome: &'static str,
}

/// Next action of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Read the samples and write the data context.
    ReadSamples,
    /// Ask the model.
    Call(CallKind),
    /// Ask the model for the suite while the image builds.
    CallBesideBuild(CallKind),
    /// Run the commands of an agent's turn.
    RunCommands,
    /// Go on with an agent's turn, what it waited for being there.
    GoOn,
    /// Diagnose failing acceptance tests without a model.
    DiagnoseAcceptance,
    /// Build the image, or see how far it is.
    Build,
    /// Execute tests, vacuity check, rehearsal and acceptance tests.
    Test,
    /// Wait until a person has decided.
    AwaitApproval(AwaitedApproval),
    /// Push the program as an image.
    Publish,
    /// Call the task succeeded.
    Accept,
    /// End without success.
    Stop(Stop),
    /// Do nothing before this moment.
    Wait(Timestamp),
    /// Nothing follows.
    Finished,
}

/// Decides the next step. Total: every stage has an answer.
#[must_use]
pub fn decide(task: &Task, progress: &Progress, now: Timestamp) -> Decision {
    // What has ended goes no further by itself, but an image may be asked for afterwards.
    if progress.stage.is_terminal() && !publication::is_due(task.publish.as_ref(), progress) {
        return Decision::Finished;
    }
    // Before the limits: a task that waits for a person spends nothing, and must not end by a limit meanwhile.
    if let Some(asked) = approval::awaited(task, progress) {
        return Decision::AwaitApproval(asked);
    }
    if let Some(waiting) = &progress.waiting
        && !waiting.is_over(now)
    {
        return Decision::Wait(waiting.retry_at);
    }
    // What has passed costs nothing more.
    if !progress.stage.has_passed()
        && progress.stage != Stage::ExtendingCases
        && let Some(stop) = budget::exhausted(task, progress, now)
    {
        return Decision::Stop(stop);
    }
    // Before the suite is asked for: a denied package would make it worthless.
    let needs_image = matches!(progress.stage, Stage::GeneratingTests | Stage::AwaitingImage)
        && progress.build.ready().is_none();
    if needs_image && let Some(denial) = denial(task, progress) {
        return Decision::Stop(denial.stop());
    }
    match progress.stage {
        Stage::ReadingSamples => Decision::ReadSamples,
        Stage::ReadingConstraints => call(task, progress, CallKind::Constraints),
        Stage::Planning => call(task, progress, CallKind::Plan),
        Stage::Working => match progress
            .agent
            .as_ref()
            .map(|agent| agent.next)
            .unwrap_or_default()
        {
            Next::Ask => match agent::turns_exhausted(task, progress) {
                Some(stop) => Decision::Stop(stop),
                None => call(task, progress, CallKind::Turn),
            },
            Next::Run => Decision::RunCommands,
            Next::Test | Next::Continue | Next::Done => Decision::GoOn,
        },
        Stage::GeneratingCode => call(task, progress, CallKind::Code),
        Stage::GeneratingTests => {
            let decision = call(task, progress, CallKind::Tests);
            // The build runs while the model writes the suite, unless it would fail, is not paid for, or a person has to allow it first.
            let build = progress.build.ready().is_none()
                && progress.build.present_fault().is_none()
                && budget::allow_build(task, progress).is_ok()
                && approval::allows_build(task, progress);
            match decision {
                Decision::Call(kind) if build => Decision::CallBesideBuild(kind),
                other => other,
            }
        }
        Stage::AwaitingImage => match budget::allow_build(task, progress) {
            Ok(()) => Decision::Build,
            Err(stop) => Decision::Stop(stop),
        },
        Stage::RunningTests => Decision::Test,
        // A model may learn how many acceptance tests fail and nothing else, so there is nothing to ask it.
        Stage::Diagnosing if progress.memory.only_acceptance_fails => Decision::DiagnoseAcceptance,
        Stage::Diagnosing => call(task, progress, CallKind::Diagnosis),
        Stage::RecheckingCases => call(task, progress, CallKind::Cases),
        Stage::RecheckingConstraints => call(task, progress, CallKind::Scope),
        Stage::ExtendingCases => match budget::exhausted(task, progress, now) {
            None if budget::allow_another_call(task, progress).is_ok() => Decision::Call(CallKind::MoreCases),
            _ => Decision::Accept,
        },
        Stage::FixingEnvironment => call(task, progress, CallKind::FixEnvironment),
        Stage::FixingCode => call(task, progress, CallKind::FixCode),
        Stage::FixingTests => call(task, progress, CallKind::FixTests),
        Stage::Publishing if task.publish.is_some() => Decision::Publish,
        Stage::Succeeded if publication::is_due(task.publish.as_ref(), progress) => Decision::Publish,
        // Whoever takes `spec.publish` away while it waits wants the program without.
        Stage::Passed | Stage::Publishing => Decision::Accept,
        Stage::Succeeded | Stage::Failed => Decision::Finished,
    }
}

fn call(task: &Task, progress: &Progress, kind: CallKind) -> Decision {
    match budget::allow_another_call(task, progress) {
        Ok(()) => Decision::Call(kind),
        Err(stop) => Decision::Stop(stop),
    }
}

/// Returns the progress that follows from `outcome`. Pure and total.
pub fn advance(
    task: &Task,
    progress: &Progress,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Progress, IllegalTransition> {
    let stage = progress.stage;
    let kind = OutcomeKind::from(&outcome);
    // Refused before anything is changed: the caller still has the state as it was.
    if Transition::of(kind, stage).next().is_none() {
        return Err(IllegalTransition {
            stage,
            outcome: kind.into(),
        });
    }
    let mut next = progress.clone();
    // Whatever happened ended the wait; the outcomes that wait set it again.
    next.waiting = None;
    next.lost_children = 0;
    next.silent_ends = 0;
    match outcome {
        Outcome::SamplesRead(read) => next.take_samples(task, read),
        Outcome::ConstraintsRead { checks, constraints } => next.take_constraints(checks, constraints),
        Outcome::Planned { plan, cases } => next.take_plan(task, plan, cases),
        Outcome::AgentMoved(moved) => next.take_agent_move(task, *moved, now),
        Outcome::CodeWritten(source) => next.take_first_solution(task, source, now),
        Outcome::TestsWritten(source) => next.take_suite(source, now),
        Outcome::ImageReady(ready) => next.take_image(ready, now),
        Outcome::BuildFailed(failed) => next.take_fault(failed, now),
        Outcome::ImageLost => next.take_lost_image(now),
        Outcome::EnvironmentFixed { replaced, wanted } => next.take_environment(task, replaced, wanted, now),
        Outcome::Tested(tested) => next.take_verdict(task, tested, now),
        Outcome::Diagnosed(diagnosed) => next.take_diagnosis(diagnosed, now),
        Outcome::CasesRevised(revised) => next.take_revision(task, revised, now),
        Outcome::ScopesDecided(decided) => next.take_scopes(task, decided, now),
        Outcome::CasesAdded { cases, lines } => next.take_more_cases(cases, lines, now),
        Outcome::CodeFixed(source) => next.take_fixed_solution(source, now),
        Outcome::TestsFixed(source) => next.take_fixed_suite(source, now),
        Outcome::FixNotApplied(fault) => next.take_missed_fix(task, fault, now),
        Outcome::ReplyRejected(fault) => next.take_rejection(task, fault, now),
        Outcome::Blocked(blocked) => next.wait_after(progress, blocked, now),
        // A person who says that the cause is gone does not bring back children that were lost.
        Outcome::Resumed => {
            next.lost_children = progress.lost_children;
            next.silent_ends = progress.silent_ends;
        }
        Outcome::Decided(decision) => next.take_decision(task, decision, now),
        Outcome::Accepted if stage == Stage::ExtendingCases => next.leave_cases(task, now),
        Outcome::Accepted => next.accept(task, now),
        Outcome::Published(image) => next.take_published(image, now),
        Outcome::Stopped(stop) => next.end(stop, stage, now),
        Outcome::LimitRaised => next.go_on(),
        Outcome::Retried(retry) => next.take_retry(task, progress, retry, now),
    }
    // Last, so that no outcome can make a state that is too large for the status.
    next.bound();
    // The table is the documentation of the machine; a step that it lacks is found by the first test that takes it.
    debug_assert!(
        Transition::of(kind, stage).any(|row| row.leads(stage, next.stage)),
        "{kind:?} in stage {stage} leads to {}",
        next.stage
    );
    Ok(next)
}

#[cfg(test)]
mod tests;
