//! Whole descriptions and contexts, of plain files and of odd ones.

use super::context::{Context, render};
use super::describe::{Options, describe_source};
use super::profile::SampleProfile;
use super::source::Source;

fn profile(bytes: &[u8], file_name: &str) -> SampleProfile {
    describe_source(&Source::bytes(bytes), "sample", file_name, &Options::default()).unwrap()
}

fn context(bytes: &[u8], file_name: &str) -> Context {
    render(&[profile(bytes, file_name)], 4_000, 100)
}

#[test]
fn show() {
    for (b, n) in [(SALES, "sales.csv"), (SENSOR, "sensor.csv")] {
        let c = context(b, n);
        println!("{}\n{} tokens", c.text, tiktoken_rs::cl100k_base().unwrap().encode_ordinary(&c.text).len());
    }
}

const SALES: &[u8] = include_bytes!("testdata/sales.csv");
const SENSOR: &[u8] = include_bytes!("testdata/sensor.csv");
