//! Tests of the data that each level lets through.

use rstest::rstest;

use super::*;
use crate::context::{DescribeOptions, render};
use crate::describe::describe_source;
use crate::joins::joins;
use crate::source::Source;

fn text(bytes: &str, file_name: &str, level: Exposure) -> String {
    let source = Source::bytes(bytes.as_bytes());
    let profile = describe_source(&source, "s", file_name, &DescribeOptions::default()).unwrap();
    let exposed = [Exposed::new(profile, level)];
    render(&exposed, &ExposedJoins::default(), 4_000, 100).text
}

/// Twelve rows: `who` is different in each, `city` is shared by all but one.
fn people() -> String {
    let row = |number: u32| {
        let city = if number == 7 { "Zermatt" } else { "Basel" };
        format!(
            "Person{number}x,{city},{}.25,2026-03-{:02}\n",
            40 + number,
            number + 1
        )
    };
    format!(
        "who,city,mass,day\n{}",
        (1..=12).map(row).collect::<Vec<_>>().concat()
    )
}

#[test]
fn a_schema_is_names_types_and_counts() {
    insta::assert_snapshot!(text(&people(), "s.csv", Exposure::SchemaOnly), @r"
    ## s (s.csv): CSV, 12 rows, 4 columns
    who text
    city text
    mass float
    day date
    ");
}

#[test]
fn statistics_have_ranges_and_shared_values_and_no_row() {
    insta::assert_snapshot!(text(&people(), "s.csv", Exposure::Statistics), @r"
    ## s (s.csv): CSV, 12 rows, 4 columns
    who text 8..9 characters unique
    city text; 2 distinct, most often: Basel 11
    mass float 41.25..52.25 mean 46.75 unique
    day date 2026-03-02..2026-03-13 step 1 day unique
    ");
}

#[test]
fn redacted_rows_are_the_same_rows_without_letters_and_digits() {
    insta::assert_snapshot!(text(&people(), "s.csv", Exposure::RedactedRows), @r"
    ## s (s.csv): CSV, 12 rows, 4 columns
    who text 8..9 characters unique
    city text; 2 distinct, most often: Basel 11
    mass float 41.25..52.25 mean 46.75 unique
    day date 2026-03-02..2026-03-13 step 1 day unique
    3 of 12 rows as in the file, but each letter shown as x or X and each digit as 9:
    who,city,mass,day
    Xxxxxx9x,Xxxxx,99.99,9999-99-99
    Xxxxxx9x,Xxxxxxx,99.99,9999-99-99
    Xxxxxx99x,Xxxxx,99.99,9999-99-99
    ");
}

#[test]
fn rows_are_the_profile_as_it_is() {
    let source = Source::bytes(people().as_bytes());
    let profile = describe_source(&source, "s", "s.csv", &DescribeOptions::default()).unwrap();
    assert_eq!(Exposed::new(profile.clone(), Exposure::Rows).profile(), &profile);
}

#[test]
fn a_statistic_of_few_values_is_not_shown() {
    let few = "id,mass\n1,\n2,\n3,\n4,81.5\n5,82.5\n6,83.5\n7,84.5\n";
    let shown = text(few, "s.csv", Exposure::Statistics);
    assert!(shown.contains("mass float all different; 3 empty"), "{shown}");
    let enough = text(&few.replace("3,\n", "3,80.5\n"), "s.csv", Exposure::Statistics);
    assert!(enough.contains("mass float 80.5..84.5"), "{enough}");
}

#[rstest]
#[case::all_text("anna,basel\nbert,zug\ncarl,chur\ndora,thun\nemil,bern\n", true)]
#[case::a_name_among_the_values("anna,mass\nbert,6\nanna,7\nanna,8\nanna,9\n", true)]
#[case::a_number_as_name("who,4711,mass\nbert,a,6\ncarl,b,7\ndora,c,8\n", true)]
#[case::few_records("who,mass\nbert,6\ncarl,7\n", true)]
#[case::no_record("who,mass\n", true)]
#[case::numbers_under_a_name("who,mass\nbert,6\ncarl,7\ndora,8\n", false)]
#[case::years_beside_a_name("who,mass,2025\nbert,6,1\ncarl,7,2\ndora,8,3\n", false)]
#[case::a_category_without_its_name("who,size\na,s\nb,m\nc,s\nd,m\ne,s\nf,m\n", false)]
#[case::codes_of_one_length("who,code\na,XK1\nb,XK2\nc,XK3\nd,XK4\ne,XK5\n", false)]
fn a_header_that_may_be_a_record_is_hidden(#[case] bytes: &str, #[case] is_hidden: bool) {
    let first = bytes.lines().next().unwrap();
    for level in [Exposure::SchemaOnly, Exposure::Statistics, Exposure::RedactedRows] {
        let shown = text(bytes, "s.csv", level);
        assert_eq!(shown.contains("column_2"), is_hidden, "{shown}");
        assert_eq!(shown.contains("may as well be a record"), is_hidden, "{shown}");
        if is_hidden {
            assert!(first.split(',').all(|name| !shown.contains(name)), "{shown}");
        }
    }
    let shown = text(bytes, "s.csv", Exposure::Rows);
    assert!(first.split(',').all(|name| shown.contains(name)), "{shown}");
}

#[test]
fn a_remark_that_contains_a_hidden_name_is_left_out() {
    let twice = "anna,anna\nbert,zug\ncarl,chur\ndora,thun\nemil,bern\n";
    assert!(text(twice, "s.csv", Exposure::Rows).contains("share a name: anna"));
    assert!(!text(twice, "s.csv", Exposure::RedactedRows).contains("anna"));
}

#[test]
fn a_remark_that_contains_a_long_hidden_name_is_left_out() {
    let name = "annamariabernadettefischer";
    let twice = format!("{name},{name}\nbert,zug\ncarl,chur\ndora,thun\nemil,bern\n");
    assert!(text(&twice, "s.csv", Exposure::Rows).contains(name));
    let shown = text(&twice, "s.csv", Exposure::RedactedRows);
    assert!(!shown.contains("annamaria"), "{shown}");
}

#[test]
fn a_remark_with_a_hidden_name_inside_another_word_stays() {
    let found = describe_source(
        &Source::bytes(b"e,n\nM\xfcller,K\xf6ln\nB\xe4r,Bern\nK\xfchn,Chur\nWei\xdf,Zug\n"),
        "s",
        "s.csv",
        &DescribeOptions::default(),
    );
    let exposed = Exposed::new(found.unwrap(), Exposure::Statistics);
    let remarks = &exposed.profile().remarks;
    assert!(
        remarks.iter().any(|remark| remark.contains("Latin-1")),
        "{remarks:?}"
    );
}

#[test]
fn keys_that_may_be_values_are_not_shown() {
    let line = |number: u32| format!("{{\"id\":{number},\"user\":{{\"city\":\"Basel\"}}}}\n");
    let mut lines: String = (0..20).map(line).collect::<Vec<_>>().concat();
    lines.push_str("{\"id\":20,\"ann@example.org\":1,\"rare\":2,\"user\":{\"2026-01-05\":3}}\n");
    for level in [Exposure::SchemaOnly, Exposure::Statistics, Exposure::RedactedRows] {
        let shown = text(&lines, "s.jsonl", level);
        assert!(shown.contains("user.city text"), "{shown}");
        for key in ["ann@", "rare", "2026-01-05"] {
            assert!(!shown.contains(key), "{key}: {shown}");
        }
    }
    let shown = text(&lines, "s.jsonl", Exposure::RedactedRows);
    assert!(shown.contains(r#"{"id":9,"user":{"city":"Xxxxx"}}"#), "{shown}");
}

#[test]
fn lines_of_a_text_are_masked_or_not_shown() {
    let log = "2026-01-05 ERROR disk of ann is full\nsecond\n";
    for level in [Exposure::SchemaOnly, Exposure::Statistics] {
        let shown = text(log, "s.log", level);
        assert!(shown.contains("2 lines") && !shown.contains("second"), "{shown}");
    }
    let shown = text(log, "s.log", Exposure::RedactedRows);
    assert!(
        shown.contains("9999-99-99 XXXXX xxxx xx xxx xx xxxx\nxxxxxx"),
        "{shown}"
    );
}

#[test]
fn patterns_of_lines_are_shown_where_five_lines_share_them() {
    let shared = |number: u32| format!("2026-01-05T10:00:{number:02}Z INFO worker {number} started\n");
    let mut lines: Vec<String> = (10..30).map(shared).collect();
    lines.push("2026-01-05T10:00:31Z FATAL osprey is gone\n".into());
    let log = lines.concat();
    let shown = text(&log, "s.log", Exposure::SchemaOnly);
    assert!(shown.contains("21 lines"), "{shown}");
    assert!(!shown.contains("worker") && !shown.contains("2026"), "{shown}");
    for level in [Exposure::Statistics, Exposure::RedactedRows] {
        let shown = text(&log, "s.log", level);
        assert!(shown.contains("INFO worker <int> started"), "{shown}");
        assert!(shown.contains("1 further pattern in 1 line"), "{shown}");
        assert!(!shown.contains("osprey") && !shown.contains("FATAL"), "{shown}");
        let has_lines = shown.contains("9999-99-99X99:99:99X XXXX xxxxxx 99 xxxxxxx");
        assert_eq!(has_lines, level == Exposure::RedactedRows, "{shown}");
    }
}

#[test]
fn joins_are_shown_where_five_values_are_shared() {
    let profile = |name: &str, text: &str| {
        let file_name = format!("{name}.csv");
        describe_source(
            &Source::bytes(text.as_bytes()),
            name,
            &file_name,
            &DescribeOptions::default(),
        )
        .unwrap()
    };
    let table = |header: &str, count: u32| {
        let row = |number: u32| format!("C{number:04},{number}\n");
        let rows: Vec<String> = (0..count).map(row).collect();
        format!("{header}\n{}", rows.concat())
    };
    for (count, are_told) in [(4, false), (20, true)] {
        let profiles = [
            profile("customers", &table("customer_id,age", 20)),
            profile("orders", &table("customer_id,total", count)),
        ];
        let joins = joins(&profiles);
        assert!(!joins.is_empty());
        let told = |level| {
            !ExposedJoins::new(joins.clone(), &profiles, level)
                .get()
                .is_empty()
        };
        assert!(!told(Exposure::SchemaOnly));
        assert_eq!(told(Exposure::Statistics), are_told);
        assert!(told(Exposure::Rows));
    }
}
