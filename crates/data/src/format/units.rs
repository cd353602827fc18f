//! Units of measurement, as they stand in a row below the names of columns.

/// Units that take prefixes.
const PREFIXED: [&str; 22] = [
    "m", "g", "s", "A", "K", "mol", "cd", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "Ω", "ohm", "T", "lx",
    "Wh", "l", "L",
];
const PREFIXES: [&str; 14] = [
    "", "k", "h", "d", "c", "m", "u", "µ", "μ", "n", "p", "M", "G", "T",
];
/// Units without prefixes, and words for units, in lower case.
const WORDS: [&str; 84] = [
    "%",
    "‰",
    "°",
    "°c",
    "°f",
    "degc",
    "degf",
    "deg",
    "degree",
    "degrees",
    "celsius",
    "fahrenheit",
    "kelvin",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hour",
    "hours",
    "day",
    "days",
    "d",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "yr",
    "sec",
    "secs",
    "second",
    "seconds",
    "ms",
    "ha",
    "t",
    "ton",
    "tons",
    "bar",
    "mbar",
    "atm",
    "psi",
    "ppm",
    "ppb",
    "ft",
    "feet",
    "in",
    "inch",
    "inches",
    "mi",
    "mile",
    "miles",
    "mph",
    "kph",
    "kt",
    "knots",
    "lb",
    "lbs",
    "oz",
    "gal",
    "rpm",
    "db",
    "dba",
    "dbm",
    "bq",
    "sv",
    "gy",
    "eur",
    "usd",
    "gbp",
    "chf",
    "$",
    "€",
    "£",
    "count",
    "counts",
    "pcs",
    "meter",
    "meters",
    "utc",
    "psu",
];
/// Marks of a column without a unit.
const NONE: [&str; 5] = ["-", "--", "n/a", "none", "dimensionless"];

/// Reports whether a text is a unit of measurement (`m/s`, `[hPa]`, `degrees_north`), or says that there is none (`-`).
#[must_use]
pub(crate) fn is_unit(text: &str) -> bool {
    let text = text.trim();
    let brackets = [('[', ']'), ('(', ')')];
    let inner = brackets
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    if let Some(inner) = inner {
        // Brackets say themselves that it is one, as long as it is short.
        return !inner.trim().is_empty() && inner.chars().count() <= 16 && !inner.contains(char::is_control);
    }
    if NONE.contains(&text.to_lowercase().as_str()) {
        return true;
    }
    if is_time_form(text) {
        return true;
    }
    let is_plain = !text.is_empty() && text.chars().count() <= 24;
    is_plain
        && text
            .split(['/', '*', '·', '^', ' ', '_', '.'])
            .filter(|part| !part.is_empty())
            .enumerate()
            .all(|(position, part)| is_factor(part) || (position > 0 && is_complement(part)))
}

/// The unit that a cell names; `None` where it says that there is none, or is no unit.
#[must_use]
pub(crate) fn unit(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_none = text.is_empty() || NONE.contains(&text.to_lowercase().as_str());
    (!is_none && is_unit(text)).then_some(text)
}

/// Reports whether a text describes the form of times (`yyyy-mm-dd`, `HH:MM:SS`).
fn is_time_form(text: &str) -> bool {
    let lower = text.to_lowercase();
    (lower.contains("yy") || lower.contains("hh"))
        && lower.chars().all(|character| "ymdhst-/:. ".contains(character))
}

/// One factor of a unit with its power (`m`, `s-1`, `km2`, `m³`).
fn is_factor(text: &str) -> bool {
    let base = text.trim_end_matches(|last: char| {
        last.is_ascii_digit() || matches!(last, '-' | '+' | '¹' | '²' | '³' | '⁻')
    });
    if base.is_empty() {
        return false;
    }
    WORDS.contains(&base.to_lowercase().as_str())
        || PREFIXES.iter().any(|prefix| {
            base.strip_prefix(prefix)
                .is_some_and(|unit| PREFIXED.contains(&unit))
        })
}

/// Reports whether a text may follow a unit without being one: a direction (`degrees_north`), or a power (`m^2`).
fn is_complement(text: &str) -> bool {
    matches!(text, "north" | "east" | "south" | "west" | "C" | "F")
        || text
            .trim_start_matches(['-', '+'])
            .bytes()
            .all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("m")]
    #[case("km/h")]
    #[case("m s-1")]
    #[case("m^2")]
    #[case("hPa")]
    #[case("µg/m³")]
    #[case("°C")]
    #[case("degC")]
    #[case("[anything]")]
    #[case("(g)")]
    #[case("degrees_north")]
    #[case("kWh")]
    #[case("-")]
    #[case("%")]
    #[case("YYYY-MM-DD")]
    fn units_are_recognized(#[case] text: &str) {
        assert!(is_unit(text), "{text}");
    }

    #[rstest]
    #[case("")]
    #[case("north")]
    #[case("Bern")]
    #[case("2")]
    #[case("monday")]
    #[case("A1x")]
    #[case("very long words in no brackets at all")]
    fn other_texts_are_no_units(#[case] text: &str) {
        assert!(!is_unit(text), "{text}");
    }
}
