//! The status that users see, computed from the progress. One place, one struct literal.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::api::CodeGenTaskStatus;
use crate::api::conditions::{
    IMAGE_READY, ISOLATION_VERIFIED, PUBLISHED, READY, RECONCILING, STALLED, SUCCEEDED, reason,
};
use crate::api::status::{ArtifactRef, EvidenceStrength, TokenStatus};

use super::approval;
use super::evidence::{doubt, evidence};
use super::package_policy;
use super::progress::{Build, Progress, PublishedImage, WaitReason, Waiting};
use super::publication;
use super::stage::{Category, Stage, StopReason};
use super::task::Task;
use crate::api::common::TestingMode;

/// What holds a task that could go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// One word (`Queued`).
    pub reason: &'static str,
    /// What it waits for, and what to do where somebody must do something.
    pub message: String,
    /// Who ends it.
    pub until: Until,
}

/// Who ends a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It ends by itself.
    Room,
    /// A person must change something that is wrong.
    Mended,
    /// A person who wanted it so.
    Resumed,
}

/// What is known of how the cluster isolates what the task runs, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsolationShown {
    /// It was seen to.
    Verified(String),
    /// It does not, or need not.
    Refuted(String),
    /// It is not known yet.
    Awaited(String),
}

impl IsolationShown {
    /// What `conditions` say of it.
    #[must_use]
    pub fn said(conditions: &[Condition]) -> Option<Self> {
        let said = conditions.iter().find(|said| said.type_ == ISOLATION_VERIFIED)?;
        let message = said.message.clone();
        Some(match said.status.as_str() {
            "True" => Self::Verified(message),
            "False" => Self::Refuted(message),
            _ => Self::Awaited(message),
        })
    }
}

/// What is known of the object besides the state of its task.
#[derive(Clone, Debug, Default)]
pub struct Around<'a> {
    /// What was kept.
    pub artifacts: Vec<ArtifactRef>,
    /// Generation of the spec that is acted on.
    pub generation: Option<i64>,
    /// The conditions as they stood: a transition time moves only when its condition's status changes.
    pub before: &'a [Condition],
    /// What holds the task.
    pub hold: Option<&'a Hold>,
    /// What is known of the isolation; nothing locally, where every run finds out itself.
    pub isolation: Option<IsolationShown>,
}

/// A status with what holds its task. A task that has ended holds for another run of it, which has not started.
#[must_use]
pub fn held(
    before: CodeGenTaskStatus,
    generation: Option<i64>,
    hold: &Hold,
    now: Timestamp,
) -> CodeGenTaskStatus {
    let state = State::held(hold);
    let ends = [Stage::Succeeded, Stage::Failed].map(Stage::as_str);
    let mut conditions = state.conditions(generation, &before.conditions, now);
    let stamp = Stamp {
        generation,
        before: &before.conditions,
        now,
    };
    let old = |type_: &str| before.conditions.iter().find(|old| old.type_ == type_).cloned();
    conditions.extend(old(IMAGE_READY));
    let refuted = (hold.reason == reason::ISOLATION_NOT_ENFORCED)
        .then(|| stamp.isolation(&IsolationShown::Refuted(hold.message.clone())));
    conditions.extend(refuted.or_else(|| old(ISOLATION_VERIFIED)));
    CodeGenTaskStatus {
        observed_generation: generation,
        reason: Some(state.reason.to_owned()),
        message: Some(state.message.clone()),
        conditions,
        stage: before
            .stage
            .filter(|stage| !ends.contains(&stage.as_str()))
            .or_else(|| Some(PENDING.to_owned())),
        ..before
    }
}

/// The status of a task.
#[must_use]
pub fn status(task: &Task, progress: &Progress, around: Around<'_>, now: Timestamp) -> CodeGenTaskStatus {
    let Around {
        artifacts,
        generation,
        before,
        hold,
        isolation,
    } = around;
    let state = hold
        .filter(|_| !progress.stage.is_terminal())
        .map_or_else(|| State::of(task, progress), State::held);
    let tests = progress.attempts.last().and_then(|attempt| attempt.tests);
    let mut conditions = state.conditions(generation, before, now);
    let stamp = Stamp {
        generation,
        before,
        now,
    };
    conditions.push(stamp.image(&progress.build));
    conditions.extend(isolation.map(|shown| stamp.isolation(&shown)));
    conditions.extend(published(task, progress, &state).map(|shown| stamp.published(&shown)));
    let built = progress.build.built.clone().unwrap_or_default();
    CodeGenTaskStatus {
        observed_generation: generation,
        stage: Some(progress.stage.as_str().to_owned()),
        reason: Some(state.reason.to_owned()),
        message: Some(state.message.clone()),
        conditions,
        language: Some(task.language),
        plan: progress.plan.clone(),
        attempt: (progress.attempt > 0).then(|| int(progress.attempt)),
        attempts: progress.attempts.clone(),
        tests: tests.map(|counts| format!("{}/{}", counts.passed, counts.total)),
        image: progress.build.built.as_ref().map(|built| built.image.clone()),
        packages: if built.resolved.is_empty() {
            progress.build.wanted.pip.clone()
        } else {
            built.resolved
        },
        system_packages: progress.build.wanted.apt.clone(),
        package_warnings: package_warnings(task, progress),
        evidence: evidence(task, progress),
        rehearsal: progress.rehearsal.clone(),
        exit_code: progress.exit_code,
        last_error: progress.last_error.clone(),
        samples: progress.samples.clone(),
        constraints: progress.constraints.clone(),
        artifacts,
        tokens: TokenStatus::new(
            long(progress.spent.tokens.input),
            long(progress.spent.tokens.output),
        ),
        model_calls: int(progress.spent.model_calls),
        lost_calls: int(progress.spent.lost_calls),
        builds: int(progress.spent.builds),
        started_at: Some(Time(progress.started_at)),
        completed_at: progress.completed_at.map(Time),
        run: Some(progress.run.clone()),
        reuse_key: task.reuse_key(),
        adopted_from: progress.adopted_from.clone(),
        approval: approval::awaited(task, progress),
        approvals: progress.approvals.clone(),
        program_image: progress
            .published
            .as_ref()
            .map(|published| published.image.clone()),
        program_tag: progress.published.as_ref().map(|published| published.tag.clone()),
        ..CodeGenTaskStatus::default()
    }
}

fn package_warnings(task: &Task, progress: &Progress) -> Vec<String> {
    let built = progress.build.built.as_ref();
    let unlisted = built.and_then(|built| package_policy::unlisted(task, &built.image, &built.resolved));
    let doubts = package_policy::doubts(&progress.build.wanted);
    doubts.into_iter().chain(unlisted).collect()
}

/// The status of a task that has succeeded, for a spec from which follows no more than what is `shown` of its image.
#[must_use]
pub fn seen(
    before: CodeGenTaskStatus,
    generation: Option<i64>,
    shown: Option<&ImageShown>,
    now: Timestamp,
) -> CodeGenTaskStatus {
    let stamp = Stamp {
        generation,
        before: &before.conditions,
        now,
    };
    let shown = shown.map(|shown| stamp.published(shown));
    let others = before.conditions.iter().filter(|old| old.type_ != PUBLISHED);
    let mut conditions: Vec<Condition> = others
        .map(|old| Condition {
            observed_generation: generation,
            ..old.clone()
        })
        .collect();
    conditions.extend(shown);
    CodeGenTaskStatus {
        observed_generation: generation,
        conditions,
        ..before
    }
}

/// What is said of the image that the program is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageShown {
    is_there: bool,
    reason: &'static str,
    message: String,
}

impl ImageShown {
    /// It is in its registry.
    #[must_use]
    pub fn there(image: &PublishedImage) -> Self {
        Self {
            is_there: true,
            reason: reason::PUSHED,
            message: format!("the program is at {}", image.tag),
        }
    }

    /// It is on its way there.
    #[must_use]
    pub fn on_its_way() -> Self {
        Self {
            is_there: false,
            reason: reason::PROGRESSING,
            message: "the program is being published".to_owned(),
        }
    }

    /// Something keeps it.
    #[must_use]
    pub fn held(hold: &Hold) -> Self {
        Self {
            is_there: false,
            reason: hold.reason,
            message: hold.message.clone(),
        }
    }

    /// Whether `conditions` say the same.
    #[must_use]
    pub fn is_said_by(&self, conditions: &[Condition]) -> bool {
        let of_image = conditions.iter().find(|said| said.type_ == PUBLISHED);
        of_image.is_some_and(|said| {
            (said.status.as_str(), said.reason.as_str(), &said.message)
                == (self.value(), self.reason, &self.message)
        })
    }

    const fn value(&self) -> &'static str {
        if self.is_there { "True" } else { "False" }
    }
}

/// What is to be said of the program as an image, where one is asked for and the program has passed.
fn published(task: &Task, progress: &Progress, state: &State) -> Option<ImageShown> {
    task.publish.as_ref()?;
    match (progress.stage, &progress.published, &progress.waiting) {
        (Stage::Publishing, _, _) => Some(ImageShown {
            is_there: false,
            reason: state.reason,
            message: state.message.clone(),
        }),
        (Stage::Succeeded, Some(image), _) if publication::is_done(task.publish.as_ref(), progress) => {
            Some(ImageShown::there(image))
        }
        (Stage::Succeeded, _, Some(waiting)) => {
            let State { reason, message, .. } = State::waiting(waiting);
            Some(ImageShown {
                is_there: false,
                reason,
                message,
            })
        }
        (Stage::Succeeded, _, None) => Some(ImageShown::on_its_way()),
        _ => None,
    }
}

/// Stage of a task that has not started.
const PENDING: &str = "Pending";

struct State {
    reason: &'static str,
    message: String,
    kind: Kind,
}

/// What an object is in, as kstatus tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It goes on by itself.
    Working,
    /// A person must change something.
    WaitingForPerson,
    /// A person wants it to pause.
    Suspended,
    /// It ended well.
    Succeeded,
    /// It ended otherwise.
    Failed,
}

impl From<Until> for Kind {
    fn from(until: Until) -> Self {
        match until {
            Until::Room => Self::Working,
            Until::Mended => Self::WaitingForPerson,
            Until::Resumed => Self::Suspended,
        }
    }
}

/// The four conditions of an object; `before` are those that it has. All have the reason. The message is that of `Ready`, and of those that
/// somebody asks why of: a `Succeeded` that is false, a `Reconciling` or `Stalled` that is true.
#[must_use]
pub fn conditions(
    kind: Kind,
    (reason, message): (&str, &str),
    generation: Option<i64>,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let (ready, succeeded, reconciling, stalled) = match kind {
        Kind::Working => ("False", "Unknown", "True", "False"),
        Kind::WaitingForPerson => ("False", "Unknown", "False", "True"),
        Kind::Suspended => ("False", "Unknown", "False", "False"),
        Kind::Succeeded => ("True", "True", "False", "False"),
        Kind::Failed => ("False", "False", "False", "True"),
    };
    let stamp = Stamp {
        generation,
        before,
        now,
    };
    [
        (READY, ready),
        (SUCCEEDED, succeeded),
        (RECONCILING, reconciling),
        (STALLED, stalled),
    ]
    .into_iter()
    .map(|(type_, status)| {
        let is_asked_why = match type_ {
            RECONCILING | STALLED => status == "True",
            SUCCEEDED => status == "False",
            _ => true,
        };
        stamp.condition(type_, status, reason, if is_asked_why { message } else { "" })
    })
    .collect()
}

impl State {
    fn held(hold: &Hold) -> Self {
        Self {
            reason: hold.reason,
            message: hold.message.clone(),
            kind: hold.until.into(),
        }
    }

    fn of(task: &Task, progress: &Progress) -> Self {
        if let Some(asked) = approval::awaited(task, progress) {
            return Self {
                reason: reason::AWAITING_APPROVAL,
                message: approval::message(task, &asked),
                kind: Kind::WaitingForPerson,
            };
        }
        match (progress.stage, &progress.stop, &progress.waiting) {
            (Stage::Succeeded, _, _) => Self::succeeded(task, progress),
            (Stage::Failed, Some(stop), _) => Self {
                reason: stop_reason(stop.reason),
                message: stop.message.clone(),
                kind: Kind::Failed,
            },
            (_, _, Some(waiting)) => Self::waiting(waiting),
            (stage, _, None) => Self {
                reason: reason::PROGRESSING,
                message: format!("stage {stage}, attempt {}", progress.attempt.max(1)),
                kind: Kind::Working,
            },
        }
    }

    fn succeeded(task: &Task, progress: &Progress) -> Self {
        let attempt = progress.attempts.last();
        let summary = attempt
            .and_then(|attempt| attempt.summary.clone())
            .unwrap_or_default();
        let strength = evidence(task, progress).map(|evidence| evidence.strength);
        let is_proved = strength == Some(EvidenceStrength::Independent);
        Self {
            reason: match task.testing {
                _ if !is_proved => reason::UNVERIFIED,
                TestingMode::Generate => reason::TESTS_PASSED,
                TestingMode::Skip => reason::TESTS_SKIPPED,
            },
            message: if is_proved {
                summary
            } else {
                format!("{summary}; {}", doubt(progress))
            },
            kind: Kind::Succeeded,
        }
    }

    fn waiting(waiting: &Waiting) -> Self {
        let message = waiting.message.clone();
        match waiting.category {
            Category::Configuration => Self {
                reason: match waiting.reason {
                    Some(WaitReason::OutputTooLarge) => reason::OUTPUT_TOO_LARGE,
                    None => reason::CONFIGURATION,
                },
                message,
                kind: Kind::WaitingForPerson,
            },
            Category::Infrastructure => Self {
                reason: reason::INFRASTRUCTURE,
                message,
                kind: Kind::Working,
            },
        }
    }

    fn conditions(&self, generation: Option<i64>, before: &[Condition], now: Timestamp) -> Vec<Condition> {
        let said = (self.reason, self.message.as_str());
        conditions(self.kind, said, generation, before, now)
    }
}

/// What all conditions of one status share.
#[derive(Clone, Copy)]
struct Stamp<'a> {
    generation: Option<i64>,
    before: &'a [Condition],
    now: Timestamp,
}

impl Stamp<'_> {
    fn condition(&self, type_: &str, status: &str, reason: &str, message: &str) -> Condition {
        let unchanged = self
            .before
            .iter()
            .find(|old| old.type_ == type_ && old.status == status);
        Condition {
            type_: type_.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: self.generation,
            last_transition_time: unchanged.map_or(Time(self.now), |old| old.last_transition_time.clone()),
        }
    }

    fn isolation(&self, shown: &IsolationShown) -> Condition {
        let (status, reason, message) = match shown {
            IsolationShown::Verified(message) => ("True", reason::ISOLATED, message),
            IsolationShown::Refuted(message) => ("False", reason::ISOLATION_NOT_ENFORCED, message),
            IsolationShown::Awaited(message) => ("Unknown", reason::ISOLATION_AWAITED, message),
        };
        self.condition(ISOLATION_VERIFIED, status, reason, message)
    }

    fn published(&self, shown: &ImageShown) -> Condition {
        self.condition(PUBLISHED, shown.value(), shown.reason, &shown.message)
    }

    fn image(&self, wanted: &Build) -> Condition {
        match (wanted.ready(), wanted.present_fault()) {
            (Some(_), _) => self.condition(
                IMAGE_READY,
                "True",
                reason::IMAGE_FOUND,
                "the image holds every package that is needed",
            ),
            (None, Some(fault)) => {
                self.condition(IMAGE_READY, "False", reason::PACKAGE_UNAVAILABLE, &fault.message)
            }
            (None, None) => self.condition(
                IMAGE_READY,
                "Unknown",
                reason::IMAGE_AWAITED,
                "the image is made when the program is written",
            ),
        }
    }
}

const fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::IterationsExhausted => reason::ITERATIONS_EXHAUSTED,
        StopReason::BudgetExceeded => reason::BUDGET_EXCEEDED,
        StopReason::NoProgress => reason::NO_PROGRESS,
        StopReason::InvalidReply => reason::INVALID_REPLY,
        StopReason::Rejected => reason::REJECTED,
        StopReason::PolicyDenied => reason::POLICY_DENIED,
    }
}

fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::status::{AttemptStatus, TestCounts};
    use crate::pipeline::machine::{Outcome, advance};
    use crate::pipeline::stage::Stop;
    use crate::pipeline::test_support::{at, start, task};

    fn condition<'a>(status: &'a CodeGenTaskStatus, type_: &str) -> &'a str {
        &status
            .conditions
            .iter()
            .find(|condition| condition.type_ == type_)
            .unwrap()
            .status
    }

    fn message<'a>(status: &'a CodeGenTaskStatus, type_: &str) -> &'a str {
        let mut conditions = status.conditions.iter();
        &conditions.find(|found| found.type_ == type_).unwrap().message
    }

    fn shown(progress: &Progress) -> CodeGenTaskStatus {
        let around = Around {
            generation: Some(2),
            ..Around::default()
        };
        status(&task(), progress, around, at(5))
    }

    fn waiting(category: Category) -> Progress {
        let mut progress = start();
        progress.waiting = Some(Waiting {
            category,
            message: "secret openai is missing".into(),
            times: 1,
            retry_at: at(9),
            reason: None,
        });
        progress
    }

    fn ended(stage: Stage) -> Progress {
        let mut progress = start();
        progress.stage = stage;
        progress.stop = Some(Stop {
            reason: StopReason::NoProgress,
            message: "m".into(),
        });
        progress
    }

    #[rstest]
    #[case::working(start(), ["False", "Unknown", "True", "False"], "Progressing")]
    #[case::infrastructure(waiting(Category::Infrastructure), ["False", "Unknown", "True", "False"], "Infrastructure")]
    #[case::configuration(waiting(Category::Configuration), ["False", "Unknown", "False", "True"], "Configuration")]
    #[case::succeeded(ended(Stage::Succeeded), ["True", "True", "False", "False"], "Unverified")]
    #[case::failed(ended(Stage::Failed), ["False", "False", "False", "True"], "NoProgress")]
    fn the_four_conditions_follow_from_the_progress(
        #[case] progress: Progress,
        #[case] expected: [&str; 4],
        #[case] reason: &str,
    ) {
        let status = shown(&progress);
        let found =
            [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| condition(&status, type_).to_owned());
        assert_eq!(found, expected);
        assert_eq!(status.reason.as_deref(), Some(reason));
        assert!(status.conditions.iter().all(|c| c.observed_generation == Some(2)));
    }

    #[test]
    fn a_program_that_only_its_own_suite_speaks_for_is_not_said_to_have_passed_tests() {
        let mut progress = ended(Stage::Succeeded);
        let suite = TestCounts {
            total: 2,
            passed: 2,
            ..TestCounts::default()
        };
        progress.attempts = vec![AttemptStatus {
            tests: Some(suite),
            ..AttemptStatus::default()
        }];
        let unproved = shown(&progress);
        assert_eq!(unproved.reason.as_deref(), Some("Unverified"));
        assert!(unproved.message.unwrap().contains("spec.examples"));
        progress.attempts[0].acceptance_tests = Some(suite);
        assert_eq!(shown(&progress).reason.as_deref(), Some("TestsPassed"));
    }

    #[test]
    fn the_image_has_a_condition_of_its_own() {
        let image = |progress: &Progress| condition(&shown(progress), IMAGE_READY).to_owned();
        let mut progress = start();
        assert_eq!(image(&progress), "Unknown");
        progress.build.built = Some(crate::pipeline::test_support::image(&["pandas"]));
        assert_eq!(image(&progress), "True");
        progress.build.wanted.pip = vec!["pandas-typo".into()];
        progress.build.fault = Some(crate::pipeline::progress::BuildFault {
            packages: progress.build.wanted.clone(),
            message: "no such package".into(),
        });
        assert_eq!(image(&progress), "False");
    }

    #[test]
    fn a_transition_time_moves_only_when_the_status_of_its_condition_does() {
        let first = shown(&start());
        let around = Around {
            before: &first.conditions,
            ..Around::default()
        };
        let later = status(&task(), &ended(Stage::Failed), around, at(90));
        let time = |status: &CodeGenTaskStatus, type_: &str| {
            status
                .conditions
                .iter()
                .find(|c| c.type_ == type_)
                .unwrap()
                .last_transition_time
                .0
        };
        assert_eq!(time(&later, READY), at(5), "False before and after");
        assert_eq!(time(&later, STALLED), at(90));
    }

    #[rstest]
    #[case::queued(Until::Room, ["False", "Unknown", "True", "False"])]
    #[case::misconfigured(Until::Mended, ["False", "Unknown", "False", "True"])]
    #[case::suspended(Until::Resumed, ["False", "Unknown", "False", "False"])]
    fn what_holds_a_task_stands_in_its_conditions(#[case] until: Until, #[case] expected: [&str; 4]) {
        let hold = Hold {
            reason: "Queued",
            message: "1 of 1 tasks run".into(),
            until,
        };
        let around = Around {
            hold: Some(&hold),
            ..Around::default()
        };
        let running = status(&task(), &start(), around.clone(), at(5));
        let new = held(CodeGenTaskStatus::default(), Some(1), &hold, at(5));
        for status in [&running, &new] {
            let found =
                [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| condition(status, type_).to_owned());
            assert_eq!(found, expected);
            assert_eq!(status.message.as_deref(), Some("1 of 1 tasks run"));
            assert_eq!(message(status, READY), "1 of 1 tasks run");
        }
        assert_eq!(new.stage.as_deref(), Some("Pending"));
        let done = status(&task(), &ended(Stage::Failed), around, at(5));
        assert_eq!(done.reason.as_deref(), Some("NoProgress"), "an end is an end");
    }

    #[test]
    fn a_task_that_is_held_for_want_of_isolation_says_no_more_that_it_was_seen() {
        let around = Around {
            isolation: Some(IsolationShown::Verified("kept from: API server".into())),
            ..Around::default()
        };
        let shown = status(&task(), &start(), around, at(5));
        assert_eq!(condition(&shown, ISOLATION_VERIFIED), "True");
        let hold = |reason| Hold {
            reason,
            message: "reached API server".into(),
            until: Until::Mended,
        };
        let other = held(shown.clone(), Some(1), &hold(reason::CONFIGURATION), at(9));
        assert_eq!(condition(&other, ISOLATION_VERIFIED), "True");
        let open = held(shown, Some(1), &hold(reason::ISOLATION_NOT_ENFORCED), at(9));
        assert_eq!(condition(&open, ISOLATION_VERIFIED), "False");
    }

    #[test]
    fn the_worst_case_stays_below_thirty_two_kibibytes() {
        use crate::api::status::{AttemptStatus, ErrorType, FailureDiagnosis};
        let mut progress = start();
        let long = "ü".repeat(300);
        let diagnosis = FailureDiagnosis {
            test: long.clone(),
            error: long.clone(),
            expected: long.clone(),
            actual: long.clone(),
            root_cause: long.clone(),
            suggested_fix: long.clone(),
            error_type: ErrorType::TestError,
            reclassified_from: Some(ErrorType::Logic),
        };
        for number in 1..=10 {
            progress.attempts.push(AttemptStatus {
                number,
                summary: Some("s".repeat(300)),
                ..Default::default()
            });
        }
        progress.present_diagnosis(vec![diagnosis; 5]);
        let bytes = serde_json::to_vec(&shown(&progress)).unwrap().len();
        assert!(bytes <= 32 * 1024, "{bytes}");
    }

    #[test]
    fn a_run_that_is_stopped_says_why_in_the_conditions_that_are_asked() {
        let stop = Stop {
            reason: StopReason::BudgetExceeded,
            message: "limits.maxTokens: spent".into(),
        };
        let stopped = advance(&task(), &start(), Outcome::Stopped(stop), at(3)).unwrap();
        let status = shown(&stopped);
        assert!(
            status.conditions[..4]
                .iter()
                .all(|c| c.reason == "BudgetExceeded")
        );
        for type_ in [READY, SUCCEEDED, STALLED] {
            assert_eq!(message(&status, type_), "limits.maxTokens: spent", "{type_}");
        }
        assert_eq!(message(&status, RECONCILING), "", "nobody asks it why");
    }

    #[test]
    fn a_message_stands_where_kstatus_looks_for_it() {
        let waits = |progress: &Progress| {
            let status = shown(progress);
            [READY, SUCCEEDED, RECONCILING, STALLED].map(|type_| !message(&status, type_).is_empty())
        };
        assert_eq!(waits(&start()), [true, false, true, false], "InProgress");
        assert_eq!(
            waits(&waiting(Category::Configuration)),
            [true, false, false, true],
            "Failed"
        );
        assert_eq!(
            waits(&ended(Stage::Succeeded)),
            [true, false, false, false],
            "Current"
        );
        assert_eq!(waits(&ended(Stage::Failed)), [true, true, false, true], "Failed");
    }
}
