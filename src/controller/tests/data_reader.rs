//! The reader of data files: a child that is this test binary again, entered at `child_entry`.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::data::worker::{Client, Limits, serve};

/// The harness prints to standard output, and the filter of a child lets it write to descriptors 1 and 2 alone: replies go through the latter.
const SHELL: &str =
    r#"exec "$0" controller::tests::data_reader::child_entry --exact --ignored --nocapture 2>&1 >/dev/null"#;

#[test]
#[ignore = "what the children of the other tests run"]
fn child_entry() {
    serve(io::stdin().lock(), io::BufWriter::new(io::stderr())).unwrap();
}

/// A client of such children. The test harness starts threads of its own, each with an arena of 64 MiB of address space.
pub fn data_reader() -> Client {
    let program = std::env::current_exe().unwrap().into_os_string();
    let arguments: [OsString; 3] = ["-c".into(), SHELL.into(), program];
    Client::new(Path::new("/bin/sh"), arguments).with_limits(Limits {
        memory_bytes: 512 * 1024 * 1024,
        ..Limits::default()
    })
}
