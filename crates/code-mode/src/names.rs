//! Names that a program can use.

/// Words that are no names in Python.
const KEYWORDS: [&str; 39] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "self", "try", "type", "while",
    "with", "yield",
];

/// Names that a program uses for something else.
const TAKEN: &str = "Any File Literal NotRequired TypedDict abs all any asyncio bin bool bytes chr date datetime dict dir \
    divmod enumerate filter float frozenset getattr gather hasattr hash hex id input int isinstance \
    issubclass iter json len list map math max min next object oct open ord pow print range re read_text \
    repr reversed round set setattr slice sorted str sum super tuple typing zip";

/// Most characters of a tool's name: statuses and prompts hold it many times.
const MOST_CHARS: usize = 128;

/// Reports whether `name` is an identifier of Python, in ASCII, and no keyword.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
        && !KEYWORDS.contains(&name)
}

/// Checks the name of a tool; the error says what is wrong, with the way out.
pub fn check_tool_name(name: &str) -> Result<(), String> {
    let way_out = "give the tool another `name`";
    if name.len() > MOST_CHARS {
        let start: String = name.chars().take(MOST_CHARS / 4).collect();
        return Err(format!(
            "`{start}...` has more than {MOST_CHARS} characters: {way_out}"
        ));
    }
    if KEYWORDS.contains(&name) {
        return Err(format!("`{name}` is a keyword of Python: {way_out}"));
    }
    if !is_name(name) {
        return Err(format!(
            "`{name}` is no name that Python takes (letters, digits and `_`, no digit first): {way_out}"
        ));
    }
    if name.starts_with('_') {
        return Err(format!("`{name}` begins with `_`: {way_out}"));
    }
    if TAKEN.split(' ').any(|taken| taken == name) {
        return Err(format!("`{name}` is something else to a program: {way_out}"));
    }
    Ok(())
}

/// `name` as a parameter can be called: what Python does not take becomes `_`, and a keyword gets one at its end.
#[must_use]
pub fn parameter_name(name: &str) -> String {
    let mut written: String = name
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '_'
            }
        })
        .collect();
    if written.starts_with(|first: char| first.is_ascii_digit()) || written.is_empty() {
        written.insert(0, '_');
    }
    if KEYWORDS.contains(&written.as_str()) {
        written.push('_');
    }
    written
}

/// `exchange_rate` as the name of a class: `ExchangeRate`.
#[must_use]
pub fn class_name(parts: &[&str]) -> String {
    let words = parts
        .iter()
        .flat_map(|part| part.split(|character: char| !character.is_ascii_alphanumeric()));
    let name: String = words
        .map(|word| {
            let mut characters = word.chars();
            let first = characters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(characters).collect::<String>()
        })
        .collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        return format!("T{name}");
    }
    name
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_keyword("lambda")]
    #[case::a_dash("exchange-rate")]
    #[case::a_digit_first("2nd")]
    #[case::nothing("")]
    #[case::a_builtin("print")]
    #[case::a_built_in_tool("read_text")]
    #[case::not_ascii("größe")]
    #[case::a_dunder("__import__")]
    fn a_tool_with_such_a_name_is_refused_with_the_way_out(#[case] name: &str) {
        let error = check_tool_name(name).unwrap_err();
        assert!(error.contains("give the tool another `name`"), "{error}");
    }

    #[rstest]
    #[case("exchange_rate")]
    #[case("search2")]
    #[case("cleanOrders")]
    fn an_ordinary_name_is_taken(#[case] name: &str) {
        assert_eq!(check_tool_name(name), Ok(()));
    }

    #[rstest]
    #[case("from", "from_")]
    #[case("order-id", "order_id")]
    #[case("2nd", "_2nd")]
    #[case("", "_")]
    #[case("base", "base")]
    fn a_parameter_gets_a_name_that_python_takes(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(parameter_name(name), expected);
        assert!(is_name(&parameter_name(name)));
    }

    #[rstest]
    #[case(&["exchange_rate", "result"], "ExchangeRateResult")]
    #[case(&["2d-plot"], "T2dPlot")]
    #[case(&["cleanOrders", "items"], "CleanOrdersItems")]
    fn a_class_is_named_after_its_place(#[case] parts: &[&str], #[case] expected: &str) {
        assert_eq!(class_name(parts), expected);
    }
}
