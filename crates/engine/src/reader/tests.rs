//! Tests of a child that ends too early.

use std::path::Path;

use codegen_api::values::ValueType;
use codegen_core::task::FrozenFile;
use codegen_core::test_support::task;
use codegen_data::describe::describe_source;
use codegen_data::outputs::{OutputFault, OutputProblem};

use super::*;

/// A reader whose child answers with one profile and then meets its limit of CPU time.
fn reader() -> WorkerReader {
    let source = Source::bytes(b"a,b\n1,2\n");
    let profile = describe_source(&source, "first", "first.csv", &DescribeOptions::default()).unwrap();
    let reply: Result<Response, String> = Ok(Response::Profile(Box::new(profile)));
    let script = "read -r limits; read -r request; echo \"$0\"; kill -XCPU $$";
    WorkerReader {
        client: WorkerClient::new(
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
async fn a_large_file_cannot_be_checked_and_a_large_number_is_wrong() {
    let output = |name: &str, type_| codegen_api::values::Output {
        name: name.into(),
        type_,
        format: None,
        description: None,
    };
    let mut task = task();
    task.outputs = vec![output("table", ValueType::File), output("count", ValueType::Int)];
    let large = |name: &str| {
        Err(OutputFault {
            output: name.into(),
            problem: OutputProblem::TooLarge(2_000_000),
        })
    };
    let reply: Result<Response, String> = Ok(Response::Outputs(vec![large("table"), large("count")]));
    let reader = WorkerReader {
        client: WorkerClient::new(
            Path::new("/bin/sh"),
            [
                "-c",
                "read -r limits; read -r request; echo \"$0\"",
                &serde_json::to_string(&reply).unwrap(),
            ],
        ),
        sources: BTreeMap::new(),
        profiles: None,
    };
    let read = reader.outputs(&task, &[], &[]).await.unwrap();
    let names: Vec<&str> = read.too_large.iter().map(|large| large.output.as_str()).collect();
    assert_eq!(names, ["table"]);
    assert_eq!(read.faults.len(), 1);
    assert!(read.is_at_fault("count"));
}

#[tokio::test]
async fn joins_that_cannot_be_computed_are_a_remark() {
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

#[test]
fn cases_learn_the_format_of_each_sample_from_its_profile() {
    use codegen_data::source::Encoding;
    let profile = |name: &str, bytes: &[u8]| {
        let file_name = format!("{name}.csv");
        describe_source(
            &Source::bytes(bytes),
            name,
            &file_name,
            &DescribeOptions::default(),
        )
        .unwrap()
    };
    let wide: Vec<u8> = Encoding::Utf16Le
        .encode("city;orders\nZürich;1\nBern;2\n")
        .unwrap();
    let profiles = [
        profile("latin", b"city,orders\nGen\xe8ve,1\nBern,2\n"),
        profile("wide", &wide),
        profile("lines", b"{\"a\": 1}\n{\"a\": 2}\n"),
        profile("packed", b"BZh91AY&SY\x00\x01\x02\x03\xff\xfe\x00\x00\x01"),
        profile("empty", b""),
    ];
    let forms = reader().forms(&serde_json::to_vec(&profiles).unwrap());
    assert_eq!(forms["latin"].encoding, Some(Encoding::Latin1));
    assert_eq!(forms["wide"].encoding, Some(Encoding::Utf16Le));
    assert_eq!(forms["lines"].encoding, Some(Encoding::Utf8));
    assert_eq!(forms["packed"].encoding, None);
    assert_eq!(forms["empty"].encoding, Some(Encoding::Utf8));
}
