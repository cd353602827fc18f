//! Tests of what a task becomes once agent and defaults are applied, and of what prevents it from starting.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;

use super::*;
use crate::package_policy::PackagePolicy;
use crate::sandbox::NetworkAccess;
use crate::task::{ImageSettings, LimitSettings, ModelSettings, Placement, SandboxSettings};
use codegen_api::approval::Gate;
use codegen_api::case::CaseMode;
use codegen_api::common::{Backend, CacheMode, Exposure, Language, TestingMode};
use codegen_api::model::Provider;
use codegen_api::values::ValueType;

mod hash;
mod model;

fn task(spec: &str) -> CodeGenTask {
    let mut task = CodeGenTask::new("penguins", serde_saphyr::from_str(spec).unwrap());
    task.metadata.namespace = Some("lab".to_owned());
    task
}

fn agent(spec: &str) -> CodeGenAgent {
    CodeGenAgent::new("shared", serde_saphyr::from_str(spec).unwrap())
}

fn file(name: &str, file_name: &str) -> FrozenFile {
    FrozenFile {
        name: name.to_owned(),
        file_name: file_name.to_owned(),
        sha256: "ab".repeat(32),
        bytes: 3,
        is_dir: false,
    }
}

fn folder(name: &str) -> FrozenFile {
    FrozenFile {
        is_dir: true,
        ..file(name, name)
    }
}

fn resolved(spec: &str) -> Task {
    resolve(&task(spec), None, FrozenFiles::default()).unwrap()
}

/// Lists what prevents a task with these lines beside prompt and model from starting.
fn faults(lines: &str, frozen: FrozenFiles) -> Vec<String> {
    let task = task(&format!("prompt: count\nmodel: {{name: m}}\n{lines}"));
    resolve(&task, None, frozen)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn default_image() -> ImageSettings {
    ImageSettings {
        reference: None,
        pull_repository: None,
        push_secret: None,
        pull_secret: None,
        repository: None,
        base: "docker.io/library/python:3.12-slim".to_owned(),
        base_packages: vec![],
        base_system_packages: vec![],
        python_version: "3.12".to_owned(),
        index_url: None,
        index_ca_bundle: None,
    }
}

#[test]
fn a_prompt_and_a_model_take_every_default() {
    let expected = Task {
        namespace: "lab".to_owned(),
        name: "penguins".to_owned(),
        prompt: "count".to_owned(),
        schema: None,
        system_prompt: None,
        constraints: vec![],
        samples: vec![],
        inputs: vec![],
        outputs: vec![],
        input_files: vec![],
        acceptance_tests: None,
        testing: TestingMode::Generate,
        cases: CaseMode::Require,
        examples: Vec::new(),
        backend: Backend::Pipeline,
        language: Language::Python,
        max_sample_rows: 100,
        exposure: Exposure::Rows,
        model: ModelSettings {
            provider: Provider::OpenAI,
            name: "gpt-5".to_owned(),
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key_secret_ref: None,
            parameters: serde_json::Map::new(),
            headers: vec![],
            query: BTreeMap::new(),
        },
        escalation: Vec::new(),
        image: default_image(),
        packages: PackagePolicy::default(),
        sandbox: SandboxSettings {
            cpus: 1.0,
            memory_bytes: 1 << 30,
            disk_bytes: None,
            timeout_seconds: 300.0,
            retries: 0,
            network: NetworkAccess::Denied,
            env: BTreeMap::new(),
            secrets: vec![],
            placement: Placement::default(),
        },
        limits: LimitSettings {
            max_iterations: 10,
            agent_max_turns: 50,
            max_tokens: 1_000_000,
            max_model_calls: 100,
            max_builds: 20,
            deadline_seconds: 7200.0,
            max_context_tokens: 4_000,
            reclassify_after: 1,
        },
        cache: CacheMode::Auto,
        reruns_tests: true,
        approvals: BTreeSet::new(),
        publish: None,
    };
    assert_eq!(resolved("{prompt: count, model: {name: gpt-5}}"), expected);
}

#[test]
fn ten_iterations_of_three_tries_fit_into_the_default_of_model_calls() {
    let limits = resolved("{prompt: count, model: {name: m}}").limits;
    let before = 3 * 4; // constraints, plan, code and tests
    let an_iteration = 3 * 3; // diagnosis, code fix and test fix
    assert!(before + (limits.max_iterations - 1) * an_iteration <= limits.max_model_calls);
}

#[test]
fn the_base_image_follows_the_python_version() {
    let task = resolved("{prompt: count, model: {name: m}, image: {pythonVersion: '3.11'}}");
    assert_eq!(task.image.base, "docker.io/library/python:3.11-slim");
}

/// A task that leaves most of it to its agent.
fn layered() -> Task {
    let shared = agent(
        "
model: {provider: Anthropic, name: claude-sonnet-5, parameters: {temperature: 0}, headers: [{name: A, value: x}]}
systemPrompt: be brief
image: {repository: registry.example.com/codegen, basePackages: [pandas, numpy], pythonVersion: '3.11',
        pushSecretRef: {name: push}, pullSecretRef: {name: pull}, pullRepository: 'localhost:32000/codegen'}
sandbox: {timeout: 90s, retries: 2, resources: {limits: {cpu: '2', memory: 2Gi}}, env: {A: a, B: b},
          network: {egress: List, allow: [{cidr: 203.0.113.0/24, ports: [443]}]}}
limits: {maxIterations: 5, deadline: 30m}
cache: Disable
testing: {mode: Skip}
maxSampleRows: 7
exposure: Statistics
",
    );
    let task = task(
        "
prompt: count
agentRef: {name: shared}
model: {name: claude-opus-5, parameters: {top_p: 1}}
image: {basePackages: [polars]}
sandbox: {resources: {limits: {cpu: 500m}}, env: {C: c}}
limits: {maxIterations: 3}
cache: Override
",
    );
    resolve(&task, Some(&shared), FrozenFiles::default()).unwrap()
}

#[test]
fn what_the_task_leaves_open_comes_from_the_agent_field_by_field() {
    let task = layered();
    assert_eq!(task.model.provider, Provider::Anthropic);
    assert_eq!(task.model.name, "claude-opus-5");
    assert_eq!(
        serde_json::to_string(&task.model.parameters).unwrap(),
        r#"{"top_p":1}"#
    );
    assert_eq!(task.model.headers[0].name, "A");
    assert_eq!(task.system_prompt.as_deref(), Some("be brief"));
    assert_eq!(
        task.image.repository.as_deref(),
        Some("registry.example.com/codegen")
    );
    assert_eq!(task.image.push_secret.as_deref(), Some("push"));
    assert_eq!(task.image.pull_secret.as_deref(), Some("pull"));
    assert_eq!(
        task.image.pull_repository.as_deref(),
        Some("localhost:32000/codegen")
    );
    assert_eq!(task.image.base_packages, ["polars"]);
    assert_eq!(task.image.python_version, "3.11");
    assert_eq!(task.cache, CacheMode::Override);
    assert_eq!(task.testing, TestingMode::Skip);
    assert_eq!(task.max_sample_rows, 7);
    assert_eq!(task.exposure, Exposure::Statistics);
}

#[test]
fn the_sandbox_and_the_limits_of_a_task_are_its_agents_but_for_what_it_gives() {
    let task = layered();
    assert!((task.sandbox.cpus - 0.5).abs() < f64::EPSILON);
    assert_eq!(task.sandbox.memory_bytes, 2 << 30);
    assert!((task.sandbox.timeout_seconds - 90.0).abs() < f64::EPSILON);
    assert_eq!(task.sandbox.retries, 2);
    assert_eq!(
        task.sandbox.env,
        BTreeMap::from([("C".to_owned(), "c".to_owned())])
    );
    assert_eq!(
        task.sandbox.network,
        NetworkAccess::List(vec![("203.0.113.0/24".to_owned(), vec![443])])
    );
    assert_eq!(task.limits.max_iterations, 3);
    assert!((task.limits.deadline_seconds - 1800.0).abs() < f64::EPSILON);
}

#[test]
fn samples_are_file_inputs_and_merge_with_an_input_of_their_name() {
    let task = task(
        "
prompt: count
model: {name: m}
samples: [{name: first, inline: a}, {name: second, inline: b}]
inputs:
  - {name: decimals, type: Int, default: '1'}
  - {name: second, type: File, description: the second table}
  - {name: rates, type: File}
  - {name: templates, type: Dir, source: {configMapRef: {name: t}}}
",
    );
    let frozen = FrozenFiles {
        samples: vec![file("second", "second.csv"), file("first", "first.csv")],
        input_files: vec![folder("templates")],
        acceptance_tests: None,
        model: None,
    };
    let task = resolve(&task, None, frozen).unwrap();
    let inputs: Vec<(&str, ValueType)> = task
        .inputs
        .iter()
        .map(|input| (input.name.as_str(), input.type_))
        .collect();
    assert_eq!(
        inputs,
        [
            ("first", ValueType::File),
            ("second", ValueType::File),
            ("decimals", ValueType::Int),
            ("rates", ValueType::File),
            ("templates", ValueType::Dir),
        ]
    );
    assert_eq!(task.inputs[1].description.as_deref(), Some("the second table"));
    assert_eq!(
        task.samples,
        [file("first", "first.csv"), file("second", "second.csv")]
    );
    assert_eq!(task.input_files, [folder("templates")]);
}

#[test]
fn a_task_without_a_model_says_where_to_name_one() {
    let task = task("{prompt: count, agentRef: {name: shared}}");
    let said = |agent: Option<&CodeGenAgent>| -> Vec<String> {
        let faults = resolve(&task, agent, FrozenFiles::default()).unwrap_err();
        faults.iter().map(ToString::to_string).collect()
    };
    let no_model = "spec.model.name: no model is named: write its name here or in the model of a CodeGenAgent, and \
                    name that in spec.agentRef";
    assert_eq!(said(Some(&agent("{}"))), [no_model]);
    let no_agent =
        "spec.agentRef: there is no CodeGenAgent \"shared\" in this namespace: create it, or name another";
    assert_eq!(said(None), [no_agent, no_model]);
}

#[test]
fn a_fault_in_the_agent_is_reported_with_the_agents_name() {
    let shared = agent("{model: {name: m}, limits: {deadline: soon}}");
    let faults = resolve(&task("prompt: count"), Some(&shared), FrozenFiles::default()).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(
        faults[0].to_string(),
        "CodeGenAgent shared: spec.limits.deadline: \"soon\" is not a duration: write whole hours, minutes, seconds \
         and milliseconds in this order, like 1h30m, 5m, 90s or 250ms"
    );
}

#[rstest]
#[case(
    "limits: {deadline: 0s}",
    "spec.limits.deadline: no time is given: write a duration above zero, like 5m"
)]
#[case(
    "limits: {maxIterations: 0}",
    "spec.limits.maxIterations: 0 is out of range: write 1 to 100"
)]
#[case(
    "sandbox: {retries: -1}",
    "spec.sandbox.retries: -1 is out of range: write 0 to 10"
)]
#[case(
    "maxSampleRows: -1",
    "spec.maxSampleRows: -1 is out of range: write 0 to 10000"
)]
#[case(
    "sandbox: {resources: {limits: {cpu: lots}}}",
    "spec.sandbox.resources.limits.cpu: \"lots\" is not an amount of CPU: write cores like \"1\" or \"1.5\", or \
     thousandths of one like 500m"
)]
#[case(
    "sandbox: {resources: {limits: {memory: 1GB}}}",
    "spec.sandbox.resources.limits.memory: \"1GB\" is not an amount of memory: write bytes with a suffix (Ki, Mi, Gi, \
     Ti, k, M, G, T), like 512Mi or 1Gi"
)]
#[case(
    "sandbox: {network: {egress: List, allow: [{cidr: 203.0.113.0/24, ports: [70000]}]}}",
    "spec.sandbox.network.allow[0].ports: 70000 is out of range: write 1 to 65535"
)]
#[case(
    "sandbox: {env: {1A: x}}",
    "spec.sandbox.env: \"1A\" cannot name an environment variable: use letters, digits and _, not a digit first"
)]
#[case(
    "sandbox: {env: {A: x}, secrets: [{name: A, secretKeyRef: {name: s, key: k}}]}",
    "spec.sandbox.secrets: the variable \"A\" is also set under env: remove one of the two"
)]
#[case(
    "inputs: [{name: a, type: Int, default: one}]",
    "spec.inputs[0].default: \"one\" is no value of type Int: write one in quotes, or change the type"
)]
#[case(
    "inputs: [{name: a, type: Bool, example: 'True'}]",
    "spec.inputs[0].example: \"True\" is no value of type Bool: write one in quotes, or change the type"
)]
#[case(
    "inputs: [{name: a, type: Timedelta}]",
    "spec.inputs[0].type: Timedelta is a type of outputs: write String, and say in the description how the text reads"
)]
#[case(
    "inputs: [{name: a, type: File, source: {configMapKeyRef: {name: c, key: k}}}]",
    "spec.inputs[0].source: the content of \"a\" was not given: name a source that exists, or give the file when \
     starting the task"
)]
#[case(
    "samples: [{name: a, inline: x}]",
    "spec.samples[0]: the content of \"a\" was not given: name a source that exists, or give the file when starting \
     the task"
)]
#[case(
    "acceptanceTests: {inline: x}",
    "spec.acceptanceTests: the content of \"acceptanceTests\" was not given: name a source that exists, or give the \
     file when starting the task"
)]
fn what_prevents_a_task_from_starting_is_reported_with_its_field(#[case] lines: &str, #[case] fault: &str) {
    assert_eq!(faults(lines, FrozenFiles::default()), [fault]);
}

#[rstest]
#[case::a_sample_of_another_type(
    "samples: [{name: a, inline: x}]\ninputs: [{name: a, type: Int}]",
    vec![file("a", "a.csv")], vec![],
    "spec.inputs[0].type: the sample \"a\" is a File input, and this one of type Int has its name: write File, or \
     rename it"
)]
#[case::a_sample_that_is_a_folder(
    "samples: [{name: a, inline: x}]", vec![folder("a")], vec![],
    "spec.samples[0]: the content of \"a\" is a folder, but its type is File: change the source or the type"
)]
#[case::a_folder_that_is_a_file(
    "inputs: [{name: a, type: Dir}]", vec![], vec![file("a", "a.csv")],
    "spec.inputs[0].source: the content of \"a\" is a file, but its type is Dir: change the source or the type"
)]
#[case::a_file_for_no_input(
    "inputs: [{name: a, type: Int}]", vec![], vec![file("a", "a.csv")],
    "spec.inputs: a file was given for \"a\", but the task has no File or Dir input of this name: give it one"
)]
#[case::two_samples_of_one_file_name(
    "samples: [{name: a, inline: x}, {name: b, inline: z}]", vec![file("a", "t.csv"), file("b", "t.csv")], vec![],
    "spec.samples: \"a\" and \"b\" would both be /var/inputs/t.csv: give one another name or fileName"
)]
#[case::a_file_name_that_is_another_inputs_name(
    "samples: [{name: a, inline: x}]\ninputs: [{name: b, type: File}]", vec![file("a", "b")], vec![],
    "spec.samples: \"b\" and \"a\" would both be /var/inputs/b: give one another name or fileName"
)]
fn contents_that_do_not_fit_their_inputs_are_refused(
    #[case] lines: &str,
    #[case] samples: Vec<FrozenFile>,
    #[case] input_files: Vec<FrozenFile>,
    #[case] fault: &str,
) {
    assert_eq!(
        faults(
            lines,
            FrozenFiles {
                samples,
                input_files,
                acceptance_tests: None,
                model: None,
            }
        ),
        [fault]
    );
}

#[test]
fn a_sample_whose_content_has_changed_is_refused() {
    let expected = "cd".repeat(32);
    let found = "ab".repeat(32);
    let frozen = FrozenFiles {
        samples: vec![file("a", "a.csv")],
        ..FrozenFiles::default()
    };
    assert_eq!(
        faults(
            &format!("samples: [{{name: a, url: 'https://h/a.csv', sha256: {expected}}}]"),
            frozen
        ),
        [format!(
            "spec.samples[0].sha256: the file has SHA-256 {found}, not {expected}: it has changed; check it and \
             correct sha256"
        )]
    );
}

#[test]
fn every_fault_is_reported_and_not_the_first_alone() {
    let lines = "limits: {deadline: soon, maxIterations: 0}\ninputs: [{name: a, type: Int, default: one}]";
    assert_eq!(faults(lines, FrozenFiles::default()).len(), 3);
}

#[test]
fn a_task_waits_at_the_gates_of_its_agent_too() {
    let task = task("{prompt: p, model: {name: m}, agentRef: {name: shared}, approvals: [Result]}");
    let agent = agent("{approvals: [Result, Plan]}");
    let resolved = resolve(&task, Some(&agent), FrozenFiles::default()).unwrap();
    assert_eq!(resolved.approvals, BTreeSet::from([Gate::Plan, Gate::Result]));
}
