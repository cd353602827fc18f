//! A machine on which commands are executed: by the harness's own file, and by bash.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Folders of a machine in the place of those of a sandbox.
pub(super) struct Machine {
    folder: tempfile::TempDir,
    python: PathBuf,
}

/// How a command ended, and what it wrote and left.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) status: i64,
    pub(super) output: String,
    pub(super) files: Vec<(String, String)>,
}

impl Machine {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let found = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let real = String::from_utf8(found.stdout).unwrap();
        for name in ["python", "python3"] {
            std::os::unix::fs::symlink(real.trim(), bin.join(name)).unwrap();
        }
        let python = bin.join("python");
        Self { folder, python }
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// A text with the folders of this machine.
    fn placed(&self, text: &str) -> String {
        let places = [
            ("/var/inputs", "inputs"),
            ("/var/outputs", "outputs"),
            ("/sandbox", "workspace"),
            ("/tmp", "tmp"),
        ];
        let marked = places.iter().fold(text.to_owned(), |text, (place, name)| {
            text.replace(place, &format!("\u{1}{name}"))
        });
        marked.replace('\u{1}', &format!("{}/", self.folder.path().to_str().unwrap()))
    }

    /// The same files each time.
    pub(super) fn lay_out(&self) {
        for name in ["inputs", "outputs", "workspace", "tmp"] {
            let _ = fs::remove_dir_all(self.path(name));
            fs::create_dir(self.path(name)).unwrap();
        }
        let table = "region,name,amount\nnorth,Ann,120\nsouth,Bob,80\nnorth,Cid,45.5\neast,Dan,300\n";
        let program = "import sys\n\n\ndef total(values):\n    return sum(values)\n\n\ndef parse(line):\n    return line.split(',')\n\n\ndef main():\n    \"\"\"Prints what it is given.\"\"\"\n    print('args', sys.argv[1:])\n    return 0\n\n\nif __name__ == '__main__':\n    sys.stdout.reconfigure(line_buffering=True)\n    sys.exit(main())\n";
        let files = [
            ("workspace/solution.py", program),
            (
                "workspace/test_solution.py",
                "from solution import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
            ),
            ("workspace/data.csv", table),
            ("workspace/names.txt", "Bob\nAnn\nBob\nCid\n"),
            ("workspace/a.csv", "k,v\n1,2\n"),
            ("workspace/b.csv", "k,w\n1,3\n"),
            ("workspace/a.txt", "one\ntwo\n"),
            ("workspace/b.txt", "two\nthree\n"),
            ("workspace/packages.txt", "# packages\npandas\n"),
            ("workspace/notes.txt", "a.b c\n12: x\n"),
            (
                "workspace/log.txt",
                "2024 INFO region=north ok\n2024 ERROR region=south bad\n",
            ),
            (
                "workspace/data.json",
                "{\"a\": 1, \"items\": [{\"name\": \"x\", \"price\": 11}]}\n",
            ),
            ("workspace/script.py", "print('from a script')\n"),
            ("workspace/.hidden", "x\n"),
            ("workspace/with space.txt", "x\n"),
            ("workspace/old/inner.txt", "x\n"),
            ("inputs/sales.csv", table),
            ("inputs/sales/data.csv", table),
        ];
        for (name, text) in files {
            let path = PathBuf::from(self.path(name));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
    }

    fn environment(&self) -> Value {
        json!({
            "PATH": format!("{}:/usr/bin:/bin", self.path("bin")),
            "HOME": self.path("tmp"),
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        })
    }

    /// Files below a folder, with their text.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        fn walk(folder: &Path, top: &Path, found: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, top, found);
                }
                // It holds the time at which its source was written.
                if path.extension().is_some_and(|extension| extension == "pyc") {
                    continue;
                }
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                found.push((
                    name,
                    String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned(),
                ));
            }
        }
        let mut found = Vec::new();
        for name in ["outputs", "workspace", "tmp"] {
            walk(self.path(name).as_ref(), self.folder.path(), &mut found);
        }
        found.sort();
        found
    }

    fn outcome(&self, status: i64, output: &str) -> Outcome {
        // bash passes the name of a program, which Python prints before its errors.
        let output = output.replace(&format!("{}/", self.path("bin")), "");
        // The line that bash names, and times of files.
        let lines = output.lines().map(|line| match line.split_once(": line ") {
            Some(("bash", rest)) => format!("bash: {}", rest.split_once(": ").map_or(rest, |(_, rest)| rest)),
            _ => line.to_owned(),
        });
        let output: Vec<String> = lines.map(|line| without_times(&line)).collect();
        Outcome {
            status,
            output: output.join("\n"),
            files: self.files(),
        }
    }

    /// What the harness makes of a script.
    pub(super) fn executed(&self, script: &Value, seconds: f64) -> Outcome {
        let (report, _) = self.report(script, seconds);
        let status = report["end"]["exited"].as_i64().unwrap_or(-1);
        self.outcome(status, report["output"].as_str().unwrap())
    }

    pub(super) fn report(&self, script: &Value, seconds: f64) -> (Value, String) {
        let script: Value = serde_json::from_str(&self.placed(&script.to_string())).unwrap();
        let writable = [self.path("workspace"), self.path("outputs"), self.path("tmp")];
        let readable = [&writable[..], &[self.path("inputs")]].concat();
        let job = json!({
            "script": script,
            "cwd": self.path("workspace"),
            "env": self.environment(),
            "limits": {"timeoutSeconds": seconds},
            "python": self.python,
            "folders": {"writable": writable, "readable": readable},
        });
        let mut child = Command::new(&self.python)
            .args(["-E", "-S"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandbox/harness/commands.py"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(job.to_string().as_bytes())
            .unwrap();
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        (
            serde_json::from_slice(&ended.stdout).unwrap_or_else(|_| panic!("{errors}")),
            errors,
        )
    }

    /// What bash makes of a text.
    pub(super) fn by_bash(&self, text: &str) -> Outcome {
        let environment = self.environment();
        let variables = environment.as_object().unwrap().iter();
        let (reading, writing) = std::io::pipe().unwrap();
        let mut child = Command::new("bash");
        child
            .args(["--norc", "--noprofile", "-c", &self.placed(text)])
            .env_clear()
            .envs(variables.map(|(name, value)| (name, value.as_str().unwrap())))
            .current_dir(self.path("workspace"))
            .stdin(Stdio::null())
            .stdout(writing.try_clone().unwrap())
            .stderr(writing);
        let mut started = child.spawn().unwrap();
        drop(child);
        let output = std::io::read_to_string(reading).unwrap();
        self.outcome(started.wait().unwrap().code().map_or(-1, i64::from), &output)
    }
}

fn without_times(line: &str) -> String {
    let is_duration = |word: &str| {
        word.strip_suffix('s')
            .is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let is_time = |word: &str| word.len() == 5 && word.as_bytes()[2] == b':' || is_duration(word);
    let words = line
        .split(' ')
        .map(|word| if is_time(word) { "TIME" } else { word });
    words.collect::<Vec<_>>().join(" ")
}
