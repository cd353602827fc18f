//! The tasks that wait for an isolation check.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;

use crate::api::CodeGenTask;

/// The tasks that wait for the result of an isolation check, by uid.
#[derive(Debug, Default)]
pub struct Held(Mutex<HashMap<String, ObjectRef<CodeGenTask>>>);

impl Held {
    fn tasks(&self) -> MutexGuard<'_, HashMap<String, ObjectRef<CodeGenTask>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task waits.
    pub fn add(&self, task: &CodeGenTask) {
        let uid = task.uid().unwrap_or_default();
        self.tasks().insert(uid, ObjectRef::from_obj(task));
    }

    /// Those that waited until now.
    #[must_use]
    pub fn release(&self) -> Vec<ObjectRef<CodeGenTask>> {
        self.tasks().drain().map(|(_, task)| task).collect()
    }

    /// The task waits no more.
    pub fn forget(&self, uid: &str) {
        self.tasks().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> CodeGenTask {
        let mut task = CodeGenTask::new(name, crate::api::CodeGenTaskSpec::default());
        task.metadata.namespace = Some("data".to_owned());
        task.metadata.uid = Some(format!("uid-of-{name}"));
        task
    }

    #[test]
    fn a_task_that_waits_for_the_isolation_check_is_woken_once() {
        let held = Held::default();
        for name in ["a", "b", "a", "gone"] {
            held.add(&task(name));
        }
        held.forget("uid-of-gone");
        let mut woken: Vec<String> = held.release().into_iter().map(|task| task.name).collect();
        woken.sort_unstable();
        assert_eq!(woken, ["a", "b"]);
        assert_eq!(held.release(), []);
    }
}
