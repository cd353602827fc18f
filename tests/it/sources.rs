//! What lies on a claim is the same for a cluster as for a local run: digests, sizes and what the model is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use codegen_api::CodeGenTask;
use codegen_core::task::FrozenFile;
use codegen_data::worker::WorkerClient;
use codegen_operator::local::freeze::{DownloadAccess, freeze};
use codegen_sandbox::kubernetes::{ClaimSource, ReadReport, ReadRequest, SampleSource};
use codegen_sources::{Claims, GivenFiles, plan, reading};
use tempfile::TempDir;

const SPEC: &str = "
prompt: p
samples:
- {name: orders, persistentVolumeClaim: {claimName: data, path: 2026/orders.csv}}
inputs:
- {name: notes, type: Dir, source: {persistentVolumeClaim: {claimName: data, path: notes}}}
";

fn claim() -> TempDir {
    let claim = tempfile::tempdir().unwrap();
    let top = claim.path();
    fs::create_dir_all(top.join("2026")).unwrap();
    fs::create_dir_all(top.join("notes/deep/deeper")).unwrap();
    let orders: Vec<String> = (1..=5000).map(|id| format!("{id},{}.5", id % 90)).collect();
    let orders = format!("order_id,amount_eur\n{}\n", orders.join("\n"));
    fs::write(top.join("2026/orders.csv"), orders).unwrap();
    for name in [
        "a.txt",
        "a/b.txt",
        "deep/z.txt",
        "deep/deeper/\u{fc}.txt",
        "A.txt",
    ] {
        let file = top.join("notes").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, name).unwrap();
    }
    claim
}

async fn read_locally(claim: &Path) -> Vec<FrozenFile> {
    let spec = serde_saphyr::from_str(SPEC).unwrap();
    let task = CodeGenTask::new("t", spec);
    let folders = BTreeMap::from([("data".to_owned(), claim.to_owned())]);
    let given = GivenFiles {
        claims: Claims::Folders(folders),
        ..GivenFiles::default()
    };
    let plan = plan(&task, &BTreeMap::new(), &given).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let downloads = DownloadAccess::new(folder.path().to_owned(), &[]);
    let frozen = freeze(&plan, folder.path(), &downloads).await.unwrap();
    [frozen.samples, frozen.input_files].concat()
}

fn request(claim: &Path) -> ReadRequest {
    let source = |name: &str, path: &str, is_dir| ClaimSource {
        name: name.to_owned(),
        claim: "data".to_owned(),
        folder: claim.to_str().unwrap().to_owned(),
        path: path.to_owned(),
        is_dir,
        sha256: None,
    };
    ReadRequest {
        sources: vec![
            source("orders", "2026/orders.csv", false),
            source("notes", "notes", true),
        ],
        samples: vec![SampleSource {
            name: "orders".to_owned(),
            file_name: "orders.csv".to_owned(),
            sha256: None,
        }],
        max_sample_rows: 10,
        outputs: None,
    }
}

#[tokio::test]
async fn a_claim_is_read_as_the_local_command_reads_its_folder() {
    let claim = claim();
    let local = read_locally(claim.path()).await;
    let worker = WorkerClient::new(Path::new(env!("CARGO_BIN_EXE_codegen-operator")), ["worker"]);
    let report = reading::read(&request(claim.path()), &worker).await;
    let ReadReport::Read { sources, profiles } = report else {
        panic!("{report:?}")
    };
    let of = |file: &FrozenFile| (file.sha256.clone(), file.bytes);
    let found: Vec<_> = sources
        .into_iter()
        .map(|source| (source.sha256, source.bytes))
        .collect();
    assert_eq!(found, local.iter().map(of).collect::<Vec<_>>());
    let profiles = profiles.unwrap();
    let columns: Vec<&str> = profiles.samples[0]
        .tables()
        .flat_map(|table| &table.columns)
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["order_id", "amount_eur"]);
    assert_eq!(profiles.samples[0].bytes, local[0].bytes);
}

#[tokio::test]
async fn a_sample_that_cannot_be_described_is_refused_by_name() {
    let claim = claim();
    fs::write(claim.path().join("2026/orders.csv"), b"PAR1 no parquet PAR1").unwrap();
    let worker = WorkerClient::new(Path::new("/bin/sh"), ["-c", "kill -XCPU $$"]);
    let ReadReport::Refused(why) = reading::read(&request(claim.path()), &worker).await else {
        panic!("it was read")
    };
    assert!(why.contains("orders.csv"), "{why}");
}
