//! Remarks on the characters of a text: their encoding, and bytes that are none.

use crate::source::{Encoding, Scan};

/// The remarks on how a text is encoded and on stray bytes in it.
pub(super) fn remarks(scan: &Scan, encoding: Encoding) -> Vec<String> {
    let mut remarks = Vec::new();
    let (name, python) = (encoding.name(), encoding.python_name());
    let (count, place) = (scan.invalid.count, scan.invalid.list());
    match encoding {
        Encoding::Utf8 => {}
        Encoding::Utf8Bom => {
            remarks.push(format!("starts with a UTF-8 byte order mark (Python: encoding=\"{python}\")"));
        }
        Encoding::Utf8Lossy => remarks.push(format!(
            "byte sequences that are not valid UTF-8: {count} ({place}); read as replacement characters (Python: encoding=\"{python}\", errors=\"replace\")"
        )),
        Encoding::Latin1 | Encoding::Windows1252 | Encoding::Legacy(_) => remarks.push(format!(
            "byte sequences that are not UTF-8: {count} ({place}); read as {name} (Python: encoding=\"{python}\"), which is a guess{}",
            runner_up(scan)
        )),
        wide => {
            remarks.push(format!("encoded in {name} (Python: encoding=\"{python}\")"));
            if wide.is_wide() && count > 0 {
                remarks.push(format!("replacement characters, or what is not valid {name}: {count} ({place})"));
            }
        }
    }
    remarks.extend(mixed(scan, encoding));
    if scan.nuls.count > 0 {
        remarks.push(format!("NUL bytes: {} ({})", scan.nuls.count, scan.nuls.list()));
    }
    if scan.lone_returns > 0 {
        remarks.push(format!(
            "line ends that are a carriage return alone: {} of {}",
            scan.lone_returns, scan.line_breaks
        ));
    }
    remarks
}

fn runner_up(scan: &Scan) -> String {
    let other = scan.guess.as_ref().and_then(|guess| guess.runner_up);
    other.map_or_else(String::new, |other| {
        format!("; next best {} ({})", other.name(), other.python_name())
    })
}

/// Names the lines that are in another encoding than the rest.
fn mixed(scan: &Scan, encoding: Encoding) -> Option<String> {
    let guess = scan.guess.as_ref().filter(|guess| guess.is_mixed())?;
    let (count, place) = (guess.utf8_lines.count, guess.utf8_lines.list());
    let other = guess.best;
    Some(if encoding == Encoding::Utf8Lossy {
        format!(
            "its lines are in different encodings: valid UTF-8 beyond ASCII are {count} ({place}), the rest fits {} ({}); decode line by line",
            other.name(),
            other.python_name()
        )
    } else {
        format!(
            "its lines are in different encodings: {count} ({place}) are valid UTF-8, whose characters come out wrong as {}; decode line by line, UTF-8 first",
            encoding.name()
        )
    })
}
