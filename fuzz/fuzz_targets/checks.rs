//! Any rule on any bytes: no more violations than values, and the same report twice.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use codegen_data::checks::rule::{Bound, ColumnCheck, Rule};
use codegen_data::checks::{CheckOutcome, evaluate};
use codegen_data::format::FileFormat;
use codegen_data::source::Source;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    format: u8,
    column: u8,
    kind: u8,
    number: i64,
    texts: Vec<&'a str>,
}

const FORMATS: [Option<FileFormat>; 5] = [
    None,
    Some(FileFormat::CSV),
    Some(FileFormat::TSV),
    Some(FileFormat::JSON),
    Some(FileFormat::JSONLines),
];
const COLUMNS: [&str; 5] = ["a", "b", "column_1", "a.b", "a[].b"];

fn rule(case: &Case<'_>) -> Rule {
    let text = case.texts.first().copied().unwrap_or_default().to_owned();
    let number = Bound::Int(case.number);
    match case.kind % 9 {
        0 => Rule::GreaterThan(number),
        1 => Rule::GreaterOrEqual(Bound::Float(case.number as f64 / 3.0)),
        2 => Rule::LessThan(number),
        3 => Rule::LessOrEqual(Bound::Moment(text)),
        4 => Rule::Between(number, Bound::Float(1e10)),
        5 => Rule::Between(
            Bound::Moment("2026-01-31".into()),
            Bound::Moment("2026-02-01T12:00Z".into()),
        ),
        6 => Rule::Regex(text),
        7 => Rule::IsIn(case.texts.iter().map(ToString::to_string).collect()),
        _ => Rule::NotNull,
    }
}

codegen_operator_fuzz::target!(|bytes| {
    let mut input = Unstructured::new(bytes);
    let Ok(case) = Case::arbitrary(&mut input) else {
        return;
    };
    let check = ColumnCheck::new(0, COLUMNS[usize::from(case.column) % COLUMNS.len()], rule(&case));
    let source = Source::bytes(input.take_rest());
    let format = FORMATS[usize::from(case.format) % FORMATS.len()];
    let Ok(report) = evaluate(&source, "out", format, std::slice::from_ref(&check)) else {
        return;
    };
    let again = evaluate(&source, "out", format, std::slice::from_ref(&check));
    assert_eq!(again.ok().as_ref(), Some(&report));
    if let CheckOutcome::Checked {
        values,
        violations,
        first,
    } = &report.results[0].outcome
    {
        assert!(violations <= values && first.len() as u64 <= *violations);
        assert!(
            first
                .iter()
                .all(|one| 1 <= one.record && one.record <= report.records)
        );
    }
});
