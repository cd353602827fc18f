//! Takes over the result of a succeeded task of the namespace that asked the same.
//!
//! Those tasks are found among the ones in memory. What is taken over is read whole and compared with the digests in the origin's
//! status before anything follows from it: an origin that is gone or damaged counts as if it were not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::{Api, Client, ResourceExt as _};

use crate::controller::context::Context;
use crate::controller::record::cache::ended_in;
use crate::controller::record::progress::recorded;
use crate::controller::record::unpack::unpack;
use codegen_api::CodeGenTask;
use codegen_core::digest::sha256_hex;
use codegen_core::progress::Progress;
use codegen_core::reuse::{adopted, is_allowed, is_carried_over, may_adopt, needed};
use codegen_core::stage::Stage;
use codegen_core::task::Task;
use codegen_ledger::StoreError;
use codegen_sandbox::kubernetes::Owner;

/// Origins that are tried, the latest first.
const MOST_TRIED: usize = 3;

/// A result that was taken over.
pub struct AdoptedResult {
    /// Progress of the task with it.
    pub progress: Progress,
    /// Its documents by name.
    pub documents: BTreeMap<String, Vec<u8>>,
}

/// The result of the latest task of the namespace that asked the same; `None` where there is none.
pub async fn adopt(
    context: &Context,
    task: &Task,
    owner: &Owner,
) -> Result<Option<AdoptedResult>, StoreError> {
    let Some(key) = task.reuse_key().filter(|_| may_adopt(task)) else {
        return Ok(None);
    };
    for origin in origins(context.tasks.all(), &key, owner).iter().take(MOST_TRIED) {
        match take(&context.client, origin, &key, task, owner).await {
            Ok(Some(taken)) => return Ok(Some(taken)),
            Ok(None) => {}
            // Another origin may have the same, and else the task makes its program itself.
            Err(error) if is_gone(&error) => tracing::info!(
                namespace = owner.namespace,
                task = owner.name,
                origin = origin.name_any(),
                error = error.to_string(),
                "a result that could be adopted is gone"
            ),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The tasks whose result may be taken over, the one that ended last first.
fn origins(all: Vec<Arc<CodeGenTask>>, key: &str, owner: &Owner) -> Vec<Arc<CodeGenTask>> {
    let is_one = |task: &Arc<CodeGenTask>| {
        let status = task.status.as_ref();
        task.metadata.namespace.as_ref() == Some(&owner.namespace)
            && task.metadata.uid.as_ref() != Some(&owner.uid)
            && ended_in(task) == Some(Stage::Succeeded)
            && status.is_some_and(|status| status.reuse_key.as_deref() == Some(key))
            && status.is_some_and(|status| status.result.is_some())
    };
    let ended = |task: &Arc<CodeGenTask>| {
        let status = task.status.as_ref();
        status.and_then(|status| status.completed_at.as_ref().map(|time| time.0))
    };
    let mut found: Vec<_> = all.into_iter().filter(is_one).collect();
    found.sort_by_key(|task| (std::cmp::Reverse(ended(task)), task.name_any()));
    found
}

async fn take(
    client: &Client,
    origin: &CodeGenTask,
    key: &str,
    task: &Task,
    owner: &Owner,
) -> Result<Option<AdoptedResult>, StoreError> {
    let name = origin.name_any();
    let result = origin.status.as_ref().and_then(|status| status.result.clone());
    let result = result.unwrap_or_default();
    let tasks: Api<CodeGenTask> = Api::namespaced(client.clone(), &owner.namespace);
    let read = async {
        tasks.get(&name).await.map_err(|error| StoreError::Remote {
            action: format!("read the CodeGenTask {}/{name}", owner.namespace),
            source: Box::new(error),
        })
    };
    // Only reads. The task is read as well: the one in memory may be older than its result.
    let (present, mut documents) = tokio::try_join!(read, unpack(client, &owner.namespace, &result))?;
    let status = present.status.clone().unwrap_or_default();
    // The origin may have been deleted, or started again, since it was found in memory.
    let is_the_same = present.metadata.uid == origin.metadata.uid
        && ended_in(&present) == Some(Stage::Succeeded)
        && status.reuse_key.as_deref() == Some(key)
        && status.result.as_ref() == Some(&result);
    let progress = recorded(&status).ok().flatten();
    let Some(progress) = progress
        .filter(|progress| is_the_same && is_whole(progress, &documents) && is_allowed(task, progress))
    else {
        return Ok(None);
    };
    documents.retain(|document, _| is_carried_over(task, document));
    let progress = adopted(task, &progress, &name, &owner.run, Timestamp::now());
    Ok(Some(AdoptedResult { progress, documents }))
}

/// Reports whether every document is there as the status of the origin says.
fn is_whole(progress: &Progress, documents: &BTreeMap<String, Vec<u8>>) -> bool {
    progress.documents.solution.is_some()
        && needed(progress).into_iter().all(|document| {
            documents
                .get(&document.name)
                .is_some_and(|bytes| sha256_hex(bytes) == document.sha256)
        })
}

/// Reports whether the result is not there any more, or not as it was.
pub fn is_gone(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } => true,
        StoreError::Remote { source, .. } => {
            matches!(source.downcast_ref(), Some(kube::Error::Api(status)) if status.is_not_found())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use codegen_api::CodeGenTaskSpec;
    use codegen_api::status::CodeGenTaskStatus;
    use codegen_core::progress::Document;
    use codegen_core::test_support::{at, start};

    fn ended(name: &str, namespace: &str, stage: Stage, key: &str, second: i64) -> Arc<CodeGenTask> {
        let mut task = CodeGenTask::new(name, CodeGenTaskSpec::default());
        task.metadata.namespace = Some(namespace.to_owned());
        task.metadata.uid = Some(name.to_owned());
        task.status = Some(CodeGenTaskStatus {
            stage: Some(stage.as_str().to_owned()),
            reuse_key: Some(key.to_owned()),
            result: Some(format!("{name}-result")),
            completed_at: Some(Time(at(second))),
            ..CodeGenTaskStatus::default()
        });
        Arc::new(task)
    }

    #[test]
    fn an_origin_is_a_succeeded_task_of_the_namespace_with_the_same_key_the_latest_first() {
        let owner = Owner {
            namespace: "data".into(),
            name: "own".into(),
            uid: "own".into(),
            run: "run".into(),
            wish: String::new(),
            generation: 1,
            attempt: 0,
            reference: k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference::default(),
        };
        let all = vec![
            ended("first", "data", Stage::Succeeded, "key", 1),
            ended("later", "data", Stage::Succeeded, "key", 2),
            ended("failed", "data", Stage::Failed, "key", 3),
            ended("another-key", "data", Stage::Succeeded, "other", 4),
            ended("elsewhere", "lab", Stage::Succeeded, "key", 5),
            ended("own", "data", Stage::Succeeded, "key", 6),
        ];
        let names: Vec<String> = origins(all, "key", &owner)
            .iter()
            .map(|task| task.name_any())
            .collect();
        assert_eq!(names, ["later", "first"]);
    }

    #[test]
    fn a_result_of_which_anything_is_missing_or_changed_is_not_taken() {
        let mut progress = start();
        let of = |name: &str, bytes: &[u8]| Document {
            name: name.to_owned(),
            sha256: sha256_hex(bytes),
            bytes: bytes.len() as u64,
        };
        progress.documents.solution = Some(of("solution", b"a"));
        progress.documents.tests = Some(of("tests", b"b"));
        let mut documents = BTreeMap::from([
            ("solution".to_owned(), b"a".to_vec()),
            ("tests".to_owned(), b"b".to_vec()),
        ]);
        assert!(is_whole(&progress, &documents));
        documents.insert("tests".to_owned(), b"c".to_vec());
        assert!(!is_whole(&progress, &documents));
        let mut trusting = progress.clone();
        trusting.documents.tests = Some(of("tests", b"c"));
        assert!(
            is_whole(&trusting, &documents),
            "nothing but the digest in the status is in its way"
        );
        documents.remove("tests");
        assert!(!is_whole(&progress, &documents));
        assert!(!is_whole(&start(), &documents), "there is no program");
    }
}
