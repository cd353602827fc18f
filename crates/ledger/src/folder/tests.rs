use tempfile::TempDir;

use super::*;
use crate::fixture::{Saved, saved};

fn seals() -> Seals {
    Seals::of_user("run").unwrap()
}

fn store() -> (TempDir, FolderStore<Saved>) {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::<Saved>::open(&folder.path().join("run"), seals()).unwrap();
    (folder, store)
}

fn temporary_files(store: &FolderStore<Saved>) -> usize {
    fs::read_dir(store.root().join(TEMPORARY)).unwrap().count()
}

#[tokio::test]
async fn progress_is_absent_then_replaced() {
    let (_folder, store) = store();
    assert_eq!(store.load().await.unwrap(), None);
    for progress in ["Planning", "", "short"].map(saved) {
        store.save(&progress).await.unwrap();
        assert_eq!(store.load().await.unwrap(), Some(progress));
    }
    assert_eq!(temporary_files(&store), 0);
}

#[tokio::test]
async fn the_progress_file_is_a_row_of_json_values() {
    let (_folder, store) = store();
    store.save(&saved("Planning")).await.unwrap();
    let text = fs::read_to_string(store.root().join(PROGRESS)).unwrap();
    let values: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(values.len(), 2);
}

#[tokio::test]
async fn an_object_is_created_once_and_never_replaced() {
    let (_folder, store) = store();
    assert_eq!(store.read("calls/0001-plan.json").await.unwrap(), None);
    assert_eq!(
        store.create("calls/0001-plan.json", b"one").await.unwrap(),
        Created::New
    );
    assert_eq!(
        store.create("calls/0001-plan.json", b"two").await.unwrap(),
        Created::Existed(b"one".to_vec())
    );
    assert_eq!(
        store.read("calls/0001-plan.json").await.unwrap().as_deref(),
        Some(&b"one"[..])
    );
    let there = fs::read(store.path("calls/0001-plan.json")).unwrap();
    assert_eq!(there, seals().seal("calls/0001-plan.json", b"one"));
    assert_eq!(temporary_files(&store), 0);
}

#[test]
fn every_folder_that_is_made_is_synced_in_the_one_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("codegen-out/words");
    let calls = run.join("calls");
    assert_eq!(
        missing(&calls),
        [&calls, &run, &folder.path().join("codegen-out")]
    );
    create_folder(&calls).unwrap();
    assert_eq!(missing(&calls), [&calls; 0]);
    assert_eq!(parent(&calls), run);
    // Where the command is.
    assert_eq!(
        missing(Path::new("no-such-folder/a")),
        [Path::new("no-such-folder/a"), Path::new("no-such-folder")]
    );
    assert_eq!(parent(Path::new("no-such-folder")), Path::new("."));
    sync_entries(Path::new(".")).unwrap();
}

#[tokio::test]
async fn many_at_once_create_an_object_once() {
    let (_folder, store) = store();
    let tasks: Vec<_> = (0..16_u8)
        .map(|index| {
            let store = store.clone();
            tokio::spawn(async move {
                store
                    .create("artifacts/solution.py", &[index; 100])
                    .await
                    .unwrap()
            })
        })
        .collect();
    let outcomes: Vec<_> = futures::future::join_all(tasks)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let winner = store.read("artifacts/solution.py").await.unwrap().unwrap();
    assert_eq!(
        outcomes
            .iter()
            .filter(|outcome| **outcome == Created::New)
            .count(),
        1
    );
    assert_eq!(
        outcomes
            .iter()
            .filter(|outcome| **outcome == Created::Existed(winner.clone()))
            .count(),
        15
    );
}

#[tokio::test]
async fn a_damaged_object_is_reported_by_name() {
    let (_folder, store) = store();
    store.create("calls/0001-plan.json", b"{\"n\": 1}").await.unwrap();
    store.create("calls/0002-code.json", b"{}").await.unwrap();
    fs::write(store.path("calls/0001-plan.json"), b"{\"n\": 2}").unwrap();
    let error = store.read("calls/0001-plan.json").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`calls/0001-plan.json` is damaged: its seal does not match; restore it from a backup, or remove it alone \
         and run again: what it held is then made anew"
    );
    for name in [
        "calls/0003-turn.json",
        "documents/step-0001.json",
        "documents/solution-s0002.py",
    ] {
        store.create(name, b"{}").await.unwrap();
        fs::write(store.path(name), b"[]").unwrap();
        let error = store.read(name).await.unwrap_err().to_string();
        assert!(
            error.contains("begin the task anew") && !error.contains("remove it alone"),
            "{error}"
        );
    }
    assert!(store.create("calls/0001-plan.json", b"new").await.is_err());
    assert!(store.read("calls/0002-code.json").await.is_ok());
}

#[tokio::test]
async fn damaged_or_cut_progress_is_reported() {
    let (_folder, store) = store();
    store.save(&saved("Planning")).await.unwrap();
    let path = store.root().join(PROGRESS);
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[3] ^= 1;
    for damaged in [&changed[..], &whole[..whole.len() - 1], b"{", b""] {
        fs::write(&path, damaged).unwrap();
        assert!(
            matches!(store.load().await, Err(StoreError::Damaged { .. })),
            "{damaged:?}"
        );
    }
}

#[tokio::test]
async fn a_record_without_a_seal_or_with_that_of_another_record_is_not_read() {
    let (_folder, store) = store();
    let name = "calls/0001-plan.json";
    store.create("calls/0002-code.json", b"other").await.unwrap();
    let other = FolderStore::<Saved>::open(
        &store.root().with_file_name("other"),
        Seals::of_user("other").unwrap(),
    )
    .unwrap();
    other.create(name, b"of another revision").await.unwrap();
    other.save(&saved("other")).await.unwrap();
    let theirs = [
        b"no seal".to_vec(),
        fs::read(store.path("calls/0002-code.json")).unwrap(),
        fs::read(other.path(name)).unwrap(),
        Seals::unverified().seal(name, b"x"),
        // What a machine leaves that stopped while it was written.
        Vec::new(),
        seals().seal(name, b"x")[..20].to_vec(),
    ];
    for planted in theirs {
        fs::write(store.path(name), &planted).unwrap();
        let read = store.read(name).await;
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{planted:?}");
        let as_data = FolderStore::<Saved>::existing(store.root(), Seals::unverified());
        assert!(as_data.read(name).await.unwrap().is_some());
    }
    fs::copy(other.root().join(PROGRESS), store.root().join(PROGRESS)).unwrap();
    assert!(matches!(store.load().await, Err(StoreError::Damaged { .. })));
}

#[tokio::test]
async fn no_link_in_a_store_is_read_through() {
    let (folder, store) = store();
    let name = "calls/0001-plan.json";
    store.create(name, b"one").await.unwrap();
    let aside = folder.path().join("aside");
    fs::rename(store.path(name), &aside).unwrap();
    std::os::unix::fs::symlink(&aside, store.path(name)).unwrap();
    assert!(store.read(name).await.is_err(), "although its seal matches");
    fs::rename(store.root().join("calls"), folder.path().join("calls")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("calls"), store.root().join("calls")).unwrap();
    assert!(store.read(name).await.is_err());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_leaves_no_half_file() {
    let (_folder, store) = store();
    store.save(&saved("before")).await.unwrap();
    // A file where a folder is needed: the one fault that root meets as well.
    fs::write(store.root().join("calls"), b"").unwrap();
    let error = store.create("calls/0001-plan.json", b"x").await.unwrap_err();
    assert!(error.to_string().contains("calls"), "{error}");
    assert_eq!(temporary_files(&store), 0);
    assert_eq!(store.load().await.unwrap(), Some(saved("before")));
}

#[test]
fn a_device_without_room_is_a_full_disk() {
    let path = Path::new("/dev/full");
    let written = fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(b"x"));
    let error = StoreError::from_io("write", path, written.unwrap_err());
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
}

#[tokio::test]
async fn a_name_outside_the_folder_is_refused() {
    let (_folder, store) = store();
    for name in ["../x", ".progress.jsonl", "/tmp/x"] {
        assert!(matches!(
            store.create(name, b"").await,
            Err(StoreError::InvalidName { .. })
        ));
        assert!(matches!(
            store.read(name).await,
            Err(StoreError::InvalidName { .. })
        ));
    }
}

#[tokio::test]
async fn everything_is_read_by_name_and_nothing_is_created_for_that() {
    let (folder, store) = store();
    store.create("calls/0001-plan.json", b"one").await.unwrap();
    store.create("documents/solution-0002.py", b"two").await.unwrap();
    store.save(&saved("one")).await.unwrap();
    let all = FolderStore::<Saved>::existing(store.root(), seals())
        .all()
        .await
        .unwrap();
    let expected = [
        ("calls/0001-plan.json", "one"),
        ("documents/solution-0002.py", "two"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    assert_eq!(all, BTreeMap::from(expected));
    let absent = folder.path().join("absent");
    assert_eq!(
        FolderStore::<Saved>::existing(&absent, seals())
            .all()
            .await
            .unwrap(),
        BTreeMap::new()
    );
    assert!(!absent.exists());
    fs::write(store.path("documents/solution-0002.py"), b"three").unwrap();
    let error = FolderStore::<Saved>::existing(store.root(), seals())
        .all()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("documents/solution-0002.py"),
        "{error}"
    );
}
