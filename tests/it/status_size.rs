//! How many bytes the status of a finished task takes: the penguins, run in the real sandbox, as the controller writes them down.

use std::collections::BTreeSet;
use std::path::Path;

use codegen_api::status::{CodeGenTaskStatus, SnapshotStatus};
use codegen_core::digest::sha256_hex;
use codegen_core::progress::Progress;
use codegen_core::status::{IsolationShown, StatusContext, status};
use codegen_core::task::Task;
use codegen_engine::results;
use codegen_ledger::{FolderStore, Ledger, Seals, Store as _};
use codegen_operator::controller::record::progress::{index, record, recorded};
use serde_json::Value;

use crate::support::{examples, expect_code, replayed};

/// Most bytes of the status of a task like this one.
const MOST: usize = 12 * 1024;

/// What a run leaves: the task, its progress and the names of its documents.
struct Finished {
    task: Task,
    progress: Progress,
    documents: BTreeSet<String>,
    store: FolderStore,
}

/// The penguins on their recorded replies, in `folder`.
async fn penguins(folder: &Path) -> Finished {
    let example = examples().join("penguins");
    expect_code(&replayed(&example, folder), 0);
    let runs = folder.join(".runs");
    let open = |scope: &str, folder: &Path, name: &str| {
        let sealed = std::fs::read(folder.join(name)).unwrap();
        Seals::of_user(scope).unwrap().open(name, sealed).unwrap()
    };
    let name = String::from_utf8(open(".runs", &runs, "latest")).unwrap();
    let run = runs.join(&name);
    let store = FolderStore::open(&run.join("record"), Seals::of_user(&name).unwrap()).unwrap();
    Finished {
        task: serde_json::from_slice(&open(&name, &run, "task.json")).unwrap(),
        progress: store.load().await.unwrap().unwrap(),
        documents: names(&store),
        store,
    }
}

/// The names of everything that a store holds.
fn names(store: &FolderStore) -> BTreeSet<String> {
    let files = ["calls", "documents"].into_iter().flat_map(|folder| {
        let files = std::fs::read_dir(store.path(folder)).unwrap();
        files.map(move |file| format!("{folder}/{}", file.unwrap().file_name().to_string_lossy()))
    });
    files.collect()
}

impl Finished {
    /// The same run in a cluster, where an image is a reference with a digest.
    fn in_a_cluster(mut self) -> Self {
        let digest = sha256_hex(b"image");
        let image = format!("registry.codegen-system.svc:5000/team/environments@sha256:{digest}");
        if let Some(built) = &mut self.progress.build.built {
            built.image.clone_from(&image);
        }
        for attempt in self
            .progress
            .attempts
            .iter_mut()
            .filter(|attempt| attempt.image.is_some())
        {
            attempt.image = Some(image.clone());
        }
        self.progress.spent.builds = 1;
        self
    }

    /// The status as the controller writes it at the end.
    async fn status(&self) -> CodeGenTaskStatus {
        let entries = Ledger::new(&self.store)
            .entries(self.progress.sequence)
            .await
            .unwrap();
        let results = results::collect(&self.task, &self.progress, &self.store, &entries);
        let around = StatusContext {
            artifacts: results.await.unwrap().artifacts,
            generation: Some(1),
            isolation: Some(IsolationShown::Verified(
                "a Pod under the same policy was kept from: API server, metadata service, name server, registry, sibling Pod"
                    .to_owned(),
            )),
            ..StatusContext::default()
        };
        let ended = self.progress.completed_at.unwrap();
        let mut shown = status(&self.task, &self.progress, around, ended);
        shown.snapshot = Some(SnapshotStatus {
            name: "penguin-masses-0123456789".to_owned(),
            sha256: sha256_hex(b"snapshot"),
            spec_sha256: sha256_hex(b"spec"),
        });
        shown.result = Some("penguin-masses-9876543210".to_owned());
        record(shown, &self.progress, &self.documents)
    }
}

/// Each field with its bytes, the largest first.
fn sizes(value: &Value) -> String {
    let mut fields: Vec<(usize, &String)> = value
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.len() + 4 + value.to_string().len(), name))
        .collect();
    fields.sort_unstable();
    let lines = fields
        .iter()
        .rev()
        .map(|(bytes, name)| format!("{bytes:>6} {name}\n"));
    lines.collect()
}

#[tokio::test]
async fn the_status_of_two_attempts_two_diagnosed_failures_and_six_cases_has_at_most_twelve_kibibytes() {
    let folder = tempfile::tempdir().unwrap();
    let finished = penguins(folder.path()).await.in_a_cluster();
    let attempts = &finished.progress.attempts;
    assert_eq!((attempts.len(), attempts[0].diagnosis.len()), (2, 2));
    let cases = finished.progress.plan.as_ref().map_or(0, |plan| plan.cases.len());
    assert_eq!(cases, 6);

    let status = finished.status().await;
    let json = serde_json::to_value(&status).unwrap();
    let bytes = serde_json::to_vec(&status).unwrap().len();
    println!("{bytes} bytes\n{}", sizes(&json));
    assert!(bytes <= MOST, "the status has {bytes} bytes:\n{}", sizes(&json));

    let read: CodeGenTaskStatus = serde_json::from_value(json).unwrap();
    assert!(index(&read).is_empty(), "the result has them");
    let progress = recorded(&read).unwrap().unwrap();
    assert_eq!(progress.documents, finished.progress.documents);
    assert_eq!(progress.memory, finished.progress.memory);
    assert_eq!(progress.build, finished.progress.build);
}
