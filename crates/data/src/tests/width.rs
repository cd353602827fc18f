//! Tables of many columns and of long names.

use super::*;

#[rstest]
#[case::csv("x.csv")]
#[case::json("x.json")]
fn columns_beyond_200_are_in_what_is_cut_and_in_the_schema(#[case] file_name: &str) {
    let names: Vec<_> = (0..300).map(|column| format!("c{column}")).collect();
    let text = if file_name == "x.csv" {
        format!("{}\n{}\n", names.join(","), vec!["1"; 300].join(","))
    } else {
        let fields: Vec<_> = names.iter().map(|name| format!("\"{name}\": 1")).collect();
        format!("[{{{0}}},{{{0}}},{{{0}}}]", fields.join(","))
    };
    let profile = profile(text.as_bytes(), file_name);
    let schema = schema::infer(&profile).unwrap();
    let mut columns: Vec<_> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    // The fields of JSON are sorted.
    columns.sort_by_key(|name| (name.len(), *name));
    assert_eq!(columns, names);
    assert_eq!(schema.columns[299].dtype.as_deref(), Some("Int64"));
    let found = render(&[profile], &[], 100_000, 100);
    let cut = "sample: 100 of 300 columns, beyond those that are described";
    assert_eq!(found.cut, [cut]);
    assert!(!found.is_over_budget());
    assert!(
        found.text.contains("\nand 100 further columns not described\n"),
        "{}",
        found.text
    );
}

#[test]
fn a_column_below_the_levels_of_rows_is_not_named_beyond_200() {
    let names: Vec<_> = (0..201).map(|column| format!("c{column}")).collect();
    let text = format!("{}\n{}\n", names.join(","), vec!["1"; 201].join(","));
    let exposed = Exposed::new(profile(text.as_bytes(), "x.csv"), Exposure::RedactedRows);
    assert!(exposed.profile().tables().all(|table| table.further.is_empty()));
}

#[test]
fn a_name_of_80_characters_and_more_is_whole_and_a_longer_one_has_its_place() {
    let (long, longer) = ("n".repeat(150), "m".repeat(250));
    let text = format!("a,{long},{longer}x,{longer}y\n1,2,3,4\n2,3,4,5\n");
    let found = context(text.as_bytes(), "x.csv").text;
    assert!(found.contains(&format!("\n{long} int 2..3 unique\n")), "{found}");
    for place in [3, 4] {
        let end = format!("unique; its name is cut: column {place} of the file\n");
        assert!(found.contains(&end), "{found}");
    }
}

#[test]
fn what_exceeds_the_remarks_that_are_shown_is_in_what_is_cut() {
    let remarks = (0..14).map(|number| format!("remark {number}").into()).collect();
    let found = render(
        &[SampleProfile {
            remarks,
            ..profile(SALES, "sales.csv")
        }],
        &[],
        100_000,
        100,
    );
    assert_eq!(found.cut, ["sample: 2 further remarks"]);
    assert!(!found.is_over_budget());
}
