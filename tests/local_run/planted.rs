//! A repository that somebody has made who knows this program, cloned by somebody who runs it there: results, records, environments and
//! links are planted, and nothing of them starts a program, or is read or written outside of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::expect_code;
use crate::support::terminal::Terminal;
use crate::verbs::copy_folder;
use codegen_core::digest::sha256_hex;
use codegen_ledger::Seals;

const RESULTS: &str = "codegen-out/word-count";
const SECRET: &str = "what nobody else may know";
/// The question whose answer is planted, and the command that asks it.
const ASK: [&str; 6] = ["ask", "-f", "agent.json", "-f", "task.json", "How many words?"];

/// Environments of all these commands.
static CACHE: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

/// The repository as its maker has it, with honest results under the maker's own key.
static MADE: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("repository");
    fs::create_dir(&repository).unwrap();
    let task = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "word-count"},
        "spec": {
            "prompt": "Count the words of a text.", "model": {"name": "m"}, "testing": {"mode": "Skip", "cases": "Off"},
            "samples": [{"name": "text", "inline": "one two", "fileName": "text.txt"}],
            "outputs": [{"name": "copy", "type": "File", "format": "Text"}, {"name": "words", "type": "Int"}],
        },
    });
    let agent = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeAgent", "metadata": {"name": "shop"},
        "spec": {"model": {"name": "m"}, "tools": [{"name": "count", "taskRef": {"name": "word-count"}}]},
    });
    let plan =
        json!({"description": "Counts.", "approach": "Split.", "libraries": [], "cases": [], "unstable": []});
    let replies = [
        json!({"kind": "plan", "reply": plan}),
        json!({"kind": "code", "reply": {"code": include_str!("planted/counting.py"), "packages": [], "systemPackages": []}}),
        json!({"kind": "program", "reply": {"program": "counted = await count()\ncounted['words']"}}),
    ];
    let write = |name: &str, text: &str| fs::write(repository.join(name), text).unwrap();
    write("task.json", &task.to_string());
    write("agent.json", &agent.to_string());
    write(
        "replies.jsonl",
        &replies.map(|reply| reply.to_string()).join("\n"),
    );
    for line in [&["local", "-f", "task.json"][..], &ASK] {
        let done = command(&repository, &folder.path().join("home"))
            .args(line)
            .args(["--replay", "replies.jsonl"])
            .output()
            .unwrap();
        expect_code(&done, 0);
    }
    folder
});

fn command(repository: &Path, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command
        .current_dir(repository)
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join(".local/state"))
        .env("CODEGEN_CACHE_DIR", CACHE.path())
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::null());
    command
}

/// A home with what is the user's, and the clone in it.
struct Checkout {
    home: TempDir,
    /// Listens where programs of the repository would send something.
    listener: TcpListener,
}

impl Checkout {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let clone = Self {
            home: tempfile::tempdir().unwrap(),
            listener,
        };
        fs::create_dir_all(clone.outside("folder")).unwrap();
        for (name, text) in [
            ("notes.txt", "mine"),
            ("secret.txt", SECRET),
            ("folder/text.txt", SECRET),
        ] {
            fs::write(clone.outside(name), text).unwrap();
            fs::set_permissions(clone.outside(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
        fs::create_dir_all(clone.path("tools")).unwrap();
        copy_folder(&MADE.path().join("repository"), &clone.path(""));
        let python = clone.path("tools/python");
        fs::write(&python, include_str!("planted/python.sh")).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let environment = json!({"python": "9.9.9", "version": "9.9.9", "executable": python, "prefix": "/usr", "resolved": []});
        fs::write(clone.path("tools/environment.json"), environment.to_string()).unwrap();
        clone
    }

    /// Something of the user's.
    fn outside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("work/repository").join(name)
    }

    fn state(&self, name: &str) -> PathBuf {
        self.path(RESULTS).join(".runs").join(name)
    }

    /// The folder of the revision below the state of these results.
    fn revision_in(&self, results: &str) -> PathBuf {
        let entries = fs::read_dir(self.path(results).join(".runs")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.is_dir()).unwrap()
    }

    fn revision(&self, name: &str) -> PathBuf {
        self.revision_in(RESULTS).join(name)
    }

    /// The folder of the results of the question.
    fn question(&self) -> String {
        let mut asked = fs::read_dir(self.path("codegen-out/ask")).unwrap();
        let name = asked.next().unwrap().unwrap().file_name();
        format!("codegen-out/ask/{}", name.to_str().unwrap())
    }

    /// Changes a JSON record of the revision.
    fn edit(&self, record: &Path, edit: impl FnOnce(&mut Value)) {
        assert!(record.starts_with(self.home.path()));
        let text = fs::read_to_string(record).unwrap();
        let mut value = serde_json::Deserializer::from_str(&text)
            .into_iter::<Value>()
            .next()
            .unwrap()
            .unwrap();
        edit(&mut value);
        let sealed = Seals::unverified().seal("", value.to_string().as_bytes());
        fs::write(record, sealed).unwrap();
    }

    fn edit_task(&self, edit: impl FnOnce(&mut Value)) {
        self.edit(&self.revision("task.json"), edit);
    }

    fn edit_progress(&self, edit: impl FnOnce(&mut Value)) {
        self.edit(&self.revision("record/.progress.jsonl"), edit);
    }

    /// Takes the task back to its tests, which run in this environment.
    fn runs_in(&self, image: &str) {
        self.edit_progress(|progress| {
            progress["stage"] = "RunningTests".into();
            progress["build"]["built"]["image"] = image.into();
        });
    }

    /// Puts a link in the place of what is there.
    fn link(&self, place: &Path, target: &Path) {
        assert!(place.starts_with(self.home.path()));
        let _ = fs::remove_file(place).or_else(|_| fs::remove_dir_all(place));
        symlink(target, place).unwrap();
    }

    fn pipe(&self, place: &Path) {
        assert!(place.starts_with(self.home.path()));
        let _ = fs::remove_file(place);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, place, mode).unwrap();
    }

    /// Everything of the user's that is not the clone, the key aside.
    fn mine(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        collect(self.home.path(), &["work", ".local"], &mut found);
        found
    }

    /// Runs a command line; one that never ends is killed.
    fn run(&self, line: &[&str]) -> Output {
        let mut child = command(&self.path(""), self.home.path())
            .args(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_mins(2);
        let read = |mut from: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                from.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        let stdout = read(Box::new(child.stdout.take().unwrap()));
        let stderr = read(Box::new(child.stderr.take().unwrap()));
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    child.kill().unwrap();
                    panic!("{line:?} does not end");
                }
                None => std::thread::yield_now(),
            }
        };
        Output {
            status,
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        }
    }

    /// Runs a command line, and says what got through.
    fn damage(&self, line: &[&str]) -> (Output, Vec<&'static str>) {
        let before = self.mine();
        let done = self.run(line);
        let mut damage = Vec::new();
        if self.path("tools/python.was-started").exists() {
            damage.push("a program was started");
        }
        if self.mine() != before {
            damage.push("something outside was written");
        }
        let mut inside = BTreeMap::new();
        collect(&self.path(""), &[], &mut inside);
        let said = [&done.stdout[..], &done.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
        if inside.values().chain(&said).any(|text| text.contains(SECRET)) {
            damage.push("something outside was read");
        }
        if self.listener.accept().is_ok() {
            damage.push("something was sent");
        }
        (done, damage)
    }
}

/// Texts of files below a folder, and the targets of links.
fn collect(folder: &Path, except: &[&str], found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if except.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let text = if kind.is_dir() {
            collect(&path, &[], found);
            String::new()
        } else if kind.is_file() {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        } else {
            format!("{kind:?}")
        };
        found.insert(path, text);
    }
}

/// A change of the clone, by name.
type Planted = (&'static str, fn(&Checkout));

const PLANTED: [Planted; 41] = [
    ("nothing, by another user", |_| {}),
    ("records without seals", |clone| {
        clone.edit_task(|_| {});
        for name in ["task.json", "record/.progress.jsonl"] {
            let text = fs::read_to_string(clone.revision(name)).unwrap();
            fs::write(clone.revision(name), text.rsplit_once("\n\"hmac").unwrap().0).unwrap();
        }
    }),
    ("records with empty seals", |clone| {
        clone.edit_task(|_| {});
        clone.edit_progress(|_| {});
    }),
    ("a record with the seal of another one", |clone| {
        fs::copy(
            clone.revision("record/.progress.jsonl"),
            clone.revision("task.json"),
        )
        .unwrap();
    }),
    ("an environment by its whole path", |clone| {
        clone.runs_in(clone.path("tools").to_str().unwrap());
    }),
    ("an environment by a path from wherever the command is", |clone| {
        clone.runs_in("/proc/self/cwd/tools");
    }),
    ("an environment by a path out of the cache", |clone| {
        let up = "../".repeat(12);
        clone.runs_in(&format!("{up}{}", clone.path("tools").display()));
    }),
    ("an environment of a task that has succeeded", |clone| {
        let tools = clone.path("tools");
        clone.edit_progress(|progress| progress["build"]["built"]["image"] = json!(tools));
    }),
    ("a file's name that is a path", |clone| {
        let secret = clone.outside("secret.txt");
        clone.edit_task(|task| task["samples"][0]["fileName"] = json!(secret));
    }),
    ("a file's name that leads up", |clone| {
        clone.edit_task(|task| task["samples"][0]["fileName"] = "../../../../../../../secret.txt".into());
    }),
    ("a file's name that leads up, of what is written", |clone| {
        clone.edit_task(|task| task["samples"][0]["fileName"] = "../../../../../../../notes.txt".into());
    }),
    ("a file's name that is a path, of what is written", |clone| {
        let notes = clone.outside("notes.txt");
        clone.edit_task(|task| task["samples"][0]["fileName"] = json!(notes));
    }),
    ("a file's name with the secret's own digest", |clone| {
        let secret = clone.outside("secret.txt");
        clone.edit_task(|task| {
            task["samples"][0]["fileName"] = json!(secret);
            task["samples"][0]["sha256"] = sha256_hex(SECRET.as_bytes()).into();
        });
    }),
    ("an input's name that leads up", |clone| {
        clone.edit_task(|task| {
            task["samples"][0]["name"] = "../../../../../../../folder".into();
            task["inputs"][0]["name"] = "../../../../../../../folder".into();
        });
    }),
    ("the name of acceptance tests that leads up", |clone| {
        clone.edit_task(|task| {
            task["acceptanceTests"] = json!({
                "name": "a", "fileName": "../../../../../../../secret.txt", "sha256": sha256_hex(SECRET.as_bytes()), "bytes": 25, "isDir": false,
            });
        });
    }),
    ("an output's name that leads up", |clone| {
        clone.edit_task(|task| task["outputs"][0]["name"] = "../../../../../../../notes.txt".into());
    }),
    ("a task's name that leads up", |clone| {
        clone.edit_task(|task| task["name"] = "../../../../../../../folder".into());
    }),
    ("a document's name that leads up", |clone| {
        clone.edit_progress(|progress| {
            progress["documents"]["solution"] =
                json!({"name": "../../../../../../../secret.txt", "sha256": sha256_hex(SECRET.as_bytes())});
        });
    }),
    ("a document's name that is a path", |clone| {
        let secret = clone.outside("secret.txt");
        clone.edit_progress(|progress| progress["documents"]["solution"]["name"] = json!(secret));
    }),
    ("a program that sends what it reads", |clone| {
        let port = clone.listener.local_addr().unwrap().port().to_string();
        let program = include_str!("planted/sending.py").replace("PORT", &port);
        clone.edit_task(|task| task["sandbox"]["network"] = "internet".into());
        let mut name = String::new();
        clone.edit_progress(|progress| {
            let document = &mut progress["documents"]["solution"];
            document["sha256"] = sha256_hex(program.as_bytes()).into();
            document["name"].as_str().unwrap().clone_into(&mut name);
        });
        fs::write(clone.revision("record").join(name), program).unwrap();
    }),
    ("an input that leads to a secret", |clone| {
        clone.link(&clone.revision("inputs/text.txt"), &clone.outside("secret.txt"));
    }),
    ("an input that leads to a secret whose digest is known", |clone| {
        clone.link(&clone.revision("inputs/text.txt"), &clone.outside("secret.txt"));
        clone.edit_task(|task| task["samples"][0]["sha256"] = sha256_hex(SECRET.as_bytes()).into());
    }),
    ("inputs that lead to a folder", |clone| {
        clone.link(&clone.revision("inputs"), &clone.outside("folder"));
    }),
    ("an input that was changed", |clone| {
        fs::write(clone.revision("inputs/text.txt"), "one two three").unwrap();
    }),
    ("an input that is a pipe", |clone| {
        clone.pipe(&clone.revision("inputs/text.txt"));
    }),
    ("a task that leads to a secret", |clone| {
        clone.link(&clone.revision("task.json"), &clone.outside("secret.txt"));
    }),
    ("a record that leads to a folder", |clone| {
        clone.link(&clone.revision("record"), &clone.outside("folder"));
    }),
    ("calls that lead to a folder", |clone| {
        clone.link(&clone.revision("record/calls"), &clone.outside("folder"));
    }),
    ("documents that lead to a folder", |clone| {
        clone.link(&clone.revision("record/documents"), &clone.outside("folder"));
    }),
    ("temporary files that lead to a folder", |clone| {
        clone.link(&clone.revision("record/.tmp"), &clone.outside("folder"));
    }),
    ("a progress that is a pipe", |clone| {
        clone.pipe(&clone.revision("record/.progress.jsonl"));
    }),
    ("a revision that leads to a folder", |clone| {
        clone.link(&clone.revision_in(RESULTS), &clone.outside("folder"));
    }),
    ("a state that leads to a folder", |clone| {
        clone.link(&clone.path(RESULTS).join(".runs"), &clone.outside("folder"));
    }),
    ("a latest revision by a path", |clone| {
        fs::write(clone.state("latest"), "../../../../../folder").unwrap();
    }),
    ("a latest revision that leads to a secret", |clone| {
        clone.link(&clone.state("latest"), &clone.outside("secret.txt"));
    }),
    ("a latest revision that is a pipe", |clone| {
        clone.pipe(&clone.state("latest"));
    }),
    ("a lock that leads to a file", |clone| {
        clone.link(&clone.state("lock"), &clone.outside("notes.txt"));
    }),
    ("what was published, by digests of files of the user's", |clone| {
        let published =
            json!({"notes.txt": [sha256_hex(b"mine")], "linked/text.txt": [sha256_hex(SECRET.as_bytes())]});
        fs::write(clone.state("published.json"), published.to_string()).unwrap();
        clone.link(&clone.path(RESULTS).join("linked"), &clone.outside("folder"));
    }),
    ("results that lead to files and folders", |clone| {
        clone.link(
            &clone.path(RESULTS).join("solution.py"),
            &clone.outside("notes.txt"),
        );
        clone.link(&clone.path(RESULTS).join("outputs"), &clone.outside("folder"));
        clone.link(&clone.path(RESULTS).join("inputs"), &clone.outside("folder"));
        clone.link(&clone.state("incoming"), &clone.outside("folder"));
    }),
    ("a folder of results that leads to one", |clone| {
        clone.link(&clone.path(RESULTS), &clone.outside("folder"));
    }),
    ("a folder of all results that leads to one", |clone| {
        clone.link(&clone.path("codegen-out"), &clone.outside("folder"));
    }),
];

/// Command lines of somebody who has not looked, and of somebody who has.
const VERBS: [&[&str]; 9] = [
    &["local", "-f", "task.json", "--replay", "replies.jsonl"],
    &["local", "-f", "task.json", "--replay", "replies.jsonl", "--trust"],
    &["local", "-f", "task.json", "--replay", "replies.jsonl", "--fresh"],
    &["local", "run", RESULTS, "--output-dir", "out"],
    &["local", "run", "-f", "task.json", "-o", "value", "--trust"],
    &["local", "--again", RESULTS, "--output", "again"],
    &["local", "--again", RESULTS, "--trust", "--output", "again"],
    &["code", RESULTS],
    &["watch"],
];

#[test]
fn nothing_that_is_planted_in_a_repository_starts_a_program_or_reaches_outside() {
    let mut through = Vec::new();
    for (planted, plant) in PLANTED {
        for line in VERBS {
            let clone = Checkout::new();
            plant(&clone);
            let (done, damage) = clone.damage(line);
            through.extend(
                damage
                    .iter()
                    .map(|damage| format!("{planted}, {line:?}: {damage}")),
            );
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            // Nobody has looked, and nothing is gone by.
            let is_unseen = line[0] == "local" && !line.contains(&"--trust") && !line.contains(&"--fresh");
            if is_unseen && done.status.code() != Some(2) {
                through.push(format!("{planted}, {line:?}: {:?} {said}", done.status.code()));
            }
        }
    }
    assert!(
        through.is_empty(),
        "{} got through:\n{}",
        through.len(),
        through.join("\n")
    );
}

/// Changes in the folder of a question.
const ASKED: [Planted; 7] = [
    ("an answer", |_| {}),
    ("an answer with an empty seal", |clone| {
        let record = clone.revision_in(&clone.question());
        clone.edit(&record.join("question.json"), |_| {});
    }),
    ("a server that is a program", |clone| {
        let record = clone.revision_in(&clone.question());
        let python = clone.path("tools/python");
        clone.edit(&record.join("question.json"), |frozen| {
            let tools = frozen["question"]["tools"].as_array_mut().unwrap();
            let mut tool = tools[0].clone();
            tool["tool"]["name"] = "more".into();
            tool["origin"] = json!({"mcpCommand": {"server": "s", "command": [python], "tool": "t"}});
            tools.push(tool);
        });
        clone.edit(&record.join("record/.progress.jsonl"), |progress| {
            progress["stage"] = "Running".into();
        });
    }),
    ("a call whose file is a secret", |clone| {
        let record = clone.revision_in(&clone.question());
        let run = fs::read_dir(record.join("calls"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        clone.link(&run.join("outputs/copy"), &clone.outside("secret.txt"));
        clone.edit(&run.join("run.json"), |run| {
            run["status"]["outputs"][0]["fileName"] = "../../../../../../../../secret.txt".into();
        });
    }),
    ("calls that lead to a folder", |clone| {
        let record = clone.revision_in(&clone.question());
        clone.link(&record.join("calls"), &clone.outside("folder"));
    }),
    ("a question that leads to a secret", |clone| {
        let record = clone.revision_in(&clone.question());
        clone.link(&record.join("question.json"), &clone.outside("secret.txt"));
    }),
    ("a program of a task, and no answer", |clone| {
        fs::remove_dir_all(clone.path("codegen-out/ask")).unwrap();
        clone.runs_in(clone.path("tools").to_str().unwrap());
        clone.edit_progress(|progress| progress["stage"] = "Succeeded".into());
    }),
];

#[test]
fn nothing_that_is_planted_for_a_question_is_gone_by_or_reaches_outside() {
    let mut through = Vec::new();
    for (planted, plant) in ASKED {
        for trust in [&[][..], &["--trust"]] {
            let clone = Checkout::new();
            plant(&clone);
            let line = [&ASK[..], &["--replay", "replies.jsonl", "--allow-command"], trust].concat();
            let (done, damage) = clone.damage(&line);
            through.extend(
                damage
                    .iter()
                    .map(|damage| format!("{planted}, {trust:?}: {damage}")),
            );
            if trust.is_empty() && done.status.code() != Some(2) {
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                through.push(format!("{planted}: {:?} {said}", done.status.code()));
            }
        }
    }
    assert!(
        through.is_empty(),
        "{} got through:\n{}",
        through.len(),
        through.join("\n")
    );
}

fn said(output: &Output) -> String {
    // Wrapped for people.
    let text = String::from_utf8_lossy(&output.stderr);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case::resumed(&["local", "-f", "task.json", "--replay", "replies.jsonl"])]
#[case::tried_again(&["local", "-f", "task.json", "--replay", "replies.jsonl", "--retry"])]
#[case::run(&["local", "run", RESULTS])]
#[case::found_by_a_bare_name(&["local", "run", "-f", "task.json"])]
#[case::replayed(&["local", "--again", RESULTS])]
fn foreign_records_are_gone_by_only_with_a_word_and_for_that_command(#[case] line: &[&str]) {
    let clone = Checkout::new();
    for _ in 0..2 {
        let refused = clone.run(line);
        expect_code(&refused, 2);
        let told = said(&refused);
        assert!(
            told.contains("these records were made elsewhere: codegen-out/word-count"),
            "{told}"
        );
        assert!(told.contains("repeat with --trust"), "{told}");
        if line.contains(&"--retry") {
            return;
        }
        let trusted = clone.run(&[line, &["--trust"]].concat());
        expect_code(&trusted, 0);
    }
    let shown = clone.run(&["code", RESULTS]);
    expect_code(&shown, 0);
    assert!(
        said(&shown).contains("these records were made elsewhere"),
        "{}",
        said(&shown)
    );
}

#[test]
fn a_job_with_a_fresh_home_learns_where_its_key_was_to_be() {
    let clone = Checkout::new();
    let line = ["local", "-f", "task.json", "--replay", "replies.jsonl"];
    let told = said(&clone.run(&line));
    assert!(
        told.contains("no key of this user was here before") && told.contains("records.key"),
        "{told}"
    );
    let told = said(&clone.run(&line));
    assert!(!told.contains("no key of this user"), "{told}");
    // The maker's key makes them the user's.
    let key = ".local/state/codegen-operator/records.key";
    fs::copy(MADE.path().join("home").join(key), clone.outside(key)).unwrap();
    let done = clone.run(&line);
    expect_code(&done, 0);
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(shown.contains("nothing was called or run now"), "{shown}");
    // And so do results that were moved.
    fs::rename(clone.path(RESULTS), clone.path("moved")).unwrap();
    expect_code(&clone.run(&["local", "run", "./moved"]), 0);
}

#[test]
fn a_verdict_that_a_neighbour_plants_is_adopted_by_nobody() {
    let clone = Checkout::new();
    let text = fs::read_to_string(clone.path("task.json")).unwrap();
    fs::write(clone.path("own.json"), text.replace("\"word-count\"", "\"own\"")).unwrap();
    let url = format!("http://{}/v1", clone.listener.local_addr().unwrap());
    for trust in [&[][..], &["--trust"]] {
        let line = [
            &[
                "local",
                "-f",
                "own.json",
                "-o",
                "json",
                "--model-url",
                &url,
                "--model-timeout",
                "1s",
            ],
            trust,
        ]
        .concat();
        let done = clone.run(&line);
        assert_ne!(done.status.code(), Some(0), "{}", said(&done));
        assert!(!said(&done).contains("is adopted"), "{}", said(&done));
        assert!(!clone.path("codegen-out/own/solution.py").exists());
    }
}

/// Samples, inputs and outputs of a task as no honest manifest has them.
const SPECS: [(&str, &str); 8] = [
    (
        "a sample by the address of a file",
        r#"{"samples": [{"name": "text", "url": "file:///SECRET", "sha256": "DIGEST"}]}"#,
    ),
    (
        "a sample on a claim that leads up",
        r#"{"samples": [{"name": "text", "persistentVolumeClaim": {"claimName": "tools", "path": "../../../secret.txt"}}]}"#,
    ),
    (
        "a sample of a name that leads up",
        r#"{"samples": [{"name": "text", "inline": "theirs", "fileName": "../../../../../../../notes.txt"}]}"#,
    ),
    (
        "a sample of a name that is a path",
        r#"{"samples": [{"name": "text", "inline": "theirs", "fileName": "NOTES"}]}"#,
    ),
    (
        "a sample that is called as a path",
        r#"{"samples": [{"name": "../../../../../../../notes.txt", "inline": "theirs"}]}"#,
    ),
    (
        "an output that is called as a path",
        r#"{"outputs": [{"name": "../../../../../../notes.txt", "type": "File", "format": "Text"}]}"#,
    ),
    (
        "an input that is called as a path",
        r#"{"inputs": [{"name": "../../../../../../notes.txt", "type": "File", "source": {"inline": "theirs"}}]}"#,
    ),
    (
        "acceptance tests of a name that leads up",
        r#"{"acceptanceTests": {"inline": "def test_a(): pass", "fileName": "../../../../../../notes.txt"}}"#,
    ),
];

/// Kustomizations whose ConfigMap `texts` would hold what lies outside, or which would start something.
const KUSTOMIZATIONS: [(&str, &str); 11] = [
    (
        "a file above",
        "configMapGenerator: [{name: texts, files: [a.txt=../../../secret.txt]}]",
    ),
    (
        "a file by its path",
        "configMapGenerator: [{name: texts, files: [a.txt=SECRET]}]",
    ),
    (
        "a link to a file",
        "configMapGenerator: [{name: texts, files: [a.txt=linked]}]",
    ),
    (
        "a file in a linked folder",
        "configMapGenerator: [{name: texts, files: [a.txt=folder/text.txt]}]",
    ),
    (
        "variables of a linked file",
        "configMapGenerator: [{name: texts, envs: [linked]}]",
    ),
    (
        "a secret of a linked file",
        "secretGenerator: [{name: texts, files: [a.txt=linked]}]",
    ),
    ("a linked resource", "resources: [linked]"),
    ("a linked folder of resources", "resources: [folder]"),
    (
        "a linked patch",
        "patches: [{path: linked, target: {kind: CodeGenTask}}]",
    ),
    ("a generator that is a program", "generators: [generator.yaml]"),
    (
        "a transformer that is a program",
        "transformers: [generator.yaml]",
    ),
];

const GENERATOR: &str = "apiVersion: v1\nkind: Planted\nmetadata:\n  name: planted\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ../tools/python}\n";

/// What of `lines` got through in a checkout with something planted in it.
fn through(planted: &str, clone: &Checkout, lines: &[&[&str]]) -> Vec<String> {
    let damages = lines.iter().flat_map(|line| {
        let (_, damage) = clone.damage(line);
        damage
            .into_iter()
            .map(move |damage| format!("{planted}, {line:?}: {damage}"))
    });
    damages.collect()
}

/// A text with the paths of what lies outside of the checkout.
fn filled(clone: &Checkout, text: &str) -> String {
    text.replace("/SECRET", clone.outside("secret.txt").to_str().unwrap())
        .replace("SECRET", clone.outside("secret.txt").to_str().unwrap())
        .replace("NOTES", clone.outside("notes.txt").to_str().unwrap())
        .replace("DIGEST", &sha256_hex(SECRET.as_bytes()))
}

#[test]
fn nothing_that_a_manifest_says_starts_a_program_or_reaches_outside() {
    let mut all = Vec::new();
    for (planted, spec) in SPECS {
        let clone = Checkout::new();
        let mut task: Value =
            serde_json::from_str(&fs::read_to_string(clone.path("task.json")).unwrap()).unwrap();
        let spec: Value = serde_json::from_str(&filled(&clone, spec)).unwrap();
        for (field, value) in spec.as_object().unwrap() {
            task["spec"][field] = value.clone();
        }
        fs::write(clone.path("task.json"), task.to_string()).unwrap();
        fs::remove_dir_all(clone.path("codegen-out")).unwrap();
        let context = ["context", "-f", "task.json"];
        let run = ["local", "run", "-f", "task.json"];
        all.extend(through(planted, &clone, &[VERBS[0], &context, &run]));
    }
    let clone = Checkout::new();
    let agent = fs::read_to_string(clone.path("agent.json")).unwrap();
    let mut agent: Value = serde_json::from_str(&agent).unwrap();
    agent["spec"]["tools"] = json!([{"name": "more", "mcp": {"command": [clone.path("tools/python")]}}]);
    agent["status"] = json!({"tools": []});
    fs::write(clone.path("agent.json"), agent.to_string()).unwrap();
    all.extend(through("a server that is a program", &clone, &[&ASK]));
    assert!(all.is_empty(), "{} got through:\n{}", all.len(), all.join("\n"));
}

#[test]
fn nothing_that_a_kustomization_says_starts_a_program_or_reaches_outside() {
    let mut all = Vec::new();
    for (planted, rest) in KUSTOMIZATIONS {
        let clone = Checkout::new();
        fs::remove_dir_all(clone.path("codegen-out")).unwrap();
        fs::create_dir(clone.path("k")).unwrap();
        let task = fs::read_to_string(clone.path("task.json")).unwrap();
        let mut task: Value = serde_json::from_str(&task).unwrap();
        task["spec"]["samples"] =
            json!([{"name": "text", "configMapKeyRef": {"name": "texts", "key": "a.txt"}}]);
        fs::write(clone.path("k/task.json"), task.to_string()).unwrap();
        fs::write(clone.path("k/generator.yaml"), GENERATOR).unwrap();
        clone.link(&clone.path("k/linked"), &clone.outside("secret.txt"));
        clone.link(&clone.path("k/folder"), &clone.outside("folder"));
        let resources = if rest.starts_with("resources") {
            ""
        } else {
            "resources: [task.json]\n"
        };
        let text = format!("{resources}{}\n", filled(&clone, rest));
        fs::write(clone.path("k/kustomization.yaml"), text).unwrap();
        let local = ["local", "-k", "k", "--replay", "replies.jsonl"];
        let ask = ["ask", "-k", "k", "How many words?"];
        all.extend(through(planted, &clone, &[&local, &["context", "-k", "k"], &ask]));
    }
    assert!(all.is_empty(), "{} got through:\n{}", all.len(), all.join("\n"));
}

#[rstest]
#[case::yes("y", 0)]
#[case::no("n", 2)]
fn whoever_sits_at_a_terminal_is_asked_each_time_about_records_of_somebody_else(
    #[case] typed: &str,
    #[case] code: i32,
) {
    let clone = Checkout::new();
    let home = clone.home.path().to_str().unwrap();
    let cache = CACHE.path().to_str().unwrap();
    let terminal = Terminal {
        columns: 400,
        typed,
        environment: &[
            ("HOME", home),
            ("XDG_STATE_HOME", home),
            ("CODEGEN_CACHE_DIR", cache),
        ],
        ..Terminal::default()
    };
    for line in [
        &["local", "run", RESULTS][..],
        &["local", "-f", "task.json", "--replay", "replies.jsonl"],
        &["local", "--again", RESULTS],
    ] {
        let (seen, ended) = terminal.run(&clone.path(""), line);
        assert!(
            seen.contains("were made elsewhere: they decide what runs"),
            "{seen}"
        );
        assert_eq!(ended, Some(code), "{seen}");
    }
}
