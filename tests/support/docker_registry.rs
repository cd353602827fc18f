//! A real registry with htpasswd, on the loopback.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::json;

pub const USER: &str = "builder";
pub const PASSWORD: &str = "hunter-22-builder";
const HTPASSWD: &str = "builder:$2y$04$f3.9yIwK1ciRXjEYTiOmAehOOU2k4KBQ281QlBg8/BAs9ugDWr3rW\n";
const START: Duration = Duration::from_mins(1);

/// A registry of its own on a free port of the loopback; ends with the test.
pub struct Registry {
    pub host: String,
    folder: tempfile::TempDir,
    process: Child,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Registry {
    /// A port that is free now may be taken before the registry has it: then another one is tried.
    pub fn start() -> Self {
        (0..5)
            .find_map(|_| Self::try_start())
            .expect("the registry does not start: its log stands above")
    }

    fn try_start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        drop(listener);
        fs::write(folder.path().join("htpasswd"), HTPASSWD).unwrap();
        let storage = folder.path().join("storage");
        let config = json!({
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": storage}},
            "http": {"addr": host},
            "auth": {"htpasswd": {"realm": "tests", "path": folder.path().join("htpasswd")}},
        });
        let config_file = folder.path().join("config.yml");
        fs::write(&config_file, config.to_string()).unwrap();
        let process = Command::new("docker-registry")
            .arg("serve")
            .arg(&config_file)
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .expect("docker-registry cannot be started: run `make test`, which installs it, or `apt-get install docker-registry`");
        let mut registry = Self {
            host,
            folder,
            process,
        };
        registry.has_started().then_some(registry)
    }

    /// Whether it listens; waits until it does or has ended.
    fn has_started(&mut self) -> bool {
        let deadline = Instant::now() + START;
        loop {
            let is_up = TcpStream::connect(&self.host).is_ok();
            let has_ended = self.process.try_wait().unwrap().is_some();
            if is_up && !has_ended {
                return true;
            }
            if has_ended || Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.path().join("log"));
                let _ = writeln!(
                    io::stderr(),
                    "the registry at {} did not start: {log:?}",
                    self.host
                );
                return false;
            }
            std::thread::yield_now();
        }
    }

    /// A reference in the repository of environments.
    pub fn reference(&self, tag: &str) -> String {
        format!("{}/environments:{tag}", self.host)
    }

    /// A file with credentials.
    pub fn credentials(&self, password: &str) -> tempfile::NamedTempFile {
        let auth = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{password}"));
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(
            file.path(),
            json!({"auths": {&self.host: {"auth": auth}}}).to_string(),
        )
        .unwrap();
        file
    }

    /// Names of the blobs that it stores.
    pub fn stored(&self) -> Vec<String> {
        let blobs = self.folder.path().join("storage/docker/registry/v2/blobs/sha256");
        let Ok(prefixes) = fs::read_dir(blobs) else {
            return Vec::new();
        };
        let inside = |prefix: fs::DirEntry| fs::read_dir(prefix.path()).unwrap();
        let names = prefixes.map(Result::unwrap).flat_map(inside);
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}
