//! The real program in its reading process, and what it says of a file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use codegen_api::common::Exposure;
use codegen_data::context::render;
use codegen_data::describe::DescribeOptions;
use codegen_data::exposure::{Exposed, ExposedJoins};
use codegen_data::source::Source;
use codegen_data::worker::{ChildLimits, ChildRequest, Response, WorkerClient};

pub fn client() -> WorkerClient {
    WorkerClient::new(Path::new(env!("CARGO_BIN_EXE_kubectl-codegen")), ["worker"])
}

pub fn request(source: Source, file_name: &str) -> ChildRequest {
    ChildRequest::Describe {
        source,
        name: "sample".into(),
        file_name: file_name.into(),
        options: DescribeOptions::default(),
    }
}

/// Heading and remarks of the context, or the error.
pub async fn context_or_error(client: &WorkerClient, source: Source, file_name: &str) -> String {
    let replies = match client.run(&[request(source, file_name)]).await {
        Ok(mut replies) => replies.remove(0),
        Err(error) => Err(error),
    };
    match replies {
        Ok(Response::Profile(profile)) => {
            let exposed = [Exposed::new(*profile, Exposure::Rows)];
            let context = render(&exposed, &ExposedJoins::default(), 4_000, 100);
            assert!(context.text.len() < 20_000, "{file_name}: {}", context.text.len());
            let is_told = |line: &&str| line.starts_with("## ") || line.starts_with("Remark: ");
            let lines: Vec<_> = context.text.lines().filter(is_told).collect();
            lines.join("\n")
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => format!("error: {error}"),
    }
}

pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

pub fn context_of_path(path: &Path, file_name: &str) -> String {
    run(context_or_error(&client(), Source::path(path), file_name))
}

/// [`context_of_bytes`] of what unpacks to more than may be read: with the real limit of memory, and with time for a build without optimization.
pub fn context_of_bomb(bytes: &[u8], file_name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    let patient = client().with_limits(ChildLimits {
        seconds: 600,
        ..ChildLimits::default()
    });
    run(context_or_error(&patient, Source::path(&path), file_name))
}

/// What is told of some bytes that stand in a file of that name.
pub fn context_of_bytes(bytes: &[u8], file_name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes).unwrap();
    context_of_path(&path, file_name)
}

/// All of them as one readable text.
pub fn table(cases: &[(&str, &str, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (what, file_name, bytes) in cases {
        writeln!(text, "# {what}\n{}\n", context_of_bytes(bytes, file_name)).unwrap();
    }
    text
}

/// Bytes without any order, the same on every run.
pub fn noise(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count).map(|_| random.u8(..)).collect()
}

pub fn rows(count: u32) -> String {
    let mut text = "id,name\n".to_owned();
    for row in 1..=count {
        writeln!(text, "{row},n{row}").unwrap();
    }
    text
}

pub fn wide<const N: usize>(text: &str, unit: fn(u16) -> [u8; N]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

/// A table of 2,000 rows, of two row groups.
pub fn parquet() -> Vec<u8> {
    use parquet::data_type::{DoubleType, Int64Type};
    let schema = "message m { required int64 id; required double share; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(&mut bytes, schema.into(), Arc::default()).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut ids = group.next_column().unwrap().unwrap();
        let values: Vec<i64> = (0..1_000).collect();
        ids.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        ids.close().unwrap();
        let mut shares = group.next_column().unwrap().unwrap();
        let values: Vec<f64> = (0..1_000).map(|row| f64::from(row) / 1_000.0).collect();
        shares
            .typed::<DoubleType>()
            .write_batch(&values, None, None)
            .unwrap();
        shares.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}
