//! Particulars of a task that has ended.

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;

use super::reconcile::TaskPass;
use crate::controller::control::Pass as _;
use crate::controller::control::finish::Finish;
use crate::controller::record::cache::{ended_after, ended_in, surplus};
use crate::controller::record::cleanup::{CleanupTarget, clear_components, superfluous};
use codegen_api::CodeGenTask;
use codegen_core::stage::Stage;

impl TaskPass<'_> {
    /// Returns how many tasks that ended as this one did are to stay in its namespace.
    fn limit(&self) -> Option<usize> {
        let history = &self.context().history;
        let limit = match ended_in(self.object()) {
            Some(Stage::Succeeded) => history.succeeded_limit,
            _ => history.failed_limit,
        };
        limit.map(|limit| limit as usize)
    }
}

impl Finish for TaskPass<'_> {
    fn ended_at(&self) -> Option<Timestamp> {
        let status = self.object().status.as_ref()?;
        status.completed_at.as_ref().map(|ended| ended.0)
    }

    fn time_to_live(&self) -> Option<i64> {
        let own = self.object().spec.ttl_seconds_after_finished.map(i64::from);
        let default = self.context().history.ttl_seconds_after_finished;
        own.or(default.map(i64::from))
    }

    fn is_surplus(&self) -> bool {
        let ended_later = |other: &CodeGenTask| ended_after(self.object(), other);
        self.limit()
            .is_some_and(|limit| self.context().tasks.are_at_least(limit, ended_later))
    }

    fn surplus(&self) -> Vec<ObjectRef<CodeGenTask>> {
        match self.limit() {
            // One that goes itself leaves this to those that stay.
            Some(limit) if !self.is_surplus() => {
                let all = self.context().tasks.all();
                surplus(self.object(), limit, &all)
                    .map(ObjectRef::from_obj)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn announce(&mut self, whole: CodeGenTask) {
        self.context().events.ended(&whole);
    }

    async fn clear(&self) {
        let Some(end) = ended_in(self.object()) else {
            return;
        };
        let (namespace, name) = (
            self.object().namespace().unwrap_or_default(),
            self.object().name_any(),
        );
        let task = CleanupTarget {
            namespace: &namespace,
            name: &name,
            uid: self.object().metadata.uid.as_deref().unwrap_or_default(),
        };
        let spec = &self.object().spec;
        let has_sources = !spec.samples.is_empty()
            || spec.inputs.iter().any(|input| input.source.is_some())
            || spec.acceptance_tests.is_some();
        clear_components(&self.context().client, task, superfluous(end, has_sources), None).await;
    }
}
