//! Particulars of a run that has ended.

use jiff::Timestamp;

use super::reconcile::RunPass;
use crate::controller::control::finish::Finish;
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
}
