//! Manifests from disk: `-f FILE`, `-f FOLDER`, `-f -`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::manifest::{self, ManifestDocument, ParseError, YamlDialect};

/// Largest manifest that is read, bytes: far above what an API server takes.
pub const MAX_MANIFEST_BYTES: u64 = 64 * 1024 * 1024;

/// A manifest that cannot be read.
#[derive(Debug, Error)]
pub enum FilesError {
    /// The operating system refuses.
    #[error("cannot read {path}: {source}", path = path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// More than [`MAX_MANIFEST_BYTES`].
    #[error(
        "{file} is larger than 64 MiB, too large for a manifest: give data files with --sample name=path"
    )]
    TooLarge {
        /// Name of the file.
        file: String,
    },
    /// Not UTF-8.
    #[error("{file} is not UTF-8 text, so it is no manifest: save it as UTF-8")]
    NotText {
        /// Name of the file.
        file: String,
    },
    /// A folder without manifests.
    #[error("{path} holds no manifest: put files that end in .yaml, .yml or .json in it, or name a file", path = path.display())]
    EmptyFolder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The text is no manifest.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Reads the documents of every `-f` in order: a file, a folder (its `.yaml`, `.yml` and `.json` files, sorted, not
/// those of folders in it), or `-` for standard input.
pub fn load(sources: &[String]) -> Result<Vec<ManifestDocument>, FilesError> {
    let mut documents = Vec::new();
    for source in sources {
        if source == "-" {
            let name = "standard input";
            let bytes = read_all(name, io::stdin().lock(), Path::new("-"))?;
            documents.extend(manifest::parse(name, &text(name, bytes)?)?);
            continue;
        }
        let path = Path::new(source);
        let metadata = fs::metadata(path).map_err(|error| io_error(path, error))?;
        if metadata.is_dir() {
            for file in manifests_of(path)? {
                documents.extend(load_file(&file)?);
            }
        } else {
            documents.extend(load_file(path)?);
        }
    }
    Ok(documents)
}

/// Reads the documents of one file.
pub fn load_file(path: &Path) -> Result<Vec<ManifestDocument>, FilesError> {
    load_file_as(YamlDialect::Kubectl, path)
}

/// Reads the documents of one file in the way of kubectl or of kustomize.
pub fn load_file_as(dialect: YamlDialect, path: &Path) -> Result<Vec<ManifestDocument>, FilesError> {
    let name = path.display().to_string();
    let text = text(&name, read_file(path)?)?;
    Ok(manifest::parse_as(dialect, &name, &text)?)
}

/// The content of a file that is no larger than a manifest may be.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, FilesError> {
    let file = File::open(path).map_err(|error| io_error(path, error))?;
    read_all(&path.display().to_string(), file, path)
}

fn read_all(name: &str, reader: impl Read, path: &Path) -> Result<Vec<u8>, FilesError> {
    let mut bytes = Vec::new();
    reader
        // One byte more than is allowed shows that the file is too large.
        .take(MAX_MANIFEST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_error(path, error))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(FilesError::TooLarge {
            file: name.to_owned(),
        });
    }
    Ok(bytes)
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, FilesError> {
    decode(bytes).ok_or_else(|| FilesError::NotText {
        file: name.to_owned(),
    })
}

/// The text of UTF-8, or of UTF-16 with the byte order mark that editors on Windows write; without the mark, which no parser here wants.
fn decode(bytes: Vec<u8>) -> Option<String> {
    let units = |unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes[2..].as_chunks();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => {
            let text = String::from_utf8(bytes).ok()?;
            Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        }
    }
}

fn manifests_of(folder: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| io_error(folder, error))? {
        let path = entry.map_err(|error| io_error(folder, error))?.path();
        let is_manifest = path
            .extension()
            .and_then(|end| end.to_str())
            .is_some_and(|end| matches!(end.to_ascii_lowercase().as_str(), "yaml" | "yml" | "json"));
        if is_manifest && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(FilesError::EmptyFolder {
            path: folder.to_owned(),
        });
    }
    // The file system gives them in any order.
    files.sort();
    Ok(files)
}

fn io_error(path: &Path, source: io::Error) -> FilesError {
    FilesError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_manifests_sorted_and_nothing_below() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.yaml"), "kind: B\n").unwrap();
        fs::write(folder.path().join("a.json"), "{\"kind\": \"A\"}").unwrap();
        fs::write(folder.path().join("data.csv"), "x,y\n").unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/c.yaml"), "kind: C\n").unwrap();
        let documents = load(&[folder.path().display().to_string()]).unwrap();
        assert_eq!(
            documents.iter().map(ManifestDocument::kind).collect::<Vec<_>>(),
            ["A", "B"]
        );
    }

    #[test]
    fn a_folder_without_manifests_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = load(&[folder.path().display().to_string()])
            .unwrap_err()
            .to_string();
        assert!(error.contains("holds no manifest"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(&["absent.yaml".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("cannot read absent.yaml: "), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "\u{feff}{\"kind\": \"A\"}").unwrap();
        assert_eq!(load_file(&path).unwrap()[0].kind(), "A");
    }

    #[test]
    fn a_text_in_utf_16_is_read_by_its_byte_order_mark() {
        let text = "kind: A # \u{e9}";
        let wide = |bytes: fn(u16) -> [u8; 2]| {
            "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(bytes)
                .collect()
        };
        assert_eq!(decode(wide(u16::to_le_bytes)).as_deref(), Some(text));
        assert_eq!(decode(wide(u16::to_be_bytes)).as_deref(), Some(text));
        assert_eq!(decode(vec![0xff, 0xfe, 0x00]), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        fs::write(&path, [0xc3, 0x28]).unwrap();
        assert!(load_file(&path).unwrap_err().to_string().contains("not UTF-8"));
    }
}
