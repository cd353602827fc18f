//! Calls of the API server as lines, and how lists of them are compared.

use std::fmt::Write as _;

use serde_json::Value;

use crate::controller::tests::request::{ApiRequest, Verb};

const COMPONENT: &str = "codegen-operator.dev/component";
const DOCUMENT: &str = "codegen-operator.dev/document";
/// Name of the document with the beginning of all prompts.
const PREFIX: &str = "calls/prefix";
/// Lines that follow each other and begin so are in any order.
const ANY_ORDER: &str = "~ ";

/// A call as one line (`create Secret record calls/0001-plan.json`). `stored` is the object that it names, where that is there.
pub fn line(request: &ApiRequest, stored: Option<&Value>) -> String {
    let kind = request.kind();
    let name = || match (stored, &request.name) {
        (Some(stored), _) => what(stored),
        (None, Some(name)) => format!("{} (absent)", without_hash(name)),
        (None, None) => String::new(),
    };
    match request.verb {
        Verb::Create => format!("create {kind} {}", what(&request.body)),
        Verb::Get => format!("get {kind} {}", name()),
        Verb::List => format!("list {kind}"),
        Verb::Watch => format!("watch {kind}"),
        Verb::Log => format!("log of {kind} {}", name()),
        Verb::Update if request.is_status => {
            let status = &request.body["status"];
            let word = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
            format!("status {kind} {}: {} {}", name(), word("stage"), word("reason"))
        }
        Verb::Update => format!("update {kind} {}", name()),
        Verb::Patch => format!("patch {kind} {}", name()),
        Verb::Delete => format!("delete {kind} {}", name()),
        Verb::DeleteAll => {
            let selector = request.parameter("labelSelector");
            let components = selector.split_once(" in (").map_or("", |(_, list)| list);
            let components = components.split(')').next().unwrap_or_default();
            format!("delete all {kind} {components}")
        }
    }
}

/// Returns the purpose of an object, or its name.
fn what(object: &Value) -> String {
    let metadata = &object["metadata"];
    let component = metadata["labels"][COMPONENT].as_str();
    match (component, metadata["annotations"][DOCUMENT].as_str()) {
        // Its digest follows from the words of a prompt.
        (Some(component), Some(document)) if document.starts_with(PREFIX) => format!("{component} {PREFIX}"),
        (Some(component), Some(document)) => format!("{component} {document}"),
        (Some(component), None) => component.to_owned(),
        (None, _) => without_hash(metadata["name"].as_str().unwrap_or_default()).to_owned(),
    }
}

/// A name without the digits that follow from what it is of.
fn without_hash(name: &str) -> &str {
    let is_hash = |end: &str| {
        let digits = end.strip_prefix("cg").unwrap_or(end);
        digits.len() == 10 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match name.rsplit_once('-') {
        Some((start, end)) if is_hash(end) => start,
        _ => name,
    }
}

/// Checks that the calls are the expected ones; the error shows all of them, and the first that is another.
pub fn compare(expected: &str, found: &[String]) -> Result<(), String> {
    let lines = expected.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let mut at = 0;
    for group in lines.chunk_by(|one, next| one.starts_with(ANY_ORDER) && next.starts_with(ANY_ORDER)) {
        let mut wanted: Vec<&str> = group
            .iter()
            .map(|line| line.strip_prefix(ANY_ORDER).unwrap_or(line))
            .collect();
        while !wanted.is_empty() {
            let call = found.get(at);
            let Some(index) = wanted
                .iter()
                .position(|line| call.is_some_and(|call| call == line))
            else {
                return Err(words(&wanted.join("`, or `"), found, at));
            };
            wanted.remove(index);
            at += 1;
        }
    }
    if at < found.len() {
        return Err(words("nothing more", found, at));
    }
    Ok(())
}

fn words(wanted: &str, found: &[String], at: usize) -> String {
    let mut words = match found.get(at) {
        Some(call) => format!("expected `{wanted}`, and there was `{call}`"),
        None => format!("missing: `{wanted}`"),
    };
    words.push_str("\nthe calls so far:\n");
    for (number, call) in found.iter().enumerate() {
        let mark = if number == at { ">" } else { " " };
        let _ = writeln!(words, "{mark} {call}");
    }
    words
}

#[test]
fn a_missing_call_and_an_extra_one_are_named_with_the_calls_so_far() {
    let found = ["get a", "create b", "create c"].map(str::to_owned);
    let expected = "get a\n ~ create c\n ~ create b\n";
    assert_eq!(compare(expected, &found), Ok(()));
    let missing = compare("get a\ncreate b\ncreate c\nstatus d", &found).unwrap_err();
    assert!(missing.starts_with("missing: `status d`\n"), "{missing}");
    let extra = compare("get a\ncreate b", &found).unwrap_err();
    assert!(
        extra.starts_with("expected `nothing more`, and there was `create c`"),
        "{extra}"
    );
    assert!(extra.contains("\n  get a\n  create b\n> create c\n"), "{extra}");
    let other = compare("get a\ncreate c\ncreate b", &found).unwrap_err();
    assert!(
        other.starts_with("expected `create c`, and there was `create b`"),
        "{other}"
    );
}
