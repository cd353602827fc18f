//! The entry point of a published program, in a real Python.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const CALL: &str =
    "import sys; sys.path.insert(0, sys.argv[1]); import run; run.main(sys.argv[4:], *sys.argv[2:4])";

/// What `/program`, `/var/inputs` and `/var/outputs` are in an image.
struct Image {
    folder: TempDir,
}

impl Image {
    fn new() -> Self {
        let image = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for folder in ["program", "inputs", "outputs"] {
            fs::create_dir(image.path(folder)).unwrap();
        }
        let launcher = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/sandbox/src/launcher/run.py");
        fs::copy(launcher, image.path("program/run.py")).unwrap();
        let seed = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/crates/sandbox/src/harness/hash_seed.py"
        );
        fs::copy(seed, image.path("program/hash_seed.py")).unwrap();
        // Writes how it was called to an output whose path stands in its source.
        let program = format!(
            "import json, sys\nwith open('{}', 'w') as file:\n    json.dump(sys.argv[1:], file)\nsys.exit(7)\n",
            image.path("outputs/called").display()
        );
        fs::write(image.path("program/solution.py"), program).unwrap();
        let file = json!({
            "inputs": [
                {"name": "measurements", "type": "File", "description": "100 % of them"},
                {"name": "templates", "type": "Dir"},
                {"name": "decimals", "type": "Int", "default": "1", "description": "decimals of every mean"},
                {"name": "factor", "type": "Float", "default": "0.5"},
                {"name": "strict", "type": "Bool", "default": "true"},
                {"name": "title", "type": "String"},
                {"name": "output_dir", "type": "String", "default": "-x"},
            ],
            "outputs": [{"name": "called", "type": "File", "format": "JSON", "description": "its options"}],
            "variables": ["API_TOKEN"],
        });
        fs::write(image.path("program/program.json"), file.to_string()).unwrap();
        image
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("python3");
        command
            .args(["-B", "-c", CALL])
            .args(["program", "inputs", "outputs"].map(|folder| self.path(folder)))
            .args(arguments)
            .env("API_TOKEN", "hunter-22");
        command.output().unwrap()
    }

    fn mount(&self) {
        fs::write(self.path("inputs/measurements.csv"), "a\n1\n").unwrap();
        fs::create_dir(self.path("inputs/templates")).unwrap();
    }

    fn expected(&self, decimals: &str, title: &str) -> Value {
        let path = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let mut options = vec![
            "--measurements".to_owned(),
            path("inputs/measurements.csv"),
            "--templates".to_owned(),
            path("inputs/templates"),
        ];
        if decimals.starts_with('-') {
            options.push(format!("--decimals={decimals}"));
        } else {
            options.extend(["--decimals", decimals].map(str::to_owned));
        }
        let rest = ["--factor", "0.5", "--strict", "true", "--title", title];
        options.extend(rest.map(str::to_owned));
        options.push("--output_dir=-x".to_owned());
        json!(options)
    }
}

fn called(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    let (_, error) = said
        .split_once("program: error: ")
        .expect("an error of the launcher");
    error.trim().to_owned()
}

#[test]
fn the_program_is_called_as_in_a_sandbox_and_its_exit_code_is_the_containers() {
    let image = Image::new();
    image.mount();
    let output = image.run(&["--title", "a = b", "--decimals=-2"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(
        called(&image.path("outputs/called")),
        image.expected("-2", "a = b")
    );
}

#[test]
fn another_output_folder_is_made_and_written_to() {
    let image = Image::new();
    image.mount();
    let folder = image.path("made/here");
    let output = image.run(&["--output-dir", folder.to_str().unwrap(), "--title="]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(called(&folder.join("called")), image.expected("1", ""));
    assert!(!image.path("outputs/called").exists());
}

#[test]
fn a_file_anywhere_may_take_the_place_of_the_mounted_one() {
    let image = Image::new();
    image.mount();
    let other = image.path("other.parquet");
    fs::write(&other, "").unwrap();
    let output = image.run(&["--title=t", "--measurements", other.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let first = called(&image.path("outputs/called"))[1].clone();
    assert_eq!(first, other.to_str().unwrap());
}

#[test]
fn everything_that_is_missing_is_said_at_once_and_nothing_runs() {
    let image = Image::new();
    let said = refused(&image.run(&["--measurements=/nowhere/a.csv"]));
    let inputs = image.path("inputs").display().to_string();
    assert_eq!(
        said,
        format!(
            "--measurements: there is no file /nowhere/a.csv; give --templates, or mount a folder as {inputs}/templates/; give \
             --title, a text"
        )
    );
    assert!(!image.path("outputs/called").exists());
}

#[test]
fn a_value_of_another_type_and_an_unknown_option_are_refused() {
    let image = Image::new();
    image.mount();
    assert_eq!(
        refused(&image.run(&["--title=t", "--decimals=ten"])),
        "argument --decimals: 'ten' is not a whole number like 2"
    );
    assert_eq!(
        refused(&image.run(&["--title=t", "--strict=True"])),
        "argument --strict: 'True' is not true or false"
    );
    assert_eq!(
        refused(&image.run(&["--title=t", "--decimal=1"])),
        "unrecognized arguments: --decimal=1"
    );
}

#[test]
fn two_mounted_files_of_one_name_are_a_question_and_no_guess() {
    let image = Image::new();
    image.mount();
    fs::write(image.path("inputs/measurements.tsv"), "").unwrap();
    let said = refused(&image.run(&["--title=t"]));
    assert!(said.starts_with("--measurements: give one of "), "{said}");
}

#[test]
fn a_variable_that_the_program_was_tested_with_must_be_set() {
    let image = Image::new();
    image.mount();
    let mut command = Command::new("python3");
    command
        .args(["-B", "-c", CALL])
        .args(["program", "inputs", "outputs"].map(|folder| image.path(folder)))
        .arg("--title=t")
        .env_remove("API_TOKEN");
    assert_eq!(
        refused(&command.output().unwrap()),
        "set the environment variable API_TOKEN, which the program was tested with"
    );
}

#[test]
fn help_names_options_with_types_and_defaults_outputs_and_variables() {
    let image = Image::new();
    let output = image.run(&["--help"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "--measurements FILE",
        "100 % of them",
        "--decimals INT",
        "decimals of every mean (default: 1)",
        "--strict true|false",
        "(required)",
        "--output-dir FOLDER",
        "called (File JSON): its options",
        "environment variables: API_TOKEN",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in\n{said}");
    }
}

#[test]
fn the_order_of_sets_follows_from_options_and_inputs_wherever_they_lie_and_outputs_go() {
    let image = Image::new();
    image.mount();
    let program = format!(
        "import json, os\nwith open('{}', 'w') as file:\n    json.dump([os.environ['PYTHONHASHSEED'], list({{'a', 'b', 'c', 'd'}})], file)\n",
        image.path("outputs/called").display()
    );
    fs::write(image.path("program/solution.py"), program).unwrap();
    let seeded = |arguments: &[&str], folder: &str| {
        let output = image.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        called(&image.path(folder).join("called"))
    };
    let first = seeded(&["--title=t"], "outputs");
    fs::write(image.path("same.csv"), "a\n1\n").unwrap();
    fs::write(image.path("other.csv"), "a\n2\n").unwrap();
    let [same, other, made] =
        ["same.csv", "other.csv", "made"].map(|name| image.path(name).display().to_string());
    assert_eq!(
        seeded(&["--title=t", "--measurements", &same, "--decimals=1"], "outputs"),
        first
    );
    assert_eq!(seeded(&["--title=t", "--output-dir", &made], "made"), first);
    assert_ne!(seeded(&["--title=t", "--measurements", &other], "outputs"), first);
    assert_ne!(seeded(&["--title=u"], "outputs"), first);
}
