//! Regular expressions of checks for Python's `re`.
//!
//! The two languages agree on most of what people write but not on the meaning of `$`, on flags inside a pattern, on
//! class arithmetic, on `\p{..}` and on POSIX classes, so the parsed pattern is printed anew. What stays different:
//! `\w` holds combining marks here and `½` there, and `\s` the four information separators there.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

/// Classes that Python has a name for, the largest first.
const NAMED: [&str; 3] = ["\\w", "\\d", "\\s"];

/// A pattern for `re.fullmatch` that matches what the Rust pattern matches as a whole; the error says what Python lacks.
pub(super) fn to_python(pattern: &str) -> Result<String, String> {
    let parsed = regex_syntax::parse(pattern).map_err(|error| error.to_string())?;
    let mut printed = String::new();
    print(&parsed, &mut printed)?;
    Ok(printed)
}

fn print(hir: &Hir, out: &mut String) -> Result<(), String> {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| "it matches single bytes".to_owned())?;
            text.chars().for_each(|character| escape(character, out));
        }
        HirKind::Class(Class::Unicode(class)) => out.push_str(&print_class(class)),
        HirKind::Class(Class::Bytes(class)) => {
            let class = class.to_unicode_class().ok_or("it matches single bytes")?;
            out.push_str(&print_class(&class));
        }
        HirKind::Look(look) => out.push_str(assertion(*look)?),
        HirKind::Repetition(repetition) => repeat(repetition, out)?,
        HirKind::Capture(capture) => group(&capture.sub, out)?,
        HirKind::Concat(parts) => {
            for part in parts {
                if matches!(part.kind(), HirKind::Alternation(_)) {
                    group(part, out)?;
                } else {
                    print(part, out)?;
                }
            }
        }
        HirKind::Alternation(branches) => {
            for (position, branch) in branches.iter().enumerate() {
                if position > 0 {
                    out.push('|');
                }
                print(branch, out)?;
            }
        }
    }
    Ok(())
}

fn group(hir: &Hir, out: &mut String) -> Result<(), String> {
    out.push_str("(?:");
    print(hir, out)?;
    out.push(')');
    Ok(())
}

fn repeat(repetition: &Repetition, out: &mut String) -> Result<(), String> {
    let is_atom = match repetition.sub.kind() {
        HirKind::Class(_) | HirKind::Capture(_) => true,
        HirKind::Literal(literal) => {
            std::str::from_utf8(&literal.0).is_ok_and(|text| text.chars().count() == 1)
        }
        _ => false,
    };
    if is_atom {
        print(&repetition.sub, out)?;
    } else {
        group(&repetition.sub, out)?;
    }
    let _ = match (repetition.min, repetition.max) {
        (0, None) => write!(out, "*"),
        (1, None) => write!(out, "+"),
        (0, Some(1)) => write!(out, "?"),
        (least, None) => write!(out, "{{{least},}}"),
        (least, Some(most)) if least == most => write!(out, "{{{least}}}"),
        (least, Some(most)) => write!(out, "{{{least},{most}}}"),
    };
    Ok(())
}

fn assertion(look: Look) -> Result<&'static str, String> {
    Ok(match look {
        Look::Start => "\\A",
        Look::End => "\\Z",
        Look::StartLF => "(?m:^)",
        Look::EndLF => "(?m:$)",
        Look::WordUnicode => "\\b",
        Look::WordUnicodeNegate => "\\B",
        Look::WordAscii => "(?a:\\b)",
        Look::WordAsciiNegate => "(?a:\\B)",
        _ => return Err("it uses an assertion that Python does not have".to_owned()),
    })
}

/// The shorter of a class and what it leaves out.
fn print_class(class: &ClassUnicode) -> String {
    if class.ranges().is_empty() {
        // Matches nothing.
        return "(?!)".to_owned();
    }
    let mut negated = class.clone();
    negated.negate();
    if negated.ranges().is_empty() {
        return "(?s:.)".to_owned();
    }
    let (members, rest) = (members(class), members(&negated));
    match (members.as_str(), rest.as_str()) {
        (_, "\\n") => ".".to_owned(),
        (name, _) if NAMED.contains(&name) => name.to_owned(),
        (_, name) if NAMED.contains(&name) => name.to_uppercase(),
        _ if rest.len() < members.len() => format!("[^{rest}]"),
        _ => format!("[{members}]"),
    }
}

fn members(class: &ClassUnicode) -> String {
    let mut rest = class.clone();
    let mut text = String::new();
    for name in NAMED {
        let Some(named) = named(name) else { continue };
        let mut shared = rest.clone();
        shared.intersect(&named);
        if shared == named {
            text.push_str(name);
            rest.difference(&named);
        }
    }
    for range in rest.ranges() {
        push_range(*range, &mut text);
    }
    text
}

fn push_range(range: ClassUnicodeRange, text: &mut String) {
    escape(range.start(), text);
    if range.start() < range.end() {
        if u32::from(range.end()) > u32::from(range.start()) + 1 {
            text.push('-');
        }
        escape(range.end(), text);
    }
}

fn named(name: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(name).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        _ => None,
    }
}

fn escape(character: char, out: &mut String) {
    let _ = match character {
        '_' | ' ' | '\'' | ',' | ':' | ';' | '<' | '=' | '>' | '@' | '%' | '!' | '/' | '`' => {
            write!(out, "{character}")
        }
        '\n' => write!(out, "\\n"),
        '\t' => write!(out, "\\t"),
        '\r' => write!(out, "\\r"),
        _ if character.is_ascii_alphanumeric() => write!(out, "{character}"),
        _ if character.is_ascii_punctuation() => write!(out, "\\{character}"),
        _ if character.is_alphanumeric() => write!(out, "{character}"),
        _ if u32::from(character) > 0xffff => write!(out, "\\U{:08x}", u32::from(character)),
        _ => write!(out, "\\u{:04x}", u32::from(character)),
    };
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::to_python;

    #[rstest]
    #[case("[A-Z]{2}-[0-9]+", r"[A-Z]{2}\-[0-9]+")]
    #[case(r"\d{4}-\d\d", r"\d{4}\-\d\d")]
    #[case("^a$", r"\Aa\Z")]
    #[case("a.c", "a.c")]
    #[case("(?s)a.c", "a(?s:.)c")]
    #[case("(?i)ab", "[Aa][Bb]")]
    #[case("north|south", "north|south")]
    #[case("(ab)+?", "(?:ab)+")]
    #[case("a(?:b|cd)e", "a(?:b|cd)e")]
    #[case("(?:ab){2,}", "(?:ab){2,}")]
    #[case(r"[\w.-]+@\w+", r"[\w\-\.]+@\w+")]
    #[case(r"[^\s,]+", r"[^\s,]+")]
    #[case(r"\S*", r"\S*")]
    #[case("[[:digit:]&&[^5]]", "[0-46-9]")]
    #[case(r"\x{e9}\u{1F600}", "é\\U0001f600")]
    #[case("say \"hi\"", r#"say \"hi\""#)]
    #[case(r"(?x) a \  b # comment", "a b")]
    #[case("(?m)^a$", "(?m:^)a(?m:$)")]
    fn a_pattern_is_printed_for_python(#[case] rust: &str, #[case] python: &str) {
        assert_eq!(to_python(rust).unwrap(), python);
    }

    #[test]
    fn what_python_lacks_is_refused() {
        assert!(to_python(r"a\b{start}b").unwrap_err().contains("assertion"));
    }
}
