//! Files with every kind of rule, each broken in known rows.

use codegen_core::checks::{Bound, Rule};

use crate::compare::{Case, differences};

fn moment(text: &str) -> Bound {
    Bound::Moment(text.into())
}

fn regex(pattern: &str) -> Rule {
    Rule::Regex(pattern.into())
}

fn is_in(values: &[&str]) -> Rule {
    Rule::IsIn(values.iter().map(ToString::to_string).collect())
}

/// Every kind of rule about one column.
pub fn number_rules(column: &str) -> Vec<(&str, Rule)> {
    vec![
        (column, Rule::GreaterThan(0.into())),
        (column, Rule::GreaterOrEqual(2.5.into())),
        (column, Rule::LessThan(1e300.into())),
        (column, Rule::LessOrEqual((-1).into())),
        (column, Rule::Between(0.into(), 10.into())),
        (column, is_in(&["1", "2.0", "-3", "1e308", "NaN", "x"])),
        (column, Rule::NotNull),
    ]
}

fn comma_rules() -> Vec<(&'static str, Rule)> {
    let mut rules = number_rules("a");
    rules.push(("a", is_in(&["2.5", "-3,250", "many", "1.9"])));
    rules
}

pub fn date_rules(column: &str) -> Vec<(&str, Rule)> {
    vec![
        (column, Rule::GreaterThan(moment("2026-01-31"))),
        (column, Rule::GreaterOrEqual(moment("2026-01-31"))),
        (column, Rule::LessThan(moment("2026-01-31"))),
        (column, Rule::LessOrEqual(moment("2026-01-31"))),
        (column, Rule::Between(moment("2026-01-31"), moment("2026-02-01"))),
        (column, Rule::GreaterThan(moment("2026-01-31T12:00:00Z"))),
        (column, Rule::LessOrEqual(moment("2026-01-31 12:00"))),
        (column, is_in(&["2026-01-31", "2026-02-01T00:00:00Z", "soon"])),
        (column, Rule::LessThan(5.into())),
        (column, Rule::NotNull),
    ]
}

pub fn text_rules(column: &str) -> Vec<(&str, Rule)> {
    vec![
        (column, regex("[a-z]+")),
        (column, regex(r"(?i)k\w{2}n|\p{Lu}.*")),
        (column, regex(r"[^,\s]{1,3}$")),
        (column, regex(r"\d+(\.\d{2})?")),
        (column, is_in(&["north", "Köln", "true", "1"])),
        (column, is_in(&["north", "Köln"])),
        (column, Rule::NotNull),
    ]
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn tables() -> Vec<Case> {
    let numbers = |name, text: &str| Case::new(name, "x.csv", text.as_bytes(), number_rules("a"));
    let dates = |name, text: &str| Case::new(name, "x.csv", text.as_bytes(), date_rules("a"));
    let texts = |name, text: &str| Case::new(name, "x.csv", text.as_bytes(), text_rules("a"));
    vec![
        numbers("whole numbers", "a,b\n1,x\n2,x\n-3,x\n0,x\n11,x\n"),
        numbers(
            "decimals",
            "a,b\n1.0,x\n2.50,x\n-3.25,x\n1e308,x\n-0.0,x\n1e-7,x\n",
        ),
        numbers("missing numbers", "a,b\n1,x\n,x\nNA,x\n-3,x\nNaN,x\nnull,x\n"),
        numbers("missing decimals", "a,b\n1.5,x\n,x\nnan,x\n-3,x\n"),
        numbers(
            "text among numbers",
            "a,b\n1,x\nmany,x\n-3,x\ninf,x\n1E400,x\n0x10,x\n1_000,x\n2,x\n",
        ),
        numbers("nothing but text", "a,b\nmany,x\nfew,x\n"),
        numbers("quoted numbers", "a,b\n\"1\",x\n\"-3\",x\n\"2.5\",x\n\"\",x\n"),
        numbers("blanks around numbers", "a,b\n 1,x\n-3 ,x\n\t2.5,x\n 12 ,x\n"),
        numbers("leading zeros", "a,b\n001,x\n007,x\n-03,x\n011,x\n00.5,x\n"),
        numbers("signs", "a,b\n+1,x\n-3,x\n+0,x\n"),
        numbers(
            "big whole numbers",
            "a,b\n9223372036854775807,x\n-9223372036854775808,x\n1,x\n",
        ),
        numbers(
            "beyond 64 bits",
            "a,b\n99999999999999999999,x\n-99999999999999999999,x\n1,x\n",
        ),
        numbers("truth values", "a,b\ntrue,x\nFalse,x\nTRUE,x\n"),
        numbers("truth values and numbers", "a,b\ntrue,x\n1,x\n0,x\n"),
        numbers("dates", "a,b\n2026-01-31,x\n2026-02-01,x\n"),
        numbers("short rows", "a,b,a2\n1,2,3\n-1\n2,3\n"),
        numbers("no values at all", "a,b\n,x\nNA,x\n"),
        numbers("no rows", "a,b\n"),
        Case::new(
            "exact beyond 2^53",
            "x.csv",
            b"a,b\n9007199254740992,x\n9007199254740993,x\n",
            vec![
                ("a", Rule::GreaterThan(9_007_199_254_740_992.into())),
                ("a", is_in(&["9007199254740993"])),
            ],
        ),
        Case::new(
            "exact beyond 2^53 beside missing values",
            "x.csv",
            b"a,b\n9007199254740992,x\n9007199254740993,x\n,x\n",
            vec![
                ("a", Rule::GreaterThan(9_007_199_254_740_992.into())),
                ("a", is_in(&["9007199254740993"])),
            ],
        ),
        Case::new(
            "truth values as such",
            "x.csv",
            b"a,b\ntrue,x\nFalse,x\nTRUE,x\n,x\n",
            vec![
                ("a", is_in(&["True"])),
                ("a", is_in(&["false", "true"])),
                ("a", regex("[a-z]+")),
            ],
        ),
        Case::new(
            "the spelling of numbers and dates",
            "x.csv",
            b"a,b\n1.50,2026-01-31\n2.5,2026-02-01 \n+3,\n1e5,2026-1-3\n",
            vec![
                ("a", regex(r"\d+\.\d{2}")),
                ("a", Rule::LessThan(2.into())),
                ("b", regex(r"\d{4}-\d{2}-\d{2}")),
                ("b", Rule::GreaterThan(moment("2026-01-31"))),
            ],
        ),
        dates("days", "a,b\n2026-01-30,x\n2026-01-31,x\n2026-02-01,x\n,x\n"),
        dates(
            "moments",
            "a,b\n2026-01-31T00:00:00,x\n2026-01-31T23:59:59,x\n2026-02-01 00:00,x\n2026-02-02T00:00:00.5,x\n,x\n",
        ),
        dates(
            "moments with zones",
            "a,b\n2026-01-31T00:00:00Z,x\n2026-01-31T00:30:00+01:00,x\n2026-02-01T00:30:00+0200,x\n2026-02-01 01:00-05,x\n",
        ),
        dates(
            "dates among texts",
            "a,b\n2026-01-31,x\nsoon,x\n2026-02-30,x\n2026-02-01T12:00,x\n20260131,x\n",
        ),
        dates(
            "dates beyond nanoseconds",
            "a,b\n0001-01-01,x\n9999-12-31,x\n2026-01-31,x\n",
        ),
        dates("blanks around dates", "a,b\n 2026-01-31,x\n2026-02-01 ,x\n"),
        dates("numbers", "a,b\n20260131,x\n5,x\n"),
        texts(
            "words",
            "a,b\nnorth,x\nKöln,x\n north,x\nNA,x\n\"k\nln\",x\nkoln,x\nabc,x\nab ,x\n日本,x\n",
        ),
        texts(
            "words, numbers and truths",
            "a,b\n1,x\n1.00,x\nTRUE,x\nnorth,x\n٣,x\n",
        ),
        texts("numbers", "a,b\n1,x\n1.00,x\n2.5,x\n"),
        Case::new(
            "decimal commas",
            "x.csv",
            b"a;b\n1,0;x\n2,50;x\n-3,25;x\n;x\n1e308;x\n10;x\n",
            comma_rules(),
        ),
        Case::new(
            "decimal commas among texts",
            "x.csv",
            b"a;b\n1,0;1,5\n2,50;2,5\nmany;3,25\n1.9;4,5\n 7,5;5,5\n007,5;6,5\n2.50;7,5\n",
            comma_rules(),
        ),
        Case::new(
            "semicolons",
            "x.csv",
            "a;b\n1;Köln\n-1;north\n".as_bytes(),
            number_rules("a"),
        ),
        Case::new("Latin-1", "x.csv", b"a,b\nK\xf6ln,1\nnorth,2\n", text_rules("a")),
        Case::new("tabs", "x.tsv", b"a\tb\n1\tx\n-1\ty\n", number_rules("a")),
        Case::new(
            "a byte order mark",
            "x.csv",
            b"\xef\xbb\xbfa,b\n1,x\n-1,y\n",
            number_rules("a"),
        ),
        Case::new("no header", "x.csv", b"1,x\n-1,y\n", number_rules("column_1")),
        Case::new("repeated names", "x.csv", b"a,a\n1,-1\n-1,1\n", number_rules("a")),
        Case::new(
            "names with quotes",
            "x.csv",
            b"\"say \"\"a\"\"\",b\n1,2\n-1,2\n",
            number_rules("say \"a\""),
        ),
        Case::new(
            "rows that end with a delimiter",
            "x.csv",
            b"a,b\n1,x,\n-1,y,\n",
            number_rules("a"),
        ),
        Case::new(
            "a range without values",
            "x.csv",
            b"a,b\n1,x\n-1,y\n",
            vec![("a", Rule::Between(2.into(), 1.into()))],
        ),
        Case::new(
            "lines of blanks",
            "x.csv",
            b"  \na,b\n1,x\n \t \n-1,y\n   ",
            number_rules("a"),
        ),
        Case::new(
            "rows that are too long",
            "x.csv",
            b"a,b\n1,x\n-1,y,z\n2,x\n-3,x\n",
            number_rules("a"),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
fn documents() -> Vec<Case> {
    let both = |name: &str, values: &[&str], rules: fn(&'static str) -> Vec<(&'static str, Rule)>| {
        let records: Vec<String> = values
            .iter()
            .map(|value| {
                if value.is_empty() {
                    "{\"b\":1}".to_owned()
                } else {
                    format!("{{\"b\":1,\"a\":{value}}}")
                }
            })
            .collect();
        [
            Case::new(name, "x.jsonl", records.join("\n").as_bytes(), rules("a")),
            Case::new(
                name,
                "x.json",
                format!("[{}]", records.join(", ")).as_bytes(),
                rules("a"),
            ),
        ]
    };
    let mut cases = Vec::new();
    cases.extend(both("JSON numbers", &["1", "2", "-3", "0", "11"], number_rules));
    cases.extend(both(
        "JSON decimals",
        &["1.0", "2.5", "-3", "1e308", "-0.0"],
        number_rules,
    ));
    cases.extend(both(
        "missing JSON numbers",
        &["1", "null", "-3", ""],
        number_rules,
    ));
    cases.extend(both(
        "JSON texts that look missing",
        &["\"NA\"", "\"\"", "null", "\"None\"", "", "\"nan\""],
        text_rules,
    ));
    cases.extend(both(
        "JSON texts that look missing, in rules about numbers",
        &["\"NA\"", "\"\"", "null", "\"1\""],
        number_rules,
    ));
    cases.extend(both(
        "JSON numbers as texts",
        &["\"1\"", "\"007\"", "\" 2.5\"", "\"-3\""],
        number_rules,
    ));
    cases.extend(both(
        "mixed JSON",
        &["1", "\"many\"", "true", "null", "2.5", "[1,2]", "[]", "\"2\""],
        number_rules,
    ));
    cases.extend(both(
        "mixed JSON, as texts",
        &["1", "\"north\"", "true", "null", "1.25", "[\"a\"]", "\"true\""],
        text_rules,
    ));
    cases.extend(both(
        "JSON truth values",
        &["true", "false", "null"],
        number_rules,
    ));
    cases.extend(both(
        "JSON truth values, as texts",
        &["true", "false", "null"],
        text_rules,
    ));
    cases.extend(both(
        "JSON dates",
        &["\"2026-01-31\"", "\"2026-02-01\"", "null"],
        date_rules,
    ));
    cases.extend(both(
        "JSON moments",
        &["\"2026-01-31T10:00:00Z\"", "\"2026-02-01T00:00:00+02:00\"", ""],
        date_rules,
    ));
    cases.extend(both(
        "JSON texts",
        &["\"north\"", "\"Köln\"", "\" north\"", "\"\\u0000\"", "\"😀\""],
        text_rules,
    ));
    cases.extend(both(
        "big JSON numbers",
        &["9223372036854775807", "9223372036854775808", "-1"],
        number_rules,
    ));
    cases.push(Case::new(
        "nested JSON",
        "x.json",
        br#"[{"u":{"n":1,"c":"K"}},{"u":{"n":-3}},{"u":null},{}]"#,
        number_rules("u.n"),
    ));
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn pandera_gives_the_verdicts_of_the_checks_on_tables() {
    let found = differences(&tables()).await;
    assert!(found.is_empty(), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pandera_gives_the_verdicts_of_the_checks_on_json() {
    let found = differences(&documents()).await;
    assert!(found.is_empty(), "{found}");
}
