//! Pages that are written from the code are what the code says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

use std::fs;
use std::path::Path;

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

#[test]
fn the_page_on_the_model_protocol_is_what_the_code_says() {
    let expected = codegen_operator::pipeline::protocol::page();
    assert!(
        page("model-protocol.md") == expected,
        "docs/model-protocol.md differs from the code: run `make generate`"
    );
}
