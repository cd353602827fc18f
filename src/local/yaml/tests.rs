//! Scalars, documents and keys as `kubectl apply` and `kubectl kustomize` were seen to read them (kubectl 1.27 to 1.33).

use std::fmt::Write as _;

use serde_json::json;

use super::*;

fn values(text: &str, dialect: YamlDialect) -> Vec<Value> {
    let read = read(text, dialect).unwrap();
    read.into_iter().map(|document| document.value).collect()
}

fn refusal(text: &str, dialect: YamlDialect) -> String {
    read(text, dialect).err().unwrap().message
}

fn scalar(text: &str, dialect: YamlDialect) -> Value {
    values(&format!("a: {text}\n"), dialect)[0]["a"].clone()
}

#[test]
fn words_that_yaml_1_1_has_for_true_and_false_are_texts_in_a_kustomization() {
    for (words, truth) in [
        ("y Y yes Yes YES on On ON", true),
        ("n N no No NO off Off OFF", false),
    ] {
        for word in words.split(' ') {
            assert_eq!(scalar(word, YamlDialect::Kubectl), json!(truth), "{word}");
            assert_eq!(scalar(word, YamlDialect::Kustomize), json!(word), "{word}");
        }
    }
    for dialect in [YamlDialect::Kubectl, YamlDialect::Kustomize] {
        for word in ["true", "True", "TRUE"] {
            assert_eq!(scalar(word, dialect), json!(true), "{word}");
        }
        for text in ["\"yes\"", "'no'"] {
            let plain = text.trim_matches(['"', '\'']);
            assert_eq!(scalar(text, dialect), json!(plain), "{text}");
        }
        for nothing in ["", "~", "null", "Null", "NULL", "!!null \"\""] {
            assert_eq!(scalar(nothing, dialect), Value::Null, "{nothing}");
        }
    }
}

#[test]
fn numbers_are_those_of_go() {
    for (text, expected) in [
        ("010", json!(8)),
        ("-010", json!(-8)),
        ("0o10", json!(8)),
        ("0O10", json!(8)),
        ("08", json!(8)),
        ("0x1F", json!(31)),
        ("0X1f", json!(31)),
        ("-0x1F", json!(-31)),
        ("+0x1F", json!(31)),
        ("0x_1F", json!(31)),
        ("0b11", json!(3)),
        ("-0b11", json!(-3)),
        ("1_000", json!(1000)),
        ("0_1", json!(1)),
        ("00", json!(0)),
        ("+5", json!(5)),
        ("-0", json!(0)),
        ("5.", json!(5)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("1.5E+3", json!(1500)),
        ("01e3", json!(1000)),
        ("3.10", json!(3.1)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
        ("+.5", json!(0.5)),
        ("1e-7", json!(1e-7)),
        ("1e20", json!(1e20)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("0777777777777777777777", json!(i64::MAX)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808.0)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("!!int \"5\"", json!(5)),
        ("!!float 5", json!(5)),
        ("!!str 5", json!("5")),
        ("!!binary aGk=", json!("hi")),
    ] {
        for dialect in [YamlDialect::Kubectl, YamlDialect::Kustomize] {
            assert_eq!(scalar(text, dialect), expected, "{text}");
        }
    }
    for text in [
        "_1000", "1000_", "0x", "0b", "0b2", "0o8", "1,000", "1:30", "1.2.3", "e3", ".e3", ".", "+", "=",
        "<<",
    ] {
        for dialect in [YamlDialect::Kubectl, YamlDialect::Kustomize] {
            assert_eq!(scalar(text, dialect), json!(text), "{text}");
        }
    }
    for text in [".inf", "-.Inf", ".nan", ".NaN", "1e400", "!!int five"] {
        assert!(
            read(&format!("a: {text}\n"), YamlDialect::Kubectl).is_err(),
            "{text}"
        );
    }
}

#[test]
fn keys_are_texts_and_what_kubectl_makes_one_of() {
    let text = "{yes: 1, 010: 2, 1.50: 3, '<<': 4}";
    let expected = json!({"true": 1, "8": 2, "1.5": 3, "<<": 4});
    assert_eq!(
        values(&format!("a: {text}\n"), YamlDialect::Kubectl)[0]["a"],
        expected
    );
    assert_eq!(
        values("a: {yes: 1}\n", YamlDialect::Kustomize)[0]["a"],
        json!({"yes": 1})
    );
    for text in ["~: 1\n", "? [a]\n: 1\n"] {
        let refused = refusal(text, YamlDialect::Kubectl);
        assert!(refused.starts_with("a key is not a text"), "{text}: {refused}");
    }
}

#[test]
fn merged_fields_give_way_to_those_that_stand_there() {
    for dialect in [YamlDialect::Kubectl, YamlDialect::Kustomize] {
        let read = |text: &str| values(text, dialect)[0].clone();
        assert_eq!(read("<<: {a: 1, b: 2}\nb: 3\n"), json!({"a": 1, "b": 3}));
        assert_eq!(
            read("<<: [{a: 1}, {a: 2, b: 2}]\nc: 3\n"),
            json!({"a": 1, "b": 2, "c": 3})
        );
        assert_eq!(
            read("a: &x {k: 1}\nb: {<<: *x, m: 2}\n"),
            json!({"a": {"k": 1}, "b": {"k": 1, "m": 2}})
        );
        assert_eq!(read("b: 3\n<<: {a: 1, b: 2}\n"), json!({"a": 1, "b": 3}));
        assert!(refusal("<<: text\n", dialect).contains("merge value must be mapping"));
    }
}

#[test]
fn a_separator_stands_alone_on_its_line() {
    let both = [json!({"a": 1}), json!({"b": 2})];
    for text in [
        "a: 1\n---\nb: 2\n",
        "---\na: 1\n--- # two\nb: 2\n",
        "a: 1\r\n---\r\nb: 2\r\n",
        "a: 1\n...\n---\nb: 2\n",
        "# first\n---\na: 1\n---\nb: 2",
    ] {
        assert_eq!(values(text, YamlDialect::Kubectl), both, "{text:?}");
        assert_eq!(values(text, YamlDialect::Kustomize), both, "{text:?}");
    }
    assert_eq!(
        refusal("a: 1\n--- {b: 2}\n", YamlDialect::Kubectl),
        "a line that begins with --- holds nothing else: begin a new line after it (line 2)"
    );
    assert!(refusal("a: 1\n...\nb: 2\n", YamlDialect::Kubectl).contains("begin it with a line ---"));
    assert_eq!(
        values("a: |\n  x\n  ---\n  y\n", YamlDialect::Kubectl),
        [json!({"a": "x\n---\ny\n"})]
    );
    assert!(read("%YAML 1.1\n---\na: 1\n", YamlDialect::Kubectl).is_err());
}

#[test]
fn json_documents_follow_one_another_in_kubectl() {
    let two = "{\"a\": 1.0, \"b\": [2.50, 18446744073709551615]}\n{\"a\":\n\t2}\n";
    assert_eq!(
        values(two, YamlDialect::Kubectl),
        [
            json!({"a": 1, "b": [2.5, 18_446_744_073_709_551_615.0]}),
            json!({"a": 2})
        ]
    );
    assert!(
        read(two, YamlDialect::Kustomize).is_err(),
        "kustomize reads the first and drops the second"
    );
    assert_eq!(
        values("{\"a\": 1}\n---\nb: 2\n", YamlDialect::Kubectl),
        [json!({"a": 1}), json!({"b": 2})]
    );
    let error = read("{\"a\": 1 \"b\"", YamlDialect::Kubectl).err().unwrap();
    assert_eq!((error.format, error.document), ("JSON", 1));
}

#[test]
fn an_error_names_the_line_of_the_file_and_nothing_that_stands_there() {
    let error = read("a: 1\n---\nb: 2\nc: {d: hunter2\n", YamlDialect::Kubectl)
        .err()
        .unwrap();
    assert_eq!((error.document, error.format), (2, "YAML"));
    assert!(
        error.message.contains("line 4") || error.message.contains("line 5"),
        "{}",
        error.message
    );
    assert!(!error.message.contains("hunter2"), "{}", error.message);
    assert!(!refusal("a: *hunter2\n", YamlDialect::Kubectl).contains("hunter2"));
}

#[test]
fn what_aliases_unfold_to_is_bounded_in_size_and_depth() {
    let long = "x".repeat(1 << 20);
    let many = format!("a: &a {long}\nb: [{}]\n", ["*a"; 20].join(", "));
    let refused = refusal(&many, YamlDialect::Kubectl);
    assert!(refused.contains("too large"), "{refused}");
    let few = format!("a: &a {long}\nb: [{}]\n", ["*a"; 10].join(", "));
    assert_eq!(
        values(&few, YamlDialect::Kubectl)[0]["b"]
            .as_array()
            .unwrap()
            .len(),
        10
    );
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        writeln!(chain, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
    }
    let nested = format!("a: {}{}\n", "[".repeat(200), "]".repeat(200));
    for text in [&chain, &nested] {
        assert!(refusal(text, YamlDialect::Kubectl).contains("Depth"));
    }
    assert!(read("a: &a [*a]\n", YamlDialect::Kubectl).is_err());
}
