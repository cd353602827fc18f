//! What is particular of a question that has ended.

use jiff::Timestamp;

use super::question::QuestionPass;
use crate::api::code_mode::CodeModeRun;
use crate::controller::control::finish::Finish;

impl Finish for QuestionPass<'_> {
    fn ended_at(&self) -> Option<Timestamp> {
        let status = self.object.status.as_ref()?;
        status.completed_at.as_ref().map(|ended| ended.0)
    }

    fn time_to_live(&self) -> Option<i64> {
        self.object.spec.ttl_seconds_after_finished.map(i64::from)
    }

    fn announce(&mut self, whole: CodeModeRun) {
        self.object = whole;
        self.announce_end();
    }

    /// What is packed by now. The runs of its calls stay as long as the question does.
    async fn clear(&self) {
        self.clear_packed().await;
    }
}
