//! Runs near misses of a program that passed on the cases that decided, and counts those that no case rejects.

use std::collections::{BTreeMap, BTreeSet};

use codegen_api::case::CaseMode;
use codegen_core::cases::{CaseExecution, CaseOrigin, count_near_misses};
use codegen_core::progress::Progress;
use codegen_core::prompts::PromptError;
use codegen_core::python::Module;
use codegen_core::python::near_misses::{Mistake, NearMiss, NearMissCounts, near_misses};
use codegen_core::sandbox::{Job, PhaseReport};
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::{Progressing, Sandbox, SandboxError};

use super::data::DataReader;
use super::jobs::SlowestCases;
use super::{Engine, EngineError};

/// Seconds of one near miss on one case at least, and how many times that of the program's longest case: more is no end.
const LEAST_SECONDS: f64 = 5.0;
const TIMES: f64 = 10.0;

/// Seconds that the runs of all near misses take, about; so many of them are run however long that is, else nothing is shown.
const SECONDS_OF_ALL: f64 = 10.0;
const LEAST: u32 = 3;

/// Properties that cases which share a sandbox have in common: hidden from models or not, and the frozen inputs.
type Key = (bool, BTreeSet<String>);

/// Near misses on the cases that share their inputs, in one sandbox.
pub(super) struct NearMissJob {
    job: Job,
    cases: Vec<CaseExecution>,
}

/// Jobs that are to be run.
pub(super) struct NearMissJobs {
    misses: Vec<NearMiss>,
    jobs: Vec<NearMissJob>,
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// The jobs, where there are cases and near misses. `slowest` are the seconds of the program's longest cases.
    pub(super) async fn near_miss_jobs(
        &self,
        progress: &Progress,
        slowest: &SlowestCases,
    ) -> Result<Option<NearMissJobs>, EngineError> {
        // Examples last and apart: what the plan's cases show of a near miss is said to a model, so nothing that saw an example goes before.
        let mut groups: BTreeMap<Key, Vec<CaseExecution>> = BTreeMap::new();
        for run in self.cases(progress).await? {
            let decides = match run.origin {
                CaseOrigin::Example => true,
                CaseOrigin::Plan(_) => self.task.cases == CaseMode::Require,
            };
            if decides {
                let key = (run.origin == CaseOrigin::Example, run.frozen(self.task));
                groups.entry(key).or_default().push(run);
            }
        }
        let solution = self.text(progress.documents.solution.as_ref()).await?;
        let mut misses = near_misses(&Module::parse(&solution).map_err(PromptError::from)?);
        // Of data without such text no case can tell.
        if self.text(progress.documents.context.as_ref()).await?.is_ascii() && self.task.prompt.is_ascii() {
            misses.retain(|miss| miss.mistake != Some(Mistake::Ascii));
        }
        if groups.is_empty() || misses.is_empty() {
            return Ok(None);
        }
        let cases: usize = groups.values().map(Vec::len).sum();
        let seconds = slowest.planned.max(slowest.example) * u32::try_from(cases).map_or(0.0, f64::from);
        // The first one is none.
        let affordable = |number: u32| number <= LEAST || f64::from(number + 1) * seconds <= SECONDS_OF_ALL;
        let misses: Vec<NearMiss> = (0..)
            .zip(misses)
            .take_while(|(number, _)| affordable(*number))
            .map(|(_, miss)| miss)
            .collect();
        let forms = self.forms(progress).await?;
        let job = |((is_hidden, frozen), cases): (Key, Vec<CaseExecution>)| {
            let phases = misses.iter().flat_map(|miss| {
                cases
                    .iter()
                    .map(|case| case.phase(self.task, &forms, &miss.source))
            });
            let mut job = self.job(phases.collect(), self.mounts(|name| frozen.contains(name)));
            let slowest = if is_hidden {
                slowest.example
            } else {
                slowest.planned
            };
            let longest = (slowest * TIMES).max(LEAST_SECONDS);
            job.limits.timeout_seconds = job.limits.timeout_seconds.min(longest);
            NearMissJob { job, cases }
        };
        let jobs = groups.into_iter().map(job).collect();
        Ok(Some(NearMissJobs { misses, jobs }))
    }

    /// Runs them. Nothing of what they write leaves this function but whether cases reject them.
    pub(super) async fn count_near_misses(
        &self,
        progress: &Progress,
        image: &str,
        asked: &NearMissJobs,
    ) -> Result<Progressing<NearMissCounts>, SandboxError> {
        let mut phases: Vec<Vec<PhaseReport>> = Vec::new();
        // One after another: more at once would take places from others, and what has ended learns nothing of examples.
        for group in &asked.jobs {
            match self.execute_one(progress, image, &group.job).await?.done() {
                Ok(report) => phases.push(report.phases),
                Err(waits) => return Ok(waits),
            }
        }
        let of_miss = |(index, miss): (usize, &NearMiss)| {
            let groups = asked.jobs.iter().zip(&phases);
            let ran = groups.flat_map(|(group, phases)| {
                let first = index * group.cases.len();
                let places = (first..).zip(&group.cases);
                places.map(|(place, case)| (case, phases.get(place)))
            });
            (miss.mistake, ran.collect())
        };
        let counts = count_near_misses(self.task, asked.misses.iter().enumerate().map(of_miss));
        Ok(Progressing::Done(counts))
    }
}
