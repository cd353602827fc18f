//! Wrong manifests, recordings, folders and machines: a clear message, the documented exit code, nothing lost.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{document, examples, expect_code, manifest, program};

fn penguins() -> PathBuf {
    examples().join("penguins")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn status(output: &Output) -> Value {
    document(output)["status"].clone()
}

/// A run of the penguins on their recorded replies.
fn replay(output: &Path) -> Command {
    let mut command = program(output);
    command
        .args(manifest(&penguins()))
        .arg("--replay")
        .arg(penguins().join("replies.jsonl"));
    command
}

/// A run of a manifest in `folder`.
fn given(folder: &Path, text: impl AsRef<[u8]>) -> Command {
    fs::write(folder.join("task.yaml"), text).unwrap();
    let mut command = program(&folder.join("out"));
    command.current_dir(folder).args(["-f", "task.yaml"]);
    command
}

fn task(name: &str, samples: &str) -> String {
    format!(
        "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeGenTask\nmetadata: {{name: {name}}}\nspec:\n  prompt: add\n  model: {{name: m}}\n  samples: [{samples}]\n"
    )
}

/// Refused before anything is run: exit code 2, a message on stderr, nothing on stdout.
fn expect_refusal(output: &Output, words: &str) {
    expect_code(output, 2);
    assert!(output.stdout.is_empty());
    assert!(
        said(output).contains(words),
        "{words:?} is not in:\n{}",
        said(output)
    );
    assert!(
        said(output).lines().any(|line| line.starts_with("error: ")),
        "{}",
        said(output)
    );
}

#[test]
fn system_packages_that_this_machine_lacks_are_named_before_any_call() {
    let folder = tempfile::tempdir().unwrap();
    // No reply can be asked for: nothing is paid before it is said.
    fs::write(folder.path().join("none.jsonl"), "").unwrap();
    let text = task("sum", "") + "  image: {baseSystemPackages: [no-such-package-of-debian]}\n";
    let ended = given(folder.path(), text)
        .args(["--replay", "none.jsonl"])
        .output()
        .unwrap();
    expect_code(&ended, 2);
    assert!(
        said(&ended).contains("no-such-package-of-debian"),
        "{}",
        said(&ended)
    );
    assert!(!folder.path().join("out/runs").exists());
}

#[rstest]
#[case::no_config_map("{name: a, configMapKeyRef: {name: gone, key: k}}", "ConfigMap gone")]
#[case::no_key(
    "{name: a, configMapKeyRef: {name: here, key: gone}}",
    "key gone of ConfigMap here, which has k"
)]
#[case::no_claim(
    "{name: a, persistentVolumeClaim: {claimName: gone, path: x.csv}}",
    "--claim gone="
)]
#[case::two_sources("{name: a, inline: x, configMapKeyRef: {name: here, key: k}}", "samples[0]")]
#[case::no_source("{name: a}", "samples[0]")]
#[case::one_name_twice("{name: a, inline: x}, {name: a, inline: y}", "a")]
#[case::no_name_of_an_option("{name: \"a b\", inline: x}", "samples[0].name")]
#[case::python_keyword("{name: class, inline: x}", "class")]
#[case::address_without_digest("{name: a, url: \"https://example.com/a.csv\"}", "sha256")]
fn a_sample_that_cannot_be_had_is_named(#[case] samples: &str, #[case] words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let config_map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\ndata: {k: v}\n";
    let ended = given(folder.path(), task("sum", samples) + config_map)
        .output()
        .unwrap();
    expect_refusal(&ended, words);
}

#[test]
fn a_download_of_another_content_is_refused_by_its_digest() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = server.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nx,y\n")
            .unwrap();
    });
    let (folder, digest) = (tempfile::tempdir().unwrap(), "0".repeat(64));
    let sample = format!("{{name: a, url: \"http://{address}/a.csv\", sha256: \"{digest}\"}}");
    let mut command = given(folder.path(), task("sum", &sample));
    command.env("XDG_CACHE_HOME", folder.path());
    // It is of this machine, which nobody has opened to manifests.
    let refused = command.output().unwrap();
    expect_refusal(
        &refused,
        &format!("give a public https address, or --allow-host {address}"),
    );
    let ended = command.args(["--allow-host", "127.0.0.1"]).output().unwrap();
    expect_refusal(&ended, &digest[..12]);
    serving.join().unwrap();
}

#[rstest]
#[case::nothing(b"".to_vec(), "hold no CodeGenTask")]
#[case::binary((0..=255).cycle().take(5000).collect(), "task.yaml")]
#[case::zeros(vec![0; 4096], "task.yaml")]
#[case::text(b"hello".to_vec(), "task.yaml")]
#[case::a_list(b"- 1\n- 2\n".to_vec(), "task.yaml")]
#[case::another_version(task("sum", "").replace("v1alpha1", "v9").into_bytes(), "v9")]
#[case::the_same_task_twice(format!("{0}---\n{0}", task("sum", "")).into_bytes(), "sum")]
#[case::a_name_with_a_slash(task("\"../sum\"", "").into_bytes(), "../sum")]
#[case::a_name_with_a_line_break(task("\"a\\nb\"", "").into_bytes(), "metadata.name")]
#[case::no_name(task("\"\"", "").into_bytes(), "metadata.name")]
fn a_file_that_is_no_manifest_is_refused(#[case] bytes: Vec<u8>, #[case] words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ended = given(folder.path(), bytes).output().unwrap();
    expect_refusal(&ended, words);
    assert!(!folder.path().join("sum").exists());
}

#[test]
fn a_huge_manifest_is_read_or_refused_and_never_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = String::new();
    for level in 0..20_000 {
        write!(deep, "{{a{level}: ").unwrap();
    }
    expect_refusal(&given(folder.path(), deep).output().unwrap(), "task.yaml");
    let long = task("sum", "").replace("add", &"x".repeat(8 << 20));
    let ended = given(folder.path(), long).output().unwrap();
    expect_refusal(&ended, "spec.prompt");
}

#[test]
fn a_folder_without_manifests_says_what_belongs_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "kind: CodeGenTask").unwrap();
    let mut command = program(&folder.path().join("out"));
    let ended = command.arg("-f").arg(folder.path()).output().unwrap();
    expect_refusal(&ended, "put files that end in .yaml, .yml or .json in it");
}

#[test]
fn of_several_tasks_the_worst_exit_code_counts_and_the_others_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let text = [
        task("one", ""),
        task("two", "{name: a, configMapKeyRef: {name: gone, key: k}}"),
        task("three", ""),
    ]
    .join("---\n");
    let replies = examples().join("prompt-only/replies.jsonl");
    let mut command = given(folder.path(), text);
    let ended = command.arg("--replay").arg(replies).output().unwrap();
    expect_code(&ended, 2);
    let list = document(&ended);
    let items = list["items"].as_array().unwrap();
    let stages: Vec<_> = items
        .iter()
        .map(|task| (&task["metadata"]["name"], &task["status"]["stage"]))
        .collect();
    // The replies are those of one task; the third waits for a recording that goes on.
    let expected =
        [("one", "Succeeded"), ("three", "Planning")].map(|(name, stage)| (json!(name), json!(stage)));
    assert_eq!(
        stages,
        expected
            .iter()
            .map(|(name, stage)| (name, stage))
            .collect::<Vec<_>>()
    );
    assert!(said(&ended).contains("ConfigMap gone"));
}

#[rstest]
#[case::missing(None, "No such file")]
#[case::binary(Some(vec![0xff, 0xfe, 0, 1]), "UTF-8")]
#[case::prose(Some(b"hello\n".to_vec()), "line 1")]
#[case::unknown_kind(Some(b"{\"kind\": \"poem\", \"reply\": {}}\n".to_vec()), "poem")]
#[case::neither_reply_nor_text(Some(b"{\"kind\": \"plan\"}\n".to_vec()), "exactly one of")]
fn a_recording_that_cannot_be_read_is_refused(#[case] bytes: Option<Vec<u8>>, #[case] words: &str) {
    let folder = tempfile::tempdir().unwrap();
    if let Some(bytes) = bytes {
        fs::write(folder.path().join("replies.jsonl"), bytes).unwrap();
    }
    let mut command = given(folder.path(), task("sum", ""));
    let ended = command.args(["--replay", "replies.jsonl"]).output().unwrap();
    expect_refusal(&ended, words);
    assert!(said(&ended).contains("replies.jsonl"));
}

#[rstest]
#[case::wrong_order(|lines: &mut Vec<String>| lines.reverse(), "ReadingConstraints", "holds a reply to `fix_code`")]
#[case::exhausted(|lines: &mut Vec<String>| lines.truncate(3), "GeneratingTests", "has 3 replies and all are used")]
fn a_recording_of_another_course_waits_and_goes_on_with_the_right_one(
    #[case] spoil: fn(&mut Vec<String>),
    #[case] stage: &str,
    #[case] words: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(penguins().join("replies.jsonl")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    spoil(&mut lines);
    fs::write(folder.path().join("spoilt.jsonl"), lines.join("\n")).unwrap();
    let output = folder.path().join("out");
    let mut command = program(&output);
    command.args(manifest(&penguins())).arg("--replay");
    let ended = command.arg(folder.path().join("spoilt.jsonl")).output().unwrap();
    expect_code(&ended, 1);
    let waiting = status(&ended);
    assert_eq!(
        (&waiting["stage"], &waiting["reason"]),
        (&json!(stage), &json!("Configuration"))
    );
    assert!(
        waiting["message"].as_str().unwrap().contains(words),
        "{waiting:#}"
    );
    let again = replay(&output).output().unwrap();
    expect_code(&again, 0);
}

#[test]
fn what_was_recorded_replays_strictly_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording.jsonl");
    fs::write(&recording, "what an earlier command left").unwrap();
    let first = replay(&folder.path().join("first"))
        .arg("--record")
        .arg(&recording)
        .output()
        .unwrap();
    expect_code(&first, 0);
    let strictly = |manifests: [PathBuf; 2], output: &str| {
        let mut command = program(&folder.path().join(output));
        command.args(manifests).arg("--replay-strict").arg("--replay");
        command.arg(&recording).output().unwrap()
    };
    let second = strictly(manifest(&penguins()), "second");
    expect_code(&second, 0);
    let files = [
        "solution.py",
        "test_solution.py",
        "outputs/summary.csv",
        "outputs/species",
    ];
    for file in files {
        let read = |output: &str| fs::read(folder.path().join(output).join(file)).unwrap();
        assert_eq!(read("first"), read("second"), "{file}");
    }
    // Once more into the same folder: nothing is added to the recording, nothing twice in it.
    let again = replay(&folder.path().join("first"))
        .arg("--record")
        .arg(&recording)
        .output()
        .unwrap();
    expect_code(&again, 0);
    assert_eq!(fs::read_to_string(&recording).unwrap().lines().count(), 6);

    let changed = folder.path().join("changed");
    fs::create_dir(&changed).unwrap();
    for entry in fs::read_dir(penguins()).unwrap().flatten() {
        fs::copy(entry.path(), changed.join(entry.file_name())).unwrap();
    }
    let text = fs::read_to_string(changed.join("task.yaml")).unwrap();
    fs::write(
        changed.join("task.yaml"),
        text.replace("sorted by species", "unsorted"),
    )
    .unwrap();
    let third = strictly(manifest(&changed), "third");
    expect_code(&third, 1);
    let message = status(&third)["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("was recorded for another `constraints` request"),
        "{message}"
    );
}

#[test]
fn a_recording_that_cannot_be_written_is_refused_before_anything_is_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(&folder.path().join("out"));
    let ended = command
        .arg("--record")
        .arg(folder.path().join("gone/recording.jsonl"))
        .output()
        .unwrap();
    expect_refusal(&ended, "which --record names");
    assert!(!folder.path().join("out").exists());
}

/// Limits that stop the penguins, and the stage that a raised limit goes on from.
#[rstest]
#[case::iterations("maxIterations: 1", "IterationsExhausted", 4)]
#[case::calls("maxModelCalls: 2", "BudgetExceeded", 2)]
#[case::tokens("maxTokens: 3400", "BudgetExceeded", 2)]
#[case::time("deadline: 1ms", "BudgetExceeded", 0)]
fn a_raised_limit_goes_on_and_pays_for_nothing_twice(
    #[case] limit: &str,
    #[case] reason: &str,
    #[case] calls: u64,
) {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(penguins()).unwrap().flatten() {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let original = fs::read_to_string(folder.path().join("task.yaml")).unwrap();
    let (name, _) = limit.split_once(':').unwrap();
    let mut lines: Vec<&str> = original
        .lines()
        .filter(|line| !line.trim().starts_with(name))
        .collect();
    let limits = lines.iter().position(|line| line.trim() == "limits:").unwrap();
    let own = format!("    {limit}");
    lines.insert(limits + 1, &own);
    fs::write(folder.path().join("task.yaml"), lines.join("\n")).unwrap();
    let output = folder.path().join("out");
    let run = || {
        let mut command = program(&output);
        command.arg("-k").arg(folder.path());
        command.arg("--replay").arg(folder.path().join("replies.jsonl"));
        command.output().unwrap()
    };
    let ended = run();
    expect_code(&ended, 1);
    let stopped = status(&ended);
    assert_eq!(
        (&stopped["stage"], &stopped["reason"]),
        (&json!("Failed"), &json!(reason))
    );
    assert_eq!(stopped["modelCalls"], calls, "{stopped:#}");
    let message = stopped["message"].as_str().unwrap();
    assert!(message.contains(&format!("limits.{name}: ")), "{message}");
    fs::write(folder.path().join("task.yaml"), original).unwrap();
    let ended = run();
    expect_code(&ended, 0);
    let done = status(&ended);
    assert_eq!((&done["modelCalls"], &done["lostCalls"]), (&json!(6), &json!(0)));
    assert_eq!(done["attempts"].as_array().unwrap().len(), 2);
}

#[test]
fn yaml_holds_the_same_task_as_json() {
    let output = tempfile::tempdir().unwrap();
    let json = document(&replay(output.path()).output().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"));
    command.arg("local").args(manifest(&penguins()));
    command.args(["-o", "yaml", "--output"]).arg(output.path());
    let ended = command
        .arg("--replay")
        .arg(penguins().join("replies.jsonl"))
        .output()
        .unwrap();
    expect_code(&ended, 0);
    let yaml: Value = serde_saphyr::from_str(&String::from_utf8(ended.stdout).unwrap()).unwrap();
    assert_eq!(yaml["status"]["artifacts"], json["status"]["artifacts"]);
    assert_eq!(yaml["spec"], json["spec"]);
}

/// The program where `folder` is the whole of what bubblewrap mounts there; bubblewrap is there, or no run could be.
fn mounted(folder: &Path, mount: &[&str], script: &str) -> Output {
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/"]).args(mount).arg(folder);
    command.args(["/bin/sh", "-c", script, env!("CARGO_BIN_EXE_kubectl-codegen")]);
    command.arg(folder).args(manifest(&penguins()));
    command.arg(penguins().join("replies.jsonl"));
    command.output().unwrap()
}

/// `$0` the program, `$1` the mounted folder, `$2 $3` the manifest, `$4` its replies.
const RUN: &str = r#""$0" local "$2" "$3" --replay "$4" --output "$1/out" -o json"#;

#[test]
fn a_full_disk_loses_nothing_that_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for kilobytes in [0, 16, 64, 96, 128, 160] {
        let script = format!(
            r#"head -c {} /dev/zero > "$1/filler"; {RUN} > /dev/null; echo "first run: $?" >&2; rm "$1/filler"; {RUN}"#,
            (512 - kilobytes) * 1024
        );
        let ended = mounted(folder.path(), &["--size", "524288", "--tmpfs"], &script);
        expect_code(&ended, 0);
        let said = said(&ended);
        assert!(
            !said.contains("first run: 0"),
            "{kilobytes} KiB are enough:\n{said}"
        );
        assert!(
            said.contains("the disk is full") || said.contains("No space left"),
            "{kilobytes} KiB:\n{said}"
        );
        let status = status(&ended);
        let (calls, lost) = (
            status["modelCalls"].as_u64().unwrap(),
            status["lostCalls"].as_u64().unwrap(),
        );
        assert!(
            lost <= 1 && calls == 6 + lost,
            "{kilobytes} KiB: {calls} calls, {lost} lost"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let ended = mounted(folder.path(), &["--ro-bind", &path], RUN);
    expect_refusal(
        &ended,
        &format!("cannot create {path}/out/.runs: Read-only file system"),
    );
    fs::write(folder.path().join("file"), "").unwrap();
    let ended = replay(&folder.path().join("file")).output().unwrap();
    expect_refusal(&ended, "file is a file, and a folder is needed there");
}

#[test]
fn without_bubblewrap_the_line_to_run_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let ended = replay(&folder.path().join("out"))
        .env("PATH", folder.path())
        .output()
        .unwrap();
    expect_code(&ended, 3);
    assert!(said(&ended).contains("run `"), "{}", said(&ended));
    assert!(
        said(&ended).contains("apt-get install -y bubblewrap"),
        "{}",
        said(&ended)
    );
}

#[test]
fn without_a_home_the_folder_for_environments_is_found_or_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(&folder.path().join("out"));
    command.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    let ended = command.output().unwrap();
    assert!(
        ended.status.success() || said(&ended).contains("CODEGEN_CACHE_DIR"),
        "{}",
        said(&ended)
    );
}

#[test]
fn without_python_the_line_to_run_is_said() {
    // What is installed under /usr/bin is looked for there too: an empty folder takes its place.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bin");
    fs::create_dir(&path).unwrap();
    for tool in ["bwrap", "setpriv"] {
        let _ = symlink(Path::new("/usr/bin").join(tool), path.join(tool));
    }
    let script = format!(r#"export PATH="$1/bin" CODEGEN_CACHE_DIR="$1/cache"; {RUN}"#);
    let root = folder.path().display().to_string();
    let mut mount: Vec<&str> = vec!["--bind", "/dev/null", "/usr/bin/python3"];
    mount.extend(["--bind", &root]);
    let ended = mounted(folder.path(), &mount, &script);
    expect_code(&ended, 3);
    assert!(
        said(&ended).contains("apt-get install -y python3"),
        "{}",
        said(&ended)
    );
    // It is the machine that waits; with Python there, the same command goes on.
    let mut command = replay(&folder.path().join("out"));
    expect_code(&command.output().unwrap(), 0);
}
