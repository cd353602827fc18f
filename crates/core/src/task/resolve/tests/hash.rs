//! Tests of the hash of a task: what decides the result changes it, and nothing else does.

use super::*;

const FULL: &str = "
prompt: count
model: {name: m, parameters: {a: 1, b: 2}}
samples: [{name: s, inline: x}]
constraints: [x > 1]
inputs: [{name: n, type: Int, default: '1'}, {name: f, type: File, source: {configMapKeyRef: {name: c, key: k}}}]
outputs: [{name: o, type: Int}]
acceptanceTests: {inline: x}
image: {basePackages: [pandas, numpy]}
";

fn hash(spec: &str, change: impl FnOnce(&mut FrozenFiles)) -> String {
    let mut frozen = FrozenFiles {
        samples: vec![file("s", "s.csv")],
        input_files: vec![file("f", "f.json")],
        acceptance_tests: Some(file("acceptanceTests", "test_acceptance.py")),
        model: None,
    };
    change(&mut frozen);
    resolve(&task(spec), None, frozen).unwrap().decisive_hash()
}

#[rstest]
fn what_decides_the_result_changes_the_hash(
    #[values(
        ("prompt: count", "prompt: sum"),
        ("name: m,", "name: other,"),
        ("name: m,", "name: m, provider: Anthropic,"),
        ("a: 1", "a: 3"),
        ("name: s, inline", "name: s, fileName: other.csv, inline"),
        ("x > 1", "x > 2"),
        ("default: '1'", "default: '2'"),
        ("default: '1'", "example: '1'"),
        ("default: '1'", "default: '1', description: decimals"),
        ("name: o, type: Int", "name: o, type: Float"),
        ("[pandas, numpy]", "[pandas]"),
        ("[pandas, numpy]", "[pandas, numpy], baseSystemPackages: [libgomp1]"),
        ("[pandas, numpy]", "[pandas, numpy], pythonVersion: '3.11'"),
        ("[pandas, numpy]", "[pandas, numpy], base: 'example.com/python:1'"),
        ("prompt: count", "prompt: count\nschema: lines"),
        ("prompt: count", "prompt: count\nsystemPrompt: be brief"),
        ("prompt: count", "prompt: count\ntesting: {mode: Skip}"),
        ("prompt: count", "prompt: count\nmaxSampleRows: 1"),
        ("prompt: count", "prompt: count\nexposure: SchemaOnly"),
        ("prompt: count", "prompt: count\nsandbox: {env: {A: a}}")
    )]
    (from, to): (&str, &str),
) {
    let changed = FULL.replacen(from, to, 1);
    assert_ne!(changed, FULL);
    let renamed = to.contains("fileName");
    assert_ne!(
        hash(FULL, |_| {}),
        hash(&changed, |frozen| {
            if renamed {
                frozen.samples[0].file_name = "other.csv".to_owned();
            }
        })
    );
}

#[rstest]
fn what_does_not_decide_the_result_leaves_the_hash(
    #[values(
        ("a: 1, b: 2", "b: 2, a: 1"),
        ("[pandas, numpy]", "[numpy, pandas]"),
        ("name: m,", "name: m, baseURL: 'http://127.0.0.1:1/v1', apiKeySecretRef: {name: s, key: k},"),
        ("name: m,", "name: m, query: {v: '1'}, headers: [{name: A, value: x}],"),
        ("[pandas, numpy]", "[pandas, numpy], repository: r, indexURL: 'https://example.com/simple', indexCABundle: '-----BEGIN CERTIFICATE-----'"),
        ("prompt: count", "prompt: count\nlimits: {maxIterations: 3, maxTokens: 5, deadline: 1m}"),
        ("prompt: count", "prompt: count\ncache: Disable"),
        ("prompt: count", "prompt: count\nsandbox: {timeout: 1m, retries: 1, network: {egress: Internet}, resources: {limits: {cpu: '2'}}}"),
        ("prompt: count", "prompt: count\nsandbox: {secrets: [{name: A, secretKeyRef: {name: s, key: k}}]}"),
        ("inline: x}]\nconstraints", "configMapKeyRef: {name: c, key: s.csv}}]\nconstraints"),
        ("{name: c, key: k}", "{name: other, key: k}")
    )]
    (from, to): (&str, &str),
) {
    let changed = FULL.replacen(from, to, 1);
    assert_ne!(changed, FULL);
    assert_eq!(hash(FULL, |_| {}), hash(&changed, |_| {}));
}

#[test]
fn the_content_of_every_source_decides_the_result() {
    let base = hash(FULL, |_| {});
    let other = "cd".repeat(32);
    assert_ne!(
        base,
        hash(FULL, |frozen| frozen.samples[0].sha256.clone_from(&other))
    );
    assert_ne!(
        base,
        hash(FULL, |frozen| frozen.input_files[0].sha256.clone_from(&other))
    );
    assert_ne!(
        base,
        hash(FULL, |frozen| frozen
            .acceptance_tests
            .as_mut()
            .unwrap()
            .sha256
            .clone_from(&other))
    );
}

#[test]
fn the_hash_of_a_task_stays_the_same_over_releases() {
    assert_eq!(
        hash(FULL, |_| {}),
        "b85880423db9df73a26ecd166031a97f4a6c04f7ed12a68a0f846bf87864e533"
    );
}
