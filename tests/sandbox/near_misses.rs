//! Wrong programs by somebody who has read how cases and near misses prove a program, each kind of task with four chosen cases, two easy
//! ones, and three further ones under the words that ask for them. What passes all the same stands in `wrong/passed.yaml` with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use codegen_api::CodeGenTask;
use codegen_api::case::Case;
use codegen_core::cases::{
    CaseExecution, CaseSet, Forms, count_near_misses, executions, extended, judge, planned,
};
use codegen_core::python::Module;
use codegen_core::python::near_misses::{Mistake, NearMiss, NearMissCounts, near_misses};
use codegen_core::sandbox::PhaseReport;
use codegen_core::task::{FrozenFiles, Task, resolve};
use futures::StreamExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::support::{job, run};

/// Words of each call for further cases, besides those that the near misses show to be missing.
const RULES: &str = "what the task says and no case shows";

/// A kind of task that people have.
#[derive(Deserialize)]
struct Kind {
    spec: serde_json::Value,
    /// Four cases that tell.
    chosen: Vec<Case>,
    /// Two with nothing special in them.
    easy: Vec<Case>,
    /// Answers of a call that sees no program, under the words that ask for it. [`RULES`] is asked for each time.
    further: Vec<Further>,
}

#[derive(Deserialize)]
struct Further {
    words: BTreeSet<String>,
    case: Case,
}

/// A kind with its right program and its wrong ones, each with what is wrong.
struct Exercise {
    name: String,
    task: Task,
    kind: Kind,
    right: String,
    wrong: Vec<(String, String)>,
}

/// Wrong programs that pass all the same, each with the reason.
#[derive(Deserialize)]
struct Passed {
    /// All four chosen cases.
    chosen: BTreeMap<String, String>,
    /// Easy cases, and is not called weak.
    easy: BTreeMap<String, String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/wrong")
}

fn text(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml<T: DeserializeOwned>(name: &str) -> T {
    serde_saphyr::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn all() -> Vec<Exercise> {
    ["orders", "words", "visits", "join", "grades", "stock", "requests"]
        .map(exercise)
        .into()
}

fn exercise(name: &str) -> Exercise {
    let kind: Kind = yaml(&format!("{name}.yaml"));
    let spec = serde_json::from_value(kind.spec.clone()).unwrap();
    let right = text(&format!("{name}.py"));
    Exercise {
        name: name.to_owned(),
        task: resolve(&CodeGenTask::new(name, spec), None, FrozenFiles::default()).unwrap(),
        wrong: wrong(&text(&format!("{name}.txt")), &right),
        kind,
        right,
    }
}

/// A mistake in a right program: what is wrong, and places with the lines that stand there instead.
struct Edits<'a> {
    about: &'a str,
    places: Vec<(&'a str, Vec<&'a str>)>,
}

/// Wrong versions of a right program, each with what is wrong.
fn wrong(edits: &str, right: &str) -> Vec<(String, String)> {
    let mut mistakes: Vec<Edits> = Vec::new();
    for line in edits.lines() {
        if let Some(place) = line.strip_prefix("< ") {
            assert!(right.contains(place), "{place}");
            mistakes.last_mut().unwrap().places.push((place, Vec::new()));
        } else if let Some(after) = line.strip_prefix('>') {
            let (_, lines) = mistakes.last_mut().unwrap().places.last_mut().unwrap();
            lines.push(after.strip_prefix(' ').unwrap_or_default());
        } else {
            let places = Vec::new();
            mistakes.push(Edits { about: line, places });
        }
    }
    let changed = |mistake: &Edits| {
        let program = (mistake.places.iter()).fold(right.to_owned(), |program, (place, lines)| {
            program.replace(place, &lines.join("\n"))
        });
        (mistake.about.to_owned(), program)
    };
    mistakes.iter().map(changed).collect()
}

impl Exercise {
    fn cases(&self, cases: &[Case]) -> CaseSet {
        let set = planned(&self.task, cases.to_vec(), Vec::new(), &Forms::new());
        assert_eq!(set.unusable, [""; 0], "{}", self.name);
        assert_eq!(set.cases.len(), cases.len(), "{}", self.name);
        assert!(!set.evidence(&self.task).vacuous, "{}", self.name);
        set
    }

    /// The easy cases with those that are answered to these words.
    fn extended(&self, unseen: &[String]) -> CaseSet {
        let easy = self.cases(&self.kind.easy);
        let answers = |further: &&Further| {
            let words = &further.words;
            words.contains(RULES) || unseen.iter().any(|word| words.contains(word))
        };
        let answered = self.kind.further.iter().filter(answers);
        let cases = answered.map(|further| further.case.clone()).collect();
        let set = extended(&self.task, easy, cases, &Forms::new());
        assert_eq!(set.unusable, [""; 0], "{}", self.name);
        set
    }

    /// Reports of the programs on these cases, each program's one after another.
    async fn reports(&self, runs: &[CaseExecution], programs: &[&str]) -> Vec<PhaseReport> {
        let of = |program: &&str| {
            let phases = runs
                .iter()
                .map(|run| run.phase(&self.task, &Forms::new(), program));
            phases.collect::<Vec<_>>()
        };
        run(&job(programs.iter().flat_map(of).collect())).await.phases
    }

    /// Failures of these cases.
    async fn failures(&self, program: &str, set: &CaseSet) -> Vec<String> {
        let runs = executions(&self.task, set);
        let reports = self.reports(&runs, &[program]).await;
        let judged = judge(&self.task, &runs, reports.iter().map(Some));
        let failed = judged.failed.iter();
        failed
            .map(|failed| format!("{}: {}", failed.headline(), failed.detail.message))
            .collect()
    }

    /// Near misses of a program, as the engine makes them.
    fn near_misses(&self, program: &str) -> Vec<NearMiss> {
        let mut misses = near_misses(&Module::parse(program).unwrap());
        if self.task.prompt.is_ascii() {
            misses.retain(|miss| miss.mistake != Some(Mistake::Ascii));
        }
        misses
    }

    /// Reports of each near miss on these cases; `None` where the sandbox ended before.
    async fn ran(&self, misses: &[NearMiss], runs: &[CaseExecution]) -> Vec<Vec<Option<PhaseReport>>> {
        let sources: Vec<&str> = misses.iter().map(|miss| miss.source.as_str()).collect();
        let mut reports = self.reports(runs, &sources).await.into_iter();
        let of_one = |_: &NearMiss| runs.iter().map(|_| reports.next()).collect();
        misses.iter().map(of_one).collect()
    }

    /// Counts near misses by their reports, as the engine counts them.
    fn count(
        &self,
        misses: &[NearMiss],
        runs: &[CaseExecution],
        reports: &[Vec<Option<PhaseReport>>],
    ) -> NearMissCounts {
        let ran = misses.iter().zip(reports).map(|(miss, reports)| {
            let reached = reports.iter().map(Option::as_ref);
            (miss.mistake, runs.iter().zip(reached).collect())
        });
        count_near_misses(&self.task, ran)
    }

    async fn counts(&self, program: &str, set: &CaseSet) -> NearMissCounts {
        let (misses, runs) = (self.near_misses(program), executions(&self.task, set));
        let reports = self.ran(&misses, &runs).await;
        self.count(&misses, &runs, &reports)
    }

    /// Proves a program by easy cases, as a task does.
    async fn proved(&self, program: &str) -> Outcome {
        let easy = self.cases(&self.kind.easy);
        if !self.failures(program, &easy).await.is_empty() {
            return Outcome::Refused;
        }
        let (misses, runs) = (self.near_misses(program), executions(&self.task, &easy));
        let mut reports = self.ran(&misses, &runs).await;
        let first = self.count(&misses, &runs, &reports);
        if !first.needs_more_cases() {
            return Outcome::of(&first, &first);
        }
        let more = self.extended(&first.unseen_by_plan());
        if !self.failures(program, &more).await.is_empty() {
            return Outcome::RefusedByFurther(first);
        }
        // The easy cases come first in both sets, and what they showed is known.
        let all = executions(&self.task, &more);
        let further = self.ran(&misses, &all[runs.len()..]).await;
        for (known, further) in reports.iter_mut().zip(further) {
            known.extend(further);
        }
        Outcome::of(&first, &self.count(&misses, &all, &reports))
    }
}

/// The end of a program that is proved.
#[derive(Debug)]
enum Outcome {
    Refused,
    RefusedByFurther(NearMissCounts),
    Weak(NearMissCounts),
    Independent(NearMissCounts, NearMissCounts),
}

impl Outcome {
    fn of(first: &NearMissCounts, last: &NearMissCounts) -> Self {
        if last.is_weak() {
            Self::Weak(last.clone())
        } else {
            Self::Independent(first.clone(), last.clone())
        }
    }

    /// A line of the table of whoever calibrates.
    fn line(&self) -> String {
        let share = |counts: &NearMissCounts| format!("{}/{}", counts.rejected, counts.total);
        match self {
            Self::Refused => "refused".to_owned(),
            Self::RefusedByFurther(first) => format!("refused by further cases after {}", share(first)),
            Self::Weak(last) => format!("weak {}", share(last)),
            Self::Independent(first, last) => format!(
                "independent {} then {}, unseen {:?}",
                share(first),
                share(last),
                last.survivors
            ),
        }
    }
}

/// Each wrong program of a kind with the name that it has in the list.
fn programs(kinds: &[Exercise]) -> Vec<(&Exercise, String, &str)> {
    let mut programs = Vec::new();
    for exercise in kinds {
        for (about, program) in &exercise.wrong {
            programs.push((exercise, format!("{}: {about}", exercise.name), program.as_str()));
        }
    }
    programs
}

#[tokio::test]
async fn no_wrong_program_passes_four_chosen_cases_but_those_with_a_reason() {
    let kinds = all();
    let programs = programs(&kinds);
    assert!(programs.len() >= 64, "{}", programs.len());
    let passed: BTreeSet<String> = futures::stream::iter(programs)
        .map(|(exercise, name, program)| async move {
            let failures = exercise
                .failures(program, &exercise.cases(&exercise.kind.chosen))
                .await;
            failures.is_empty().then_some(name)
        })
        .buffer_unordered(2)
        .filter_map(std::future::ready)
        .collect()
        .await;
    let listed: Passed = yaml("passed.yaml");
    assert_eq!(passed, listed.chosen.into_keys().collect());
}

#[tokio::test]
async fn no_wrong_program_is_called_proved_by_two_easy_cases_but_those_with_a_reason() {
    let kinds = all();
    let outcomes: BTreeMap<String, Outcome> = futures::stream::iter(programs(&kinds))
        .map(|(exercise, name, program)| async move { (name, exercise.proved(program).await) })
        .buffer_unordered(2)
        .collect()
        .await;
    let is_proved = |(_, outcome): &(&String, &Outcome)| matches!(outcome, Outcome::Independent(..));
    let passed: BTreeSet<&String> = outcomes.iter().filter(is_proved).map(|(name, _)| name).collect();
    let listed: Passed = yaml("passed.yaml");
    let lines = outcomes
        .iter()
        .map(|(name, outcome)| format!("{name}: {}", outcome.line()));
    let lines: Vec<String> = lines.collect();
    assert_eq!(passed, listed.easy.keys().collect(), "{}", lines.join("\n"));
}

#[tokio::test]
async fn a_right_program_passes_all_cases_and_chosen_ones_distinguish_most_of_its_near_misses() {
    for exercise in all() {
        let chosen = exercise.cases(&exercise.kind.chosen);
        let further: Vec<Case> = exercise
            .kind
            .further
            .iter()
            .map(|further| further.case.clone())
            .collect();
        let easy = exercise.cases(&exercise.kind.easy);
        let more = extended(&exercise.task, easy.clone(), further, &Forms::new());
        for set in [&chosen, &easy, &more] {
            assert_eq!(
                exercise.failures(&exercise.right, set).await,
                [""; 0],
                "{}",
                exercise.name
            );
        }
        let counts = exercise.counts(&exercise.right, &chosen).await;
        let with_easy = exercise.counts(&exercise.right, &easy).await;
        assert!(!counts.needs_more_cases(), "{}: {counts:?}", exercise.name);
        assert!(with_easy.needs_more_cases(), "{}: {with_easy:?}", exercise.name);
    }
}
