//! Active time: how long a task or question has worked, and not waited, queued, been suspended or ended.
//!
//! It goes on between the steps, while Pods and builds run, and is written down with every step. What is not written down yet
//! follows from the moment of the last writing. Clocks may be set and operators may be away in between, so a gap counts for no
//! more than [`LONGEST_GAP`], and backwards for nothing. How long a step itself took is measured by a clock that nobody sets.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::progress::Progress;
use super::task::Task;

/// The most that counts of the time between two writings. A running task is recorded more often than that.
pub const LONGEST_GAP: SignedDuration = SignedDuration::from_mins(10);

/// Seconds of active time up to `now`: those that are written down, and those since the last writing where it is active.
#[must_use]
pub fn active_seconds(written: f64, active_since: Option<Timestamp>, now: Timestamp) -> f64 {
    let gap = active_since.map(|since| now.duration_since(since));
    // A clock that was set back counts nothing, and the time while no operator ran counts ten minutes at most.
    let gap = gap.map(|gap| gap.clamp(SignedDuration::ZERO, LONGEST_GAP));
    written + gap.map_or(0.0, |gap| gap.as_secs_f64())
}

impl Progress {
    /// Seconds of active time up to `now`.
    #[must_use]
    pub fn active_seconds(&self, now: Timestamp) -> f64 {
        active_seconds(self.spent.active_seconds, self.active_since, now)
    }

    /// Counts the time up to `now`; from then on the task is active.
    pub fn go_on_at(&mut self, now: Timestamp) {
        self.spent.active_seconds = self.active_seconds(now);
        self.active_since = Some(now);
    }

    /// Counts the time up to `now`; from then on the task is not active.
    pub fn pause_at(&mut self, now: Timestamp) {
        self.go_on_at(now);
        self.active_since = None;
    }

    /// Counts a step of which `self` is the result, and which took so long.
    pub fn count_step(&mut self, started: Timestamp, took: Duration, now: Timestamp) {
        self.pause_at(started);
        self.spent.active_seconds += took.as_secs_f64();
        let is_active = !self.stage.is_terminal() && self.waiting.is_none();
        self.active_since = is_active.then_some(now);
    }

    /// Reports whether so much time is not written down that it should be.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let half = LONGEST_GAP / 2;
        self.active_since
            .is_none_or(|since| now.duration_since(since).abs() >= half)
    }
}

/// Seconds of active time that are left; 0 where none is.
#[must_use]
pub fn seconds_left(task: &Task, progress: &Progress, now: Timestamp) -> f64 {
    (task.limits.deadline_seconds - progress.active_seconds(now)).max(0.0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::machine::{Decision, decide};
    use crate::progress::Waiting;
    use crate::stage::{Category, Stage};
    use crate::test_support::{at, start, task};

    /// A minute of active time, written down at second 100.
    fn running() -> Progress {
        let mut progress = start();
        progress.stage = Stage::RunningTests;
        progress.spent.active_seconds = 60.0;
        progress.active_since = Some(at(100));
        progress
    }

    #[rstest]
    #[case::at_once(100, 60.0)]
    #[case::while_a_pod_runs(130, 90.0)]
    #[case::a_clock_that_was_set_back(40, 60.0)]
    #[case::a_clock_that_was_set_an_hour_ahead(3_730, 660.0)]
    #[case::an_operator_that_was_away_for_a_day(86_500, 660.0)]
    fn time_between_two_passes_counts_within_limits(#[case] now: i64, #[case] expected: f64) {
        assert!((running().active_seconds(at(now)) - expected).abs() < 1e-9);
        let mut counted = running();
        counted.go_on_at(at(now));
        assert_eq!(counted.active_since, Some(at(now)));
        assert!((counted.active_seconds(at(now + 5)) - expected - 5.0).abs() < 1e-9);
    }

    #[test]
    fn time_in_which_the_task_is_held_does_not_count() {
        let mut progress = running();
        progress.pause_at(at(110));
        assert!((progress.active_seconds(at(900)) - 70.0).abs() < 1e-9);
        progress.go_on_at(at(900));
        assert!((progress.active_seconds(at(905)) - 75.0).abs() < 1e-9);
    }

    #[rstest]
    #[case::active(Stage::Diagnosing, None, 1_300, Some(at(1_300)))]
    #[case::ended(Stage::Failed, None, 1_300, None)]
    #[case::waiting(Stage::Diagnosing, Some(Category::Infrastructure), 1_300, None)]
    #[case::a_clock_that_was_set_an_hour_ahead(Stage::Diagnosing, None, 4_900, Some(at(4_900)))]
    #[case::a_clock_that_was_set_back(Stage::Diagnosing, None, 40, Some(at(40)))]
    fn a_step_counts_in_full_and_what_follows_only_where_the_task_goes_on(
        #[case] stage: Stage,
        #[case] waits: Option<Category>,
        #[case] now: i64,
        #[case] since: Option<Timestamp>,
    ) {
        let mut progress = running();
        progress.stage = stage;
        progress.waiting = waits.map(|category| Waiting {
            category,
            message: "m".into(),
            times: 1,
            retry_at: at(2_000),
            since: Some(at(8)),
            reason: None,
        });
        progress.count_step(at(105), Duration::from_secs(1_195), at(now));
        assert!((progress.spent.active_seconds - 60.0 - 5.0 - 1_195.0).abs() < 1e-9);
        assert_eq!(progress.active_since, since);
    }

    #[rstest]
    #[case::before(139, None)]
    #[case::at_the_deadline(140, Some("limits.deadline: 100 s of 100 s of active time are spent"))]
    fn the_deadline_ends_a_task_of_which_nothing_is_heard(#[case] now: i64, #[case] expected: Option<&str>) {
        let mut task = task();
        task.limits.deadline_seconds = 100.0;
        // What has passed is not ended by a limit, whatever its cases are worth.
        let passed = |stage: &&Stage| stage.has_passed() || **stage == Stage::ExtendingCases;
        for stage in Stage::LIVE.iter().filter(|stage| !passed(stage)) {
            let progress = Progress {
                stage: *stage,
                ..running()
            };
            let told = match decide(&task, &progress, at(now)) {
                Decision::Stop(stop) => Some(stop.message),
                _ => None,
            };
            assert_eq!(told.is_some(), expected.is_some(), "{stage}");
            assert!(told.unwrap_or_default().starts_with(expected.unwrap_or_default()));
        }
        let left = seconds_left(&task, &running(), at(now));
        assert!((left - f64::from(i32::try_from(140 - now).unwrap())).abs() < 1e-9);
    }

    #[test]
    fn time_that_is_unrecorded_for_long_is_overdue() {
        assert!(!running().is_overdue(at(200)));
        assert!(running().is_overdue(at(400)));
        assert!(running().is_overdue(at(-300)), "a clock that was set back");
        let mut held = running();
        held.pause_at(at(110));
        assert!(held.is_overdue(at(110)), "a task that goes on must say so");
    }
}
