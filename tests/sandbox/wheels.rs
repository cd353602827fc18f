//! Wheels whose names lead elsewhere: none of them writes outside of its environment, and none replaces what starts there.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use codegen_sandbox::{ImageSpec, LocalSandbox, Progressing, Sandbox as _, SandboxError};
use rstest::rstest;
use zip::write::SimpleFileOptions;

use crate::environments::cache_parent;
use crate::index::Index;
use crate::support::spec;

const INFO: &str = "guest-1.0.dist-info";
const METADATA: &str = "Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n";
const CODE: &str = "#!python\ndef main():\n    pass\n";

/// A wheel in the making.
#[derive(Default)]
struct Wheel {
    files: Vec<(String, String)>,
    links: Vec<(&'static str, String)>,
    record: Option<String>,
    metadata: Option<&'static str>,
}

impl Wheel {
    fn file(name: &str) -> Self {
        Self {
            files: vec![(name.to_owned(), CODE.to_owned())],
            ..Self::default()
        }
    }

    fn entry_point(name: &str) -> Self {
        Self::entry_points(&format!("[console_scripts]\n{name} = guest:main\n"))
    }

    fn entry_points(text: &str) -> Self {
        let mut wheel = Self::file("guest.py");
        wheel
            .files
            .push((format!("{INFO}/entry_points.txt"), text.to_owned()));
        wheel
    }

    fn link(name: &'static str, target: &str) -> Self {
        Self {
            links: vec![(name, target.to_owned())],
            ..Self::file("guest.py")
        }
    }

    fn record(line: &str) -> Self {
        Self {
            record: Some(format!("{line},,\nguest.py,,\n{INFO}/RECORD,,\n")),
            ..Self::file("guest.py")
        }
    }

    fn metadata(text: &'static str) -> Self {
        Self {
            metadata: Some(text),
            ..Self::file("guest.py")
        }
    }

    fn bytes(self) -> Vec<u8> {
        let mut files = self.files;
        files.push((
            format!("{INFO}/METADATA"),
            self.metadata.unwrap_or(METADATA).to_owned(),
        ));
        let about = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        files.push((format!("{INFO}/WHEEL"), about.to_owned()));
        let listed: Vec<String> = files.iter().map(|(name, _)| format!("{name},,\n")).collect();
        files.push((
            format!("{INFO}/RECORD"),
            self.record
                .unwrap_or(format!("{}{INFO}/RECORD,,\n", listed.concat())),
        ));
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            let mode = if name.contains(".data/") { 0o755 } else { 0o644 };
            let options = SimpleFileOptions::default().unix_permissions(mode);
            archive.start_file(name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        for (name, target) in self.links {
            archive
                .add_symlink(name, target, SimpleFileOptions::default())
                .unwrap();
        }
        archive.finish().unwrap().into_inner()
    }
}

/// Files below `folder` that no environment should have left there.
fn escaped(folder: &Path, environment: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if Some(path.as_path()) == environment {
            continue;
        }
        if entry.file_name().to_string_lossy().contains("escaped") {
            found.push(path.clone());
        }
        // What the installer stores of archives lies under names of its own.
        if entry.file_type().unwrap().is_dir() && !path.ends_with("cache/uv") {
            found.extend(escaped(&path, environment));
        }
    }
    found
}

/// What is to be seen of a wheel, besides that it writes nowhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is refused by name.
    Refused,
    /// What leads elsewhere is not there; the rest is.
    Installed,
}
use Outcome::{Installed, Refused};

#[rstest]
#[case::entry_point_above(Wheel::entry_point("../escaped"), Refused)]
#[case::entry_point_outside(Wheel::entry_point("../../../escaped"), Refused)]
#[case::entry_point_shell(Wheel::entry_point("../../../../bin/escaped"), Refused)]
#[case::entry_point_absolute(Wheel::entry_point("{outside}/escaped"), Refused)]
#[case::entry_point_in_a_folder(Wheel::entry_point("sub/escaped"), Refused)]
#[case::entry_point_of_the_folder(Wheel::entry_point("."), Refused)]
#[case::entry_point_of_the_folder_above(Wheel::entry_point(".."), Refused)]
#[case::entry_point_pth(Wheel::entry_point("../lib/python3.13/site-packages/escaped.pth"), Refused)]
#[case::entry_point_python(Wheel::entry_point("python"), Refused)]
#[case::entry_point_python3(Wheel::entry_point("python3"), Refused)]
#[case::entry_point_python_of_a_version(Wheel::entry_point("python3.13"), Refused)]
#[case::entry_point_backslashes(Wheel::entry_point("..\\..\\escaped"), Refused)]
#[case::entry_point_of_a_window(Wheel::entry_points("[gui_scripts]\n../escaped = guest:main\n"), Refused)]
#[case::entry_point_with_code(
    Wheel::entry_points("[console_scripts]\nok = guest:main; import os\n"),
    Refused
)]
#[case::entry_point_with_control_characters(Wheel::entry_point("es\u{1b}[2Jcaped"), Refused)]
#[case::script_python(Wheel::file("guest-1.0.data/scripts/python"), Refused)]
#[case::script_python3(Wheel::file("guest-1.0.data/scripts/python3"), Refused)]
#[case::script_python_of_another_version(Wheel::file("guest-1.0.data/scripts/python3.99"), Refused)]
#[case::script_beside_python(Wheel::file("guest-1.0.data/scripts/pyvenv.cfg"), Refused)]
#[case::script_in_a_folder(Wheel::file("guest-1.0.data/scripts/sub/escaped"), Refused)]
#[case::script_above(Wheel::file("guest-1.0.data/scripts/../../../../escaped"), Installed)]
#[case::data_python(Wheel::file("guest-1.0.data/data/bin/python"), Refused)]
#[case::data_settings(Wheel::file("guest-1.0.data/data/pyvenv.cfg"), Refused)]
#[case::data_above(Wheel::file("guest-1.0.data/data/../../../../escaped"), Installed)]
#[case::data_record_of_ours(Wheel::file("guest-1.0.data/data/environment.json"), Refused)]
#[case::data_through_a_link(
    Wheel::file("guest-1.0.data/data/lib64/python3.13/site-packages/os.py"),
    Installed
)]
#[case::data_of_an_unlisted_kind(Wheel::file("guest-1.0.data/elsewhere/x"), Refused)]
#[case::headers_above(Wheel::file("guest-1.0.data/headers/../../../../../escaped"), Installed)]
#[case::purelib_above(Wheel::file("guest-1.0.data/purelib/../../../../../../../escaped"), Installed)]
#[case::another_distribution(Wheel::file("guest-1.0.data/purelib/other-2.0.dist-info/METADATA"), Refused)]
#[case::file_above(Wheel::file("../../../../../escaped"), Installed)]
#[case::file_absolute(Wheel::file("{outside}/escaped"), Installed)]
#[case::file_with_a_line_break(Wheel::file("es\ncaped.py"), Refused)]
#[case::file_beside_metadata(Wheel::file("guest-1.0.dist-info/../../../../../escaped"), Installed)]
#[case::record_above(Wheel::record("../../../../../../escaped"), Installed)]
#[case::record_absolute(Wheel::record("{outside}/escaped"), Installed)]
#[case::link_to_a_folder(Wheel::link("guest_link", "{outside}"), Installed)]
#[case::link_above(Wheel::link("guest_link", "../../../../../.."), Installed)]
#[case::link_as_a_script(Wheel::link("guest-1.0.data/scripts/python3", "{outside}"), Refused)]
#[case::name_above(
    Wheel::metadata("Metadata-Version: 2.1\nName: ../../escaped\nVersion: 1.0\n"),
    Refused
)]
#[case::version_above(
    Wheel::metadata("Metadata-Version: 2.1\nName: guest\nVersion: 1.0/../../escaped\n"),
    Refused
)]
#[tokio::test]
async fn no_wheel_writes_outside_of_its_environment(#[case] mut wheel: Wheel, #[case] outcome: Outcome) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir_in(cache_parent()).unwrap();
    let (cache, outside) = (folder.path().join("cache"), folder.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    let fill = |text: &mut String| *text = text.replace("{outside}", outside.to_str().unwrap());
    for (name, text) in &mut wheel.files {
        fill(name);
        fill(text);
    }
    wheel.links.iter_mut().for_each(|(_, target)| fill(target));
    wheel.record.iter_mut().for_each(fill);
    let index = Index::start(vec![("guest-1.0-py3-none-any.whl".to_owned(), wheel.bytes())]).await;
    let mut wanted = ImageSpec {
        index_url: Some(index.url(None)),
        // Its first releases brought a pip that installs such wheels.
        python_version: "3.13".to_owned(),
        ..spec(&[])
    };
    wanted.packages.pip = vec!["guest".to_owned()];
    let built = LocalSandbox::new(&cache).build(&wanted, 0).await;
    let environment = match &built {
        Ok(Progressing::Done(built)) => Some(cache.join("environments").join(&built.image)),
        _ => None,
    };
    let left = escaped(folder.path(), environment.as_deref());
    assert!(left.is_empty(), "it wrote {left:?}: {built:?}");
    match (outcome, built) {
        (Refused, Err(SandboxError::PackageDenied(said))) => {
            assert!(said.starts_with("pip package guest"), "{said}");
        }
        (Installed, Ok(_)) => {
            let links = fs::read_dir(environment.unwrap().join("bin")).unwrap().flatten();
            let links = links.filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
            assert!(
                links
                    .into_iter()
                    .all(|entry| entry.file_type().unwrap().is_symlink())
            );
        }
        (_, other) => panic!("{other:?}"),
    }
}
