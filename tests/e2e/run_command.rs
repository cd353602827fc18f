//! `kubectl-codegen run`: a finished program on files of this machine, its outputs brought back.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use codegen_api::CodeGenRun;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::json;

use crate::space::{Space, in_space};

fn run(space: &Space, arguments: &[&str]) -> Output {
    run_of(space, &[&["penguin-masses"], arguments].concat())
}

/// `kubectl-codegen run` of whatever the arguments name.
pub fn run_of(space: &Space, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["run", "--namespace", &space.name])
        .args(arguments)
        .output()
        .unwrap()
}

/// What it wrote to stdout and stderr; it must have ended with `code`.
pub fn said(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

fn measurements(folder: &Path, name: &str, rows: usize) -> String {
    let mut text =
        "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n".to_owned();
    for row in 0..rows {
        text.push_str(if row % 2 == 0 {
            "Emu,a,39.1,18.7,181,3000,male,2026\n"
        } else {
            "Emu,a,39.1,18.7,181,4001,male,2026\n"
        });
    }
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    format!("measurements=@{}", path.display())
}

async fn runs(space: &Space) -> Vec<CodeGenRun> {
    space
        .api::<CodeGenRun>()
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
}

async fn a_wrong_command_makes_nothing(space: &Space) {
    let arguments = ["--input", "decimals=ten", "--input", "measurement=@x.csv"];
    let (_, told) = said(&run(space, &arguments), 2);
    assert_eq!(
        told,
        "error: input \"decimals\" is an Int, \"ten\" is not: give a whole number like 2\n\
         error: the program has no input \"measurement\": did you mean \"measurements\"?\n"
    );
    assert!(runs(space).await.is_empty());
}

fn a_small_file_gives_a_table(space: &Space, folder: &Path, out: &Path) {
    let small = measurements(folder, "today.csv", 2);
    let target = out.display().to_string();
    let arguments = [
        "--input",
        "decimals=2",
        "--input",
        &small,
        "--output-dir",
        &target,
    ];
    let (table, _) = said(&run(space, &arguments), 0);
    let summary = out.join("summary.csv");
    assert_eq!(
        table,
        format!(
            "OUTPUT    TYPE   VALUE\nsummary   File   {} (47 bytes)\nspecies   Int    1\n",
            summary.display()
        )
    );
    assert_eq!(
        fs::read_to_string(&summary).unwrap(),
        "species,count,mean_body_mass_g\r\nEmu,2,3500.50\r\n"
    );
}

async fn a_large_file_goes_with_its_run(space: &Space, folder: &Path, out: &Path) {
    let large = measurements(folder, "all.csv", 4_000);
    let target = out.display().to_string();
    let arguments = [
        "--input",
        &large,
        "--keep",
        "-o",
        "value",
        "--output-dir",
        &target,
    ];
    let (values, _) = said(&run(space, &arguments), 0);
    let summary = out.join("summary.csv");
    assert_eq!(values, format!("{}\n1\n", summary.display()));
    assert!(fs::read_to_string(&summary).unwrap().contains("Emu,4000,3500.5"));
    let runs = runs(space).await;
    let kept = runs
        .iter()
        .find(|run| run.spec.ttl_seconds_after_finished.is_none());
    let kept = kept.unwrap();
    let source = kept.spec.inputs[0].source.as_ref().unwrap();
    let reference = source.config_map_key_ref.as_ref().unwrap();
    let map = space.api::<ConfigMap>().get(&reference.name).await.unwrap();
    assert_eq!(map.owner_references()[0].name, kept.name_any());
}

fn a_failing_program_gives_its_last_lines(space: &Space, folder: &Path) {
    let dirty = folder.join("dirty.csv");
    fs::write(&dirty, "a,b\n1,2\n").unwrap();
    let input = format!("measurements=@{}", dirty.display());
    let (_, told) = said(&run(space, &["--input", &input]), 1);
    let error = "error: the program ended with exit code 1: KeyError: 'body_mass_g'\n";
    assert!(told.contains(error), "{told}");
    assert!(
        told.contains("\n    File \"/sandbox/solution.py\", line "),
        "{told}"
    );
}

fn a_published_program_runs_by_its_image(space: &Space, folder: &Path, image: &str) {
    let small = measurements(folder, "published.csv", 2);
    let published = |image: &str, further: &[&str]| {
        let arguments = [
            "--image",
            image,
            "--pull-secret",
            "registry",
            "--input",
            small.as_str(),
        ];
        run_of(space, &[&arguments, further].concat())
    };
    let (table, _) = said(&published(image, &["--input", "decimals=2"]), 0);
    assert_eq!(
        table,
        "OUTPUT    TYPE   VALUE\nsummary   File   47 bytes, kept with --output-dir\nspecies   Int    1\n"
    );
    let (_, told) = said(&published(image, &["--input", "decimals=ten"]), 2);
    assert!(
        told.contains("input \"decimals\" is an Int, \"ten\" is not"),
        "{told}"
    );
    let (of, _) = image.split_once('@').unwrap();
    let (_, told) = said(&published(&format!("{of}@sha256:{}", "0".repeat(64)), &[]), 2);
    assert!(told.contains("the registry does not have the image"), "{told}");
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn one_command_runs_a_finished_program_on_files_of_this_machine_and_brings_back_what_it_wrote() {
    in_space("run-command", async |space| {
        space.copy_secret("openai").await;
        space.apply_changed("examples/penguins", "penguins", |spec| {
            spec["publish"] = json!({});
        });
        let task = space.succeeded("penguin-masses").await;
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        a_wrong_command_makes_nothing(space).await;
        a_small_file_gives_a_table(space, folder.path(), &out);
        a_large_file_goes_with_its_run(space, folder.path(), &out).await;
        a_failing_program_gives_its_last_lines(space, folder.path());
        let image = task.status.unwrap().program_image.unwrap();
        a_published_program_runs_by_its_image(space, folder.path(), &image);
    })
    .await;
}
