//! Which of the type checker's findings refuse a program: those that are sure of a tool, its arguments, its result, or of a name that is
//! not there. What may be right is left to a run, which shows it.

use std::collections::BTreeSet;

/// What a stub file declares.
pub(crate) struct Stubs<'a> {
    tools: BTreeSet<&'a str>,
    classes: BTreeSet<&'a str>,
}

impl<'a> Stubs<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let name = |rest: &'a str| rest.split(['(', ':', ' ']).next().unwrap_or_default();
        let after = |start: &'static str| text.lines().filter_map(move |line| line.strip_prefix(start));
        let called = text.lines().filter(|line| line.contains(" = TypedDict("));
        Self {
            tools: after("async def ").map(name).collect(),
            classes: after("class ").map(name).chain(called.map(name)).collect(),
        }
    }

    /// Whether a finding is sure to be a fault.
    pub(crate) fn decides(&self, rule: &str, message: &str) -> bool {
        match rule {
            "invalid-syntax" | "unresolved-reference" | "unresolved-import" | "unused-awaitable" => true,
            "missing-argument"
            | "unknown-argument"
            | "too-many-positional-arguments"
            | "positional-only-parameter-as-kwarg"
            | "parameter-already-assigned" => {
                quoted_after(message, " function ").is_some_and(|name| self.tools.contains(name))
            }
            "invalid-argument-type" => self.is_wrong_argument(message),
            "missing-typed-dict-key" | "invalid-key" => {
                quoted_after(message, "TypedDict ").is_some_and(|name| self.classes.contains(name))
            }
            "unresolved-attribute" => {
                message.starts_with("Module ")
                    || quoted_after(message, "Object of type ")
                        .is_some_and(|of| self.classes.contains(of) || is_coroutine(of))
            }
            "unsupported-operator" | "not-iterable" | "not-subscriptable" => {
                message.split('`').skip(1).step_by(2).any(is_coroutine)
            }
            _ => false,
        }
    }

    fn is_wrong_argument(&self, message: &str) -> bool {
        let (expected, found) = if let Some(tool) = quoted_after(message, "Argument to function ") {
            if !self.tools.contains(tool) {
                return false;
            }
            (
                quoted_after(message, "Expected "),
                quoted_after(message, "found "),
            )
        } else {
            let of = quoted_after(message, "TypedDict ");
            if !of.is_some_and(|name| self.classes.contains(name)) {
                return false;
            }
            (
                quoted_after(message, "declared type "),
                quoted_after(message, "value of type "),
            )
        };
        match (expected, found) {
            (Some(expected), Some(found)) => !self.may_fit(found, expected),
            _ => false,
        }
    }

    /// Whether a value that is found to be of one type may be of the other.
    fn may_fit(&self, found: &str, expected: &str) -> bool {
        let expected = alternatives(expected);
        let mut pairs = alternatives(found)
            .into_iter()
            .flat_map(|found| expected.iter().map(move |expected| (found, *expected)));
        pairs.any(|(found, expected)| self.one_may_fit(found, expected))
    }

    fn one_may_fit(&self, found: &str, expected: &str) -> bool {
        let (name, inner) = parts(found);
        let (wanted, within) = parts(expected);
        match (name, wanted) {
            ("Literal", "Literal") => inner.iter().any(|one| within.contains(one)),
            ("Literal", _) => inner.iter().any(|one| self.one_may_fit(class_of(one), expected)),
            (_, "Literal") => within.iter().any(|one| self.one_may_fit(found, class_of(one))),
            _ => match (self.kind(name), self.kind(wanted)) {
                (Some(Kind::List), Some(Kind::List)) => self.all_may_fit(inner.first(), within.first()),
                (Some(Kind::Dict), Some(Kind::Dict)) => self.all_may_fit(inner.get(1), within.get(1)),
                (Some(one), Some(other)) => one.is_taken_as(other),
                // Nothing is said of it.
                _ => true,
            },
        }
    }

    fn all_may_fit(&self, found: Option<&&str>, expected: Option<&&str>) -> bool {
        match (found, expected) {
            (Some(found), Some(expected)) => self.may_fit(found, expected),
            _ => true,
        }
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        Some(match name.trim_end_matches('*') {
            "None" => Kind::None,
            "bool" => Kind::Bool,
            "int" => Kind::Int,
            "float" => Kind::Float,
            "str" => Kind::Str,
            "bytes" => Kind::Bytes,
            "date" => Kind::Date,
            "datetime" => Kind::DateTime,
            "list" | "tuple" => Kind::List,
            "set" | "frozenset" => Kind::Set,
            "dict" => Kind::Dict,
            "CoroutineType" => Kind::Coroutine,
            name if self.classes.contains(name) => Kind::Dict,
            _ => return None,
        })
    }
}

/// Values that no other kind stands for, but for those that `is_taken_as` names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Bool,
    Int,
    Float,
    Str,
    Bytes,
    Date,
    DateTime,
    List,
    Set,
    Dict,
    Coroutine,
}

impl Kind {
    fn is_taken_as(self, other: Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (Self::Bool, Self::Int | Self::Float)
                    | (Self::Int, Self::Float)
                    | (Self::DateTime, Self::Date)
            )
    }
}

fn is_coroutine(of: &str) -> bool {
    let all = alternatives(of);
    all.iter().all(|one| parts(one).0 == "CoroutineType")
}

/// The class of a value as `Literal` has it.
fn class_of(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'"' | b'\'') => "str",
        Some(b'0'..=b'9' | b'-') => "int",
        Some(b'b') => "bytes",
        _ if matches!(value, "True" | "False") => "bool",
        _ => "object",
    }
}

/// What stands in backticks behind these words.
fn quoted_after<'m>(message: &'m str, words: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(words)?;
    Some(rest.strip_prefix('`')?.split_once('`')?.0)
}

/// The members of a union.
fn alternatives(of: &str) -> Vec<&str> {
    split(of, " | ")
}

/// A name, and what stands in brackets behind it.
fn parts(of: &str) -> (&str, Vec<&str>) {
    match of.strip_suffix(']').and_then(|of| of.split_once('[')) {
        Some((name, inner)) => (name, split(inner, ", ")),
        None => (of, Vec::new()),
    }
}

/// Parts between separators that stand in no brackets and in no quotes.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote) = (0, 0_usize, None);
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if let Some(open) = quote {
            let ends = character == open && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            quote = (!ends).then_some(open);
            continue;
        }
        match character {
            '"' | '\'' => quote = Some(character),
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const STUBS: &str = "class Row(TypedDict):\n    a: str\nOdd = TypedDict(\"Odd\", {\"a b\": int})\nasync def pay(x: int) -> Row: ...\n";

    #[rstest]
    #[case("int", "str | int", true)]
    #[case("str | int", "int", true)]
    #[case("str | None", "int | None", true)]
    #[case("str", "int", false)]
    #[case("Literal[\"a | b\", \"c\"]", "int", false)]
    #[case("Literal[\"c\"]", "Literal[\"a\", \"b\"]", false)]
    #[case("str", "Literal[\"a\", \"b\"]", true)]
    #[case("Literal[3]", "float", true)]
    #[case("float*", "int", false)]
    #[case("list[dict[str, str | int]]", "list[Row]", true)]
    #[case("list[int]", "list[str]", false)]
    #[case("dict[str, str | int]", "dict[str, int]", true)]
    #[case("dict[str, str]", "dict[str, int]", false)]
    #[case("tuple[int, str]", "list[Any]", true)]
    #[case("list[Unknown]", "list[str]", true)]
    #[case("Decimal", "int", true)]
    #[case("CoroutineType[Any, Any, int]", "int", false)]
    #[case("None", "int", false)]
    #[case("datetime", "date | str", true)]
    fn an_argument_is_refused_where_no_value_of_its_type_is_taken(
        #[case] found: &str,
        #[case] expected: &str,
        #[case] fits: bool,
    ) {
        let message =
            format!("Argument to function `pay` is incorrect: Expected `{expected}`, found `{found}`");
        assert_eq!(
            Stubs::new(STUBS).decides("invalid-argument-type", &message),
            !fits
        );
    }

    #[rstest]
    #[case(
        "invalid-argument-type",
        "Argument to function `len` is incorrect: Expected `Sized`, found `Literal[5]`",
        false
    )]
    #[case(
        "invalid-argument-type",
        "Argument to function `own` is incorrect: Expected `int`, found `Literal[\"x\"]`",
        false
    )]
    #[case(
        "missing-argument",
        "No argument provided for required parameter `x` of function `pay`",
        true
    )]
    #[case(
        "missing-argument",
        "No argument provided for required parameter `x` of function `own`",
        false
    )]
    #[case(
        "too-many-positional-arguments",
        "Too many positional arguments to function `pay`: expected 1, got 2",
        true
    )]
    #[case(
        "unknown-argument",
        "Argument `y` does not match any known parameter of function `pay`",
        true
    )]
    #[case("invalid-key", "Unknown key \"w\" for TypedDict `Row`", true)]
    #[case("invalid-key", "Unknown key \"w\" for TypedDict `Odd`", true)]
    #[case("invalid-key", "Unknown key \"w\" for TypedDict `Own`", false)]
    #[case(
        "missing-typed-dict-key",
        "Missing required key 'b' in TypedDict `Row` constructor",
        true
    )]
    #[case("unresolved-attribute", "Object of type `Row` has no attribute `v`", true)]
    #[case(
        "unresolved-attribute",
        "Attribute `group` is not defined on `None` in union `Match[str] | None`",
        false
    )]
    #[case("unresolved-attribute", "Module `asyncio` has no member `sleep`", true)]
    #[case(
        "not-iterable",
        "Object of type `CoroutineType[Any, Any, list[Row]]` is not iterable",
        true
    )]
    #[case(
        "not-iterable",
        "Object of type `def rows(rows: list[Row]) -> CoroutineType[Any, Any, Row]` is not iterable",
        false
    )]
    #[case(
        "unsupported-operator",
        "Operator `+` is not supported between objects of type `int` and `int | None`",
        false
    )]
    #[case(
        "no-matching-overload",
        "No overload of function `sum` matches arguments",
        false
    )]
    fn a_finding_decides_where_it_is_sure_of_a_tool_or_a_name(
        #[case] rule: &str,
        #[case] message: &str,
        #[case] decides: bool,
    ) {
        assert_eq!(Stubs::new(STUBS).decides(rule, message), decides, "{message}");
    }
}
