//! Encoding of characters as bytes.

use super::{Encoding, legacy};

impl Encoding {
    /// The bytes of a text, with the byte order mark that files of this encoding begin with; the first character that the
    /// encoding does not have is the error.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(match self {
            Self::Utf8 | Self::Utf8Lossy => text.as_bytes().to_vec(),
            Self::Utf8Bom => ["\u{feff}", plain].concat().into_bytes(),
            Self::Utf16Le => units16(&["\u{feff}", plain].concat(), u16::to_le_bytes),
            Self::Utf16Be => units16(&["\u{feff}", plain].concat(), u16::to_be_bytes),
            Self::Utf16LeUnmarked => units16(plain, u16::to_le_bytes),
            Self::Utf16BeUnmarked => units16(plain, u16::to_be_bytes),
            Self::Utf32Le => units32(plain, u32::to_le_bytes),
            Self::Utf32Be => units32(plain, u32::to_be_bytes),
            Self::Latin1 => latin_1(text)?,
            Self::Windows1252 => encoded(text, encoding_rs::WINDOWS_1252)?,
            Self::Legacy(legacy) => encoded(text, legacy.codec())?,
        })
    }
}

fn units16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn units32(text: &str, bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let marked = std::iter::once('\u{feff}').chain(text.chars());
    marked.flat_map(|character| bytes(u32::from(character))).collect()
}

fn latin_1(text: &str) -> Result<Vec<u8>, char> {
    let byte = |character| u8::try_from(character).map_err(|_| character);
    text.chars().map(byte).collect()
}

fn encoded(text: &str, codec: &'static encoding_rs::Encoding) -> Result<Vec<u8>, char> {
    // Browsers give bytes to these control characters where Python's codecs have none.
    if let Some(control) = text.chars().find(|character| legacy::is_control(*character)) {
        return Err(control);
    }
    let (bytes, _, is_replaced) = codec.encode(text);
    if !is_replaced {
        return Ok(bytes.into_owned());
    }
    let is_lacking = |character: &char| codec.encode(character.encode_utf8(&mut [0; 4])).2;
    Err(text
        .chars()
        .find(is_lacking)
        .unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::Legacy;
    use super::Encoding;

    fn legacy(codec: &'static encoding_rs::Encoding) -> Encoding {
        Encoding::Legacy(Legacy::of(codec).unwrap())
    }

    #[test]
    fn an_encoding_is_its_name_for_python_as_data() {
        let text = serde_json::to_string(&legacy(encoding_rs::SHIFT_JIS)).unwrap();
        assert_eq!(text, "\"cp932\"");
        assert_eq!(
            serde_json::from_str::<Encoding>(&text).unwrap(),
            legacy(encoding_rs::SHIFT_JIS)
        );
        let earlier = serde_json::from_str::<Encoding>("\"windows1251\"");
        assert_eq!(earlier.unwrap(), legacy(encoding_rs::WINDOWS_1251));
        assert!(serde_json::from_str::<Encoding>("\"cp0\"").is_err());
    }

    #[rstest]
    #[case(Encoding::Utf8, "é", b"\xc3\xa9")]
    #[case(Encoding::Utf8Bom, "\u{feff}a", b"\xef\xbb\xbfa")]
    #[case(Encoding::Utf16Le, "é", b"\xff\xfe\xe9\x00")]
    #[case(Encoding::Utf16Be, "é", b"\xfe\xff\x00\xe9")]
    #[case(Encoding::Utf16LeUnmarked, "a", b"a\x00")]
    #[case(Encoding::Utf16BeUnmarked, "a", b"\x00a")]
    #[case(Encoding::Utf32Le, "a", b"\xff\xfe\x00\x00a\x00\x00\x00")]
    #[case(Encoding::Utf32Be, "a", b"\x00\x00\xfe\xff\x00\x00\x00a")]
    #[case(Encoding::Latin1, "Genève", b"Gen\xe8ve")]
    #[case(Encoding::Windows1252, "5 €", b"5 \x80")]
    #[case(legacy(encoding_rs::SHIFT_JIS), "東京", b"\x93\x8c\x8b\x9e")]
    #[case(legacy(encoding_rs::WINDOWS_1251), "Да", b"\xc4\xe0")]
    fn a_text_becomes_the_bytes_of_its_encoding(
        #[case] encoding: Encoding,
        #[case] text: &str,
        #[case] bytes: &[u8],
    ) {
        assert_eq!(encoding.encode(text).unwrap(), bytes);
    }

    #[rstest]
    #[case(Encoding::Latin1, "5 €", '€')]
    #[case(Encoding::Windows1252, "Łódź", 'Ł')]
    #[case(Encoding::Windows1252, "\u{81}", '\u{81}')]
    #[case(legacy(encoding_rs::ISO_8859_2), "Łódź 5 €", '€')]
    #[case(legacy(encoding_rs::WINDOWS_1251), "\u{98}", '\u{98}')]
    fn a_character_that_an_encoding_does_not_have_is_named(
        #[case] encoding: Encoding,
        #[case] text: &str,
        #[case] character: char,
    ) {
        assert_eq!(encoding.encode(text), Err(character));
    }
}
