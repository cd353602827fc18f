use rstest::rstest;

use super::*;

fn results(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn open() -> (tempfile::TempDir, TaskFolder) {
    let folder = tempfile::tempdir().unwrap();
    let task = TaskFolder::open(&folder.path().join("out"), "test").unwrap();
    (folder, task)
}

#[test]
fn only_published_files_are_removed() {
    let (_folder, task) = open();
    task.publish(&results(&[
        ("solution.py", "1"),
        ("outputs/a", "x"),
        ("outputs/b", "y"),
    ]))
    .unwrap();
    fs::write(task.root.join("outputs/mine"), "z").unwrap();
    let aside = task
        .publish(&results(&[("solution.py", "2"), ("outputs/b", "y")]))
        .unwrap();
    assert!(aside.is_empty());
    assert_eq!(fs::read(task.root.join("solution.py")).unwrap(), b"2");
    assert!(!task.root.join("outputs/a").exists());
    assert!(task.root.join("outputs/mine").exists());
}

#[test]
fn a_script_may_be_run_and_nothing_else_may() {
    let (_folder, task) = open();
    task.publish(&results(&[("run.sh", "#!/bin/sh\n"), ("solution.py", "1")]))
        .unwrap();
    let mode = |name: &str| fs::metadata(task.root.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run.sh"), mode("solution.py")), (0o700, 0o600));
}

#[test]
fn a_result_that_the_user_edited_is_moved_aside() {
    let (_folder, task) = open();
    task.publish(&results(&[("solution.py", "1")])).unwrap();
    fs::write(task.root.join("solution.py"), "edited").unwrap();
    let aside = task.publish(&results(&[("solution.py", "2")])).unwrap();
    assert_eq!(aside, [task.root.join("solution.py.yours-1")]);
    assert_eq!(fs::read(&aside[0]).unwrap(), b"edited");
    assert_eq!(fs::read(task.root.join("solution.py")).unwrap(), b"2");
}

#[test]
fn an_output_may_change_between_file_and_folder() {
    let (_folder, task) = open();
    for name in ["outputs/a", "outputs/a/b/c", "outputs/a"] {
        let aside = task.publish(&results(&[(name, name)])).unwrap();
        assert!(aside.is_empty(), "{aside:?}");
        assert_eq!(fs::read(task.root.join(name)).unwrap(), name.as_bytes());
    }
}

#[rstest]
#[case::itself("notes.txt")]
#[case::above_it("notes.txt/deep/out")]
fn a_file_in_the_place_of_the_folder_is_named(#[case] below: &str) {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("notes.txt");
    fs::write(&file, "mine").unwrap();
    let error = create(&parent.path().join(below)).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{} is a file", file.display())),
        "{error}"
    );
    assert_eq!(fs::read(file).unwrap(), b"mine");
}

#[test]
fn what_the_user_put_in_the_place_of_a_file_or_folder_is_moved_aside() {
    let (_folder, task) = open();
    let outputs = task.root.join("outputs");
    fs::create_dir_all(outputs.join("a")).unwrap();
    fs::write(outputs.join("a/mine"), "x").unwrap();
    fs::write(outputs.join("b"), "y").unwrap();
    let aside = task
        .publish(&results(&[("outputs/a", "1"), ("outputs/b/c", "2")]))
        .unwrap();
    assert_eq!(aside, [outputs.join("a.yours-1"), outputs.join("b.yours-1")]);
    assert_eq!(fs::read(outputs.join("a.yours-1/mine")).unwrap(), b"x");
    assert_eq!(fs::read(outputs.join("b/c")).unwrap(), b"2");
}

#[test]
fn a_publication_that_was_cut_short_leaves_only_files_of_ours() {
    let (_folder, task) = open();
    task.publish(&results(&[("a.py", "1"), ("b.py", "1")])).unwrap();
    let too_long = "z".repeat(300);
    task.publish(&results(&[("a.py", "2"), (&too_long, "")]))
        .unwrap_err();
    assert_eq!(fs::read(task.root.join("a.py")).unwrap(), b"2");
    let aside = task.publish(&results(&[("a.py", "3"), ("b.py", "3")])).unwrap();
    assert!(aside.is_empty(), "{aside:?}");
}

#[test]
fn a_result_cannot_leave_the_folder() {
    let (_folder, task) = open();
    for name in ["../x", "/tmp/x", "outputs/../../x", ""] {
        assert!(
            matches!(
                task.publish(&results(&[(name, "")])),
                Err(FolderError::Outside { .. })
            ),
            "{name}"
        );
    }
}

#[test]
fn a_symbolic_link_in_the_folder_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    let theirs = elsewhere.path().join("theirs");
    fs::write(&theirs, "theirs").unwrap();
    for (link, target) in [(REVISIONS, elsewhere.path()), (".runs/lock", &theirs)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        let refused = TaskFolder::open(folder.path(), "test").unwrap_err();
        assert!(matches!(refused, FolderError::Link { .. }), "{link}: {refused}");
    }

    let (_folder, task) = open();
    let outputs = task.root.join("outputs");
    std::os::unix::fs::symlink(elsewhere.path(), &outputs).unwrap();
    let aside = task.publish(&results(&[("outputs/theirs", "ours")])).unwrap();
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read(outputs.join("theirs")).unwrap(), b"ours");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_link_that_is_followed_leads_to_files_of_somebody_else() {
    let elsewhere = tempfile::tempdir().unwrap();
    let theirs = elsewhere.path().join("lock");
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join(REVISIONS);

    // The folder of the state is one of somebody else's, and so is the file that is locked in it.
    std::os::unix::fs::symlink(elsewhere.path(), &state).unwrap();
    fs::write(&theirs, "theirs").unwrap();
    let seals = Seals::of_user(REVISIONS).unwrap();
    drop(FolderLock::take(folder.path(), &state, "test", &seals).unwrap());
    assert_ne!(fs::read(&theirs).unwrap(), b"theirs");
    fs::write(&theirs, "theirs").unwrap();
    TaskFolder::open(folder.path(), "test").unwrap_err();
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");

    // A folder of results is one of somebody else's.
    fs::remove_file(&state).unwrap();
    let task = TaskFolder::open(folder.path(), "test").unwrap();
    let outputs = task.root.join("outputs");
    std::os::unix::fs::symlink(elsewhere.path(), &outputs).unwrap();
    write_whole(&outputs.join("lock"), b"ours").unwrap();
    assert_eq!(fs::read(&theirs).unwrap(), b"ours");
    fs::write(&theirs, "theirs").unwrap();
    task.publish(&results(&[("outputs/lock", "ours")])).unwrap();
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
}

#[test]
fn inputs_of_a_revision_that_somebody_has_changed_are_replaced_by_those_frozen_now() {
    let (_folder, task) = open();
    for _ in 0..2 {
        let staging = task.staging().unwrap();
        fs::create_dir(staging.join(INPUTS)).unwrap();
        fs::write(staging.join(INPUTS).join("a.csv"), "first").unwrap();
        let run = task.revision("0123456789abcdef", &staging).unwrap();
        assert!(run.root().ends_with(".runs/0123456789ab"));
        assert_eq!(fs::read(run.input("a.csv")).unwrap(), b"first");
        assert!(!staging.exists());
        fs::write(run.input("a.csv"), "fir").unwrap();
    }
}

#[test]
fn a_revision_moved_aside_keeps_all_its_files() {
    let (_folder, task) = open();
    let staging = task.staging().unwrap();
    let run = task.revision("0123456789abcdef", &staging).unwrap();
    run.write("progress.json", b"{}").unwrap();
    let aside = task.set_aside("0123456789abcdef").unwrap().unwrap();
    assert!(aside.join("progress.json").exists());
    assert_eq!(run.read("progress.json").unwrap(), None);
    assert_eq!(task.set_aside("0123456789abcdef").unwrap(), None);
}

#[test]
fn a_second_opening_is_refused() {
    let (folder, _task) = open();
    let error = TaskFolder::open(&folder.path().join("out"), "second").unwrap_err();
    assert!(
        matches!(error, FolderError::Lock(LockError::Held { .. })),
        "{error}"
    );
}

const HASH: &str = "0123456789abcdef";

/// A revision of this user with its task.
fn recorded(task: &TaskFolder) -> RevisionFolder {
    let staging = task.staging().unwrap();
    let run = task.revision(HASH, &staging).unwrap();
    run.write(TASK, b"{}").unwrap();
    run
}

/// Gives every record another key's seal, as a folder of another user has it.
fn give_away(task: &TaskFolder, run: &RevisionFolder) {
    fs::write(run.root().join(TASK), "{}").unwrap();
    fs::write(task.root.join(".runs/latest"), "0123456789ab").unwrap();
}

#[tokio::test]
async fn a_revision_of_somebody_else_is_gone_by_for_one_command_and_stays_theirs() {
    let (folder, mut task) = open();
    let run = recorded(&task);
    task.check_origin(HASH, &Trust::default()).await.unwrap();
    assert!(!RevisionFolder::latest(&task.root).unwrap().unwrap().is_foreign());
    give_away(&task, &run);
    let error = task
        .check_origin(HASH, &Trust::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("these records were made elsewhere: ") && error.ends_with("repeat with --trust"),
        "{error}"
    );
    let staging = task.staging().unwrap();
    assert!(matches!(
        task.revision(HASH, &staging),
        Err(FolderError::Foreign { .. })
    ));
    assert!(RevisionFolder::latest(&task.root).unwrap().unwrap().is_foreign());
    for trust in [
        Trust {
            given: true,
            ask: None,
        },
        Trust {
            given: false,
            ask: Some(|_| true),
        },
    ] {
        task.check_origin(HASH, &trust).await.unwrap();
        let run = task.revision(HASH, &task.staging().unwrap()).unwrap();
        run.write(TASK, b"[]").unwrap();
        assert_eq!(run.read(TASK).unwrap().as_deref(), Some(&b"[]"[..]));
        // The next command asks again.
        drop(task);
        task = TaskFolder::open(&folder.path().join("out"), "test").unwrap();
        let refused = task
            .check_origin(
                HASH,
                &Trust {
                    given: false,
                    ask: Some(|_| false),
                },
            )
            .await;
        assert!(matches!(refused, Err(FolderError::Foreign { .. })));
    }
    // Nothing of it is read when it begins anew.
    task.set_aside(HASH).unwrap().unwrap();
    let run = recorded(&task);
    assert!(!run.is_foreign());
}

#[test]
fn what_does_not_say_what_it_is_of_is_nobodys_and_what_a_kill_leaves_before_that_is_the_users() {
    let (_folder, task) = open();
    let run = task.revision(HASH, &task.staging().unwrap()).unwrap();
    assert!(task.existing(HASH).unwrap().is_some(), "its inputs alone");
    fs::create_dir(run.record()).unwrap();
    assert!(matches!(task.existing(HASH), Err(FolderError::Foreign { .. })));
}

#[test]
fn of_a_users_own_revision_every_record_must_be_as_it_was_recorded() {
    let (_folder, task) = open();
    let run = recorded(&task);
    run.write(QUESTION, b"{}").unwrap();
    let other = Seals::of_user("ffffffffffff").unwrap().seal("other.json", b"{}");
    fs::write(run.root().join("other.json"), other).unwrap();
    assert!(matches!(run.read("other.json"), Err(FolderError::Damaged { .. })));
    fs::copy(run.root().join(TASK), run.root().join(QUESTION)).unwrap();
    assert!(
        matches!(task.existing(HASH), Err(FolderError::Foreign { .. })),
        "one stands in for another"
    );
}

#[test]
fn no_link_in_a_revision_is_let_pass() {
    let elsewhere = tempfile::tempdir().unwrap();
    for name in [
        "record",
        "record/calls",
        "inputs/a.csv",
        "task.json",
        "calls/run/run.json",
    ] {
        let (_folder, task) = open();
        let run = recorded(&task);
        fs::create_dir_all(run.root().join("record/inner")).unwrap();
        let place = run.root().join(name);
        let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &place).unwrap();
        assert!(task.existing(HASH).is_err(), "{name}");
        assert!(RevisionFolder::latest(&task.root).is_err(), "{name}");
        task.set_aside(HASH).unwrap().unwrap();
        assert!(task.existing(HASH).unwrap().is_none());
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_was_published_is_believed_of_this_users_record_alone() {
    let (_folder, task) = open();
    let mine = task.root.join("notes.txt");
    fs::write(&mine, "mine").unwrap();
    let planted = format!("{{\"notes.txt\": [\"{}\"]}}", sha256_hex(b"mine"));
    fs::write(task.root.join(".runs/published.json"), planted).unwrap();
    task.publish(&results(&[("solution.py", "1")])).unwrap();
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
    let fifo = task.root.join("solution.py");
    fs::remove_file(&fifo).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    // A pipe would be waited for.
    assert_eq!(task.publish(&results(&[("solution.py", "1")])).unwrap().len(), 1);
}
