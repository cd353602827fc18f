//! What an API server says of manifests is what a local run goes by: `tests/odd_manifests/table.tsv`, and the examples.

use std::path::Path;

use crate::space::{Space, in_space, try_kubectl};

const TABLE: &str = include_str!("../odd_manifests/table.tsv");

/// Whether everything of a file or folder would be created; else why not.
fn refusal(space: &Space, option: &str, path: &Path) -> Option<String> {
    let path = path.display().to_string();
    let arguments = [
        "--namespace",
        &space.name,
        "apply",
        "--dry-run=server",
        option,
        &path,
    ];
    let (is_done, _, error) = try_kubectl(&arguments, "");
    (!is_done).then_some(error)
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_odd_file_is_taken_and_refused_as_the_table_says() {
    in_space("parity", async |space| {
        let odd = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd_manifests");
        let mut differences = Vec::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let cells: Vec<&str> = line.split('\t').collect();
            let (file, applied) = (cells[0], cells[1]);
            let rendered = if cells[2] == "=" { applied } else { cells[2] };
            let folder = tempfile::tempdir().unwrap();
            std::fs::copy(odd.join(file), folder.path().join(file)).unwrap();
            let resources = format!("namespace: {}\nresources: [{file}]\n", space.name);
            std::fs::write(folder.path().join("kustomization.yaml"), resources).unwrap();
            for (option, path, verdict) in [
                ("-f", odd.join(file), applied),
                ("-k", folder.path().to_owned(), rendered),
            ] {
                let refused = refusal(space, option, &path);
                // kubectl complains about a file without objects, in which nothing is wrong.
                let is_taken = verdict.starts_with("taken") && verdict != "taken []";
                if is_taken == refused.is_some() {
                    differences.push(format!("{file} {option}: {refused:?}"));
                }
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn every_example_is_taken() {
    in_space("examples", async |space| {
        let mut count = 0;
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).unwrap() {
            let folder = entry.unwrap().path();
            let (option, path) = if folder.join("kustomization.yaml").exists() {
                ("-k", folder)
            } else if folder.join("task.yaml").exists() {
                ("-f", folder.join("task.yaml"))
            } else {
                continue;
            };
            assert_eq!(refusal(space, option, &path), None, "{}", path.display());
            count += 1;
        }
        assert!(count >= 10, "{count}");
    })
    .await;
}
