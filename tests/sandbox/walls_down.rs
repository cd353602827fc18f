//! The attacks of `walls` work where the wall that they meet is missing: they are run again as an ordinary user, who has a key of
//! a login, by a bubblewrap of which some arguments are left out, or with a harness that lacks a line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rstest::rstest;

use crate::support::{as_a_user, user_cache};
use crate::walls::WITHOUT;

const KEYRINGS: &str = "no_keyring_brings_a_phase_words_of_the_one_before_or_keys_of_who_started_it";
const CALLS: &str = "calls_that_lead_deep_into_the_kernel_do_not_exist";
const LOCKS: &str = "what_others_lock_is_out_of_sight";
const AT_ONCE: &str =
    "a_word_goes_from_one_sandbox_to_another_that_runs_at_once_and_not_to_one_that_has_ended";
const LEFTOVERS: &str =
    "nothing_stays_beside_the_devices_or_in_the_settings_of_a_kernel_or_on_the_folders_themselves";
const FILL: &str = "files_beside_the_devices_take_no_memory";
const DESCRIPTORS: &str = "no_file_is_open_that_a_program_did_not_open";
const TRAP: &str = "a_pipe_in_the_place_of_the_last_words_does_not_end_the_harness";

/// Run one test of `walls` as an ordinary user, with these folders first on the search path.
fn run(test: &str, wall: &str, path: Option<&Path>, cache: &Path) {
    let search: Vec<&Path> = path
        .into_iter()
        .chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new))
        .collect();
    let output = as_a_user(cache)
        .args(["--exact", &format!("walls::{test}")])
        .env("PATH", std::env::join_paths(search).unwrap())
        .env(WITHOUT, wall)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

/// A folder with a bubblewrap that leaves out these words.
fn bubblewrap_without(words: &str) -> tempfile::TempDir {
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("bwrap"))
        .find(|path| path.is_file())
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let script = include_str!("walls/bwrap_without.py")
        .replace("@REAL@", real.to_str().unwrap())
        .replace("@WORDS@", words);
    let path = folder.path().join("bwrap");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[rstest]
#[case::keyrings(KEYRINGS, "filter", "--seccomp 9")]
#[case::calls(CALLS, "filter", "--seccomp 9")]
#[case::locks(LOCKS, "locks", "--ro-bind * /proc/locks")]
#[case::at_once(AT_ONCE, "locks", "--ro-bind * /proc/locks")]
#[case::files(LEFTOVERS, "devices", "--remount-ro /dev")]
#[case::settings(LEFTOVERS, "settings", "--ro-bind /proc/sys /proc/sys")]
#[case::memory(FILL, "devices", "--remount-ro /dev")]
#[case::trap(TRAP, "devices", "--remount-ro /dev")]
fn an_attack_works_where_its_wall_is_missing(#[case] test: &str, #[case] wall: &str, #[case] words: &str) {
    let folder = bubblewrap_without(words);
    run(test, wall, Some(folder.path()), &user_cache());
}

#[rstest]
#[case::keyrings(KEYRINGS)]
#[case::calls(CALLS)]
#[case::locks(LOCKS)]
#[case::at_once(AT_ONCE)]
#[case::leftovers(LEFTOVERS)]
#[case::memory(FILL)]
#[case::trap(TRAP)]
#[case::descriptors(DESCRIPTORS)]
fn the_same_attack_of_the_same_user_meets_the_wall(#[case] test: &str) {
    run(test, "", None, &user_cache());
}

#[rstest]
#[case::folders(LEFTOVERS, "first state", &[("    _permit()\n", ""), ("_forget(path) for", "True for")])]
#[case::descriptors(DESCRIPTORS, "closed files", &[("    close_inherited()\n", "")])]
fn an_attack_works_where_the_harness_lacks_a_line(
    #[case] test: &str,
    #[case] wall: &str,
    #[case] lines: &[(&str, &str)],
) {
    let cache = user_cache();
    // The harness is written by the first run.
    run(TRAP, "", None, &cache);
    let other = tempfile::tempdir_in(&cache).unwrap();
    fs::set_permissions(other.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for entry in fs::read_dir(cache.join("harness")).unwrap().flatten() {
        let copied = other.path().join("harness").join(entry.file_name());
        copy_without(&entry.path(), &copied, lines);
    }
    std::os::unix::fs::symlink(cache.join("environments"), other.path().join("environments")).unwrap();
    run(test, wall, None, other.path());
}

/// A harness in which some lines are others.
fn copy_without(from: &Path, to: &Path, lines: &[(&str, &str)]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_dir() {
            // Compiled files.
            continue;
        }
        let mut text = fs::read_to_string(entry.path()).unwrap();
        for (there, instead) in lines {
            text = text.replace(there, instead);
        }
        fs::write(to.join(entry.file_name()), text).unwrap();
    }
}
