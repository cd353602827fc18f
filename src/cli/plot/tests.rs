use super::*;
use codegen_data::describe::{DescribeOptions, describe_source};
use codegen_data::profile::{Content, Layout, LeadProfile};
use codegen_data::source::Source;

const WIDE: Screen = Screen {
    columns: MAX_COLUMNS,
    is_unicode: true,
    is_coloured: false,
};

fn profile(text: &str, file_name: &str) -> SampleProfile {
    describe_source(
        &Source::bytes(text.as_bytes()),
        "s",
        file_name,
        &DescribeOptions::default(),
    )
    .unwrap()
}

fn column(text: &str) -> (ColumnProfile, u64) {
    let profile = profile(text, "s.csv");
    let table = profile.tables().next().unwrap();
    (table.columns[0].clone(), table.records)
}

/// A column of numbers whose histogram is this one.
fn numbers(histogram: &[u64]) -> ColumnProfile {
    let (mut column, _) = column("n\n1\n2\n9\n");
    column.numbers.as_mut().unwrap().histogram = histogram.to_vec();
    column
}

#[test]
fn the_fullest_bin_is_full_and_one_value_is_seen() {
    let mut bins = [0; 16];
    (bins[0], bins[1], bins[2], bins[15]) = (1000, 500, 1, 10);
    assert_eq!(
        plots(&numbers(&bins), 3, WIDE),
        ["    ██▄▄▁▁                        ▁▁  1 to 9, 1,000 in the fullest bin"]
    );
}

#[test]
fn without_utf_8_everything_drawn_is_ascii() {
    let screen = Screen {
        is_unicode: false,
        ..WIDE
    };
    let mut bins = [0; 16];
    (bins[0], bins[15]) = (8, 1);
    let (texts, records) = column("a\nx\nx\nNA\n");
    let lines = [plots(&numbers(&bins), 3, screen), plots(&texts, records, screen)].concat();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:?}");
}

#[test]
fn frequent_values_and_missing_ones_have_bars_with_their_counts() {
    let (column, records) = column("a,b\nred,\nred,\nred,\nblue,\n,\n");
    let lines = plots(&column, records, WIDE);
    let full = "█".repeat(LONGEST_BAR);
    assert_eq!(lines[0], format!("    red  {full} 3"));
    assert!(
        lines[1].starts_with("    blue █") && lines[1].ends_with("█ 1"),
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with("    missing █") && lines[2].ends_with(" 1 of 5 (20.0 %)"),
        "{lines:?}"
    );
}

#[test]
fn every_line_fits_the_screen() {
    let name = "価".repeat(30);
    let text = format!("a\n{name}\n{name}\n{}\n{}\n\n", "x".repeat(200), "x".repeat(200));
    let (column, records) = column(&text);
    for columns in [NARROWEST, 60, MAX_COLUMNS] {
        let screen = Screen { columns, ..WIDE };
        for column in [&column, &numbers(&[3; 16])] {
            for line in plots(column, records, screen) {
                assert!(measure_text_width(&line) <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn a_value_cannot_steer_the_terminal() {
    let (column, records) = column("a\n\u{1b}[2Jx\n\u{1b}[2Jx\n");
    assert!(!plots(&column, records, WIDE).concat().contains('\u{1b}'));
}

#[test]
fn a_column_of_one_number_or_of_codes_has_no_histogram() {
    let mut bins = vec![0; 16];
    bins[0] = 3;
    let (mut same, records) = column("n\n7\n7\n7\n");
    same.numbers.as_mut().unwrap().histogram.clone_from(&bins);
    assert_eq!(histogram(&same, WIDE), None);
    assert_eq!(plots(&same, records, WIDE).len(), same.top.len());
    assert_eq!(histogram(&column("n\n007\n008\n").0, WIDE), None);
}

#[test]
fn plots_stand_below_the_line_of_their_column() {
    let profile = profile("a,b\nx,1\nx,2\n", "s.csv");
    let text = "## s (s.csv): CSV, 2 rows, 2 columns\na text only x\nb int 1..2 unique\n2 of 2 rows as in the file:\na,b\nx,1\n";
    let drawn = annotate(text, &[profile], Exposure::Rows, WIDE);
    let lines: Vec<_> = drawn.lines().collect();
    assert_eq!(lines[1], "a text only x");
    assert!(lines[2].starts_with("    x █"), "{drawn}");
    assert!(drawn.ends_with("rows as in the file:\na,b\nx,1\n"), "{drawn}");
}

#[test]
fn columns_whose_names_are_hidden_have_their_plots() {
    let profile = profile("bern,1\nbasel,2\nbasel,3\nbern,9\n", "s.csv");
    assert_eq!(profile.tables().next().unwrap().records, 4, "no header");
    let mut hidden = profile.clone();
    for table in hidden.tables_mut() {
        table.layout = Layout::Delimited {
            delimiter: ',',
            decimal: '.',
            header: Some("Ann,7".into()),
            lead: LeadProfile::default(),
        };
        for (column, name) in table.columns.iter_mut().zip(["Ann", "7"]) {
            column.name = name.into();
        }
    }
    let text = "## s (s.csv): CSV, 4 rows, 2 columns\ncolumn_1 text\ncolumn_2 int 1..9\n";
    let drawn = annotate(text, &[hidden], Exposure::Statistics, WIDE);
    assert!(drawn.contains("column_1 text\n    b"), "{drawn}");
    assert!(drawn.contains("in the fullest bin"), "{drawn}");
}

#[test]
fn an_empty_sheet_does_not_shift_the_plots_of_the_next() {
    let mut sheets = profile("a,b\nx,1\nx,2\n", "s.csv");
    let Content::Table(full) = &sheets.content else {
        panic!("no table")
    };
    let mut empty = full.clone();
    empty.columns.clear();
    sheets.content = Content::Sheets(vec![empty, full.clone()]);
    let text = "## s (s.xlsx): Excel, 2 sheets\n### no rows\n### 2 rows\na text only x\nb int 1..2 unique\n";
    let drawn = annotate(text, &[sheets], Exposure::Rows, WIDE);
    assert!(drawn.contains("a text only x\n    x █"), "{drawn}");
}

#[test]
fn the_first_variable_of_the_locale_that_is_set_decides() {
    let locale = |pairs: &'static [(&str, &str)]| {
        is_utf8(|name| {
            pairs
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, value)| (*value).to_owned())
        })
    };
    assert!(locale(&[("LANG", "de_DE.UTF-8")]));
    assert!(locale(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
    assert!(!locale(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
    assert!(!locale(&[]));
}
