//! Lists of commands with the class that each must have.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Class, Judgement, Rules, judge};

const ATTACKS: &str = include_str!("../testdata/attacks.list");
const FURTHER: &str = include_str!("../testdata/further.list");
pub(super) const BENIGN: &str = include_str!("../testdata/benign.list");

pub(super) fn rules() -> Rules {
    Rules::shipped().unwrap_or_else(|error| panic!("{error}"))
}

/// A command as its line has it: as JSON where it is that.
pub(super) fn command(line: &str) -> String {
    let json = line
        .starts_with('"')
        .then(|| serde_json::from_str(line).ok())
        .flatten();
    json.unwrap_or_else(|| line.to_owned())
}

pub(super) fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The names of everything that a script starts, and of what prints and tests in its place.
fn started(judged: &Judgement) -> BTreeSet<String> {
    fn walk(value: &Value, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                let builtin = fields.get("builtin").and_then(|call| call["name"].as_str());
                let prints_or_tests = |name: &&str| ["echo", "printf", "test", "["].contains(name);
                names.extend(builtin.filter(prints_or_tests).map(str::to_owned));
                let program = fields.get("program").and_then(|program| program.get("name"));
                names.extend(program.and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| walk(value, names));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, names)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    let executed = [
        &judged.parsed,
        &judged.before,
        &judged.after.passed,
        &judged.after.failed,
    ];
    walk(&serde_json::to_value(executed).unwrap(), &mut names);
    names
}

#[test]
fn no_attack_gets_past_the_policy() {
    let rules = rules();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines(ATTACKS) {
        count += 1;
        let (expected, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (text, names) = rest.rsplit_once(" #= ").unwrap_or((rest, ""));
        let judged = judge(&command(text), &rules);
        let names: BTreeSet<String> = names.split_whitespace().map(str::to_owned).collect();
        if format!("{:?}", judged.class) != expected || started(&judged) != names {
            wrong.push(format!(
                "{line}: {:?} by {}: {}",
                judged.class, judged.rule, judged.reason
            ));
        }
    }
    assert!(count >= 150, "{count}");
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}

/// Whether a value in an argument is one that is looked at, where its program knows options with an effect.
#[test]
fn what_is_not_settled_gets_to_a_program_with_options_by_a_check_alone() {
    fn walk(value: &Value, count: &mut usize) {
        let Value::Object(fields) = value else {
            value
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|value| walk(value, count));
            return;
        };
        fields.values().for_each(|value| walk(value, count));
        let name = fields.get("program").and_then(|program| program["name"].as_str());
        let reads_options = [
            "cp", "mv", "rm", "sort", "sed", "find", "tee", "touch", "mkdir", "tar", "gzip", "uniq",
        ];
        if !name.is_some_and(|name| reads_options.contains(&name)) {
            return;
        }
        for (index, argument) in fields["arguments"].as_array().unwrap().iter().enumerate() {
            let parts = argument.as_array().into_iter().flatten();
            let mut kinds = parts.filter_map(|part| part.as_object()?.keys().next());
            if kinds.any(|kind| ["fields", "output", "arithmetic"].contains(&kind.as_str())) {
                let checks = fields["checks"].as_array().unwrap();
                assert!(
                    checks.iter().any(|check| check["argument"] == index),
                    "{fields:?}"
                );
                *count += 1;
            }
        }
    }
    let rules = rules();
    let mut count = 0;
    for line in [ATTACKS, BENIGN, FURTHER].into_iter().flat_map(lines) {
        let text = line
            .split_once(' ')
            .filter(|(class, _)| *class == "Safe")
            .map_or(line, |(_, text)| text);
        let text = text.rsplit_once(" #= ").map_or(text, |(text, _)| text);
        walk(
            &serde_json::to_value(judge(&command(text), &rules).parsed).unwrap(),
            &mut count,
        );
    }
    assert!(count >= 5, "{count}");
}

/// How many commands a list has, and those that are denied.
fn denied_of(list: &'static str) -> (usize, Vec<String>) {
    let rules = rules();
    let judged = lines(list).map(|line| (line, judge(&command(line), &rules)));
    let denied = judged
        .filter(|(_, judged)| judged.class == Class::Denied)
        .map(|(line, judged)| format!("{line}: {}: {}", judged.rule, judged.reason));
    (lines(list).count(), denied.collect())
}

#[test]
fn of_what_agents_write_at_most_two_in_a_hundred_are_denied() {
    let (count, denied) = denied_of(BENIGN);
    println!("{} of {count}", denied.len());
    assert!(count >= 300, "{count}");
    assert!(
        denied.len() * 50 <= count,
        "{} of {count}: {denied:#?}",
        denied.len()
    );
}

#[test]
fn of_commands_with_everything_that_a_shell_has_no_more_are_denied_than_were() {
    let (count, denied) = denied_of(FURTHER);
    println!("{} of {count}: {denied:#?}", denied.len());
    assert!(count == 133 && denied.len() <= 19, "{} of {count}", denied.len());
}

#[test]
fn every_class_has_a_rule_and_a_reason() {
    let rules = rules();
    // Nothing of it runs.
    for text in [
        "case -x in -*) esac",
        "case a in a) ;; esac",
        "ls",
        "pytest",
        "curl x",
    ] {
        let judged = judge(text, &rules);
        assert!(
            !judged.rule.is_empty() && !judged.reason.is_empty(),
            "{text}: {judged:?}"
        );
    }
}

#[test]
fn a_denial_says_what_to_write_instead() {
    let rules = rules();
    for line in lines(ATTACKS).filter(|line| line.starts_with("Denied ")) {
        let text = line.trim_start_matches("Denied ");
        let judged = judge(&command(text), &rules);
        assert!(
            judged.reason.len() > 12 && !judged.rule.is_empty(),
            "{line}: {judged:?}"
        );
        assert!(judged.parsed.is_none(), "{line}");
    }
}
