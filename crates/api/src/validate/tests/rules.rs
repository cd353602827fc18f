//! Every rule of the definitions, with what keeps it and what breaks it.

use super::*;

/// Of each rule: lines that meet it, lines that break it and nothing else, and the message then.
const RULES: &[(&str, &str, &str)] = &[
    (
        "escalation: [{after: 1, model: {name: a}}, {after: 2, model: {name: b}}, {after: 5, model: {name: c}}]",
        "escalation: [{after: 1, model: {name: a}}, {after: 5, model: {name: b}}, {after: 5, model: {name: c}}]",
        "spec.escalation: each entry of escalation comes later than the one before it: write larger numbers for after",
    ),
    (
        "escalation: [{after: 1, model: {name: a}}]",
        "escalation: [{after: 1, model: {provider: OpenAI}}]",
        "spec.escalation[0].model: a model to escalate to has no default: write its name",
    ),
    (
        "backend: Agent\nlimits: {agentMaxTurns: 20}",
        "backend: Agent\nlimits: {maxIterations: 5}",
        "spec: limits.maxIterations is of the backend Pipeline: an agent is limited by limits.agentMaxTurns",
    ),
    (
        "backend: Pipeline\nlimits: {maxIterations: 5}",
        "backend: Pipeline\nlimits: {agentMaxTurns: 20}",
        "spec: limits.agentMaxTurns is of the backend Agent: the pipeline is limited by limits.maxIterations",
    ),
    (
        "backend: Agent\ntesting: {mode: Generate}",
        "backend: Agent\ntesting: {mode: Skip}",
        "spec: an agent works until its tests pass, so that they cannot be skipped: write Generate, or leave testing.mode out",
    ),
    (
        "samples: [{name: a, persistentVolumeClaim: {claimName: c, path: 2026/a..b.csv}}]",
        "samples: [{name: a, persistentVolumeClaim: {claimName: c, path: 2026/../a.csv}}]",
        "spec.samples[0].persistentVolumeClaim.path: write the path from the volume's root, without a leading / and \
         without .., like 2026/penguins.csv",
    ),
    (
        "samples: [{name: a, persistentVolumeClaim: {claimName: c, path: a}}]",
        "samples: [{name: a, persistentVolumeClaim: {claimName: c, path: /a}}]",
        "spec.samples[0].persistentVolumeClaim.path: write the path from the volume's root, without a leading / and \
         without .., like 2026/penguins.csv",
    ),
    (
        "samples: [{name: a, inline: x}]",
        "samples: [{name: a}]",
        "spec.samples[0]: give exactly one source: inline, configMapKeyRef, url (with sha256) or persistentVolumeClaim",
    ),
    (
        "samples: [{name: a, inline: null, configMapKeyRef: {name: c, key: k.csv}}]",
        "samples: [{name: a, inline: x, configMapKeyRef: {name: c, key: k.csv}}]",
        "spec.samples[0]: give exactly one source: inline, configMapKeyRef, url (with sha256) or persistentVolumeClaim",
    ),
    (
        "samples: [{name: a, url: 'https://h/a', sha256: 8d74beec1be996322ad76813bafb92d40839895d6dd7ee808b17ca201eac98be}]",
        "samples: [{name: a, url: 'https://h/a'}]",
        "spec.samples[0]: a url needs the file's sha256 beside it, so that a changed file is noticed; print it with: \
         curl -sL URL | sha256sum",
    ),
    (
        "samples: [{name: class_, inline: x}]",
        "samples: [{name: class, inline: x}]",
        "spec.samples[0].name: this name is a Python keyword or help, which every program has already: write another \
         one, for example with an ending (class_name)",
    ),
    (
        "inputs: [{name: helper, type: Int}]",
        "inputs: [{name: help, type: Int}]",
        "spec.inputs[0].name: this name is a Python keyword or help, which every program has already: write another \
         one, for example with an ending (class_name)",
    ),
    (
        "inputs: [{name: a, type: Dir}]",
        "inputs: [{name: a, type: Dir, example: x}]",
        "spec.inputs[0]: an input of type File or Dir has no default and no example: put its content under source, or \
         make it a sample",
    ),
    (
        "inputs: [{name: a, type: String, default: x}]",
        "inputs: [{name: a, type: File, default: x}]",
        "spec.inputs[0]: an input of type File or Dir has no default and no example: put its content under source, or \
         make it a sample",
    ),
    (
        "inputs: [{name: a, type: File, source: {configMapKeyRef: {name: c, key: k}}}]",
        "inputs: [{name: a, type: String, source: {configMapKeyRef: {name: c, key: k}}}]",
        "spec.inputs[0]: only an input of type File or Dir has a source: write its value under default",
    ),
    (
        "inputs: [{name: a, type: String, example: x}]",
        "inputs: [{name: a, type: String, default: x, example: x}]",
        "spec.inputs[0]: give default when a run may leave the input out, or example when it must give one, not both",
    ),
    (
        "inputs: [{name: a, type: Int, default: '-1'}]",
        "inputs: [{name: a, type: Int, default: '1.0'}]",
        "spec.inputs[0]: default and example of an Int are a whole number in quotes, like \"1\"",
    ),
    (
        "inputs: [{name: a, type: Int, example: '1'}]",
        "inputs: [{name: a, type: Int, example: one}]",
        "spec.inputs[0]: default and example of an Int are a whole number in quotes, like \"1\"",
    ),
    (
        "inputs: [{name: a, type: Float, default: '-1.5e-3'}]",
        "inputs: [{name: a, type: Float, default: '1,5'}]",
        "spec.inputs[0]: default and example of a Float are a decimal number in quotes, like \"0.5\" or \"1e-3\"",
    ),
    (
        "inputs: [{name: a, type: Bool, default: 'true'}]",
        "inputs: [{name: a, type: Bool, default: 'True'}]",
        "spec.inputs[0]: default and example of a Bool are \"true\" or \"false\", in quotes",
    ),
    (
        "inputs: [{name: a, type: Dir, source: {configMapRef: {name: c}}}]",
        "inputs: [{name: a, type: File, source: {configMapRef: {name: c}}}]",
        "spec.inputs[0]: a File comes from one key: write source.configMapKeyRef with name and key instead of configMapRef",
    ),
    (
        "inputs: [{name: a, type: Dir, source: {persistentVolumeClaim: {claimName: c, path: d}}}]",
        "inputs: [{name: a, type: Dir, source: {configMapKeyRef: {name: c, key: k}}}]",
        "spec.inputs[0]: a Dir holds all keys of a ConfigMap: write source.configMapRef with a name instead of configMapKeyRef",
    ),
    (
        "inputs: [{name: a, type: String}]",
        "inputs: [{name: a, type: Datetime}]",
        "spec.inputs[0].type: Datetime and Timedelta are types of outputs: write String, and say in the description \
         how the text reads",
    ),
    (
        "inputs: [{name: a, type: File}]",
        "inputs: [{name: a, type: File, source: {}}]",
        "spec.inputs[0].source: give exactly one source: configMapKeyRef (File), configMapRef (Dir) or persistentVolumeClaim",
    ),
    (
        "outputs: [{name: a, type: File, format: CSV}, {name: b, type: Timedelta}, {name: class, type: Datetime}]",
        "outputs: [{name: a, type: Dir, format: CSV}]",
        "spec.outputs[0]: only an output of type File has a format: write type: File, or leave format out",
    ),
    (
        "acceptanceTests: {inline: x}",
        "acceptanceTests: {}",
        "spec.acceptanceTests: give exactly one source: inline or configMapKeyRef",
    ),
    (
        "acceptanceTests: {configMapKeyRef: {name: c, key: k}}",
        "acceptanceTests: {inline: x, configMapKeyRef: {name: c, key: k}}",
        "spec.acceptanceTests: give exactly one source: inline or configMapKeyRef",
    ),
    (
        "model: {name: m, headers: [{name: A, value: x}, {name: B, value: x}]}",
        "model: {name: m, headers: [{name: A, value: x}, {name: A, value: x}]}",
        "spec.model.headers: two headers have the same name: give each header once (\"A\" at [0] and [1])",
    ),
    (
        "model: {name: m, headers: [{name: A, valueFrom: {name: s, key: k}}]}",
        "model: {name: m, headers: [{name: A}]}",
        "spec.model.headers[0]: give exactly one of value (in plain sight) and valueFrom (a key of a Secret)",
    ),
    (
        "model: {name: m, headers: [{name: A, value: x}]}",
        "model: {name: m, headers: [{name: A, value: x, valueFrom: {name: s, key: k}}]}",
        "spec.model.headers[0]: give exactly one of value (in plain sight) and valueFrom (a key of a Secret)",
    ),
    (
        "image: {pullRepository: 'localhost:32000/codegen'}",
        "image: {pullRepository: 'localhost:32000/codegen/'}",
        "spec.image.pullRepository: write the repository without a scheme and without a / at its end, like \
         localhost:32000/codegen",
    ),
    (
        "image: {repository: 'registry.example.com:5000/codegen'}",
        "image: {repository: 'https://registry.example.com/codegen'}",
        "spec.image.repository: write the repository without a scheme and without a / at its end, like \
         registry.example.com/codegen",
    ),
    (
        "limits: {maxIterations: 1}",
        "limits: {maxIterations: 0}",
        "spec.limits.maxIterations: a task needs at least one iteration: write 1 to 100, or leave maxIterations out for 10",
    ),
    (
        "limits: {deadline: 1h30m}",
        "limits: {deadline: 0s}",
        "spec.limits.deadline: a task needs some time: write a duration like 30m or 2h, or leave deadline out for 2h",
    ),
    (
        "sandbox: {timeout: 250ms}",
        "sandbox: {timeout: 0h0m}",
        "spec.sandbox.timeout: an execution needs some time: write a duration like 90s or 5m, or leave timeout out for 5m",
    ),
    (
        "sandbox: {secrets: [{name: A, secretKeyRef: {name: s, key: k}}, {name: B, secretKeyRef: {name: s, key: k}}]}",
        "sandbox: {secrets: [{name: A, secretKeyRef: {name: s, key: k}}, {name: A, secretKeyRef: {name: s, key: k}}]}",
        "spec.sandbox.secrets: two entries of secrets set the same variable: give each variable once (\"A\" at [0] and [1])",
    ),
    (
        "sandbox: {resources: {limits: {cpu: 10m}}}",
        "sandbox: {resources: {limits: {cpu: '0.0'}}}",
        "spec.sandbox.resources.limits.cpu: a sandbox needs some CPU: write a quantity like 500m or \"1\"",
    ),
    (
        "sandbox: {resources: {limits: {memory: 0.5Gi}}}",
        "sandbox: {resources: {limits: {memory: 0Gi}}}",
        "spec.sandbox.resources.limits.memory: a sandbox needs some memory: write a quantity like 512Mi or 1Gi",
    ),
    (
        "sandbox: {resources: {limits: {ephemeral-storage: 0.5Gi}}}",
        "sandbox: {resources: {limits: {ephemeral-storage: 0Gi}}}",
        "spec.sandbox.resources.limits.ephemeral-storage: outputs need some disk space: write a quantity like 500Mi or 2Gi, or leave \
         ephemeral-storage out for 1Gi",
    ),
    (
        "sandbox: {network: {egress: List, allow: [{cidr: 203.0.113.0/24, ports: [443]}, {cidr: '2001:db8::/32'}]}}",
        "sandbox: {network: {egress: List}}",
        "spec.sandbox.network: egress: List opens what allow lists: add allow, like [{cidr: 203.0.113.0/24, ports: \
         [443]}], or write egress: Denied",
    ),
    (
        "sandbox: {network: {egress: Internet}}",
        "sandbox: {network: {egress: Internet, allow: [{cidr: 203.0.113.0/24}]}}",
        "spec.sandbox.network: allow holds with egress: List only: write egress: List beside it, or remove allow",
    ),
    (
        "sandbox: {network: {}}",
        "sandbox: {network: {allow: [{cidr: 203.0.113.0/24}]}}",
        "spec.sandbox.network: allow holds with egress: List only: write egress: List beside it, or remove allow",
    ),
    (
        "sandbox: {network: {egress: List, allow: [{cidr: 203.0.113.7/32}]}}",
        "sandbox: {network: {egress: List, allow: [{cidr: example.com}]}}",
        "spec.sandbox.network.allow[0].cidr: write an address range like 203.0.113.0/24; names of hosts cannot be opened",
    ),
    (
        "{agentRef: {name: shared}, model: null}",
        "model: {provider: Anthropic}",
        "spec: a task needs a model: write spec.model.name, or name an agent that has one in spec.agentRef",
    ),
    (
        "{agentRef: {name: shared}, model: {provider: Anthropic}}",
        "model: null",
        "spec: a task needs a model: write spec.model.name, or name an agent that has one in spec.agentRef",
    ),
    (
        "{samples: [{name: a, inline: x}], inputs: [{name: a, type: File}, {name: b, type: Int}]}",
        "{samples: [{name: a, inline: x}], inputs: [{name: a, type: Dir}]}",
        "spec: an input with the name of a sample is that sample: write its type as File, or give it another name",
    ),
    (
        "{samples: [{name: a, inline: x}], inputs: [{name: b, type: File, source: {configMapKeyRef: {name: c, key: k}}}]}",
        "{samples: [{name: a, inline: x}], inputs: [{name: a, type: File, source: {configMapKeyRef: {name: c, key: k}}}]}",
        "spec: an input with the name of a sample has the sample as its content: remove source, or give it another name",
    ),
    (
        "publish: {repository: registry.example.com/team/penguins, tag: v1}",
        "publish: {repository: 'https://registry.example.com/team'}",
        "spec.publish.repository: write the repository without a scheme, a digest and a / at its end, like \
         registry.example.com/team/penguins",
    ),
    (
        "publish: {tag: codegen-environment}",
        "publish: {tag: codegen-env-0123456789abcdef0123456789abcdef}",
        "spec.publish.tag: tags that begin with codegen-env- or sha256- are the operator's own: choose another one",
    ),
    (
        "publish: {tag: v1.2}",
        "publish: {tag: sha256-0123.sbom}",
        "spec.publish.tag: tags that begin with codegen-env- or sha256- are the operator's own: choose another one",
    ),
    (
        "prompt: x",
        "prompt: \"  \\n\"",
        "spec.prompt: the prompt is blank: say what the program shall do",
    ),
    (
        "samples: [{name: a, inline: x}, {name: b, inline: x}]",
        "samples: [{name: a, inline: x}, {name: a, inline: z}]",
        "spec.samples: two samples have the same name: each is an option of the program, give each its own (\"a\" at [0] and [1])",
    ),
    (
        "inputs: [{name: a, type: Int}, {name: A, type: Int}]",
        "inputs: [{name: a, type: Int}, {name: a, type: Int}]",
        "spec.inputs: two inputs have the same name: each is an option of the program, give each its own (\"a\" at [0] and [1])",
    ),
    (
        "outputs: [{name: a, type: Int}, {name: b, type: Int}]",
        "outputs: [{name: a, type: Int}, {name: a, type: Int}]",
        "spec.outputs: two outputs have the same name: each is a file of its own, give each its own (\"a\" at [0] and [1])",
    ),
];

/// The same of whose program a run is of.
const RULES_OF_ORIGINS: &[(&str, &str, &str)] = &[
    (
        "{programImage: 'registry.example/lab@sha256:1'}",
        "{}",
        "spec: give exactly one of taskRef (a task in this namespace) and programImage (a program that a task has published)",
    ),
    (
        "{taskRef: {name: penguin-masses}}",
        "{taskRef: {name: penguin-masses}, programImage: 'registry.example/lab'}",
        "spec: give exactly one of taskRef (a task in this namespace) and programImage (a program that a task has published)",
    ),
    (
        "{programImage: 'registry.example/lab', pullSecretRef: {name: registry}}",
        "{taskRef: {name: penguin-masses}, pullSecretRef: {name: registry}}",
        "spec: pullSecretRef is for programImage: the image of a task is pulled with what the task names",
    ),
];

/// The same of the inputs of a run.
const RULES_OF_RUNS: &[(&str, &str, &str)] = &[
    (
        "outputs: {persistentVolumeClaim: {claimName: results, path: results/2027..28}}",
        "outputs: {persistentVolumeClaim: {claimName: results, path: results/../2027}}",
        "spec.outputs.persistentVolumeClaim.path: write the folder from the volume's root, without a leading / and without .., \
         like results/2027",
    ),
    (
        "[{name: a, value: \"1\"}, {name: b, value: \"1\"}]",
        "[{name: a, value: \"1\"}, {name: a, value: \"2\"}]",
        "spec.inputs: two inputs have the same name: give each option of the program once (\"a\" at [0] and [1])",
    ),
    (
        "[{name: a, source: {inline: x}}]",
        "[{name: a}]",
        "spec.inputs[0]: give exactly one of value (String, Int, Float, Bool, always in quotes) and source (File, Dir)",
    ),
    (
        "[{name: a, source: {runOutput: {run: first, output: table}}}]",
        "[{name: a, value: \"1\", source: {inline: x}}]",
        "spec.inputs[0]: give exactly one of value (String, Int, Float, Bool, always in quotes) and source (File, Dir)",
    ),
    (
        "[{name: a, source: {configMapRef: {name: c}}}]",
        "[{name: a, source: {inline: x, configMapRef: {name: c}}}]",
        "spec.inputs[0].source: give exactly one source: inline, configMapKeyRef, configMapRef, url (with sha256), \
         persistentVolumeClaim or runOutput",
    ),
];

#[test]
fn every_rule_of_runs_accepts_a_valid_run_and_names_what_breaks_it() {
    for (kept, broken, fault) in RULES_OF_RUNS {
        assert_eq!(faults(&run(kept)), Vec::<String>::new(), "{kept}");
        assert_eq!(faults(&run(broken)), [*fault], "{broken}");
    }
}

#[test]
fn every_rule_accepts_a_valid_spec_and_names_what_breaks_it() {
    for (kept, broken, fault) in RULES {
        assert_eq!(faults(&task(kept)), Vec::<String>::new(), "{kept}");
        assert_eq!(faults(&task(broken)), [*fault], "{broken}");
    }
}

#[test]
fn no_rule_of_the_definitions_is_without_a_test() {
    fn messages(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                if name == "x-kubernetes-validations" {
                    // What compares with the object before, only a server can check.
                    let rules = field.as_array().unwrap().iter();
                    let rules = rules.filter(|rule| !rule["rule"].as_str().unwrap().contains("oldSelf"));
                    found.extend(rules.map(|rule| rule["message"].as_str().unwrap().to_owned()));
                } else {
                    messages(field, found);
                }
            }),
            Value::Array(items) => items.iter().for_each(|item| messages(item, found)),
            _ => {}
        }
    }
    let mut stated = BTreeSet::new();
    messages(&serde_json::to_value(crate::crds()).unwrap(), &mut stated);
    let tested: BTreeSet<String> = RULES
        .iter()
        .chain(RULES_OF_RUNS)
        .chain(RULES_OF_ORIGINS)
        .chain(code_mode::RULES_OF_AGENTS)
        .chain(code_mode::RULES_OF_QUESTIONS)
        .chain(approvals::RULES_OF_DECISIONS)
        .map(|(_, _, fault)| fault.split_once(": ").unwrap().1)
        // Which name it is that stands twice is no part of the rule.
        .map(|message| message.split(" (\"").next().unwrap().to_owned())
        .collect();
    assert_eq!(stated, tested);
}

#[test]
fn a_run_is_of_a_task_or_of_an_image() {
    let of = |spec: &str| {
        let mut run = run("[]");
        run["spec"] = serde_saphyr::from_str(spec).unwrap();
        faults(&run)
    };
    for (kept, broken, fault) in RULES_OF_ORIGINS {
        assert_eq!(of(kept), Vec::<String>::new(), "{kept}");
        assert_eq!(of(broken), [*fault], "{broken}");
    }
}
