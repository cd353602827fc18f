//! One program on many files by one command.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{document, expect_code};
use crate::tasks::{command, penguins, run, stderr, stdout, total, totals};

const HEADER: &str = "species,body_mass_g,island,bill_length_mm,bill_depth_mm,flipper_length_mm,sex,year\n";

/// Files for the penguins task: twenty stations, of which one is empty and one names a column otherwise.
struct Stations {
    folder: TempDir,
}

impl Stations {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        for number in 1..=20 {
            let text = match number {
                7 => String::new(),
                12 => station(number).replace("body_mass_g", "body_mass"),
                _ => station(number),
            };
            fs::write(folder.path().join(format!("data/s{number:02}.csv")), text).unwrap();
        }
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command for all files, whose results go to `out`.
    fn command(&self, args: &[&str]) -> Command {
        let each = ["--for-each", "measurements=data/s*.csv", "--output-dir", "out"];
        let mut command = command(&penguins(), &[&each, args].concat());
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.at("out/items.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The folders of items that have one, and what distinguishes a new one from an old one.
    fn folders(&self) -> BTreeMap<String, u64> {
        let entries = fs::read_dir(self.at("out")).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    entry.metadata().unwrap().ino(),
                )
            })
            .collect()
    }
}

/// As many birds as the station's number, of one species.
fn station(number: usize) -> String {
    let bird = format!("Emu,{},a,1.5,1.5,1,male,2026\n", 3000 + number);
    format!("{HEADER}{}", bird.repeat(number))
}

fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["item"].as_str().unwrap()).collect()
}

#[test]
fn of_twenty_files_two_fail_alone_and_one_table_has_all() {
    let stations = Stations::new();
    let done = stations.run(&[]);
    expect_code(&done, 1);

    let table = stdout(&done);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 21, "{table}");
    assert!(
        rows[0].starts_with("FILE ") && rows[0].ends_with(" VALUES"),
        "{table}"
    );
    assert!(rows.iter().all(|row| row.chars().count() <= 100), "{table}");
    assert!(
        rows[1].starts_with("data/s01.csv   Succeeded ") && rows[1].ends_with("species=1"),
        "{table}"
    );
    assert!(rows[12].starts_with("data/s12.csv   ProgramFailed "), "{table}");

    let lines = stations.lines();
    assert_eq!(
        names(&lines),
        (1..=20).map(|number| format!("s{number:02}")).collect::<Vec<_>>()
    );
    let failed: Vec<Value> = lines
        .iter()
        .filter(|line| line["outcome"] == "Failed")
        .cloned()
        .collect();
    let told = stderr(&done);
    for line in &failed {
        let reason = format!(
            "✗ {}: {}",
            line["item"].as_str().unwrap(),
            line["message"].as_str().unwrap()
        );
        assert!(told.contains(&reason), "{reason}\n{told}");
    }
    assert!(names(&failed).contains(&"s12"), "{told}");
    assert!(
        told.contains("! s12: input measurements: lacks the column body_mass_g"),
        "{told}"
    );
    assert!(
        told.contains("! s07: input measurements: expected a table like the sample"),
        "{told}"
    );

    for line in lines.iter().filter(|line| line["outcome"] == "Succeeded") {
        let item = line["item"].as_str().unwrap();
        let output = &line["outputs"][0];
        let file = stations
            .at("out")
            .join(item)
            .join(output["fileName"].as_str().unwrap());
        assert_eq!(fs::metadata(file).unwrap().len(), output["bytes"], "{line}");
    }
    assert_eq!(stations.folders().len(), 20 - failed.len());
    let csv = fs::read_to_string(stations.at("out/items.csv")).unwrap();
    let csv: Vec<&str> = csv.lines().collect();
    assert_eq!(
        (csv.len(), csv[0]),
        (21, "item,file,outcome,reason,seconds,species")
    );
    assert!(
        csv[20].starts_with("s20,") && csv[20].ends_with(",1"),
        "{}",
        csv[20]
    );
}

#[rstest]
#[case::kill(Signal::KILL, "")]
#[case::ctrl_c(Signal::INT, "error: interrupted; the same command goes on\n")]
fn a_command_that_was_stopped_goes_on_with_the_items_that_had_not_ended(
    #[case] signal: Signal,
    #[case] expected: &str,
) {
    let stations = Stations::new();
    let mut child = stations
        .command(&["--parallelism", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = || {
        let text = fs::read_to_string(stations.at("out/items.jsonl")).unwrap_or_default();
        text.matches('\n').count()
    };
    while ended() < 5 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was stopped"
        );
        thread::yield_now();
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stderr(&stopped), expected);
    let (killed, before) = (ended(), stations.folders());
    assert!(killed < 20, "{killed}");
    // Half a line, as a kill in the middle of a write leaves it.
    let lines = stations.at("out/items.jsonl");
    let recorded = fs::read_to_string(&lines).unwrap();
    fs::write(&lines, format!("{recorded}{{\"item\": \"s1")).unwrap();

    let done = stations.run(&[]);
    expect_code(&done, 1);
    let told = stderr(&done);
    assert!(
        told.contains(&format!(
            "  {killed} files of an earlier command did not run again\n"
        )),
        "{told}"
    );
    assert_eq!(stations.lines().len(), 20);
    let after = stations.folders();
    assert!(
        after.keys().all(|name| !name.starts_with(".writing-")),
        "{after:?}"
    );
    for line in recorded
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        let item = line["item"].as_str().unwrap();
        assert_eq!(after.get(item), before.get(item), "{item} was run again");
    }
}

#[test]
fn what_failed_runs_again_where_that_is_asked_for_and_what_changed_does_in_any_case() {
    let stations = Stations::new();
    expect_code(&stations.run(&[]), 1);
    let (first, folders) = (stations.lines(), stations.folders());
    let failed = first.iter().filter(|line| line["outcome"] == "Failed").count();

    let again = stations.run(&[]);
    expect_code(&again, 1);
    assert!(
        stderr(&again).contains("  20 files of an earlier command did not run again\n"),
        "{}",
        stderr(&again)
    );
    assert_eq!((stations.lines(), stations.folders()), (first, folders.clone()));

    let wave = stations.run(&["--failed"]);
    expect_code(&wave, 1);
    let earlier = format!(
        "  {} files of an earlier command did not run again\n",
        20 - failed
    );
    assert!(stderr(&wave).contains(&earlier), "{}", stderr(&wave));
    assert_eq!(stations.folders(), folders);

    for number in [7, 12] {
        fs::write(stations.at(&format!("data/s{number:02}.csv")), station(number)).unwrap();
    }
    let corrected = stations.run(&[]);
    expect_code(&corrected, 0);
    assert!(
        stderr(&corrected).contains("✓ 20 files succeeded, 0 failed, "),
        "{}",
        stderr(&corrected)
    );
    assert!(stations.lines().iter().all(|line| line["outcome"] == "Succeeded"));
}

#[test]
fn files_of_the_same_stem_have_folders_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for station in ["berlin", "bonn"] {
        fs::create_dir_all(folder.path().join(station)).unwrap();
        fs::write(folder.path().join(station).join("may.csv"), self::station(2)).unwrap();
    }
    let pattern = format!("measurements={}/**/*.csv", folder.path().display());
    let out = folder.path().join("out");
    let args = ["--for-each", &pattern, "--output-dir", out.to_str().unwrap()];
    expect_code(&run(&penguins(), &args), 0);
    for item in ["may", "bonn-may"] {
        let summary = fs::read_to_string(out.join(item).join("summary.csv")).unwrap();
        assert!(summary.contains("Emu,2,3002.0"), "{summary}");
    }
}

#[test]
fn values_are_a_line_an_item_and_documents_a_list() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a", "item,amount\npear,2\n"),
        ("b", "item\npear\n"),
        ("c", "item,amount\nfig,2.5\n"),
    ] {
        fs::write(folder.path().join(format!("{name}.csv")), text).unwrap();
    }
    symlink(folder.path().join("nowhere"), folder.path().join("d.csv")).unwrap();
    let pattern = format!("sales={}/*.csv", folder.path().display());
    let args = ["--input", "title=one\ttwo", "--for-each", &pattern];
    let values = total(&[&args[..], &["-o", "value"]].concat());
    expect_code(&values, 1);
    let printed = stdout(&values);
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(
        (lines.len(), &lines[0][3..], &lines[2][3..]),
        (4, &["one\\ttwo", "2"][..], &["one\\ttwo", "2.5"][..])
    );
    assert!(
        lines[0][1].starts_with("sha256:") && lines[1] == ["b"],
        "{printed}"
    );

    let list = total(&[&args[..], &["-o", "json"]].concat());
    expect_code(&list, 1);
    let list = document(&list);
    assert_eq!(
        (&list["kind"], list["items"].as_array().unwrap().len()),
        (&"List".into(), 4)
    );
    assert_eq!(list["items"][2]["values"]["all"], 2.5);
    assert_eq!(list["items"][1]["reason"], "ProgramFailed");
    assert_eq!(list["items"][3]["reason"], "NotRun");
    let told = stderr(&values);
    assert!(told.contains("✗ d: sales: cannot read "), "{told}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        4,
        "nothing is written without --output-dir"
    );
}

#[test]
fn the_other_inputs_are_the_same_for_every_item_also_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, notes) = totals();
    for name in ["x", "y"] {
        let copy = folder.path().join(name);
        fs::create_dir(&copy).unwrap();
        fs::copy(notes.join("a.txt"), copy.join("a.txt")).unwrap();
    }
    let (results, task, _) = totals();
    let pattern = format!("notes={}/*", folder.path().display());
    let sales = fs::File::open(sales_in(folder.path())).unwrap();
    let mut command = command(&results, &["-f", task.to_str().unwrap(), "--for-each", &pattern]);
    command.args(["--input", "title=a", "--input", "sales=@-", "-o", "json"]);
    let done = command.stdin(sales).output().unwrap();
    expect_code(&done, 0);
    let list = document(&done);
    let sums: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["values"]["all"])
        .collect();
    assert_eq!(sums, [7.0, 7.0]);
}

fn sales_in(folder: &Path) -> PathBuf {
    let file = folder.join("sales.csv");
    fs::write(&file, "item,amount\npear,3\nfig,4\n").unwrap();
    file
}

#[rstest]
#[case::no_file(
    "measurements=FOLDER/*.tsv",
    "nothing of that name is a file; FOLDER holds a.csv, b.csv; correct the pattern"
)]
#[case::no_folder(
    "measurements=FOLDER/none/*.csv",
    "FOLDER/none cannot be read: No such file or directory"
)]
#[case::a_value(
    "decimals=FOLDER/*.csv",
    "input \"decimals\" is an Int, not many files: give its value, a whole number like 2"
)]
#[case::no_input(
    "measurement=FOLDER/*.csv",
    "the program has no input \"measurement\": did you mean \"measurements\"?"
)]
#[case::no_pattern(
    "measurements=FOLDER/***",
    "wildcards are either regular `*` or recursive `**`"
)]
fn a_pattern_that_leads_to_nothing_is_refused_before_anything_runs(
    #[case] each: &str,
    #[case] expected: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "b.csv"] {
        fs::write(folder.path().join(name), station(1)).unwrap();
    }
    let path = folder.path().display().to_string();
    let out = folder.path().join("out");
    let args = [
        "--for-each",
        &each.replace("FOLDER", &path),
        "--output-dir",
        out.to_str().unwrap(),
    ];
    let done = run(&penguins(), &args);
    expect_code(&done, 2);
    assert!(
        stderr(&done).contains(&expected.replace("FOLDER", &path)),
        "{}",
        stderr(&done)
    );
    assert!(!out.exists());
}

#[test]
fn a_folder_with_something_else_in_it_gets_no_items_and_a_link_in_it_is_not_followed() {
    let stations = Stations::new();
    fs::create_dir(stations.at("out")).unwrap();
    fs::write(stations.at("out/thesis.txt"), "mine").unwrap();
    let refused = stations.run(&[]);
    expect_code(&refused, 2);
    assert!(
        stderr(&refused).contains("holds files, and no items.jsonl"),
        "{}",
        stderr(&refused)
    );

    fs::write(stations.at("out/items.jsonl"), "").unwrap();
    fs::create_dir(stations.at("home")).unwrap();
    fs::write(stations.at("home/mine.txt"), "mine").unwrap();
    symlink(stations.at("home"), stations.at("out/s01")).unwrap();
    expect_code(&stations.run(&[]), 1);
    assert!(stations.at("out/s01/summary.csv").exists());
    assert_eq!(fs::read_dir(stations.at("home")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(stations.at("out/thesis.txt")).unwrap(), "mine");
}
