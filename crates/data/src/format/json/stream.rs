//! JSON values one after another, on one line or on several.

use std::io::{self, BufRead};

use serde::de::IgnoredAny;
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::{JsonRecord, element};

/// Reports whether a text begins with more than one value.
pub(crate) fn has_several(input: impl BufRead) -> io::Result<bool> {
    let mut values = Deserializer::from_reader(input).into_iter::<IgnoredAny>();
    for _ in 0..2 {
        match values.next() {
            Some(Ok(_)) => {}
            Some(Err(error)) if error.is_io() => return Err(error.into()),
            Some(Err(_)) | None => return Ok(false),
        }
    }
    Ok(true)
}

/// Hands every value to `take`. Returns what is wrong with the text, if anything; values before the fault were passed on.
pub(crate) fn each_value_of_stream(
    input: impl BufRead,
    mut take: impl FnMut(JsonRecord<'_>),
) -> io::Result<Option<String>> {
    let values = Deserializer::from_reader(input).into_iter::<Box<RawValue>>();
    for (place, value) in (1..).zip(values) {
        match value {
            Ok(raw) => take(element(place, &raw)),
            Err(error) if error.is_io() => return Err(error.into()),
            Err(error) => return Ok(Some(error.to_string())),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{\"a\":1}{\"a\":2}", true)]
    #[case("{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", true)]
    #[case("[1] [2]", true)]
    #[case("{\"a\":1}", false)]
    #[case("[1, 2]\n", false)]
    #[case("{\"a\":1} and words", false)]
    #[case("", false)]
    fn several_values_are_distinguished_from_one(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(has_several(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn values_before_a_fault_are_passed_on() {
        let mut places = Vec::new();
        let fault = each_value_of_stream("{\"a\":1}\n{\"a\":2}\n{\"a\"".as_bytes(), |record| {
            places.push((record.place, record.raw.to_owned()));
        })
        .unwrap();
        assert_eq!(places.len(), 2);
        assert!(fault.unwrap().contains("EOF"));
    }
}
