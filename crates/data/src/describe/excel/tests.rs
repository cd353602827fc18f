//! Whole descriptions of workbooks, of files written here and by other programs.

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook as Writer};

use super::*;
use crate::context::render;
use crate::describe::describe_source;
use crate::exposure::{Exposed, ExposedJoins, Exposure};
use crate::profile::{ColumnType, SampleProfile};

fn profile(bytes: &[u8], file_name: &str) -> SampleProfile {
    describe_source(
        &Source::bytes(bytes),
        "sample",
        file_name,
        &DescribeOptions::default(),
    )
    .unwrap()
}

fn context(profile: SampleProfile) -> String {
    render(
        &[Exposed::new(profile, Exposure::Rows)],
        &ExposedJoins::default(),
        4_000,
        100,
    )
    .text
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
    insta::assert_snapshot!(context(profile));
}

/// A workbook of one sheet with these rows; an empty text is an empty cell, and what reads as a number is one.
fn workbook(rows: &[&[&str]]) -> Vec<u8> {
    let mut book = Writer::new();
    let sheet = book.add_worksheet().set_name("S").unwrap();
    for (row, cells) in (0..).zip(rows) {
        for (column, cell) in (0..).zip(*cells) {
            match cell.parse::<f64>() {
                _ if cell.is_empty() => {}
                Ok(number) => drop(sheet.write(row, column, number).unwrap()),
                Err(_) => drop(sheet.write(row, column, *cell).unwrap()),
            }
        }
    }
    book.save_to_buffer().unwrap()
}

/// Names of the columns, records, and remarks of the sheet.
fn found(rows: &[&[&str]]) -> (String, u64, String) {
    let profile = profile(&workbook(rows), "x.xlsx");
    let table = profile.tables().next().unwrap();
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    (
        names.join(","),
        table.records,
        crate::remark::joined(&profile.remarks, "; "),
    )
}

const BODY: [&[&str]; 4] = [
    &["Ann", "Bern", "31"],
    &["Ben", "Basel", "42"],
    &["Cem", "Genf", "27"],
    &["Dora", "Chur", "55"],
];

fn with_body(
    above: &[&'static [&'static str]],
    below: &[&'static [&'static str]],
) -> Vec<&'static [&'static str]> {
    [above, &BODY, below].concat()
}

#[test]
fn titles_of_many_cells_above_the_names_are_no_header() {
    let titles: [&[&str]; 3] = [&["a", "wide"], &["title"], &["name", "town", "age"]];
    let (names, records, remarks) = found(&with_body(&titles, &[]));
    assert_eq!((names.as_str(), records), ("name,town,age", 4));
    assert_eq!(remarks, "sheet \"S\" has rows with values above its table: 2");
}

#[test]
fn a_header_that_lacks_a_name_is_no_title() {
    const FIRST: [&[&str]; 2] = [&["", "town", "age"], &["name", "town", ""]];
    for first in FIRST {
        let (names, records, _) = found(&with_body(&[first], &[]));
        assert_eq!((names, records), (first.join(","), 4));
    }
    // Nothing sets a row of texts among texts apart.
    let texts: [&[&str]; 4] = [&["", "a", "b"], &["x"], &["p", "q", "r"], &["s", "t", "u"]];
    assert_eq!(found(&texts).0, ",a,b");
}

#[test]
fn words_below_a_table_are_notes_where_no_record_has_words() {
    let header: [&[&str]; 1] = [&["name", "town", "age"]];
    let notes: [&[&str]; 2] = [&["Note"], &["", "", "years"]];
    let (_, records, remarks) = found(&with_body(&header, &notes));
    assert_eq!(records, 4);
    assert_eq!(
        remarks,
        "sheet \"S\" has text below its table, which pandas reads as records and which is not described: rows 6 to 7"
    );
    let (_, records, remarks) = found(&with_body(&header, &[&[], &["Source: register"]]));
    assert_eq!(records, 4);
    assert!(remarks.ends_with("rows 7 to 7"), "{remarks}");
}

#[test]
fn records_with_few_values_are_no_notes() {
    let header: [&[&str]; 1] = [&["name", "town", "age"]];
    let ends: [&[&[&str]]; 5] = [
        // A record of which all but the name is missing.
        &[&["Emil"]],
        &[&["", "", "61"]],
        &[&["Emil"], &["Fred", "Zug", "12"]],
        // The same below a gap, where it is no sentence.
        &[&[], &["Emil"]],
        // A sum below a gap.
        &[&[], &["", "", "155"]],
    ];
    for below in ends {
        let added = below.iter().filter(|row| !row.is_empty()).count() as u64;
        assert_eq!(
            found(&[&header, &BODY[..], below].concat()).1,
            4 + added,
            "{below:?}"
        );
    }
    // Where records are sparse themselves, a sparse one is nothing special.
    let sparse: [&[&str]; 3] = [&["Eve"], &["Fred", "Zug", "12"], &["", "", "years"]];
    assert_eq!(found(&[&header, &BODY[..], &sparse].concat()).1, 7);
}

#[test]
fn sheets_that_join_are_called_by_their_names() {
    let mut book = Writer::new();
    for (name, factor) in [("Customers", 1), ("Orders 2026", 3)] {
        let sheet = book.add_worksheet().set_name(name).unwrap();
        sheet.write(0, 0, "customer_id").unwrap();
        sheet.write(0, 1, name).unwrap();
        for row in 0..30 * factor {
            sheet.write(row + 1, 0, format!("c{}", row % 30)).unwrap();
            sheet.write(row + 1, 1, row % 7).unwrap();
        }
    }
    let bytes = book.save_to_buffer().unwrap();
    let profile = profile(&bytes, "x.xlsx");
    let joins = crate::joins::joins(std::slice::from_ref(&profile));
    for exposure in [Exposure::Rows, Exposure::Statistics] {
        let joins = ExposedJoins::new(joins.clone(), std::slice::from_ref(&profile), exposure);
        let text = render(&[Exposed::new(profile.clone(), exposure)], &joins, 4_000, 0).text;
        assert!(
            text.contains(
                "Join: sample[\"Orders 2026\"].customer_id (30 of 30 distinct values) -> sample[\"Customers\"].customer_id"
            ),
            "{text}"
        );
    }
}

fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An archive whose directory says that a part has `size` bytes.
fn claiming(part: &str, size: u32) -> Vec<u8> {
    let mut bytes = archive(&[("xl/workbook.xml", b"<workbook/>"), (part, b"<sst/>")]);
    let entries: Vec<_> = memchr::memmem::find_iter(&bytes, b"PK\x01\x02").collect();
    let at = entries.last().unwrap() + 24;
    bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn the_traps_of_an_openpyxl_workbook_are_described() {
    let bytes = include_bytes!("../../testdata/openpyxl.xlsx");
    insta::assert_snapshot!(context(profile(bytes, "x.xlsx")));
}

#[test]
fn a_workbook_that_unpacks_to_gigabytes_is_refused_with_its_size() {
    for (part, size, reason) in [
        (
            "xl/worksheets/sheet1.xml",
            0xf000_0000,
            "it unpacks to 3841 MiB, and at most 1024 MiB are read",
        ),
        (
            "xl/sharedStrings.xml",
            100 << 20,
            "its table of texts unpacks to 100 MiB, and at most 48 MiB are read",
        ),
    ] {
        let source = Source::bytes(&claiming(part, size));
        let error = describe_source(&source, "sample", "x.xlsx", &DescribeOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot read x.xlsx as Excel: {reason}")
        );
    }
}

#[test]
fn content_decides_what_is_a_workbook() {
    let workbook = odd_workbook();
    let kinds = [
        (
            profile(&workbook, "x.csv"),
            "Excel",
            "named .csv, but its content is Excel",
        ),
        (
            profile(b"a,b\n1,2\n", "x.xlsx"),
            "CSV",
            "named .xlsx, but its content is CSV",
        ),
        (
            profile(&archive(&[("a.txt", b"words"), ("b.txt", b"words")]), "x.csv"),
            "binary",
            "named .csv, but its content is a ZIP archive",
        ),
        (
            profile(&archive(&[("a.txt", b"words"), ("b.txt", b"words")]), "x.xlsx"),
            "Excel",
            "not readable as a workbook: it is no workbook",
        ),
        (
            profile(&workbook[..workbook.len() / 2], "x.xlsx"),
            "Excel",
            "not readable as a workbook: ",
        ),
        (
            profile(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "x.xls"),
            "Excel",
            "not readable as a workbook: ",
        ),
    ];
    for (profile, format, remark) in kinds {
        let remarks = crate::remark::joined(&profile.remarks, "\n");
        assert_eq!(super::super::format_name(profile.format), format, "{remarks}");
        assert!(remarks.contains(remark), "{remarks}");
    }
}

#[test]
fn a_sheet_that_breaks_off_is_described_up_to_there() {
    let row = |row| format!(r#"<row r="{row}"><c r="A{row}" t="str"><v>v{row}</v></c></row>"#);
    let rows = (1..=50).map(row).collect::<Vec<_>>().concat();
    let sheet = format!(
        r#"<worksheet><sheetData>{rows}<row r="51"><c r="A51" t="s"><v>9</v></c></row></sheetData></worksheet>"#
    );
    let bytes = archive(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", br#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#),
        ("xl/workbook.xml", br#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#),
        ("xl/_rels/workbook.xml.rels", br#"<Relationships><Relationship Id="rId1" Type="t/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ]);
    let profile = profile(&bytes, "x.xlsx");
    assert_eq!(
        profile.tables().next().unwrap().records,
        49,
        "{:?}",
        profile.remarks
    );
    assert!(
        profile.remarks[0].starts_with("sheet \"S\" is not readable beyond row 50 ("),
        "{:?}",
        profile.remarks
    );
}
