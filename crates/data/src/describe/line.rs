//! Records of formats that are no text, as lines of CSV.

/// Appends a field, quoted where CSV needs it; an empty text is quoted, so that it differs from a missing value.
pub(super) fn push_field(line: &mut String, text: &str) {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

/// Names as one line.
pub(super) fn header<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut line = String::new();
    for (position, name) in names.enumerate() {
        if position > 0 {
            line.push(',');
        }
        if !name.is_empty() {
            push_field(&mut line, name);
        }
    }
    line
}
