//! What becomes of a child that ends too early.

use std::path::Path;

use crate::data::describe::describe_source;
use crate::pipeline::task::FrozenFile;
use crate::pipeline::test_support::task;

use super::*;

/// A reader whose child answers with one profile and then meets its limit of CPU time.
fn reader() -> WorkerReader {
    let source = Source::bytes(b"a,b\n1,2\n");
    let profile = describe_source(&source, "first", "first.csv", &Options::default()).unwrap();
    let reply: Result<Response, String> = Ok(Response::Profile(Box::new(profile)));
    let script = "read -r limits; read -r request; echo \"$0\"; kill -XCPU $$";
    WorkerReader {
        client: Client::new(
            Path::new("/bin/sh"),
            ["-c", script, &serde_json::to_string(&reply).unwrap()],
        ),
        sources: BTreeMap::new(),
        profiles: None,
    }
}

fn sample(name: &str) -> FrozenFile {
    FrozenFile {
        name: name.into(),
        file_name: format!("{name}.csv"),
        sha256: String::new(),
        bytes: 8,
        is_dir: false,
    }
}

#[tokio::test]
async fn joins_that_cannot_be_looked_for_are_a_remark() {
    let mut task = task();
    task.samples = vec![sample("first")];
    let described = reader().describe(&task).await.unwrap();
    assert!(
        described
            .context
            .text
            .contains("Remark: columns on which the samples may be joined are not known"),
        "{}",
        described.context.text
    );
    assert!(described.joins.is_empty() && described.context.text.contains("a int"));
}

#[tokio::test]
async fn a_sample_that_cannot_be_read_is_an_error() {
    let mut task = task();
    task.samples = vec![sample("first"), sample("second")];
    let error = reader().describe(&task).await.unwrap_err().to_string();
    assert!(error.contains("met the limit of 60 s of CPU time"), "{error}");
}
