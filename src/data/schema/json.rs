//! How Python reads JSON: by its own reader, as pandas guesses dates and types.

use crate::profile::{Layout, SampleProfile};

use super::packed::open_text;

/// Reads one value after another, with blanks between them.
const VALUES: &str = "content = text.read()\n    \
    decoder, records, position = json.JSONDecoder(), [], 0\n    \
    while content[position:position + 1].isspace():\n        position += 1\n    \
    while position < len(content):\n        \
    record, position = decoder.raw_decode(content, position)\n        \
    records.append(record)\n        \
    while content[position:position + 1].isspace():\n            position += 1\n    \
    return pandas.json_normalize(records)";

/// The body of the function that reads the records.
pub(super) fn reader(profile: &SampleProfile, layout: &Layout) -> String {
    let open = open_text(profile);
    match layout {
        Layout::JsonLines => {
            format!("{open}return pandas.json_normalize([json.loads(line) for line in text if line.strip()])")
        }
        Layout::JsonValues => format!("{open}{VALUES}"),
        _ => format!("{open}return pandas.json_normalize(json.load(text))"),
    }
}
