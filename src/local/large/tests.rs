use super::*;
use crate::local::folder::TaskFolder;
use codegen_core::digest::sha256_hex;

struct World {
    root: tempfile::TempDir,
    stored: StoredFiles,
    results: TaskFolder,
}

fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("stored")).unwrap();
    World {
        stored: StoredFiles::of(root.path().join("stored")),
        results: TaskFolder::open(&root.path().join("out"), "test").unwrap(),
        root,
    }
}

impl World {
    fn output(&self, name: &str, path: &str, sha256: &str) -> (LargeOutput, PathBuf) {
        let output = LargeOutput {
            name: name.to_owned(),
            path: path.to_owned(),
            sha256: sha256.to_owned(),
        };
        (output, self.stored.place(name, sha256))
    }

    /// Publishes these outputs; what was moved aside.
    fn publish(&self, outputs: &[LargeOutput]) -> Vec<PathBuf> {
        let large = LargeResults::find(&self.stored, outputs).unwrap();
        self.results.publish_with(&BTreeMap::new(), &large).unwrap()
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join("out").join(path)).ok()
    }
}

#[test]
fn a_large_output_is_moved_once_and_stays_when_the_task_is_run_again() {
    let world = world();
    let (summary, place) = world.output("summary", "outputs/summary.csv", &sha256_hex(b"1"));
    fs::write(&place, "1").unwrap();
    let (pages, folder) = world.output("pages", "outputs/pages", "00");
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join("deep/a.txt"), "a").unwrap();
    let outputs = [summary, pages];
    for _ in 0..2 {
        assert!(world.publish(&outputs).is_empty());
        assert_eq!(world.read("outputs/summary.csv").as_deref(), Some("1"));
        assert_eq!(world.read("outputs/pages/deep/a.txt").as_deref(), Some("a"));
        assert!(!place.exists() && !folder.exists());
    }
    assert!(world.publish(&[]).is_empty());
    assert_eq!(
        world.read("outputs/summary.csv"),
        None,
        "it is no result any more"
    );
    assert_eq!(world.read("outputs/pages/deep/a.txt"), None);
}

#[test]
fn a_large_output_that_the_user_edited_stays_and_makes_room_for_another_one() {
    let world = world();
    let (first, place) = world.output("summary", "outputs/summary.csv", &sha256_hex(b"1"));
    fs::write(&place, "1").unwrap();
    world.publish(std::slice::from_ref(&first));
    let published = world.root.path().join("out/outputs/summary.csv");
    fs::write(&published, "edited").unwrap();
    assert!(world.publish(&[first]).is_empty());
    assert_eq!(world.read("outputs/summary.csv").as_deref(), Some("edited"));

    let (second, place) = world.output("summary", "outputs/summary.csv", &sha256_hex(b"2"));
    fs::write(&place, "2").unwrap();
    let aside = world.publish(&[second]);
    assert_eq!(fs::read_to_string(&aside[0]).unwrap(), "edited");
    assert_eq!(world.read("outputs/summary.csv").as_deref(), Some("2"));
}

#[test]
fn two_outputs_of_one_content_are_two_files() {
    let world = world();
    let digest = sha256_hex(b"1");
    let pairs = ["a", "b"].map(|name| world.output(name, &format!("outputs/{name}"), &digest));
    for (_, place) in &pairs {
        fs::write(place, "1").unwrap();
    }
    world.publish(&pairs.map(|(output, _)| output));
    assert_eq!(
        (world.read("outputs/a"), world.read("outputs/b")),
        (Some("1".into()), Some("1".into()))
    );
}
