//! What is no file, changes while it is read, or is too much.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::reading::{context_of_path, rows};

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    fs::write(path("two\nlines.csv"), "a,b\n1,2\n").unwrap();
    File::create(path("sparse.csv"))
        .unwrap()
        .set_len(5 << 30)
        .unwrap();
    std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", path("loop")).unwrap();
    let mut text = String::new();
    let mut tell = |what: &str, path: &Path, file_name: &str| {
        writeln!(text, "# {what}\n{}\n", context_of_path(path, file_name)).unwrap();
    };
    tell("a pipe", &path("pipe"), "x.csv");
    tell("a folder", folder.path(), "x.csv");
    tell("a device", Path::new("/dev/zero"), "x.csv");
    tell("nothing", &path("gone"), "x.csv");
    tell("a dangling link", &path("dangling"), "x.csv");
    tell("a link to itself", &path("loop"), "x.csv");
    tell("5 GiB of nothing", &path("sparse.csv"), "sparse.csv");
    tell("a name of two lines", &path("two\nlines.csv"), "x.csv");
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_that_may_not_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    fs::write(&path, "a\n1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    // Root may read everything.
    if File::open(&path).is_err() {
        assert_eq!(
            context_of_path(&path, "x.csv"),
            "error: cannot read x.csv: Permission denied (os error 13)"
        );
    }
}

#[test]
fn a_file_that_changes_all_the_time_is_never_a_mixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    // Two contents of one length, each of one letter: a mixture would have both.
    let content = |letter: &str| format!("id,letter\n{}", format!("1,{letter}\n").repeat(200_000));
    fs::write(&path, content("a")).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().write(true).open(&path).unwrap();
            for letter in ["b", "a"].into_iter().cycle() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                file.seek(SeekFrom::Start(0)).unwrap();
                file.write_all(content(letter).as_bytes()).unwrap();
            }
        });
        for _ in 0..8 {
            seen.push(context_of_path(&path, "x.csv"));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let changed =
        "error: x.csv changed while it was read; run again when nothing writes to it, or give a copy";
    let whole = "## sample (x.csv): CSV, 200000 rows, 2 columns";
    assert!(
        seen.iter().all(|told| told == changed || told == whole),
        "{seen:?}"
    );
    assert!(seen.iter().any(|told| told == changed), "{seen:?}");
}

/// Grows while it is read, or shrinks.
#[test]
fn a_file_that_grows_or_shrinks_is_an_error_or_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    fs::write(&path, rows(100_000)).unwrap();
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::options().append(true).open(&path).unwrap();
            for round in 0_u64.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                (&file).write_all(b"7,n7\n").unwrap();
                if round % 5_000 == 0 {
                    file.set_len(1_000_000).unwrap();
                }
            }
        });
        for _ in 0..4 {
            seen.push(context_of_path(&path, "x.csv"));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(
        seen.iter()
            .any(|told| told.starts_with("error: x.csv changed while it was read")),
        "{seen:?}"
    );
}

#[test]
fn a_limit_that_is_met_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    // One element of an array is held whole.
    fs::write(&path, format!("[[{}1]]", "1,".repeat(20_000_000))).unwrap();
    assert_eq!(
        context_of_path(&path, "huge.json"),
        "error: reading huge.json met the limit of 256 MiB of memory; give a part of it as the sample"
    );
}
