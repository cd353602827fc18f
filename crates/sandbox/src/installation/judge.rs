//! Rules for the files that a package may leave in an environment: plain files below it, and no file in the place of what starts there.
//!
//! The same rules for the folder that uv filled here and for the layer that a build made.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use flate2::read::MultiGzDecoder;
use regex::Regex;

use codegen_core::lock::Lock;
use codegen_core::python::requirement::normalized;

/// Programs that are started as Python, and files beside them that say where Python finds its own modules.
#[expect(clippy::expect_used, reason = "the pattern is a constant; a test uses it")]
static INTERPRETERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^bin/(python[0-9.]*t?(\._pth)?|pyvenv\.cfg|pybuilddir\.txt)$").expect("a valid pattern")
});

/// The file that says which interpreter is behind an environment.
pub(crate) const SETTINGS: &str = "pyvenv.cfg";
/// Files at the top of an environment that are ours.
const OURS: [&str; 1] = ["environment.json"];
/// Largest list of files that is read.
const LARGEST_RECORD: u64 = 64 * 1024 * 1024;

/// Kind of entry at a path of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link, and where it leads.
    Link(PathBuf),
    /// A device, a pipe, a link to another name of the same file.
    Other,
}

/// Returns the reason for which no package can have brought an entry; `path` is relative to the environment.
pub fn fault(path: &str, kind: &EntryKind) -> Option<&'static str> {
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Some("has characters in its name that lead elsewhere");
    }
    match kind {
        EntryKind::Link(target) if is_own_link(path, target) => None,
        EntryKind::Link(_) => Some("is a link"),
        EntryKind::Other => Some("is neither file nor folder"),
        EntryKind::File if INTERPRETERS.is_match(path) => Some("is in the place of an interpreter"),
        EntryKind::File if OURS.contains(&path) => Some("is in the place of a record"),
        EntryKind::File | EntryKind::Folder => None,
    }
}

/// The links that an environment begins with.
fn is_own_link(path: &str, target: &Path) -> bool {
    if path == "lib64" {
        return target == Path::new("lib");
    }
    if !INTERPRETERS.is_match(path) {
        return false;
    }
    // To another name of it, or out of the environment, where no package writes.
    let is_beside = target
        .to_str()
        .is_some_and(|name| INTERPRETERS.is_match(&format!("bin/{name}")));
    is_beside || is_of_the_base(target)
}

/// Reports whether a link leads out of every environment, to where no package writes.
fn is_of_the_base(target: &Path) -> bool {
    let is_inside = ["/env", "/opt/codegen"]
        .iter()
        .any(|folder| target.starts_with(folder));
    target.is_absolute() && is_plain(target) && !is_inside
}

/// Reports whether a path has no step back.
fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| !matches!(part, Component::ParentDir))
}

/// The distribution whose metadata lies at this path of an environment, by the name of its folder.
pub fn distribution(path: &str) -> Option<&str> {
    let (folder, _) = path
        .split_once("/site-packages/")
        .map(|(_, rest)| rest.split_once('/').unwrap_or((rest, "")))?;
    folder.strip_suffix(".dist-info")
}

/// Reports whether this folder of metadata is of a distribution of the lock.
pub(crate) fn is_installed(distribution: &str, lock: &Lock) -> bool {
    // Older builders leave dashes in names, so any of them may be where the version begins.
    let before: Vec<String> = distribution
        .match_indices('-')
        .map(|(at, _)| normalized(&distribution[..at]))
        .collect();
    let mut names = lock
        .packages
        .iter()
        .filter_map(|locked| locked.package.split("==").next());
    names.any(|listed| before.contains(&normalized(listed)))
}

/// Name in messages of the layer that a build makes of pip packages.
pub const PACKAGE_LAYER: &str = "the layer of its pip packages";
/// Entries of a layer that are read: more than any set of packages has files.
const MOST_ENTRIES: usize = 2_000_000;

/// Finds a fault of the layer that a build made of pip packages, a tar archive that may be compressed: nothing but `environment` may be
/// written. What is there before any package, the link that Pods start by among it, lies in the layer below.
pub fn layer(
    archive: impl io::Read,
    is_packed: bool,
    environment: &str,
    installed: Option<&Lock>,
) -> io::Result<Option<String>> {
    let archive: Box<dyn io::Read> = if is_packed {
        Box::new(MultiGzDecoder::new(archive))
    } else {
        Box::new(archive)
    };
    let mut archive = tar::Archive::new(archive);
    for (at, entry) in archive.entries()?.enumerate() {
        let entry = entry?;
        let path = entry.path_bytes();
        // What is no text is shown with a character that no rule permits.
        let path = std::str::from_utf8(&path)
            .unwrap_or("\u{0}")
            .trim_start_matches("./")
            .trim_matches('/')
            .to_owned();
        let kind = match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => EntryKind::File,
            tar::EntryType::Directory => EntryKind::Folder,
            tar::EntryType::Symlink => EntryKind::Link(entry.link_name()?.unwrap_or_default().into_owned()),
            tar::EntryType::XGlobalHeader => continue,
            _ => EntryKind::Other,
        };
        let why = if at >= MOST_ENTRIES {
            Some("is one file too many")
        } else {
            entry_fault(&path, &kind, environment, installed)
        };
        if let Some(why) = why {
            return Ok(Some(format!("has {}, which {why}", shown(&path))));
        }
    }
    Ok(None)
}

fn entry_fault(
    path: &str,
    kind: &EntryKind,
    environment: &str,
    installed: Option<&Lock>,
) -> Option<&'static str> {
    if !is_plain(Path::new(path)) {
        return Some("leads elsewhere");
    }
    let Some(below) = Path::new("/")
        .join(path)
        .strip_prefix(environment)
        .ok()
        .map(Path::to_path_buf)
    else {
        // The folders above, and one that held a temporary file: a folder has nothing in it that could be started.
        return (*kind != EntryKind::Folder).then_some("lies outside of the environment");
    };
    let below = below.to_str().unwrap_or("\u{0}");
    fault(below, kind).or_else(|| {
        let name = distribution(below).zip(installed);
        name.is_some_and(|(name, lock)| !is_installed(name, lock))
            .then_some("is the metadata of a package that was not asked for")
    })
}

/// Finds a fault of an environment: the package, and what it does.
pub fn environment(root: &Path, lock: &Lock) -> io::Result<Option<(String, String)>> {
    let mut files = Vec::new();
    walk(root, "", &mut files)?;
    let records = records(root, &files)?;
    for (path, kind) in &files {
        if let Some(why) = fault(path, kind) {
            return Ok(Some((
                blamed(&records, path),
                format!("brings {}, which {why}", shown(path)),
            )));
        }
    }
    for (path, _) in &files {
        if let Some(name) = distribution(path).filter(|name| !is_installed(name, lock)) {
            let why = format!("brings {}, the metadata of another package", shown(name));
            return Ok(Some((blamed(&records, path), why)));
        }
    }
    let leaving = records
        .iter()
        .find(|(_, listed)| listed.iter().any(Option::is_none));
    Ok(leaving.map(|(name, _)| {
        (
            name.clone(),
            "lists files outside of its environment as its own".to_owned(),
        )
    }))
}

/// The package whose list names this file.
pub(crate) fn owner_of(root: &Path, path: &str) -> String {
    let mut files = Vec::new();
    let records = walk(root, "", &mut files).and_then(|()| records(root, &files));
    blamed(&records.unwrap_or_default(), path)
}

fn blamed(records: &Records, path: &str) -> String {
    // A folder is of whom the files in it are.
    let is_of = |listed: &str| {
        listed
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let lists = |listed: &Vec<Option<String>>| listed.iter().flatten().any(|one| is_of(one));
    let owner = records.iter().find(|(_, listed)| lists(listed));
    owner
        .map_or("that does not name it in its list of files", |(name, _)| {
            name.as_str()
        })
        .to_owned()
}

fn walk(root: &Path, below: &str, files: &mut Vec<(String, EntryKind)>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        // What is no text is shown with a character that no rule permits.
        let name = name.to_str().unwrap_or("\u{0}");
        let path = if below.is_empty() {
            name.to_owned()
        } else {
            format!("{below}/{name}")
        };
        let about = entry.file_type()?;
        let kind = if about.is_symlink() {
            EntryKind::Link(fs::read_link(entry.path())?)
        } else if about.is_dir() {
            EntryKind::Folder
        } else if about.is_file() {
            EntryKind::File
        } else {
            EntryKind::Other
        };
        let is_fault = fault(&path, &kind).is_some();
        files.push((path.clone(), kind.clone()));
        if kind == EntryKind::Folder && !is_fault {
            walk(root, &path, files)?;
        }
    }
    Ok(())
}

/// Every package with the files that it lists, relative to the environment; nothing for one that lies outside.
type Records = BTreeMap<String, Vec<Option<String>>>;

fn records(root: &Path, files: &[(String, EntryKind)]) -> io::Result<Records> {
    let mut all = Records::new();
    for (path, kind) in files {
        let Some(folder) = path.strip_suffix(".dist-info/RECORD") else {
            continue;
        };
        let file = root.join(path);
        if *kind != EntryKind::File || fs::metadata(&file)?.len() > LARGEST_RECORD {
            continue;
        }
        let (packages, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        let mut rows = csv::ReaderBuilder::new();
        let rows = rows
            .has_headers(false)
            .flexible(true)
            .from_path(&file)
            .map_err(io::Error::other)?;
        let listed = rows.into_byte_records().filter_map(Result::ok).filter_map(|row| {
            row.get(0)
                .map(|path| relative(packages, &String::from_utf8_lossy(path)))
        });
        all.insert(shown(&name.replacen('-', "==", 1)), listed.collect());
    }
    Ok(all)
}

/// A path of a list, relative to the environment; nothing where it leads out of it.
fn relative(packages: &str, listed: &str) -> Option<String> {
    let mut parts: Vec<&str> = packages.split('/').collect();
    if listed.starts_with('/') {
        return None;
    }
    for part in listed.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// A name as a message has it.
fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("bin/guest", EntryKind::File, true)]
    #[case("bin/python-guest-check", EntryKind::File, true)]
    #[case("bin/python3", EntryKind::File, false)]
    #[case("bin/python3.13t", EntryKind::File, false)]
    #[case("bin/pyvenv.cfg", EntryKind::File, false)]
    #[case("bin/python3", EntryKind::Link("python".into()), true)]
    #[case("bin/python", EntryKind::Link("/usr/bin/python3.12".into()), true)]
    #[case("bin/python", EntryKind::Link("guest".into()), false)]
    #[case("bin/python", EntryKind::Link("../lib/python".into()), false)]
    #[case("bin/python", EntryKind::Link("/usr/../opt/codegen/bin/guest".into()), false)]
    #[case("bin/python", EntryKind::Link("/opt/codegen/bin/guest".into()), false)]
    #[case("bin/guest", EntryKind::Link("/bin/sh".into()), false)]
    #[case("lib64", EntryKind::Link("lib".into()), true)]
    #[case("lib64", EntryKind::Link("/".into()), false)]
    #[case("lib/x", EntryKind::Other, false)]
    #[case("environment.json", EntryKind::File, false)]
    #[case("lib/a\u{1b}b", EntryKind::File, false)]
    #[case("lib/a\\..\\b", EntryKind::File, false)]
    fn an_entry_is_judged_by_its_path_and_kind(
        #[case] path: &str,
        #[case] kind: EntryKind,
        #[case] is_good: bool,
    ) {
        assert_eq!(fault(path, &kind).is_none(), is_good, "{:?}", fault(path, &kind));
    }

    #[rstest]
    #[case("guest.py", Some("lib/python3.12/site-packages/guest.py"))]
    #[case("../../../bin/guest", Some("bin/guest"))]
    #[case("../../../../guest", None)]
    #[case("/etc/passwd", None)]
    fn a_listed_file_lies_in_the_environment_or_not(#[case] listed: &str, #[case] expected: Option<&str>) {
        let found = relative("lib/python3.12/site-packages", listed);
        assert_eq!(found.as_deref(), expected);
    }

    /// A layer with this entry besides what each has.
    fn with(path: &str, kind: tar::EntryType, target: Option<&str>) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |path: &str, kind: tar::EntryType, target: Option<&str>| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(0);
            // As bytes: the library refuses to write some of these.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            if let Some(target) = target {
                header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
            }
            header.set_cksum();
            archive.append(&header, io::empty()).unwrap();
        };
        let python = Some("/usr/local/bin/python3.12");
        add("opt/", tar::EntryType::Directory, None);
        add("opt/codegen/bin/python3", tar::EntryType::Symlink, python);
        add(
            "opt/codegen/lib/python3.12/site-packages/guest-1.0.dist-info/RECORD",
            tar::EntryType::Regular,
            None,
        );
        add(path, kind, target);
        archive.into_inner().unwrap()
    }

    fn judged(layer: &[u8]) -> Option<String> {
        let lock = Lock::parse("# Python 3.12.4 on x86_64\nguest==1.0\n").unwrap();
        super::layer(layer, false, "/opt/codegen", Some(&lock)).unwrap()
    }

    #[rstest]
    #[case::shell("bin/sh")]
    #[case::interpreter("usr/local/bin/python3.12")]
    #[case::standard_library("usr/local/lib/python3.12/os.py")]
    #[case::startup("usr/local/lib/python3.12/site-packages/x.pth")]
    #[case::loader("etc/ld.so.preload")]
    #[case::users("etc/passwd")]
    #[case::beside("opt/escaped")]
    #[case::almost_the_environment("opt/codegen2/x")]
    #[case::temporary("tmp/escaped")]
    #[case::home("root/.bashrc")]
    #[case::whiteout("bin/.wh.sh")]
    #[case::opaque("usr/lib/.wh..wh..opq")]
    #[case::settings_of_the_interpreter("opt/pyvenv.cfg")]
    #[case::settings_at_the_top("pyvenv.cfg")]
    #[case::step_back("opt/codegen/../../bin/sh")]
    #[case::step_back_at_once("../bin/sh")]
    #[case::dot("./bin/sh")]
    #[case::absolute("/bin/sh")]
    #[case::harness("harness/main.py")]
    #[case::python_of_the_environment("opt/codegen/bin/python")]
    #[case::python_of_a_version("opt/codegen/bin/python3.12")]
    #[case::settings_beside("opt/codegen/bin/pyvenv.cfg")]
    #[case::metadata_of_another("opt/codegen/lib/python3.12/site-packages/other-2.0.dist-info/METADATA")]
    #[case::control_characters("opt/codegen/bin/es\u{1b}[2Jcaped")]
    #[case::backslashes("opt/codegen/bin/..\\..\\escaped")]
    fn a_file_of_a_layer_lies_in_its_environment_or_the_layer_is_refused(#[case] path: &str) {
        let said = judged(&with(path, tar::EntryType::Regular, None)).unwrap();
        assert!(said.starts_with("has "), "{said}");
    }

    #[rstest]
    #[case::shell("bin/sh", "/opt/codegen/bin/guest")]
    #[case::interpreter_of_the_pods("opt/codegen-python", "/opt/codegen/bin/guest")]
    #[case::interpreter_of_the_base("opt/codegen-python", "/usr/local/bin/python3.12")]
    #[case::interpreter_by_a_step_back("opt/codegen-python", "/usr/../opt/codegen/bin/guest")]
    #[case::interpreter_beside("opt/codegen-python", "codegen/bin/guest")]
    #[case::python("opt/codegen/bin/python", "guest")]
    #[case::python_in_a_folder("opt/codegen/bin/python", "../lib/guest")]
    #[case::environment("opt/codegen", "/tmp")]
    #[case::library("opt/codegen/lib64", "/usr/lib")]
    #[case::requirements("opt/codegen/passwd", "/etc/passwd")]
    fn a_link_of_a_layer_is_one_that_an_environment_begins_with(#[case] path: &str, #[case] target: &str) {
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
            assert!(judged(&with(path, kind, Some(target))).is_some(), "{kind:?}");
        }
    }

    #[test]
    fn an_honest_layer_is_pushed_and_one_with_a_device_is_not() {
        assert_eq!(
            judged(&with("opt/codegen/bin/guest", tar::EntryType::Regular, None)),
            None
        );
        assert_eq!(judged(&with("tmp/", tar::EntryType::Directory, None)), None);
        assert!(judged(&with("dev/null", tar::EntryType::Char, None)).is_some());
    }

    #[test]
    fn metadata_is_of_what_was_resolved() {
        let lock = Lock::parse("# Python 3.12.4 on x86_64\nscikit-learn==1.5\n").unwrap();
        let name = distribution("lib/python3.12/site-packages/scikit_learn-1.5.dist-info/RECORD");
        assert!(is_installed(name.unwrap(), &lock));
        assert!(!is_installed("other-1.0", &lock));
        assert_eq!(
            distribution("lib/python3.12/site-packages/guest/x.dist-info"),
            None
        );
    }
}
