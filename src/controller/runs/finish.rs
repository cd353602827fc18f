//! Particulars of a run that has ended.

use std::time::Duration;

use jiff::Timestamp;

use super::follow_up::FollowUp;
use super::reconcile::RunPass;
use crate::controller::control::finish::Finish;
use crate::controller::error::ReconcileError;
use codegen_api::CodeGenRun;

impl Finish for RunPass<'_> {
    fn ended_at(&self) -> Option<Timestamp> {
        let status = self.object.status.as_ref()?;
        status.completed_at.as_ref().map(|ended| ended.0)
    }

    fn time_to_live(&self) -> Option<i64> {
        self.object.spec.ttl_seconds_after_finished.map(i64::from)
    }

    fn announce(&mut self, whole: CodeGenRun) {
        self.object = whole;
        self.count();
        self.context.events.run_ended(&self.object);
    }

    async fn clear(&self) {
        self.remove_components().await;
    }

    /// Until its outputs are pushed, the run is all there is of them.
    async fn follow_up(&mut self) -> Result<Option<Duration>, ReconcileError> {
        match self.push_outputs().await? {
            FollowUp::Again(pause) => return Ok(Some(pause)),
            FollowUp::Settled => self.clear_push().await,
            // The operator before this one may have been killed between the record of it and clearing up.
            FollowUp::Nothing if self.was_settled_shortly_before_the_start() => self.clear_push().await,
            FollowUp::Nothing => {}
        }
        self.context.runs.push_is_over(self.uid());
        Ok(None)
    }
}
