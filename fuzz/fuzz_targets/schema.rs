//! Printed schemas: strings stay strings and comments stay comments, whatever the columns and values are called.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use codegen_data::checks::rule::{Bound, ColumnCheck, Rule};
use codegen_data::schema::infer_all;
use codegen_data::schema::pandera::to_pandera;
use codegen_core::python::{MAX_SOURCE_BYTES, Module};
use codegen_operator_fuzz::described;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    pattern: &'a str,
    values: Vec<&'a str>,
    number: i64,
    is_json: bool,
}

codegen_operator_fuzz::target!(|bytes| {
    let mut input = Unstructured::new(bytes);
    let Ok(case) = Case::arbitrary(&mut input) else {
        return;
    };
    let file = if case.is_json { "x.jsonl" } else { "x.csv" };
    let Some(profile) = described(input.take_rest(), file) else {
        return;
    };
    let columns = profile
        .tables()
        .flat_map(|table| &table.columns)
        .map(|column| column.name.clone());
    let rules = [
        Rule::Regex(case.pattern.to_owned()),
        Rule::IsIn(case.values.iter().map(ToString::to_string).collect()),
        Rule::Between(Bound::Int(case.number), Bound::Float(1.5)),
        Rule::LessThan(Bound::Moment("2026-01-31".into())),
        Rule::NotNull,
    ];
    let checks: Vec<ColumnCheck> = columns
        .chain([case.pattern.to_owned()])
        .flat_map(|column| {
            rules.clone().map(|rule| ColumnCheck::new(0, column.clone(), rule))
        })
        .take(60)
        .collect();
    let schemas: Vec<_> = infer_all(&profile, &checks);
    let code = to_pandera(&schemas, &checks);
    if code.len() <= MAX_SOURCE_BYTES
        && let Err(fault) = Module::parse(&code)
    {
        panic!("{fault}\n{code}");
    }
});
