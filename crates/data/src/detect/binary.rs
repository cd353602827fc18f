//! Detection of files whose content is no text.

use crate::format::FileFormat;
use crate::source::{Encoding, Scan};

/// Share of control characters from which bytes are no text.
const BINARY_SHARE: usize = 10;
/// The same where the bytes are not UTF-8 either.
const STRAY_BINARY_SHARE: usize = 50;

/// Names of streams in the directory of a workbook of Excel before 2007, or of an encrypted one, in UTF-16.
const OLD_WORKBOOK: [&[u8]; 2] = [
    b"W\0o\0r\0k\0b\0o\0o\0k\0",
    b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0",
];

/// Format and kind of bytes that are no text; `None` where they are one.
pub(super) fn kind(
    scan: &Scan,
    encoding: Encoding,
    is_workbook_named: bool,
    is_workbook: bool,
) -> Option<(FileFormat, &'static str)> {
    let recorded = match scan.start.as_slice() {
        [b'P', b'A', b'R', b'1', ..] => (FileFormat::Parquet, "Parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => (FileFormat::Arrow, "Arrow"),
        [b'P', b'K', 3, 4, ..] if is_workbook || is_workbook_named => (FileFormat::Excel, "Excel"),
        [b'P', b'K', 3, 4, ..] => (FileFormat::Binary, "a ZIP archive"),
        [0xd0, 0xcf, 0x11, 0xe0, ..] if is_workbook_named => (FileFormat::Excel, "Excel"),
        [0xd0, 0xcf, 0x11, 0xe0, ..] if OLD_WORKBOOK.iter().any(|name| contains(&scan.start, name)) => {
            (FileFormat::Excel, "Excel")
        }
        [0xd0, 0xcf, 0x11, 0xe0, ..] => (FileFormat::Binary, "an OLE document"),
        [0x1f, 0x8b, 8, ..] => (FileFormat::Binary, "gzip data"),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => (FileFormat::Binary, "bzip2 data"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => (FileFormat::Binary, "xz data"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (FileFormat::Binary, "zstd data"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => (FileFormat::Binary, "a 7z archive"),
        [b'%', b'P', b'D', b'F', ..] => (FileFormat::Binary, "a PDF document"),
        [0x89, b'P', b'N', b'G', ..] => (FileFormat::Binary, "a PNG image"),
        [0xff, 0xd8, 0xff, ..] => (FileFormat::Binary, "a JPEG image"),
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => (FileFormat::Binary, SQLITE),
        [b'O', b'b', b'j', 1, ..] => (FileFormat::Binary, AVRO),
        [b'O', b'R', b'C', ..] if scan.nuls.count > 0 => (FileFormat::Binary, ORC),
        [b'F', b'E', b'A', b'1', ..] => (FileFormat::Binary, FEATHER_1),
        // The length of the first message stands behind the mark of a stream.
        [0xff, 0xff, 0xff, 0xff, _, _, _, 0, 0x10, 0, 0, 0, ..] => (FileFormat::Binary, ARROW_STREAM),
        [0x89, b'H', b'D', b'F', ..] => (FileFormat::Binary, HDF5),
        start => return is_binary(start, encoding).then_some((FileFormat::Binary, "binary data")),
    };
    Some(recorded)
}

const SQLITE: &str = "an SQLite database";
const AVRO: &str = "Avro";
const ORC: &str = "ORC";
const FEATHER_1: &str = "Feather version 1";
const ARROW_STREAM: &str = "an Arrow stream";
const HDF5: &str = "HDF5";

/// Returns advice on a file of a format that is named and not read; `None` where there is nothing to say.
pub(super) fn advice(what: &str) -> Option<&'static str> {
    Some(match what {
        SQLITE => {
            "its tables are not described: give each table that matters as a CSV sample (`sqlite3 -header -csv FILE \"SELECT * FROM table\"`); the program reads the file itself with pandas.read_sql_query(\"SELECT * FROM table\", sqlite3.connect(path))"
        }
        AVRO => {
            "its records are not described: give some of them as a CSV or JSON Lines sample; the program reads the file itself with fastavro.reader(open(path, \"rb\")) (package fastavro)"
        }
        ORC => {
            "its records are not described: give some of them as a Parquet or CSV sample; the program reads the file itself with pandas.read_orc(path) (package pyarrow)"
        }
        FEATHER_1 => {
            "its records are not described, and new versions of pyarrow do not write it any more: write it again with pandas.read_feather(path).to_feather(path)"
        }
        ARROW_STREAM => {
            "its records are not described: give it as an Arrow file (`.arrow`, Feather) or as Parquet; the program reads the stream itself with pyarrow.ipc.open_stream(path).read_pandas()"
        }
        HDF5 => {
            "its tables are not described: give each that matters as a Parquet or CSV sample; the program reads the file itself with pandas.read_hdf(path) (package tables) or with the package h5py"
        }
        "a 7z archive" => "pandas does not read it: unpack it and give the files that the program needs",
        _ => return None,
    })
}

fn is_binary(start: &[u8], encoding: Encoding) -> bool {
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let controls = start.iter().filter(is_control).count();
    let share = if std::str::from_utf8(start).is_err_and(|error| error.error_len().is_some()) {
        STRAY_BINARY_SHARE
    } else {
        BINARY_SHARE
    };
    !encoding.is_wide() && controls * share > start.len()
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
