//! Code with which Python opens a compressed file.

use crate::profile::SampleProfile;
use crate::source::{Compression, Encoding};

/// Endings from which pandas infers that a file is packed.
const PACKED_ENDINGS: [&str; 6] = [".gz", ".bz2", ".zip", ".xz", ".zst", ".tar"];

/// The argument `compression` of pandas, which judges by the name alone.
pub(super) fn argument(profile: &SampleProfile) -> Option<String> {
    let file_name = profile.file_name.to_ascii_lowercase();
    match profile.compression {
        Some(compression) => Some(format!("compression=\"{}\"", compression.pandas_name())),
        None if PACKED_ENDINGS.iter().any(|ending| file_name.ends_with(ending)) => {
            Some("compression=None".to_owned())
        }
        None => None,
    }
}

/// A block in which the file is open as `text`, up to what is indented in it.
pub(super) fn open_text(profile: &SampleProfile) -> String {
    let encoding = match profile.encoding.unwrap_or(Encoding::Utf8) {
        Encoding::Utf8 => Encoding::Utf8Bom.python_name(),
        other => other.python_name(),
    };
    let errors = if profile.encoding == Some(Encoding::Utf8Lossy) {
        ", errors=\"replace\""
    } else {
        ""
    };
    let decoding = format!("encoding=\"{encoding}\"{errors}");
    let module = |name: &str| {
        format!("import {name}\n\n    with {name}.open(path, \"rt\", {decoding}) as text:\n        ")
    };
    match profile.compression {
        None => format!("with open(path, {decoding}) as text:\n        "),
        Some(Compression::Gzip) => module("gzip"),
        Some(Compression::Bzip2) => module("bz2"),
        Some(Compression::Xz) => module("lzma"),
        Some(Compression::Zstd) => module("zstandard"),
        Some(Compression::Zip) => format!(
            "import io\n    import zipfile\n\n    \
             with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as content:\n        \
             text = io.TextIOWrapper(content, {decoding})\n        "
        ),
    }
}
