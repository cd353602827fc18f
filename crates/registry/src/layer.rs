//! A layer of a few files: equal files give equal bytes, whenever and wherever it is made.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use codegen_core::digest::sha256_hex;

/// A file or folder of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerEntry {
    /// Path from the root of the image, without a slash at either end.
    pub path: String,
    /// User and group that own it.
    pub owner: u64,
    /// Content of a file; `None` for a folder.
    pub content: Option<Vec<u8>>,
}

/// A layer as a registry keeps it.
pub(super) struct Layer {
    /// Packed.
    pub bytes: Vec<u8>,
    /// Digest of `bytes`.
    pub digest: String,
    /// Digest of what they unpack to.
    pub diff_id: String,
}

/// The layer of these entries, in their order.
pub(super) fn layer(entries: &[LayerEntry]) -> std::io::Result<Layer> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        // Neither times nor names: equal entries make equal bytes, so a layer that is there is not sent again.
        let mut header = Header::new_ustar();
        header.set_mtime(0);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        let content = entry.content.as_deref().unwrap_or_default();
        header.set_size(content.len() as u64);
        let path = if entry.content.is_some() {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(0o644);
            entry.path.clone()
        } else {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            format!("{}/", entry.path)
        };
        archive.append_data(&mut header, path, content)?;
    }
    let archive = archive.into_inner()?;
    // The header of gzip that this writes has no time and no name.
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&archive)?;
    let bytes = packed.finish()?;
    Ok(Layer {
        digest: format!("sha256:{}", sha256_hex(&bytes)),
        diff_id: format!("sha256:{}", sha256_hex(&archive)),
        bytes,
    })
}

/// The regular files of a packed layer, which may have at most `most` bytes unpacked. Nothing is written anywhere.
pub fn read_layer(packed: &[u8], most: u64) -> std::io::Result<Vec<LayerEntry>> {
    let mut archive = Vec::new();
    // Unpacked into memory up to the bound, before the archive is read at all.
    GzDecoder::new(packed).take(most + 1).read_to_end(&mut archive)?;
    if archive.len() as u64 > most {
        return Err(std::io::Error::other(format!(
            "it unpacks to more than {most} bytes"
        )));
    }
    let mut files = Vec::new();
    for entry in tar::Archive::new(archive.as_slice()).entries()? {
        let mut entry = entry?;
        // Links and devices of a layer mean nothing here, and following one could lead anywhere.
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let path = entry.path()?.to_string_lossy().into_owned();
        let owner = entry.header().uid()?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.push(LayerEntry {
            path,
            owner,
            content: Some(content),
        });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<LayerEntry> {
        vec![
            LayerEntry {
                path: "program".to_owned(),
                owner: 0,
                content: None,
            },
            LayerEntry {
                path: "program/solution.py".to_owned(),
                owner: 0,
                content: Some(b"print(1)\n".to_vec()),
            },
            LayerEntry {
                path: "var/outputs".to_owned(),
                owner: 65_532,
                content: None,
            },
        ]
    }

    #[test]
    fn equal_entries_give_equal_bytes_and_no_time() {
        let (first, second) = (layer(&entries()).unwrap(), layer(&entries()).unwrap());
        assert_eq!(first.bytes, second.bytes);
        assert_eq!(first.bytes[4..8], [0; 4], "gzip has a time");
        let mut archive = Vec::new();
        GzDecoder::new(first.bytes.as_slice())
            .read_to_end(&mut archive)
            .unwrap();
        assert_eq!(format!("sha256:{}", sha256_hex(&archive)), first.diff_id);
        let mut archive = tar::Archive::new(archive.as_slice());
        for (entry, expected) in archive.entries().unwrap().zip(entries()) {
            let header = entry.as_ref().unwrap().header();
            assert_eq!(header.mtime().unwrap(), 0);
            assert_eq!(header.uid().unwrap(), expected.owner);
            assert_eq!(header.gid().unwrap(), expected.owner);
            let is_folder = header.entry_type() == EntryType::Directory;
            assert_eq!(is_folder, expected.content.is_none());
        }
    }

    #[test]
    fn files_are_read_back_and_a_layer_that_unpacks_to_too_much_is_refused() {
        let layer = layer(&entries()).unwrap();
        let files = read_layer(&layer.bytes, 64 * 1024).unwrap();
        assert_eq!(files, [entries()[1].clone()]);
        let error = read_layer(&layer.bytes, 1_000).unwrap_err();
        assert_eq!(error.to_string(), "it unpacks to more than 1000 bytes");
    }

    #[test]
    fn a_small_layer_that_unpacks_to_much_is_not_unpacked() {
        let zeros = LayerEntry {
            content: Some(vec![0; 16 << 20]),
            ..entries()[1].clone()
        };
        let bomb = layer(&[zeros]).unwrap().bytes;
        assert!(bomb.len() < 32 << 10, "{}", bomb.len());
        let unpacked = read_layer(&bomb, u64::MAX - 1).unwrap();
        assert_eq!(unpacked[0].content.as_ref().unwrap().len(), 16 << 20);
        let error = read_layer(&bomb, 64 << 10).unwrap_err();
        assert_eq!(error.to_string(), "it unpacks to more than 65536 bytes");
    }
}
