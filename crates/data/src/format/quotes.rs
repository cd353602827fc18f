//! Quotes that are not in pairs: one that is opened takes in the lines that follow, up to the next quote.

/// Fewest swallowed lines of the width of a row that leave no doubt in a table of several columns.
const FEWEST_ROWS: usize = 3;

/// A record that seems to hold rows of the file in a quoted field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swallowed {
    /// Lines from the start of the record to the quote that is opened.
    pub lines_before: u64,
    /// Lines that look like rows.
    pub rows: u64,
}

/// Findings of the walk through a record.
struct Walk {
    /// Start of the first field that holds a line break.
    open: Option<usize>,
    /// True where something follows a closing quote, or none closes the last field.
    is_broken: bool,
}

/// Judges a record of several lines of a table of `width` columns.
pub(crate) fn swallowed(raw: &str, delimiter: u8, width: usize) -> Option<Swallowed> {
    if width < 2 || !raw.contains('\n') {
        return None;
    }
    let walk = walk(raw.as_bytes(), delimiter);
    let open = walk.open?;
    let mut lines = raw.lines();
    let first = lines.next()?;
    let alike: Vec<&str> = lines
        .clone()
        .filter(|line| fields(line, delimiter) == width)
        .collect();
    let all = lines.filter(|line| !line.trim().is_empty()).count();
    let begins_alike =
        |line: &&str| kind(line, delimiter).is_some_and(|it| Some(it) == kind(first, delimiter));
    let is_sure =
        walk.is_broken || alike.iter().all(begins_alike) || (alike.len() >= FEWEST_ROWS && width > 2);
    (is_sure && !alike.is_empty() && alike.len() * 2 >= all).then(|| Swallowed {
        lines_before: memchr::memchr_iter(b'\n', &raw.as_bytes()[..open]).count() as u64,
        rows: alike.len() as u64,
    })
}

/// Follows the quotes as readers of CSV do: one opens where a field begins, two are one.
fn walk(raw: &[u8], delimiter: u8) -> Walk {
    let mut found = Walk {
        open: None,
        is_broken: false,
    };
    let (mut position, mut is_start) = (0, true);
    while position < raw.len() {
        let byte = raw[position];
        if !(byte == b'"' && is_start) {
            is_start = byte == delimiter || byte == b'\n';
            position += 1;
            continue;
        }
        let (end, breaks) = closing(raw, position + 1);
        if breaks && found.open.is_none() {
            found.open = Some(position);
        }
        position = end.map_or(raw.len(), |end| end + 1);
        let is_ended = raw
            .get(position)
            .is_none_or(|next| *next == delimiter || matches!(next, b'\r' | b'\n'));
        found.is_broken |= breaks && (end.is_none() || !is_ended);
        is_start = false;
    }
    found
}

/// Returns the position of the quote that closes a field, and true where a line break stands before it.
fn closing(raw: &[u8], start: usize) -> (Option<usize>, bool) {
    let (mut position, mut breaks) = (start, false);
    while let Some(byte) = raw.get(position) {
        match byte {
            b'"' if raw.get(position + 1) == Some(&b'"') => position += 1,
            b'"' => return (Some(position), breaks),
            b'\n' => breaks = true,
            _ => {}
        }
        position += 1;
    }
    (None, breaks)
}

fn fields(line: &str, delimiter: u8) -> usize {
    memchr::memchr_iter(delimiter, line.as_bytes()).count() + 1
}

/// Reports whether the first field of a line is a number, or else a date; `None` where it is a text.
fn kind(line: &str, delimiter: u8) -> Option<bool> {
    let field = line.split(char::from(delimiter)).next()?.trim();
    let is_number = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_date = field.len() >= 8
        && field
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'/' | b':' | b' ' | b'T' | b'.'));
    (is_number || is_date).then_some(is_number)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::closed_by_the_next_quote("1,\"x,a\n2,y,b\n3,\"z,c", 3, Some((0, 2)))]
    #[case::pairs_that_are_shifted("1,\"x,a\n2,y,b\n3,z,\"", 3, Some((0, 2)))]
    #[case::never_closed("1,\"x\n2,y\n", 2, Some((0, 1)))]
    #[case::behind_a_note("1,\"a\nb\",\"x\n2,c,y\n3,d,\"z", 3, Some((0, 2)))]
    #[case::rows_of_words("a,b,\"c\nd,e,f\ng,h,i\nj,k,l\"", 3, Some((0, 3)))]
    #[case::a_note_of_two_lines("1,\"first line\nsecond line\"", 2, None)]
    #[case::an_address("1,\"12 Main Street\nKöln, Germany\"", 2, None)]
    #[case::a_note_with_commas("x,\"Dear Sir, hello\nI am, yours\"", 2, None)]
    #[case::quotes_in_quotes("1,\"say \"\"hi\"\"\nand \"\"bye\"\", friend\",3", 3, None)]
    #[case::one_line("1,\"x,y\"", 2, None)]
    fn rows_in_a_quoted_field_are_found(
        #[case] raw: &str,
        #[case] width: usize,
        #[case] expected: Option<(u64, u64)>,
    ) {
        let found = swallowed(raw, b',', width).map(|found| (found.lines_before, found.rows));
        assert_eq!(found, expected);
    }
}
