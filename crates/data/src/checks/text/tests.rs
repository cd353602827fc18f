//! Patterns of checks.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::*;

/// Counts the bytes that the classes of a pattern take once it is parsed.
fn bytes_of_classes(pattern: &Hir) -> usize {
    match pattern.kind() {
        HirKind::Class(Class::Unicode(class)) => size_of_val(class.ranges()),
        HirKind::Concat(parts) => parts.iter().map(bytes_of_classes).sum(),
        _ => 0,
    }
}

#[test]
fn a_pattern_takes_a_thousand_times_its_length_before_anything_else_refuses_it() {
    let pattern = r"\w".repeat(2_048);
    let parsed = regex_syntax::parse(&pattern).unwrap();
    assert!(bytes_of_classes(&parsed) > 1_000 * pattern.len());
    // The size limit of a compiled expression applies afterwards.
    let compiled = regex::RegexBuilder::new(&pattern).size_limit(1 << 20).build();
    assert!(matches!(compiled, Err(regex::Error::CompiledTooBig(_))));
    assert_eq!(
        compile(&pattern).unwrap_err(),
        "the pattern has 4096 bytes, and at most 1024 are used: shorten it"
    );
    assert!(compile(r"\w{1,8}-\d+").is_ok());
}
