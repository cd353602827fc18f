//! A registry in memory that has the API for what refers to an image, on the loopback.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Ends with the test.
pub struct Registry {
    pub host: String,
    log: tempfile::NamedTempFile,
    process: Child,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Registry {
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/tool");
        let built = Command::new(script)
            .arg("registry")
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let program = String::from_utf8(built.stdout).unwrap();
        assert!(
            built.status.success(),
            "the registry is not there and cannot be built: install Go"
        );
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut process = Command::new(program.trim())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut host = String::new();
        // It says its address as soon as it listens.
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut host)
            .unwrap();
        Self {
            host: host.trim().to_owned(),
            log,
            process,
        }
    }

    /// Methods and paths so far. A request has its line before its answer is whole.
    pub fn requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.log.path()).unwrap();
        log.lines().map(str::to_owned).collect()
    }
}
