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

/// The names of everything that a script starts.
fn started(judged: &Judgement) -> BTreeSet<String> {
    fn walk(value: &Value, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                let program = fields.get("program").and_then(|program| program.get("name"));
                names.extend(program.and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| walk(value, names));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, names)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    walk(&serde_json::to_value(&judged.parsed).unwrap(), &mut names);
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
    assert!(count == 133 && denied.len() <= 21, "{} of {count}", denied.len());
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
