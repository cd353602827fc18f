//! `kubectl-codegen run`: a finished program on files of this machine, its outputs brought back.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use codegen_operator::api::CodeGenRun;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::ListParams;

use crate::space::{Space, in_space};

fn run(space: &Space, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["run", "penguin-masses", "--namespace", &space.name])
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output, code: i32) -> (String, String) {
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

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn one_command_runs_a_finished_program_on_files_of_this_machine_and_brings_back_what_it_wrote() {
    in_space("run-command", async |space| {
        space.copy_secret("openai").await;
        space.apply("examples/penguins", "penguins");
        space.succeeded("penguin-masses").await;
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");

        let wrong = run(
            space,
            &["--input", "decimals=ten", "--input", "measurement=@x.csv"],
        );
        let (_, told) = said(&wrong, 2);
        assert_eq!(
            told,
            "error: input \"decimals\" is an Int, \"ten\" is not: give a whole number like 2\n\
             error: the program has no input \"measurement\": did you mean \"measurements\"?\n"
        );
        assert!(runs(space).await.is_empty(), "nothing is made of a wrong command");

        let small = measurements(folder.path(), "today.csv", 2);
        let target = out.display().to_string();
        let done = run(
            space,
            &[
                "--input",
                "decimals=2",
                "--input",
                &small,
                "--output-dir",
                &target,
            ],
        );
        let (table, _) = said(&done, 0);
        let summary = out.join("summary.csv");
        assert_eq!(
            table,
            format!(
                "OUTPUT   TYPE  VALUE\nsummary  File  {} (47 bytes)\nspecies  Int   1\n",
                summary.display()
            )
        );
        assert_eq!(
            fs::read_to_string(&summary).unwrap(),
            "species,count,mean_body_mass_g\r\nEmu,2,3500.50\r\n"
        );

        let large = measurements(folder.path(), "all.csv", 4_000);
        let done = run(
            space,
            &[
                "--input",
                &large,
                "--keep",
                "-o",
                "value",
                "--output-dir",
                &target,
            ],
        );
        let (values, _) = said(&done, 0);
        assert_eq!(values, format!("{}\n1\n", summary.display()));
        assert!(fs::read_to_string(&summary).unwrap().contains("Emu,4000,3500.5"));
        let runs = runs(space).await;
        let kept = runs
            .iter()
            .find(|run| run.spec.ttl_seconds_after_finished.is_none())
            .unwrap();
        let reference = kept.spec.inputs[0]
            .source
            .as_ref()
            .and_then(|source| source.config_map_key_ref.as_ref());
        let map = space
            .api::<ConfigMap>()
            .get(&reference.unwrap().name)
            .await
            .unwrap();
        assert_eq!(
            map.owner_references()[0].name,
            kept.name_any(),
            "it goes with its run"
        );

        let dirty = folder.path().join("dirty.csv");
        fs::write(&dirty, "a,b\n1,2\n").unwrap();
        let done = run(space, &["--input", &format!("measurements=@{}", dirty.display())]);
        let (_, told) = said(&done, 1);
        assert!(
            told.contains("error: the program ended with exit code 1: KeyError: 'body_mass_g'\n"),
            "{told}"
        );
        assert!(
            told.contains("\n    File \"/sandbox/solution.py\", line "),
            "{told}"
        );
    })
    .await;
}
