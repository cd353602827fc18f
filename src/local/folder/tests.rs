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
    drop(FolderLock::take(folder.path(), &state, "test").unwrap());
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
