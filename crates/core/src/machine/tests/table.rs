//! The table against what `advance` does, and the diagram that is printed from it.

use std::fmt::Write as _;

use super::*;
use crate::agent::{Next, ToolCounts};
use crate::approval::awaited;
use crate::checks::Break;
use crate::python::near_misses::NearMissCounts;
use codegen_api::common::Backend;

/// A stage, what happened there, and the stage that followed.
type Step = (Stage, OutcomeKind, Stage);

const WALKS: u32 = 12_000;
const STEPS: u32 = 60;
const PACKAGES: [&[&str]; 3] = [&[], &["pandas"], &["pandas", "no-such-package"]];
const CHECKS: [CheckSource; 7] = [
    CheckSource::HeldCase,
    CheckSource::Test,
    CheckSource::Vacuity,
    CheckSource::Acceptance,
    CheckSource::Case,
    CheckSource::Rehearsal,
    CheckSource::Collection,
];

/// A task that goes on at random, in ways that an engine could bring about.
struct Random {
    numbers: fastrand::Rng,
    task: Task,
    progress: Progress,
    last: Option<OutcomeKind>,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut numbers = fastrand::Rng::with_seed(seed);
        let mut task = task();
        task.limits.max_iterations = if numbers.bool() {
            numbers.u32(1..4)
        } else {
            numbers.u32(2..30)
        };
        task.testing = if numbers.u8(..4) == 0 {
            TestingMode::Skip
        } else {
            TestingMode::Generate
        };
        if numbers.bool() {
            task.backend = Backend::Agent;
        }
        task.publish = numbers.bool().then(Publish::default);
        match numbers.u8(..4) {
            0 => task.approvals = [Gate::Plan, Gate::Packages, Gate::Image, Gate::Result].into(),
            1 => task.approvals = [Gate::Result].into(),
            _ => {}
        }
        if numbers.bool() {
            task.constraints = vec!["positive".into()];
        }
        Self {
            numbers,
            task,
            progress: start(),
            last: None,
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.numbers.usize(..all.len())]
    }

    /// One step; `None` where nothing can follow.
    fn step(&mut self) -> Option<Step> {
        let from = self.progress.stage;
        let build = &self.progress.build;
        let has_image = build.ready().is_some();
        let is_built = has_image || build.present_fault().is_some();
        let is_possible = |row: &&Transition| {
            let is_of_a_build = matches!(row.outcome, OutcomeKind::ImageReady | OutcomeKind::BuildFailed);
            let is_of_an_image = row.outcome == OutcomeKind::ImageLost;
            row.from.contains(&from) && !(is_built && is_of_a_build) && (has_image || !is_of_an_image)
        };
        let rows = TRANSITIONS.iter().filter(is_possible);
        let mut outcomes: Vec<OutcomeKind> = rows.map(|row| row.outcome).collect();
        outcomes.dedup();
        if outcomes.is_empty() {
            return None;
        }
        let mut outcome = self.one_of(&outcomes);
        // Only a limit that stopped it can be raised.
        if outcome == OutcomeKind::LimitRaised && self.progress.stopped_in.is_none() {
            outcome = OutcomeKind::Retried;
        }
        if outcome == OutcomeKind::Stopped && self.numbers.u8(..4) > 0 {
            outcome = outcomes[0];
        }
        // What ends a task for its third time comes three times.
        if let Some(last) = self
            .last
            .filter(|last| outcomes.contains(last) && self.numbers.bool())
        {
            outcome = last;
        }
        self.last = Some(outcome);
        let happened = self.outcome(outcome);
        self.progress = advance(&self.task, &self.progress, happened, at(1)).unwrap();
        Some((from, outcome, self.progress.stage))
    }

    fn samples_read(&mut self) -> Outcome {
        let mut outcome = samples();
        if let Outcome::SamplesRead(read) = &mut outcome {
            read.acceptance_is_apart = self.numbers.bool();
        }
        outcome
    }

    fn new_source(&mut self) -> NewSource {
        let packages = self.one_of(&PACKAGES);
        NewSource {
            document: document("d"),
            tree: self.numbers.u32(..).to_string(),
            declared: Packages::default(),
            wanted: pip(packages),
        }
    }

    fn agent_moved(&mut self) -> Outcome {
        let all = [Next::Ask, Next::Run, Next::Test, Next::Done, Next::Continue];
        let packages = pip(self.one_of(&PACKAGES));
        Outcome::AgentMoved(Box::new(AgentMoved {
            began: self.numbers.bool().then_some(1),
            steps: 1,
            counts: ToolCounts::default(),
            next: self.one_of(&all),
            packages: self.numbers.bool().then(|| (Packages::default(), packages)),
            sources: None,
            doubtful_cases: if self.numbers.u8(..8) == 0 {
                vec!["case 1 (ties)".to_owned()]
            } else {
                Vec::new()
            },
            not_tested: String::new(),
            users_fault: None,
            stuck: (self.numbers.u8(..8) == 0).then(|| "nothing changes".to_owned()),
        }))
    }

    fn verdict(&mut self) -> Verdict {
        let mut verdict = verdict(Vec::new());
        match self.numbers.u8(..8) {
            0 | 3 | 4 => {
                verdict.near_misses = (self.numbers.u8(..4) > 0).then(|| NearMissCounts {
                    total: 3,
                    ..NearMissCounts::default()
                });
            }
            1 => verdict.too_large.push(OutputTooLarge {
                output: "summary".into(),
                bytes: None,
            }),
            2 => verdict.failed = vec![failed(CheckSource::HeldCase, "case 3", "1")],
            _ => {
                let message = self.numbers.u32(..40).to_string();
                verdict.failed = vec![failed(self.one_of(&CHECKS), "t::a", &message)];
                if self.numbers.u8(..4) == 0 {
                    verdict.doubtful = vec![Break {
                        constraint: 0,
                        column: "quarter".into(),
                        output: "means".into(),
                    }];
                }
            }
        }
        verdict
    }

    fn diagnosed(&mut self) -> Outcome {
        let types = [ErrorType::Environment, ErrorType::Logic, ErrorType::TestError];
        let failures = (0..self.numbers.usize(1..3))
            .map(|_| {
                let check = failed(self.one_of(&CHECKS), "t::a", "1");
                let row = row(self.one_of(&types));
                diagnose(
                    &check,
                    row,
                    &self.progress.memory.tried,
                    self.task.limits.reclassify_after,
                )
            })
            .collect();
        Outcome::Diagnosed(Diagnosed {
            document: document("g"),
            diagnosis: Diagnosis { failures },
            declared: Packages::default(),
            wanted: self.new_source().wanted,
        })
    }

    fn revised(&mut self) -> Outcome {
        let mut outcome = revised(self.numbers.bool());
        if let Outcome::CasesRevised(revised) = &mut outcome {
            revised.was_held = self.numbers.bool();
        }
        outcome
    }

    fn decided(&mut self) -> Outcome {
        let asked = awaited(&self.task, &self.progress);
        let (gate, hash) = asked.map_or((Gate::Plan, String::new()), |asked| (asked.gate, asked.hash));
        Outcome::Decided(ApprovalStatus {
            gate,
            hash,
            decision: self.one_of(&[ApprovalDecision::Approve, ApprovalDecision::Reject]),
            ..decision()
        })
    }

    fn outcome(&mut self, kind: OutcomeKind) -> Outcome {
        match kind {
            OutcomeKind::AgentMoved => self.agent_moved(),
            OutcomeKind::SamplesRead => self.samples_read(),
            OutcomeKind::ConstraintsRead => Outcome::ConstraintsRead {
                checks: document("c"),
                constraints: Vec::new(),
            },
            OutcomeKind::Planned => planned(),
            OutcomeKind::CodeWritten => Outcome::CodeWritten(self.new_source()),
            OutcomeKind::TestsWritten => Outcome::TestsWritten(self.new_source()),
            OutcomeKind::ImageReady => Outcome::ImageReady(ImageReady {
                built: BuiltImage {
                    packages: self.progress.build.wanted.clone(),
                    ..image(&[])
                },
                lock: None,
                fresh: true,
            }),
            OutcomeKind::BuildFailed => Outcome::BuildFailed(BuildFailed {
                fault: BuildFault {
                    packages: self.progress.build.wanted.clone(),
                    message: "no such package".into(),
                },
                is_tried: true,
            }),
            OutcomeKind::ImageLost => Outcome::ImageLost,
            OutcomeKind::EnvironmentFixed => Outcome::EnvironmentFixed {
                replaced: Vec::new(),
                wanted: pip(&[&self.numbers.u32(..).to_string()]),
            },
            OutcomeKind::Tested => Outcome::Tested(Tested {
                record: document("r"),
                verdict: Box::new(self.verdict()),
                started_at: at(0),
            }),
            OutcomeKind::Diagnosed => self.diagnosed(),
            OutcomeKind::CasesRevised => self.revised(),
            OutcomeKind::ScopesDecided => Outcome::ScopesDecided(ScopesDecided {
                settled: BTreeSet::new(),
                changed: self.numbers.bool().then(|| (document("c2"), Vec::new())),
            }),
            OutcomeKind::CasesAdded => Outcome::CasesAdded {
                cases: (document("e2"), CaseEvidence::default()),
                lines: Vec::new(),
            },
            OutcomeKind::CodeFixed => Outcome::CodeFixed(self.new_source()),
            OutcomeKind::TestsFixed => Outcome::TestsFixed(self.new_source()),
            OutcomeKind::FixNotApplied => Outcome::FixNotApplied("as it was".into()),
            OutcomeKind::ReplyRejected => Outcome::ReplyRejected("no code".into()),
            OutcomeKind::Blocked => Outcome::Blocked(BlockedTask {
                category: Category::Infrastructure,
                message: String::new(),
                retry_at: at(1),
                lost_child: None,
                was_idle: false,
            }),
            OutcomeKind::Resumed => Outcome::Resumed,
            OutcomeKind::Decided => self.decided(),
            OutcomeKind::Accepted => {
                if self.progress.stage == Stage::Publishing {
                    self.task.publish = None;
                }
                Outcome::Accepted
            }
            OutcomeKind::Published => Outcome::Published(PublishedImage::default()),
            OutcomeKind::Stopped => Outcome::Stopped(Stop {
                reason: StopReason::BudgetExceeded,
                message: String::new(),
            }),
            OutcomeKind::LimitRaised => Outcome::LimitRaised,
            OutcomeKind::Retried => self.retried(),
        }
    }

    fn retried(&mut self) -> Outcome {
        Outcome::Retried(Retry {
            replan: self.numbers.bool(),
            hint: self
                .one_of(&[None, Some("the dates are day first"), Some(" ")])
                .map(str::to_owned),
        })
    }
}

/// Returns the steps that a row of the table allows.
fn steps(row: &Transition) -> Vec<Step> {
    let each = |from: &Stage| {
        let stays = row.stays.then_some((*from, row.outcome, *from));
        let moves = row.to.iter().map(|to| (*from, row.outcome, *to));
        moves.chain(stays).collect::<Vec<Step>>()
    };
    row.from.iter().flat_map(each).collect()
}

#[test]
fn the_table_has_the_steps_that_tasks_take_and_no_others() {
    let mut taken: BTreeSet<Step> = BTreeSet::new();
    for seed in 0..WALKS {
        let mut random = Random::new(seed.into());
        taken.extend((0..STEPS).map_while(|_| random.step()));
    }
    let listed: BTreeSet<Step> = TRANSITIONS.iter().flat_map(steps).collect();
    let never: Vec<&Step> = listed.difference(&taken).collect();
    let missing: Vec<&Step> = taken.difference(&listed).collect();
    assert!(never.is_empty(), "no task takes: {never:?}");
    assert!(missing.is_empty(), "the table lacks: {missing:?}");
}

/// The moves from stage to stage as a state diagram. What can happen in every stage stands beside it.
fn diagram() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> ReadingSamples\n");
    let is_everywhere =
        |row: &&Transition| row.from.len() == Stage::LIVE.len() || row.to.len() == Stage::LIVE.len();
    let moves = TRANSITIONS
        .iter()
        .filter(|row| !is_everywhere(row))
        .flat_map(steps);
    let mut labels: Vec<((Stage, Stage), Vec<&str>)> = Vec::new();
    for (from, outcome, to) in moves.filter(|(from, _, to)| from != to && *to != Stage::Failed) {
        let label = outcome.into();
        match labels.iter_mut().find(|(edge, _)| *edge == (from, to)) {
            Some((_, known)) => known.push(label),
            None => labels.push(((from, to), vec![label])),
        }
    }
    for ((from, to), labels) in labels {
        let _ = writeln!(text, "    {from} --> {to}: {}", labels.join(", "));
    }
    text.push_str("    Succeeded --> [*]\n```\n");
    text
}

#[test]
fn the_diagram_of_the_architecture_is_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = std::fs::read_to_string(path).unwrap();
    let diagram = diagram();
    assert!(
        page.contains(&diagram),
        "ARCHITECTURE.md lacks this diagram:\n{diagram}"
    );
}
