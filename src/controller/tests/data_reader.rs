//! The reader of data files: a child that is this test binary again, entered at `child_entry`.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process;

use codegen_data::worker::{ChildLimits, WorkerClient, serve};

/// The harness prints to standard output, so that is empty until the child takes descriptor 3 for it: a child writes there alone.
const SHELL: &str =
    r#"exec "$0" controller::tests::data_reader::child_entry --exact --ignored --nocapture 3>&1 >/dev/null"#;

#[test]
#[ignore = "what the children of the other tests run"]
fn child_entry() {
    let output = OpenOptions::new().write(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(output).unwrap();
    let served = catch_unwind(AssertUnwindSafe(|| {
        serve(io::stdin().lock(), io::stdout().lock()).unwrap();
    }));
    // Before the harness says how the test went.
    process::exit(if served.is_ok() { 0 } else { 101 });
}

/// A client of such children. The test harness starts threads of its own, each with an arena of 64 MiB of address space.
pub fn data_reader() -> WorkerClient {
    let program = std::env::current_exe().unwrap().into_os_string();
    let arguments: [OsString; 3] = ["-c".into(), SHELL.into(), program];
    WorkerClient::new(Path::new("/bin/sh"), arguments).with_limits(ChildLimits {
        memory_bytes: 512 * 1024 * 1024,
        ..ChildLimits::default()
    })
}
