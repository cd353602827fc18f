//! Many small random tables with random rules, always the same ones.

use std::fmt::Write as _;

use codegen_core::checks::{Bound, Rule};
use fastrand::Rng;

use crate::compare::{Case, differences};

const TABLES: usize = 300;
const SEED: u64 = 4;

/// Columns of one table draw from some of these.
const POOLS: [&[&str]; 9] = [
    &["1", "2", "-3", "0", "11", "007", "+4", "1000000"],
    &["1.5", "2.50", "-0.0", "1e308", ".5", "5.", "1e-3", "00.5"],
    &["", "NA", "NaN", "null", "None", "n/a"],
    &["true", "False", "TRUE", "yes"],
    &["2026-01-31", "2026-02-01", "1999-12-31", "2026-02-30"],
    &[
        "2026-01-31T12:00:00",
        "2026-02-01 00:00",
        "2026-01-31T23:30:00Z",
        "2026-02-01T00:30+01:00",
    ],
    &["north", "Köln", "a b", "日本", "x\ny", "say \"hi\""],
    &[" 1", "2 ", "\t3", " north", "2026-01-31 "],
    &[
        "inf",
        "1E400",
        "99999999999999999999",
        "9223372036854775807",
        "1,5",
        "1_0",
    ],
];
const WHOLE_BOUNDS: [i64; 4] = [0, 1, -3, 1_000_000];
const BOUNDS: [f64; 4] = [2.5, 1e300, 0.5, -3.0];
const DATES: [&str; 4] = [
    "2026-01-31",
    "2026-02-01",
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00",
];
const PATTERNS: [&str; 9] = [
    r"\d+",
    r"-?\d+(\.\d+)?",
    "[a-zA-Z]+",
    r"(?i)NORTH|k.*",
    r"\d{4}-\d{2}-\d{2}.*",
    r".{0,3}",
    r"[^\d\s]*",
    "^[0-9]+$",
    r"(?s).*\b1.*",
];

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.usize(..from.len())]
}

fn bound(rng: &mut Rng, is_moment: bool) -> Bound {
    if is_moment {
        return Bound::Moment(pick(rng, &DATES).into());
    }
    if rng.bool() {
        Bound::Int(WHOLE_BOUNDS[rng.usize(..WHOLE_BOUNDS.len())])
    } else {
        Bound::Float(BOUNDS[rng.usize(..BOUNDS.len())])
    }
}

fn rule(rng: &mut Rng) -> Rule {
    let is_moment = rng.bool();
    match rng.u8(..9) {
        0 => Rule::GreaterThan(bound(rng, is_moment)),
        1 => Rule::GreaterOrEqual(bound(rng, is_moment)),
        2 => Rule::LessThan(bound(rng, is_moment)),
        3 => Rule::LessOrEqual(bound(rng, is_moment)),
        4 => Rule::Between(bound(rng, is_moment), bound(rng, is_moment)),
        5 => Rule::Regex(pick(rng, &PATTERNS).into()),
        6 | 7 => {
            let allowed = (0..rng.usize(1..5)).map(|_| {
                let pool = POOLS[rng.usize(..POOLS.len())];
                pick(rng, pool).to_owned()
            });
            Rule::IsIn(allowed.collect())
        }
        _ => Rule::NotNull,
    }
}

fn column(rng: &mut Rng, rows: usize) -> Vec<String> {
    // Mostly values of one kind, as in real columns, with a few others.
    let (main, other) = (POOLS[rng.usize(..POOLS.len())], POOLS[rng.usize(..POOLS.len())]);
    let share = [0, 0, 10, 50][rng.usize(..4)];
    (0..rows)
        .map(|_| {
            let pool = if rng.u8(..100) < share { other } else { main };
            pick(rng, pool).to_owned()
        })
        .collect()
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn json_value(rng: &mut Rng, text: &str) -> String {
    // A number beyond 64 bits keeps its digits in Python and not here, which a pattern can see.
    let is_json = serde_json::from_str::<serde_json::Value>(text).is_ok() && text.len() < 20;
    if is_json && rng.bool() {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

fn case(rng: &mut Rng, number: usize) -> Case {
    let rows = rng.usize(1..12);
    let columns = [column(rng, rows), column(rng, rows)];
    let rules: Vec<_> = (0..4).map(|_| (["a", "b"][rng.usize(..2)], rule(rng))).collect();
    let name = format!("random table {number}");
    if rng.bool() {
        // The last column keeps a row of missing values from being a blank line.
        let mut lines = String::from("a,b,c\n");
        for (a, b) in columns[0].iter().zip(&columns[1]) {
            writeln!(lines, "{},{},z", quoted(a), quoted(b)).unwrap();
        }
        return Case::new(&name, "x.csv", lines.as_bytes(), rules);
    }
    let mut records = String::new();
    for (a, b) in columns[0].iter().zip(&columns[1]) {
        let (a, b) = (json_value(rng, a), json_value(rng, b));
        writeln!(records, "{{\"a\":{a},\"b\":{b}}}").unwrap();
    }
    Case::new(&name, "x.jsonl", records.as_bytes(), rules)
}

#[tokio::test(flavor = "multi_thread")]
async fn pandera_gives_the_verdicts_of_the_checks_on_random_tables() {
    let mut rng = Rng::with_seed(SEED);
    let cases: Vec<Case> = (0..TABLES).map(|number| case(&mut rng, number)).collect();
    let found = differences(&cases).await;
    let count = found.matches("== random").count();
    assert!(
        found.is_empty(),
        "{count} differences\n{}",
        &found.chars().take(20_000).collect::<String>()
    );
}
