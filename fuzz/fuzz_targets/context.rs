//! The context of two samples stays within its budget, whatever they hold and whatever they are called.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use codegen_data::context::{estimate_tokens, render};
use codegen_data::exposure::{Exposure, Exposed, ExposedJoins};
use codegen_data::joins::joins;
use codegen_operator_fuzz::described;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    names: [u8; 2],
    first: &'a [u8],
    budget: u16,
    level: u8,
    rows: u8,
}

const FILES: [&str; 5] = ["x.csv", "x.json", "x.jsonl", "x.log", "x.bin"];

codegen_operator_fuzz::target!(|bytes| {
    let mut input = Unstructured::new(bytes);
    let Ok(case) = Case::arbitrary(&mut input) else {
        return;
    };
    let parts = [case.first, input.take_rest()];
    let files = case.names.map(|name| FILES[usize::from(name) % FILES.len()]);
    let profiles: Vec<_> = parts
        .into_iter()
        .zip(files)
        .filter_map(|(bytes, file)| described(bytes, file))
        .collect();
    // Fewer tokens than this hold no more than the marker that says so.
    let budget = u64::from(case.budget).max(40);
    let level = Exposure::ALL[usize::from(case.level) % Exposure::ALL.len()];
    let joins = ExposedJoins::new(joins(&profiles), &profiles, level);
    let samples: Vec<_> = profiles
        .into_iter()
        .map(|profile| Exposed::new(profile, level))
        .collect();
    let context = render(&samples, &joins, budget, usize::from(case.rows));
    assert_eq!(context.estimated_tokens, estimate_tokens(&context.text));
    assert!(
        context.estimated_tokens <= budget,
        "{} tokens allowed\n{}",
        budget,
        context.text
    );
});
