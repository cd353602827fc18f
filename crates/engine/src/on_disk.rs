//! The rehearsal with its outputs on a disk: when there is one, what it is asked, and how it takes the place of one in memory.

use codegen_api::run_status::Severity;
use codegen_core::checks::ColumnCheck;
use codegen_core::mounts::Rehearsal;
use codegen_core::progress::Progress;
use codegen_core::sandbox::{Job, Phase, PhaseName, PhaseReport, Report};
use codegen_core::stored_outputs::{OutputsAsked, RunOnDisk, may_be_stored, needs_disk};
use codegen_ledger::Store;
use codegen_model::Model;
use codegen_sandbox::{Progressing, Sandbox, SandboxError};

use super::Engine;
use super::data::DataReader;

/// The rehearsal alone, on a disk.
pub(super) struct OnDisk {
    /// The job.
    pub job: Job,
    /// Outputs that are checked there.
    pub asked: OutputsAsked,
}

impl<M: Model, S: Store<Progress = Progress>, B: Sandbox, D: DataReader> Engine<'_, M, S, B, D> {
    /// Reports whether the rehearsal of the present attempt writes to a disk from the first.
    pub(super) const fn begins_on_disk(&self, progress: &Progress) -> bool {
        progress.writes_to_disk || self.task.sandbox.disk_bytes.is_some()
    }

    /// The rehearsal on a disk; `None` where there is no rehearsal, or no output that could be too large for memory.
    pub(super) fn on_disk(&self, solution: &str, checks: Vec<ColumnCheck>) -> Option<OnDisk> {
        let outputs = may_be_stored(&self.task.outputs);
        let Rehearsal::Run(args) = self.task.rehearsal() else {
            return None;
        };
        if outputs.is_empty() {
            return None;
        }
        let mut phase = self.rehearsal(solution, args);
        phase.disk_bytes = Some(self.task.sandbox.output_bytes());
        Some(OnDisk {
            job: self.job(vec![Phase::Program(phase)], self.mounts(|_| true)),
            asked: OutputsAsked {
                outputs,
                checks,
                severity: Some(Severity::Violation),
            },
        })
    }

    /// Runs the rehearsal on a disk, where it is to begin there or what it wrote to memory was too large.
    pub(super) async fn execute_on_disk(
        &self,
        progress: &Progress,
        image: &str,
        on_disk: Option<&OnDisk>,
        in_memory: Option<&PhaseReport>,
    ) -> Result<Progressing<Option<RunOnDisk>>, SandboxError> {
        let is_wanted = match in_memory {
            Some(phase) => needs_disk(&self.task.outputs, phase),
            None => self.begins_on_disk(progress),
        };
        let Some(OnDisk { job, asked }) = on_disk.filter(|_| is_wanted) else {
            return Ok(Progressing::Done(None));
        };
        let run = |repeat| self.sandbox.run_on_disk(image, job, asked, repeat);
        let nothing = || RunOnDisk {
            report: Report::nothing(),
            found: Vec::new(),
        };
        let is_failed = |done: &RunOnDisk| done.report.is_failed_execution(job);
        let done = self.repeated(progress, run, is_failed, nothing).await?.done();
        Ok(done.map_or_else(|waits| waits, |done| Progressing::Done(Some(done))))
    }
}

/// Takes the rehearsal in memory out of a job and its report.
pub(super) fn take_rehearsal(job: &mut Job, report: &mut Report) {
    let is_rehearsal =
        |phase: &Phase| matches!(phase, Phase::Program(program) if program.name == PhaseName::Rehearsal);
    let Some(place) = job.phases.iter().position(is_rehearsal) else {
        return;
    };
    job.phases.remove(place);
    // A report may be shorter than its job.
    if place < report.phases.len() {
        report.phases.remove(place);
    }
}
