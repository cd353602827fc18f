//! What a manifest says about the sandbox, testing, prompts and packages holds when programs run.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::task::{Done, ScriptedTask, indented};

const SUITE: &str = "import solution\n\n\ndef test_double():\n    assert solution.double(2) == 4\n";

/// A program that runs `body`; `imports` stand before it.
fn program(imports: &str, body: &str) -> String {
    let body: String = indented(body);
    format!(
        "import os\nimport sys\nfrom pathlib import Path\n{imports}\n\n\ndef double(x):\n    return x * 2\n\n\n\
         def main():\n    out = Path(\"/var/outputs/o\")\n{body}\n\n\
         if __name__ == \"__main__\":\n    main()\n"
    )
}

fn text_output(sandbox: &Value) -> ScriptedTask {
    ScriptedTask::new(json!({"outputs": [{"name": "o", "type": "String"}], "sandbox": sandbox}))
}

fn first_line(done: &Done) -> String {
    done.test_output().lines().next().unwrap_or_default().to_owned()
}

const PASSWORD: &str = "hunter-22-geheim";
const KEY: &str = "-----BEGIN KEY-----\nMIIEv'QIB\"ADAN\\Bg\n-----END KEY-----\n";
/// Parts of the two values in every spelling that a report may hold.
const PARTS: [&str; 2] = ["hunter-22", "MIIEv"];

fn with_secrets() -> ScriptedTask {
    let variable =
        |name: &str, key: &str| json!({"name": name, "secretKeyRef": {"name": "secrets", "key": key}});
    text_output(&json!({
        "env": {"PLAIN": "in sight"},
        "secrets": [variable("PASSWORD", "password"), variable("KEY", "key")],
    }))
    .secret("secrets", &json!({"password": PASSWORD, "key": KEY}))
}

/// A suite that reads both secrets and prints them; its last line is the assertion.
fn suite_that_prints_secrets(assertion: &str) -> String {
    format!(
        "import os\n\nimport solution\n\n\ndef test_double():\n    key = os.environ['KEY']\n    \
         assert os.environ['PLAIN'] == 'in sight' and key.startswith('-----BEGIN')\n    \
         print(os.environ['PASSWORD'], key, repr(key))\n    assert solution.double(2) == 4\n    {assertion}\n"
    )
}

/// Neither what was said nor a stored file holds a secret; `outputs/` and the stored run hold what the program wrote.
fn expect_no_secret(done: &Done) {
    let said = done.said();
    assert!(PARTS.iter().all(|part| !said.contains(part)), "{said}");
    visit(&done.out(), &mut |path| {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let is_output = path.strip_prefix(done.out()).unwrap().starts_with("outputs");
        assert!(
            is_output || PARTS.iter().all(|part| !text.contains(part)),
            "{}\n{text}",
            path.display()
        );
    });
}

fn visit(folder: &Path, look: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
        } else {
            look(&path);
        }
    }
}

#[test]
fn variables_and_secrets_reach_tests_and_rehearsal_and_no_record() {
    let body = "print(os.environ['PASSWORD'], os.environ['KEY'])\nprint(repr(os.environ['KEY']), file=sys.stderr)\n\
                out.write_text(os.environ['PLAIN'] + os.environ['PASSWORD'])";
    let done = with_secrets()
        .code(&program("", body))
        .tests(&suite_that_prints_secrets("assert solution.double(3) == 6"))
        .run()
        .succeeded();
    assert_eq!(done.file("outputs/o"), format!("in sight{PASSWORD}"));
    expect_no_secret(&done);
}

#[rstest]
#[case::a_comparison(
    "assert solution.double(2) == os.environ['PASSWORD']",
    "out.write_text('x')",
    "String"
)]
#[case::a_comparison_of_texts(
    "assert 'x\\n-----END KEY-----\\n' + str(solution.double(2)) == key",
    "out.write_text('x')",
    "String"
)]
#[case::an_exception(
    "raise KeyError(key, os.environ['PASSWORD'])",
    "out.write_text('x')",
    "String"
)]
#[case::a_crash(
    "assert solution.double(3) == 6",
    "raise ValueError(os.environ['PASSWORD'] + repr(os.environ['KEY']))",
    "String"
)]
#[case::an_output_of_another_type(
    "assert solution.double(3) == 6",
    "out.write_text(os.environ['PASSWORD'])",
    "Int"
)]
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_message_is_shown_without_the_secret_in_it(
    #[case] assertion: &str,
    #[case] body: &str,
    #[case] type_: &str,
) {
    let mut written = with_secrets();
    written.set("outputs", json!([{"name": "o", "type": type_}]));
    let written = written
        .code(&program("", body))
        .tests(&suite_that_prints_secrets(assertion));
    let (done, requests) = written.run_served().await;
    let done = done.did_not_succeed();
    assert!(first_line(&done).contains("redacted:"), "{}", done.test_output());
    expect_no_secret(&done);
    assert!(requests.len() > 3, "the failure was sent: {}", done.said());
    for body in &requests {
        assert!(PARTS.iter().all(|part| !body.contains(part)), "{body}");
    }
}

#[test]
fn a_timeout_ends_an_execution_and_says_so() {
    let done = text_output(&json!({"timeout": "3s"}))
        .code(&program("", "out.write_text('x')\nwhile True:\n    pass"))
        .tests(SUITE)
        .run()
        .did_not_succeed();
    assert!(
        first_line(&done).contains("did not end within"),
        "{}",
        done.said()
    );
}

#[test]
fn memory_beyond_the_limit_ends_a_program_and_the_limit_is_named() {
    let done = text_output(&json!({"resources": {"limits": {"memory": "128Mi"}}}))
        .code(&program("", "out.write_text(str(len(bytearray(2**29))))"))
        .tests(SUITE)
        .run()
        .did_not_succeed();
    assert!(
        first_line(&done).contains("more memory than the sandbox allows"),
        "{}",
        done.said()
    );
}

#[test]
fn an_execution_that_hits_a_limit_is_repeated_as_often_as_asked_and_a_failing_test_never() {
    let slow = |retries: u32| {
        let started = std::time::Instant::now();
        text_output(&json!({"timeout": "2s", "retries": retries}))
            .code(&program("", "while True:\n    out.write_text('x')"))
            .tests(SUITE)
            .run()
            .did_not_succeed();
        started.elapsed()
    };
    // Each execution takes the two seconds of its timeout.
    assert!(slow(2).as_secs_f64() >= 6.0);
    let done = text_output(&json!({"retries": 2}))
        .code(&program("", "out.write_text('x')"))
        .tests("import solution\n\n\ndef test_double():\n    assert solution.double(2) == 5\n")
        .run()
        .did_not_succeed();
    assert_eq!(done.status()["attempts"].as_array().unwrap().len(), 1);
}

#[test]
fn a_denied_network_is_not_there() {
    let body = "try:\n    socket.create_connection(('192.0.2.1', 80), timeout=2)\n    out.write_text('open')\n\
                except OSError as error:\n    out.write_text(error.strerror or 'no answer')";
    let done = text_output(&json!({"network": {"egress": "Denied"}}))
        .code(&program("import socket", body))
        .tests(SUITE)
        .run()
        .succeeded();
    assert_eq!(done.file("outputs/o"), "Network is unreachable");
}

#[test]
fn a_list_of_addresses_is_refused_before_the_first_call_with_what_to_write_instead() {
    let network = json!({"egress": "List", "allow": [{"cidr": "203.0.113.0/24"}]});
    let done = text_output(&json!({"network": network}))
        .code(&program("", "out.write_text('x')"))
        .tests(SUITE)
        .run();
    assert_eq!(done.output.status.code(), Some(2), "{}", done.said());
    assert!(
        done.said().contains("use `Denied` or `Internet`"),
        "{}",
        done.said()
    );
}

#[test]
fn without_generated_tests_the_rehearsal_alone_decides() {
    let task = |body: &str| {
        let mut written = text_output(&json!({}));
        written.set("testing", json!({"mode": "Skip", "cases": "Off"}));
        written.code(&program("", body)).run()
    };
    let done = task("out.write_text('x')").succeeded();
    assert_eq!(done.status()["modelCalls"], 2);
    assert!(!done.out().join("test_solution.py").exists());
    task("raise ValueError('no')").did_not_succeed();
}

#[test]
fn schema_and_system_prompt_are_sent_as_they_are() {
    let schema = "time | {{level}} <b>\n  \"message\"";
    let mut written = text_output(&json!({}));
    written.set("schema", json!(schema));
    written.set("systemPrompt", json!("You are a careful {clerk}."));
    let done = written
        .code(&program("", "out.write_text('x')"))
        .tests(SUITE)
        .run()
        .succeeded();
    let messages: Vec<Value> = done
        .file("conversation.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |role: &str| -> Vec<&str> {
        let of_role = messages.iter().filter(|message| message["role"] == *role);
        of_role
            .map(|message| message["content"].as_str().unwrap())
            .collect()
    };
    assert_eq!(of("system").len(), 3);
    assert!(of("user").iter().all(|text| text.contains(schema)));
    assert!(
        of("system")
            .iter()
            .all(|text| text.starts_with("You are a careful {clerk}.") && text.contains("argparse"))
    );
}

#[test]
fn an_agent_gives_what_the_task_leaves_open() {
    let agent = json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenAgent", "metadata": {"name": "shared"},
        "spec": {
            "model": {"provider": "OpenAI", "name": "of-the-agent"},
            "systemPrompt": "From the agent.",
            "sandbox": {"timeout": "30s", "env": {"A": "agent"}, "resources": {"limits": {"memory": "512Mi"}}},
        },
    });
    let mut written = text_output(&json!({"timeout": "20s"})).object(agent);
    written.set("agentRef", json!({"name": "shared"}));
    written.set("model", json!({"name": "of-the-task"}));
    let done = written
        .code(&program("", "out.write_text(os.environ['A'])"))
        .tests(SUITE)
        .run()
        .succeeded();
    assert_eq!(done.file("outputs/o"), "agent");
    assert!(done.file("conversation.jsonl").contains("From the agent."));
}

#[test]
fn no_row_of_a_sample_is_shown_when_none_is_wanted() {
    let mut written = text_output(&json!({}));
    written.set("maxSampleRows", json!(0));
    written.set(
        "samples",
        json!([{"name": "data", "inline": "id,word\n1,quokka\n2,wombat\n3,numbat\n"}]),
    );
    let done = written
        .code(&program("import argparse", "parser = argparse.ArgumentParser()\nparser.add_argument('--data')\nargs = parser.parse_args()\nout.write_text(args.data)"))
        .tests(SUITE)
        .run()
        .succeeded();
    let context = done.file("data-context.txt");
    assert!(context.contains("3 rows"), "{context}");
    assert!(!context.contains("1,quokka"), "{context}");
}

#[test]
fn two_samples_of_one_file_name_are_refused_by_name() {
    let sample = |name: &str| json!({"name": name, "inline": "x\n1\n", "fileName": "data.csv"});
    let mut written = text_output(&json!({}));
    written.set("samples", json!([sample("a"), sample("b")]));
    let done = written.code(&program("", "out.write_text('x')")).run();
    assert_eq!(done.output.status.code(), Some(2));
    assert!(
        done.said().contains("a and b have the same file name data.csv"),
        "{}",
        done.said()
    );
}

#[rstest]
#[case(4, true)]
#[case(5, false)]
fn a_coroutine_test_runs_and_its_assertion_counts(#[case] expected: u32, #[case] passes: bool) {
    let suite = format!(
        "import asyncio\n\nimport pytest\n\nimport solution\n\n\n@pytest.mark.asyncio\nasync def test_double():\n    \
         await asyncio.sleep(0)\n    assert solution.double(2) == {expected}\n"
    );
    let done = text_output(&json!({}))
        .code(&program("", "out.write_text('x')"))
        .tests(&suite)
        .run();
    if passes {
        done.succeeded();
    } else {
        assert!(first_line(&done.did_not_succeed()).contains("assert 4 == 5"));
    }
}

#[test]
fn a_denied_package_ends_the_task_before_anything_is_installed() {
    let imports = "try:\n    import no_such_codegen_module as table\nexcept ImportError:\n    table = None";
    let mut written = text_output(&json!({}));
    written.set("packages", json!({"deny": ["no-such-*"]}));
    let done = written
        .code(&program(imports, "out.write_text(str(table))"))
        .tests(SUITE)
        .run()
        .did_not_succeed();
    let status = done.status();
    assert_eq!(status["reason"], "PolicyDenied", "{}", done.said());
    assert!(
        status["message"]
            .as_str()
            .is_some_and(|said| said.contains("\"no-such-*\" in packages.deny")),
        "{}",
        done.said()
    );
    assert_eq!((&status["modelCalls"], &status["builds"]), (&json!(2), &json!(0)));
}

#[test]
fn a_package_that_the_index_does_not_have_is_replaced_and_the_task_goes_on() {
    let imports = "try:\n    import no_such_codegen_module as table\nexcept ImportError:\n    table = None";
    let row = json!({"manager": "pip", "name": "no-such-codegen-module", "replacement": ""});
    let done = text_output(&json!({}))
        .code(&program(imports, "out.write_text(str(table))"))
        .tests(SUITE)
        .reply("fix_environment", &json!({"replacements": [row]}))
        .run()
        .succeeded();
    assert_eq!(done.file("outputs/o"), "None");
}
