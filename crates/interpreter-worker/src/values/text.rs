//! A value as `str()` gives it, up to a bound of bytes and of work.

use std::fmt::{self, Write as _};

use codegen_interpreter::protocol::Cut;
use monty_types::MontyObject;

use super::iso;

/// Bytes of the text.
const MOST: usize = 64 * 1024;
/// Bits of an int that Python itself still writes out (4,300 digits).
const MOST_BITS: u64 = 14_284;

/// The text of a value. Ints that take long to write out are described instead.
pub(crate) fn str_of(value: &MontyObject) -> String {
    match value {
        MontyObject::String(text) => cut(text, MOST),
        MontyObject::Date(date) => iso::Date(date).to_string(),
        MontyObject::DateTime(time) => iso::DateTime(time).to_string().replacen('T', " ", 1),
        MontyObject::Time(time) => iso::Time(time).to_string(),
        MontyObject::Exception { arg, .. } => cut(arg.as_deref().unwrap_or_default(), MOST),
        MontyObject::BigInt(int) if int.bits() > MOST_BITS => format!("an int of {} bits", int.bits()),
        value if has_long_int(value) => format!(
            "a {} that holds an int of more than 4300 digits",
            value.type_name()
        ),
        value => {
            let mut text = Bounded(String::new());
            let is_whole = write!(text, "{value}").is_ok();
            if is_whole { text.0 } else { with_mark(text.0) }
        }
    }
}

/// Returns what is missing of that text of the value.
pub(crate) fn cut_of(value: &MontyObject, text: &str) -> Option<Cut> {
    match value {
        MontyObject::String(whole) => (whole.len() > MOST).then(|| Cut {
            whole_bytes: u64::try_from(whole.len()).ok(),
        }),
        // The mark of a text that is cut has three bytes, and a character of four may not have had room before it.
        _ => (text.len() >= MOST && text.ends_with("...")).then_some(Cut { whole_bytes: None }),
    }
}

/// The first bytes of a text, with a mark where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    with_mark(text[..text.floor_char_boundary(most)].to_owned())
}

fn with_mark(mut text: String) -> String {
    text.push_str("...");
    text
}

/// The interpreter bounds the levels of its values.
fn has_long_int(value: &MontyObject) -> bool {
    let in_pair = |(key, value): &(MontyObject, MontyObject)| has_long_int(key) || has_long_int(value);
    match value {
        MontyObject::BigInt(int) => int.bits() > MOST_BITS,
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => items.iter().any(has_long_int),
        MontyObject::Dict(pairs) => pairs.iter().any(in_pair),
        MontyObject::ClassInstance(instance) => instance.attrs.iter().any(in_pair),
        _ => false,
    }
}

/// Takes no more than it may, and ends the formatting there.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = part.floor_char_boundary(MOST - self.0.len());
        self.0.push_str(&part[..end]);
        if end < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_formatted_no_further_than_its_text_goes() {
        let text = str_of(&MontyObject::List(vec![MontyObject::Int(7); 1_000_000]));
        assert!(text.starts_with("[7, 7,") && text.ends_with("..."));
        assert_eq!(text.len(), MOST + 3);
    }

    #[test]
    fn of_a_text_that_is_cut_it_is_said_how_long_it_was() {
        let cut = |value: &MontyObject| cut_of(value, &str_of(value));
        let whole_bytes = Some(100_000);
        assert_eq!(
            cut(&MontyObject::String("x".repeat(100_000))),
            Some(Cut { whole_bytes })
        );
        assert_eq!(cut(&MontyObject::String("x".repeat(MOST - 3) + "...")), None);
        let list = MontyObject::List(vec![MontyObject::Int(7); 1_000_000]);
        assert_eq!(cut(&list), Some(Cut { whole_bytes: None }));
        assert_eq!(cut(&MontyObject::Int(7)), None);
    }
}
