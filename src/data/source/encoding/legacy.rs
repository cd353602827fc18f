//! Encodings from before Unicode: nothing in a file names them, so they are guessed.

use serde::{Deserialize, Serialize};

/// An encoding from before Unicode, other than those of Western Europe.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Legacy {
    /// Japanese, of Windows.
    ShiftJis,
    /// Japanese, of Unix.
    EucJp,
    /// Korean.
    EucKr,
    /// Chinese, simplified.
    Gb18030,
    /// Chinese, traditional.
    Big5,
    /// Central European, of Windows.
    Windows1250,
    /// Cyrillic, of Windows.
    Windows1251,
    /// Greek, of Windows.
    Windows1253,
    /// Turkish.
    Windows1254,
    /// Hebrew.
    Windows1255,
    /// Arabic, of Windows.
    Windows1256,
    /// Baltic, of Windows.
    Windows1257,
    /// Vietnamese.
    Windows1258,
    /// Thai.
    Windows874,
    /// Central European (Latin-2).
    #[serde(rename = "iso8859-2")]
    Iso8859_2,
    /// North European (Latin-4).
    #[serde(rename = "iso8859-4")]
    Iso8859_4,
    /// Cyrillic.
    #[serde(rename = "iso8859-5")]
    Iso8859_5,
    /// Arabic.
    #[serde(rename = "iso8859-6")]
    Iso8859_6,
    /// Greek.
    #[serde(rename = "iso8859-7")]
    Iso8859_7,
    /// Hebrew, in the order of the screen.
    #[serde(rename = "iso8859-8")]
    Iso8859_8,
    /// Baltic (Latin-7).
    #[serde(rename = "iso8859-13")]
    Iso8859_13,
    /// Cyrillic, of Unix.
    Koi8U,
    /// Cyrillic, of DOS.
    Ibm866,
}

impl Legacy {
    const ALL: [Self; 23] = [
        Self::ShiftJis,
        Self::EucJp,
        Self::EucKr,
        Self::Gb18030,
        Self::Big5,
        Self::Windows1250,
        Self::Windows1251,
        Self::Windows1253,
        Self::Windows1254,
        Self::Windows1255,
        Self::Windows1256,
        Self::Windows1257,
        Self::Windows1258,
        Self::Windows874,
        Self::Iso8859_2,
        Self::Iso8859_4,
        Self::Iso8859_5,
        Self::Iso8859_6,
        Self::Iso8859_7,
        Self::Iso8859_8,
        Self::Iso8859_13,
        Self::Koi8U,
        Self::Ibm866,
    ];

    /// The encoding of a codec.
    #[must_use]
    pub(in crate::source) fn of(codec: &'static encoding_rs::Encoding) -> Option<Self> {
        // Every text of the older standard is one of the newer.
        let codec = if codec == encoding_rs::GBK {
            encoding_rs::GB18030
        } else {
            codec
        };
        Self::ALL.into_iter().find(|legacy| legacy.codec() == codec)
    }

    /// The name for people.
    #[must_use]
    pub(super) const fn name(self) -> &'static str {
        self.names().0
    }

    /// The name for Python's `open` and `pandas.read_csv`.
    #[must_use]
    pub(super) const fn python_name(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ShiftJis => ("Shift-JIS", "cp932"),
            Self::EucJp => ("EUC-JP", "euc_jp"),
            Self::EucKr => ("EUC-KR", "cp949"),
            Self::Gb18030 => ("GB18030", "gb18030"),
            Self::Big5 => ("Big5", "big5hkscs"),
            Self::Windows1250 => ("Windows-1250", "cp1250"),
            Self::Windows1251 => ("Windows-1251", "cp1251"),
            Self::Windows1253 => ("Windows-1253", "cp1253"),
            Self::Windows1254 => ("Windows-1254", "cp1254"),
            Self::Windows1255 => ("Windows-1255", "cp1255"),
            Self::Windows1256 => ("Windows-1256", "cp1256"),
            Self::Windows1257 => ("Windows-1257", "cp1257"),
            Self::Windows1258 => ("Windows-1258", "cp1258"),
            Self::Windows874 => ("Windows-874", "cp874"),
            Self::Iso8859_2 => ("Latin-2", "iso8859-2"),
            Self::Iso8859_4 => ("Latin-4", "iso8859-4"),
            Self::Iso8859_5 => ("ISO-8859-5", "iso8859-5"),
            Self::Iso8859_6 => ("ISO-8859-6", "iso8859-6"),
            Self::Iso8859_7 => ("ISO-8859-7", "iso8859-7"),
            Self::Iso8859_8 => ("ISO-8859-8", "iso8859-8"),
            Self::Iso8859_13 => ("Latin-7", "iso8859-13"),
            Self::Koi8U => ("KOI8-U", "koi8-u"),
            Self::Ibm866 => ("IBM866", "cp866"),
        }
    }

    /// The codec that decodes it.
    #[must_use]
    pub(in crate::source) fn codec(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::ShiftJis => encoding_rs::SHIFT_JIS,
            Self::EucJp => encoding_rs::EUC_JP,
            Self::EucKr => encoding_rs::EUC_KR,
            Self::Gb18030 => encoding_rs::GB18030,
            Self::Big5 => encoding_rs::BIG5,
            Self::Windows1250 => encoding_rs::WINDOWS_1250,
            Self::Windows1251 => encoding_rs::WINDOWS_1251,
            Self::Windows1253 => encoding_rs::WINDOWS_1253,
            Self::Windows1254 => encoding_rs::WINDOWS_1254,
            Self::Windows1255 => encoding_rs::WINDOWS_1255,
            Self::Windows1256 => encoding_rs::WINDOWS_1256,
            Self::Windows1257 => encoding_rs::WINDOWS_1257,
            Self::Windows1258 => encoding_rs::WINDOWS_1258,
            Self::Windows874 => encoding_rs::WINDOWS_874,
            Self::Iso8859_2 => encoding_rs::ISO_8859_2,
            Self::Iso8859_4 => encoding_rs::ISO_8859_4,
            Self::Iso8859_5 => encoding_rs::ISO_8859_5,
            Self::Iso8859_6 => encoding_rs::ISO_8859_6,
            Self::Iso8859_7 => encoding_rs::ISO_8859_7,
            Self::Iso8859_8 => encoding_rs::ISO_8859_8,
            Self::Iso8859_13 => encoding_rs::ISO_8859_13,
            Self::Koi8U => encoding_rs::KOI8_U,
            Self::Ibm866 => encoding_rs::IBM866,
        }
    }

    /// Whether characters take two bytes or more.
    #[must_use]
    pub(in crate::source) const fn is_multibyte(self) -> bool {
        matches!(
            self,
            Self::ShiftJis | Self::EucJp | Self::EucKr | Self::Gb18030 | Self::Big5
        )
    }
}

/// A control character that no text holds: what browsers make of bytes that the encoding does not have.
pub(in crate::source) const fn is_control(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{9f}')
}
