//! Every rule of agents and questions of code mode, with what keeps it and what breaks it.

use super::*;

/// Of each rule of agents: lines that meet it, lines that break it and nothing else, and the message then.
pub(super) const RULES_OF_AGENTS: &[(&str, &str, &str)] = &[
    (
        "agentRef: {name: shared}",
        "model: {provider: OpenAI}",
        "spec: an agent needs a model: write spec.model.name, or name a CodeGenAgent that has one in spec.agentRef",
    ),
    (
        "model: {name: m}\nskills: [{configMapKeyRef: {name: handbook, key: returns.md}}]",
        "model: {name: m}\nskills: [{text: Prices are in cents., configMapKeyRef: {name: handbook, key: returns.md}}]",
        "spec.skills[0]: give exactly one of text and configMapKeyRef",
    ),
    (
        "model: {name: m}\ntools: [{name: a, taskRef: {name: t}}, {name: b, taskRef: {name: t}}]",
        "model: {name: m}\ntools: [{name: a, taskRef: {name: t}}, {name: a, taskRef: {name: t}}]",
        "spec.tools: two tools have the same name: give each its own (\"a\" at [0] and [1])",
    ),
    (
        "model: {name: m}\ntools: [{name: a, programImage: {reference: 'registry.example/a'}}]",
        "model: {name: m}\ntools: [{name: a}]",
        "spec.tools[0]: give exactly one of taskRef, programImage, http and mcp",
    ),
    (
        "model: {name: m}\ntools: [{name: a, mcp: {url: 'http://docs:8080/mcp'}}]",
        "model: {name: m}\ntools: [{name: a, taskRef: {name: t}, mcp: {url: 'http://docs:8080/mcp'}}]",
        "spec.tools[0]: give exactly one of taskRef, programImage, http and mcp",
    ),
    (
        "model: {name: m}\ntools: [{name: a, mcp: {url: 'http://docs:8080/mcp'}}]",
        "model: {name: m}\ntools: [{name: a, mcp: {url: 'http://docs:8080/mcp', command: [server]}}]",
        "spec.tools[0].mcp: give either url (the address of an MCP server) or command (a program of a laptop)",
    ),
    (
        "model: {name: m}\ntools: [{name: a, mcp: {command: [server, --quiet]}}]",
        "model: {name: m}\ntools: [{name: a, mcp: {command: [server], headersFrom: [{name: A, secretKeyRef: {name: s, key: k}}]}}]",
        "spec.tools[0].mcp: a command has no request headers: leave headersFrom out",
    ),
    (
        "model: {name: m}\ntools: [{name: a, http: {url: 'https://h', headersFrom: [{name: A, secretKeyRef: {name: s, key: k}}, {name: B, secretKeyRef: {name: s, key: k}}]}}]",
        "model: {name: m}\ntools: [{name: a, http: {url: 'https://h', headersFrom: [{name: A, secretKeyRef: {name: s, key: k}}, {name: A, secretKeyRef: {name: s, key: k}}]}}]",
        "spec.tools[0].http.headersFrom: two headers have the same name: give each header once",
    ),
    (
        "model: {name: m}\nlimits: {interpreterTime: 10m}",
        "model: {name: m}\nlimits: {interpreterTime: 11m}",
        "spec.limits.interpreterTime: write a duration of at most 10m, like 30s",
    ),
    (
        "model: {name: m}\nlimits: {toolTimeout: 1h}",
        "model: {name: m}\nlimits: {toolTimeout: 1h1s}",
        "spec.limits.toolTimeout: write a duration of at most 1h, like 60s",
    ),
    (
        "model: {name: m}\nlimits: {deadline: 1s}",
        "model: {name: m}\nlimits: {deadline: 0s}",
        "spec.limits.deadline: a run needs some time: write a duration like 10m, or leave deadline out for 30m",
    ),
];

/// The same of questions.
pub(super) const RULES_OF_QUESTIONS: &[(&str, &str, &str)] = &[
    (
        "message: How much?",
        "message: ' '",
        "spec.message: the message is blank: ask something",
    ),
    (
        "message: How much?\nhistory: [{role: user, content: Hello}, {role: assistant, content: Good day}]",
        "message: How much?\nhistory: [{role: system, content: Obey.}]",
        "spec.history[0].role: a message is said by user or assistant",
    ),
    (
        "message: How much?\ncontinues: {name: before}",
        "message: How much?\ncontinues: {name: before}\nhistory: [{role: user, content: Hello}]",
        "spec: give history or continues, and not both",
    ),
];

fn object(kind: &str, base: &Value, lines: &str) -> Value {
    let mut spec = base.clone();
    let more: Value = serde_saphyr::from_str(lines).unwrap();
    spec.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "codegen-operator.dev/v1alpha1", "kind": kind, "metadata": {"name": "shop"}, "spec": spec})
}

#[test]
fn every_rule_of_code_mode_accepts_a_valid_object_and_names_what_breaks_it() {
    let agent = json!({"tools": [{"name": "rate", "http": {"url": "https://rates.example"}}]});
    let question = json!({"agentRef": {"name": "shop"}});
    let agents = RULES_OF_AGENTS.iter().map(|rule| ("CodeModeAgent", &agent, rule));
    let questions = RULES_OF_QUESTIONS
        .iter()
        .map(|rule| ("CodeModeRun", &question, rule));
    for (kind, base, (kept, broken, fault)) in agents.chain(questions) {
        assert_eq!(faults(&object(kind, base, kept)), Vec::<String>::new(), "{kept}");
        assert_eq!(faults(&object(kind, base, broken)), [*fault], "{broken}");
    }
}

#[test]
fn a_question_stays_as_it_was_made_but_for_its_time_to_live_and_whether_it_stands_still() {
    let before = object(
        "CodeModeRun",
        &json!({"agentRef": {"name": "shop"}}),
        "message: How much?",
    );
    let changed = |field: &str, value: Value| {
        let mut after = before.clone();
        after["spec"][field] = value;
        let errors = Validator::new().validate(&CODE_MODE_RUN_SCHEMA, &after, Some(&before));
        errors.err().into_iter().flatten().count()
    };
    assert_eq!(changed("ttlSecondsAfterFinished", json!(5)), 0);
    assert_eq!(changed("suspend", json!(true)), 0);
    for (field, value) in [
        ("agentRef", json!({"name": "other"})),
        ("message", json!("How many?")),
        ("history", json!([{"role": "user", "content": "Hello"}])),
        ("continues", json!({"name": "before"})),
    ] {
        assert_eq!(changed(field, value), 1, "{field}");
    }
}
