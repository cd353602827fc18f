//! Encodings from before Unicode: nothing in a file names them, so they are guessed.

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

/// An encoding from before Unicode, other than those of Western Europe. As data it is the name that Python has for it.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Legacy(&'static Row);

/// The codec, the name for people and that for Python.
type Row = (&'static Encoding, &'static str, &'static str);

static ALL: [Row; 23] = [
    (&encoding_rs::SHIFT_JIS_INIT, "Shift-JIS", "cp932"),
    (&encoding_rs::EUC_JP_INIT, "EUC-JP", "euc_jp"),
    (&encoding_rs::EUC_KR_INIT, "EUC-KR", "cp949"),
    (&encoding_rs::GB18030_INIT, "GB18030", "gb18030"),
    (&encoding_rs::BIG5_INIT, "Big5", "big5hkscs"),
    (&encoding_rs::WINDOWS_1250_INIT, "Windows-1250", "cp1250"),
    (&encoding_rs::WINDOWS_1251_INIT, "Windows-1251", "cp1251"),
    (&encoding_rs::WINDOWS_1253_INIT, "Windows-1253", "cp1253"),
    (&encoding_rs::WINDOWS_1254_INIT, "Windows-1254", "cp1254"),
    (&encoding_rs::WINDOWS_1255_INIT, "Windows-1255", "cp1255"),
    (&encoding_rs::WINDOWS_1256_INIT, "Windows-1256", "cp1256"),
    (&encoding_rs::WINDOWS_1257_INIT, "Windows-1257", "cp1257"),
    (&encoding_rs::WINDOWS_1258_INIT, "Windows-1258", "cp1258"),
    (&encoding_rs::WINDOWS_874_INIT, "Windows-874", "cp874"),
    (&encoding_rs::ISO_8859_2_INIT, "Latin-2", "iso8859-2"),
    (&encoding_rs::ISO_8859_4_INIT, "Latin-4", "iso8859-4"),
    (&encoding_rs::ISO_8859_5_INIT, "ISO-8859-5", "iso8859-5"),
    (&encoding_rs::ISO_8859_6_INIT, "ISO-8859-6", "iso8859-6"),
    (&encoding_rs::ISO_8859_7_INIT, "ISO-8859-7", "iso8859-7"),
    (&encoding_rs::ISO_8859_8_INIT, "ISO-8859-8", "iso8859-8"),
    (&encoding_rs::ISO_8859_13_INIT, "Latin-7", "iso8859-13"),
    (&encoding_rs::KOI8_U_INIT, "KOI8-U", "koi8-u"),
    (&encoding_rs::IBM866_INIT, "IBM866", "cp866"),
];

impl Legacy {
    /// The encoding of a codec.
    #[must_use]
    pub(in crate::source) fn of(codec: &'static Encoding) -> Option<Self> {
        // Every text of the older standard is one of the newer.
        let codec = if codec == encoding_rs::GBK {
            encoding_rs::GB18030
        } else {
            codec
        };
        ALL.iter().find(|row| row.0 == codec).map(Self)
    }

    /// The name for people.
    #[must_use]
    pub(super) const fn name(self) -> &'static str {
        self.0.1
    }

    /// The name for Python's `open` and `pandas.read_csv`.
    #[must_use]
    pub(super) const fn python_name(self) -> &'static str {
        self.0.2
    }

    /// The codec that decodes it.
    #[must_use]
    pub(in crate::source) const fn codec(self) -> &'static Encoding {
        self.0.0
    }
}

impl From<Legacy> for &'static str {
    fn from(encoding: Legacy) -> Self {
        encoding.python_name()
    }
}

impl TryFrom<String> for Legacy {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        // Profiles that an earlier version recorded have the name for people in other letters (`windows1251`).
        let letters = |text: &str| text.to_ascii_lowercase().replace('-', "");
        let is_it = |row: &&Row| row.2 == name || letters(row.1) == letters(&name);
        let found = ALL.iter().find(is_it);
        found
            .map(Self)
            .ok_or_else(|| format!("no encoding is called {name:?}"))
    }
}

/// A control character that no text holds: what browsers make of bytes that the encoding does not have.
pub(in crate::source) const fn is_control(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{9f}')
}
