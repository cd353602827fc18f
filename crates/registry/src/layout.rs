//! An OCI image layout on disk that someone untrusted wrote: opened without following links, bounded, every blob verified.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use codegen_core::digest::hex;
use codegen_core::lock::Lock;

use super::installed;

const MIB: u64 = 1024 * 1024;
const LARGEST_INDEX: u64 = MIB;
pub(super) const LARGEST_MANIFEST: u64 = 4 * MIB;
pub(super) const LARGEST_CONFIG: u64 = 8 * MIB;
pub(super) const MOST_LAYERS: usize = 256;
pub(super) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const MANIFEST_TYPES: [&str; 2] = [
    OCI_MANIFEST,
    "application/vnd.docker.distribution.manifest.v2+json",
];

pub(super) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const MANIFEST_OR_INDEX: [&str; 4] = [
    OCI_MANIFEST,
    MANIFEST_TYPES[1],
    OCI_INDEX,
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// Upper limits of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutLimits {
    /// All blobs together, bytes.
    pub bytes: u64,
}

impl Default for LayoutLimits {
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * MIB,
        }
    }
}

/// Reason for which a layout is not pushed.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A part cannot be opened or read.
    #[error("cannot read {part} of the image layout: {source}")]
    Read {
        /// Path inside the layout.
        part: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A part is not what it should be.
    #[error("{part} of the image layout {reason}; it is not pushed")]
    Invalid {
        /// Path inside the layout.
        part: String,
        /// Description of the fault.
        reason: String,
    },
}

fn invalid(part: &str, reason: impl Into<String>) -> LayoutError {
    LayoutError::Invalid {
        part: part.to_owned(),
        reason: reason.into(),
    }
}

/// A blob that is part of an image.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type.
    pub media_type: String,
    /// `sha256:` and 64 hex digits.
    pub digest: String,
    /// Size, bytes.
    pub size: u64,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// An image whose every blob has the content that its digest names.
#[derive(Debug)]
pub struct ImageLayout {
    /// The manifest's descriptor.
    pub manifest: Descriptor,
    /// The manifest as it stands in the layout, until it is annotated.
    pub manifest_bytes: Vec<u8>,
    /// Configuration and layers, without repetitions, each opened.
    pub blobs: Vec<Blob>,
}

/// A verified blob.
#[derive(Debug)]
pub struct Blob {
    /// Descriptor of the blob.
    pub descriptor: Descriptor,
    /// Its content from the start. The file is the one that was verified, whatever its name points to by now.
    pub file: File,
}

impl ImageLayout {
    /// Opens the layout in `folder` and verifies all of it. Reads every blob once: call it where blocking is allowed.
    pub fn open(folder: &Path, limits: LayoutLimits) -> Result<Self, LayoutError> {
        let root = open_folder(CWD, folder, "the folder")?;
        let index: Index = parse(
            "index.json",
            &read(
                &open_file(&root, "index.json", "index.json")?,
                "index.json",
                LARGEST_INDEX,
            )?,
        )?;
        // More than one manifest would be an index; which of them was meant nobody could say.
        let [manifest] = index.manifests.as_slice() else {
            let reason = format!(
                "names {} manifests where one image is expected",
                index.manifests.len()
            );
            return Err(invalid("index.json", reason));
        };
        if !MANIFEST_TYPES.contains(&manifest.media_type.as_str()) {
            let reason = format!(
                "names a {:?} where an image manifest is expected",
                manifest.media_type
            );
            return Err(invalid("index.json", reason));
        }
        let blobs = open_folder(&root, Path::new("blobs"), "blobs")?;
        let blobs = open_folder(&blobs, Path::new("sha256"), "blobs/sha256")?;
        let part = part_of(manifest)?;
        let manifest_bytes = read(
            &open_file(&blobs, hex_of(manifest)?, &part)?,
            &part,
            LARGEST_MANIFEST,
        )?;
        // Verified before it is parsed.
        verify(&part, manifest, manifest_bytes.as_slice())?;
        let Manifest { config, layers } = parse(&part, &manifest_bytes)?;
        check_sizes(&part, &config, &layers, limits)?;
        let mut wanted = vec![config];
        wanted.extend(layers);
        let mut verified: Vec<Blob> = Vec::with_capacity(wanted.len());
        // A manifest may name one blob twice.
        for descriptor in wanted {
            if verified
                .iter()
                .all(|blob| blob.descriptor.digest != descriptor.digest)
            {
                verified.push(open_blob(&blobs, descriptor)?);
            }
        }
        Ok(Self {
            manifest: manifest.clone(),
            manifest_bytes,
            blobs: verified,
        })
    }
}

impl ImageLayout {
    /// The layer that was made last: its content from the start, and whether that is compressed.
    pub fn last_layer(&self) -> Result<(File, bool), LayoutError> {
        let part = part_of(&self.manifest)?;
        let Manifest { layers, .. } = parse(&part, &self.manifest_bytes)?;
        let layer = layers.last().ok_or_else(|| invalid(&part, "has no layer"))?;
        let part = part_of(layer)?;
        let is_packed = match layer.media_type.rsplit(['+', '.']).next() {
            Some("gzip") => true,
            Some("tar") => false,
            _ => {
                return Err(invalid(
                    &part,
                    format!("is a {:?}, which nobody here can read", layer.media_type),
                ));
            }
        };
        let blob = self
            .blobs
            .iter()
            .find(|blob| blob.descriptor.digest == layer.digest);
        let blob = blob.ok_or_else(|| invalid(&part, "is not there"))?;
        // Its own position: what is uploaded begins at the start. The descriptor is opened anew by what it is, and not by a name.
        let file = File::open(format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&blob.file)
        ));
        let file = file.map_err(|source| LayoutError::Read { part, source })?;
        Ok((file, is_packed))
    }

    /// Says in the manifest what is installed in the image, which makes it an OCI manifest (Docker's has no annotations) and
    /// gives it another digest.
    pub fn annotate(&mut self, lock: &Lock) -> Result<(), LayoutError> {
        let part = part_of(&self.manifest)?;
        let mut manifest: Map<String, Value> = parse(&part, &self.manifest_bytes)?;
        as_oci(&mut manifest);
        let annotations = manifest
            .entry("annotations")
            .or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(annotations) = annotations else {
            return Err(invalid(&part, "has annotations that are no object"));
        };
        for (name, value) in installed::annotations(lock) {
            annotations.insert(name.to_owned(), Value::String(value));
        }
        let bytes = Value::Object(manifest).to_string().into_bytes();
        let (digest, size) =
            digest_of(bytes.as_slice()).map_err(|source| LayoutError::Read { part, source })?;
        OCI_MANIFEST.clone_into(&mut self.manifest.media_type);
        self.manifest.digest = format!("sha256:{digest}");
        self.manifest.size = size;
        self.manifest_bytes = bytes;
        Ok(())
    }
}

/// Gives a manifest and what it names the media types of OCI. The blobs are the same in both.
pub(super) fn as_oci(manifest: &mut Map<String, Value>) {
    manifest.insert("mediaType".to_owned(), OCI_MANIFEST.into());
    let (config, layers) =
        manifest
            .iter_mut()
            .fold((None, None), |found, (name, value)| match name.as_str() {
                "config" => (Some(value), found.1),
                "layers" => (found.0, value.as_array_mut()),
                _ => found,
            });
    for descriptor in config.into_iter().chain(layers.into_iter().flatten()) {
        let oci = match descriptor["mediaType"].as_str() {
            Some("application/vnd.docker.container.image.v1+json") => {
                "application/vnd.oci.image.config.v1+json"
            }
            Some("application/vnd.docker.image.rootfs.diff.tar.gzip") => {
                "application/vnd.oci.image.layer.v1.tar+gzip"
            }
            _ => continue,
        };
        descriptor["mediaType"] = oci.into();
    }
}

fn check_sizes(
    part: &str,
    config: &Descriptor,
    layers: &[Descriptor],
    limits: LayoutLimits,
) -> Result<(), LayoutError> {
    if layers.len() > MOST_LAYERS {
        return Err(invalid(
            part,
            format!("has {} layers; at most {MOST_LAYERS} are pushed", layers.len()),
        ));
    }
    if config.size > LARGEST_CONFIG {
        return Err(invalid(
            part,
            format!(
                "has a configuration of {} bytes; at most {LARGEST_CONFIG} are pushed",
                config.size
            ),
        ));
    }
    let total = layers
        .iter()
        // Saturating: sizes come from the layout, and a sum that wraps would pass.
        .fold(config.size, |sum, layer| sum.saturating_add(layer.size));
    if total > limits.bytes {
        return Err(invalid(
            part,
            format!("names {total} bytes; at most {} are pushed", limits.bytes),
        ));
    }
    Ok(())
}

fn open_blob(blobs: &OwnedFd, descriptor: Descriptor) -> Result<Blob, LayoutError> {
    let part = part_of(&descriptor)?;
    let mut file = open_file(blobs, hex_of(&descriptor)?, &part)?;
    verify(&part, &descriptor, &file)?;
    // The file stays open from here to the upload, so a name that is exchanged in between changes nothing.
    io::Seek::rewind(&mut file).map_err(|source| LayoutError::Read { part, source })?;
    Ok(Blob { descriptor, file })
}

/// The hex digits of a digest; nothing else may become a file name.
fn hex_of(descriptor: &Descriptor) -> Result<&str, LayoutError> {
    let hex = descriptor.digest.strip_prefix("sha256:");
    let is_hex =
        |hex: &&str| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hex.filter(is_hex).ok_or_else(|| {
        invalid(
            "a descriptor",
            format!("has the digest {:?}, which is no SHA-256", descriptor.digest),
        )
    })
}

fn part_of(descriptor: &Descriptor) -> Result<String, LayoutError> {
    Ok(format!("blobs/sha256/{}", hex_of(descriptor)?))
}

fn verify(part: &str, descriptor: &Descriptor, content: impl Read) -> Result<(), LayoutError> {
    // One byte more than it may have shows that it has too many.
    let (digest, read) =
        digest_of(content.take(descriptor.size.saturating_add(1))).map_err(|source| LayoutError::Read {
            part: part.to_owned(),
            source,
        })?;
    if read != descriptor.size {
        let more = if read > descriptor.size { "more" } else { "fewer" };
        return Err(invalid(
            part,
            format!(
                "has {more} than the {} bytes that its descriptor names",
                descriptor.size
            ),
        ));
    }
    if format!("sha256:{digest}") != descriptor.digest {
        return Err(invalid(part, "has another content than its digest names"));
    }
    Ok(())
}

/// SHA-256 of all that `input` gives, 64 lower-case hexadecimal digits, and how many bytes that were.
fn digest_of(mut input: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    // Blobs have gigabytes: they pass through a buffer of fixed size.
    let mut buffer = vec![0; 128 * 1024];
    let mut total = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok((hex(&hasher.finalize()), total)),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                total += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn open_folder(parent: impl AsFd, path: &Path, part: &str) -> Result<OwnedFd, LayoutError> {
    // `NOFOLLOW`: packages ran where this folder was made, and a link could lead to the credentials of the push.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, path, flags, Mode::empty()).map_err(|error| LayoutError::Read {
        part: part.to_owned(),
        source: error.into(),
    })
}

/// Opens a regular file: no link, no device, and no pipe that would never end.
fn open_file(parent: &OwnedFd, name: &str, part: &str) -> Result<File, LayoutError> {
    // `NONBLOCK`: opening a pipe without a writer would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let failed = |source: io::Error| LayoutError::Read {
        part: part.to_owned(),
        source,
    };
    let file = File::from(openat(parent, name, flags, Mode::empty()).map_err(|error| failed(error.into()))?);
    if file.metadata().map_err(failed)?.is_file() {
        Ok(file)
    } else {
        Err(invalid(part, "is no regular file"))
    }
}

fn read(file: &File, part: &str, most: u64) -> Result<Vec<u8>, LayoutError> {
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| LayoutError::Read {
            part: part.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > most {
        return Err(invalid(part, format!("is larger than {most} bytes")));
    }
    Ok(bytes)
}

fn parse<'a, T: Deserialize<'a>>(part: &str, bytes: &'a [u8]) -> Result<T, LayoutError> {
    serde_json::from_slice(bytes).map_err(|error| invalid(part, format!("cannot be read ({error})")))
}

#[cfg(test)]
mod tests;
