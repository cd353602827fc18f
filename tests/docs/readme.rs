//! The README is true: its manifest, its transcript, the program that it shows, and its commands in the order in which they stand.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use codegen_api::validate;

use crate::root;

/// Lines that it may have: somebody reads all of them.
const MOST_LINES: usize = 150;

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The text of each fenced block of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// The text between two headings.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let rest = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    rest.split("\n## ").next().unwrap()
}

#[test]
fn the_readme_is_short() {
    let lines = readme().lines().count();
    assert!(lines <= MOST_LINES, "{lines} lines");
}

#[test]
fn the_manifest_of_the_readme_is_accepted() {
    let readme = readme();
    let value: serde_json::Value = serde_saphyr::from_str(blocks(&readme, "yaml")[0]).unwrap();
    if let Err(faults) = validate::manifest(&value) {
        panic!("{faults:?}");
    }
}

#[test]
fn the_readme_counts_the_examples() {
    const IN_WORDS: [&str; 17] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
    ];
    let tasks = fs::read_dir(root().join("examples"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().join("replies.jsonl").is_file())
        .count();
    let readme = readme();
    let line = readme.lines().find(|line| line.contains("[examples/]")).unwrap();
    assert!(
        line.contains(&format!(" has {} tasks", IN_WORDS[tasks])),
        "{tasks}: {line}"
    );
}

/// Durations differ from run to run.
fn steady(text: &str) -> Vec<String> {
    let seconds = regex::Regex::new(r"\d+\.\d s").unwrap();
    let text = seconds.replace_all(text.trim(), "0.0 s");
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Whether `shown` is `printed`, in which a line `...` stands for lines that are left out.
fn shows(shown: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else {
        return printed.is_empty();
    };
    if first == "..." {
        return (0..=printed.len()).any(|skipped| shows(rest, &printed[skipped..]));
    }
    printed
        .split_first()
        .is_some_and(|(line, others)| line == first && shows(rest, others))
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// The program, with recorded replies in the place of a model, whichever it is.
const ASKING_NOBODY: &str = r#"#!/bin/sh
if [ -n "${OPENAI_API_KEY:-}" ]; then
  case "$1" in
  local) set -- local -k examples/penguins --replay examples/penguins/replies.jsonl ;;
  new) set -- "$@" --replay bin/new.jsonl ;;
  esac
fi
exec built "$@"
"#;

/// A checkout in which cargo has nothing to build. Where a command asks a model, recorded replies take its place; the commands that
/// say that they need none get none.
struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["examples", "scripts"] {
            copy_folder(&root().join(name), &folder.path().join(name));
        }
        fs::copy(root().join("Makefile"), folder.path().join("Makefile")).unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_kubectl-codegen"), bin.join("built")).unwrap();
        write_program(
            &bin.join("cargo"),
            "#!/bin/sh\ncase $1 in run) ;; *) exit 0 ;; esac\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec built \"$@\"\n",
        );
        write_program(&bin.join("kubectl-codegen"), ASKING_NOBODY);
        fs::copy(root().join("tests/docs/new.jsonl"), bin.join("new.jsonl")).unwrap();
        Self { folder }
    }

    /// Runs the lines of one block one after another, up to the first that fails.
    fn run(&self, block: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let done = Command::new("sh")
            .args(["-euc", block])
            .current_dir(self.folder.path())
            .env(
                "PATH",
                format!("{}:{path}", self.folder.path().join("bin").display()),
            )
            .env_remove("OPENAI_API_KEY")
            .env_remove("ANTHROPIC_API_KEY")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{block}\n{printed}");
        done
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

fn printed(done: &Output) -> String {
    String::from_utf8([done.stderr.clone(), done.stdout.clone()].concat()).unwrap()
}

#[test]
fn the_commands_of_the_readme_work_in_their_order_and_print_what_it_shows() {
    let readme = readme();
    let laptop = section(&readme, "On a laptop");
    let commands = blocks(laptop, "sh");
    let checkout = Checkout::new();

    let demo = printed(&checkout.run(commands[0]));
    // make says which commands it runs.
    let from = demo.find("✓ constraints").unwrap();
    let is_command = |line: &&str| line.starts_with("cargo ") || line.starts_with("  --replay ");
    let output: Vec<&str> = demo[from..].lines().filter(|line| !is_command(line)).collect();
    let shown = steady(blocks(laptop, "text")[0]);
    assert!(
        shows(&shown, &steady(&output.join("\n"))),
        "README.md shows something else than the demo prints:\n{demo}"
    );
    let head = readme.split("\n## ").next().unwrap();
    // The csv module of Python writes CRLF.
    let summary = checkout.read("codegen-out/demo/outputs/summary.csv");
    assert_eq!(summary.replace("\r\n", "\n"), blocks(head, "text")[0]);
    let program = checkout.read("codegen-out/demo/solution.py");
    assert!(program.contains(blocks(head, "python")[0]), "{program}");

    let again = printed(&checkout.run(commands[1]));
    assert!(!again.contains(" tokens   "), "a call was made:\n{again}");
    assert!(again.contains("Adelie,151,3700.66"), "{again}");
    for block in &commands[2..] {
        let said = printed(&checkout.run(block));
        if block.contains("kubectl-codegen new ") {
            assert!(
                said.contains("write-count-and-mean-body succeeded: TestsPassed"),
                "{said}"
            );
        }
    }
}
