//! Whole descriptions of workbooks, of files written here and by other programs.

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook as Writer};

use super::*;
use crate::data::context::render;
use crate::data::describe::describe_source;
use crate::data::profile::{ColumnType, SampleProfile};

fn profile(bytes: &[u8], file_name: &str) -> SampleProfile {
    describe_source(&Source::bytes(bytes), "sample", file_name, &Options::default()).unwrap()
}

/// A workbook with a sheet of titles, gaps and errors, an empty one and a hidden one.
fn odd_workbook() -> Vec<u8> {
    let mut book = Writer::new();
    let day = Format::new().set_num_format("yyyy-mm-dd");
    let sheet = book.add_worksheet().set_name("Sales Q1").unwrap();
    sheet.write(1, 1, "Report of sales").unwrap();
    for (column, name) in (1..).zip(["id", "day", "price", "code", "paid"]) {
        sheet.write(3, column, name).unwrap();
    }
    for row in 0..6u16 {
        let line = u32::from(row) + 4 + u32::from(row > 3);
        sheet.write(line, 1, row + 1).unwrap();
        let moment = ExcelDateTime::from_ymd(2026, 1, u8::try_from(row + 1).unwrap()).unwrap();
        sheet.write_with_format(line, 2, &moment, &day).unwrap();
        sheet.write(line, 3, f64::from(row) + 0.5).unwrap();
        sheet.write(line, 4, format!("00{row}")).unwrap();
        sheet.write(line, 5, row % 2 == 0).unwrap();
    }
    sheet
        .write(4, 3, Formula::new("=1/0").set_result("#DIV/0!"))
        .unwrap();
    sheet.merge_range(0, 1, 0, 3, "", &Format::new()).unwrap();
    book.add_worksheet().set_name("Empty").unwrap();
    let hidden = book.add_worksheet().set_name("Ümlaut, \"x\"").unwrap();
    hidden.set_hidden(true);
    hidden.write(0, 0, 1).unwrap();
    hidden.write(1, 0, 2).unwrap();
    book.save_to_buffer().unwrap()
}

#[test]
fn sheets_are_tables_with_their_oddities_said() {
    let profile = profile(&odd_workbook(), "x.xlsx");
    let tables: Vec<_> = profile.tables().collect();
    let [sales, hidden] = tables.as_slice() else {
        panic!("{tables:?}")
    };
    assert_eq!((sales.records, hidden.records), (6, 2));
    let types: Vec<_> = sales
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.type_))
        .collect();
    assert_eq!(
        types,
        [
            ("id", ColumnType::Int),
            ("day", ColumnType::Date),
            ("price", ColumnType::Float),
            ("code", ColumnType::Text),
            ("paid", ColumnType::Bool),
        ]
    );
    assert_eq!(sales.columns[2].nulls, [("#DIV/0!".to_owned(), 1)]);
    insta::assert_snapshot!(render(std::slice::from_ref(&profile), 4_000, 2).text);
}
