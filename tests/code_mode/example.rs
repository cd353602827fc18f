//! The example of docs/code-mode.md, by the commands that stand there: `tools.py` under a real Python, the task's program in a real sandbox.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{examples, expect_code};

/// Where the page has the tools; a test takes any free port.
const SHOWN: &str = "http://127.0.0.1:8080";
/// Where they are in a cluster.
const IN_A_CLUSTER: &str = "http://shop-tools.default.svc:8080";

fn page() -> String {
    fs::read_to_string(examples().join("../docs/code-mode.md")).unwrap()
}

/// The blocks of one language in the part of the page about the example.
fn blocks(language: &str) -> Vec<String> {
    let page = page();
    let part = page.split("\n## An example\n").nth(1).unwrap();
    let part = part.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    let blocks = part.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().trim().to_owned())
        .collect()
}

/// A checkout with the example, whose tools are served.
struct Checkout {
    folder: tempfile::TempDir,
    tools: Child,
    /// Where they are.
    origin: String,
}

impl Checkout {
    /// Starts the tools as the page says.
    fn open(command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["examples/code-mode", "deploy/kustomize"] {
            copy(&examples().join("..").join(name), &folder.path().join(name));
        }
        fs::create_dir(folder.path().join("bin")).unwrap();
        let program = folder.path().join("bin/kubectl-codegen");
        symlink(env!("CARGO_BIN_EXE_kubectl-codegen"), program).unwrap();
        let mut words = command.split(' ');
        let mut tools = Command::new(words.next().unwrap());
        tools
            .args(words)
            .args(["--port", "0"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut checkout = Self {
            folder,
            tools: tools.spawn().unwrap(),
            origin: String::new(),
        };
        let mut line = String::new();
        let printed = checkout.tools.stdout.take().unwrap();
        BufReader::new(printed).read_line(&mut line).unwrap();
        let origin = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        let agent = checkout.path("examples/code-mode/laptop/agent.yaml");
        let text = fs::read_to_string(&agent).unwrap();
        assert!(text.contains(SHOWN), "{text}");
        fs::write(agent, text.replace(SHOWN, &origin)).unwrap();
        checkout.origin = origin;
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, commands: &str) -> Output {
        let done = self.sh(commands);
        expect_code(&done, 0);
        done
    }

    fn sh(&self, commands: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let host = |origin: &str| origin.trim_start_matches("http://").to_owned();
        let commands = commands.replace(&host(SHOWN), &host(&self.origin));
        Command::new("sh")
            .args(["-euc", &commands])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env_remove("OPENAI_API_KEY")
            .output()
            .unwrap()
    }

    /// Ends the tools, and gives the requests that they had.
    fn requests(mut self) -> Vec<String> {
        self.tools.kill().unwrap();
        let mut log = String::new();
        let mut printed = self.tools.stderr.take().unwrap();
        printed.read_to_string(&mut log).unwrap();
        log.lines().map(str::to_owned).collect()
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        // They have ended already where their requests were read.
        let _ = self.tools.kill();
        let _ = self.tools.wait();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn the_example_answers_as_the_page_shows_and_prints_its_answer_again_without_a_call() {
    let commands = blocks("sh");
    let [serve, ask] = commands.as_slice() else {
        panic!("{commands:?}");
    };
    let checkout = Checkout::open(serve);
    let done = checkout.run(ask);
    let printed = String::from_utf8(done.stdout).unwrap();
    assert!(
        printed.ends_with(&format!("{}\n", blocks("text")[0])),
        "{printed}"
    );

    let last = ask.lines().last().unwrap();
    let again = checkout.run(&format!("{last} -o json --cached"));
    let document: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        document["toolCalls"],
        json!({"clean_orders": 2, "delivery": 2, "exchange_rate": 5, "read_text": 2, "stock": 5})
    );
    assert_eq!(document["attempts"], 1);
    let had = checkout.requests();
    let count = |request: &str| had.iter().filter(|line| line.contains(request)).count();
    assert_eq!(count("GET /rates/JPY  404"), 1, "{had:#?}");
    assert_eq!(count("GET /rates/"), 5, "{had:#?}");
    assert_eq!(count("'tools/list'"), 1, "{had:#?}");
    assert_eq!(count("'tools/call' 'stock'"), 5, "{had:#?}");
    assert_eq!(count("'tools/call' 'delivery'"), 2, "{had:#?}");
}

#[test]
fn the_agent_of_a_laptop_is_that_of_a_cluster_with_other_addresses() {
    let read = |path: &str| fs::read_to_string(examples().join("code-mode").join(path)).unwrap();
    let in_a_cluster = read("agent.yaml");
    assert!(in_a_cluster.contains(IN_A_CLUSTER));
    let agent = |text: &str| serde_saphyr::from_str::<Value>(text).unwrap();
    assert_eq!(
        agent(&in_a_cluster.replace(IN_A_CLUSTER, SHOWN)),
        agent(&read("laptop/agent.yaml"))
    );
    let service = read("tools.yaml");
    assert!(service.contains("name: shop-tools") && service.contains("port: 8080"));
}
