use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rstest::rstest;

use super::*;

struct LayoutOnDisk {
    folder: tempfile::TempDir,
    layer: String,
    manifest: String,
}

fn blob(folder: &Path, bytes: &[u8]) -> String {
    let hex = codegen_core::digest::sha256_hex(bytes);
    fs::write(folder.join("blobs/sha256").join(&hex), bytes).unwrap();
    hex
}

/// A layout of one layer whose descriptor says `layer_size` bytes.
fn layout_of(layer_size: u64) -> LayoutOnDisk {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("blobs/sha256")).unwrap();
    let config = blob(folder.path(), b"{}");
    let layer = blob(folder.path(), b"a layer");
    let manifest = format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:{config}","size":2}},
        "layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:{layer}","size":{layer_size}}}]}}"#
    );
    let manifest_hex = blob(folder.path(), manifest.as_bytes());
    write_index(folder.path(), &manifest_hex, manifest.len());
    LayoutOnDisk {
        layer,
        manifest: manifest_hex,
        folder,
    }
}

fn write_index(folder: &Path, manifest: &str, size: usize) {
    let media_type = MANIFEST_TYPES[0];
    let index = format!(
        r#"{{"manifests":[{{"mediaType":"{media_type}","digest":"sha256:{manifest}","size":{size}}}]}}"#
    );
    fs::write(folder.join("index.json"), index).unwrap();
}

impl LayoutOnDisk {
    fn path_of(&self, hex: &str) -> PathBuf {
        self.folder.path().join("blobs/sha256").join(hex)
    }

    fn open(&self) -> Result<ImageLayout, String> {
        ImageLayout::open(self.folder.path(), LayoutLimits::default()).map_err(|error| error.to_string())
    }
}

#[test]
fn a_layout_whose_blobs_are_what_their_digests_name_opens() {
    let written = layout_of(7);
    let layout = written.open().unwrap();
    assert_eq!(layout.manifest.digest, format!("sha256:{}", written.manifest));
    let sizes: Vec<_> = layout.blobs.iter().map(|blob| blob.descriptor.size).collect();
    assert_eq!(sizes, [2, 7]);
}

#[test]
fn a_blob_read_after_verification_is_the_one_that_was_verified() {
    let written = layout_of(7);
    let mut layout = written.open().unwrap();
    fs::remove_file(written.path_of(&written.layer)).unwrap();
    fs::write(written.path_of(&written.layer), "another").unwrap();
    let mut text = String::new();
    layout.blobs[1].file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "a layer");
}

#[test]
fn a_blob_of_another_content_is_refused() {
    let written = layout_of(7);
    fs::write(written.path_of(&written.layer), "A LAYER").unwrap();
    assert_eq!(
        written.open().unwrap_err(),
        format!(
            "blobs/sha256/{} of the image layout has another content than its digest names; it is not pushed",
            written.layer
        )
    );
}

#[rstest]
#[case(6, "has more than the 6 bytes")]
#[case(8, "has fewer than the 8 bytes")]
#[case(u64::MAX, "names 18446744073709551615 bytes; at most 17179869184 are pushed")]
fn a_blob_of_another_size_is_refused(#[case] size: u64, #[case] reason: &str) {
    let error = layout_of(size).open().unwrap_err();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_link_in_the_place_of_a_blob_is_not_followed() {
    let written = layout_of(7);
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "a layer").unwrap();
    fs::remove_file(written.path_of(&written.layer)).unwrap();
    symlink(outside.path(), written.path_of(&written.layer)).unwrap();
    let error = written.open().unwrap_err();
    assert!(
        error.starts_with(&format!("cannot read blobs/sha256/{}", written.layer)),
        "{error}"
    );
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let (written, other) = (layout_of(7), layout_of(7));
    fs::remove_dir_all(written.folder.path().join("blobs")).unwrap();
    symlink(
        other.folder.path().join("blobs"),
        written.folder.path().join("blobs"),
    )
    .unwrap();
    let error = written.open().unwrap_err();
    assert!(
        error.starts_with("cannot read blobs of the image layout"),
        "{error}"
    );
}

#[test]
fn a_pipe_in_the_place_of_a_blob_is_refused_and_not_waited_for() {
    let written = layout_of(7);
    let path = written.path_of(&written.layer);
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(written.open().unwrap_err().contains("is no regular file"));
}

#[rstest]
#[case("sha256:../../../etc/passwd")]
#[case("sha512:00")]
#[case("sha256:ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789")]
fn a_digest_that_is_none_never_becomes_a_path(#[case] digest: &str) {
    let written = layout_of(7);
    let index = format!(
        r#"{{"manifests":[{{"mediaType":"{}","digest":"{digest}","size":1}}]}}"#,
        MANIFEST_TYPES[0]
    );
    fs::write(written.folder.path().join("index.json"), index).unwrap();
    let error = written.open().unwrap_err();
    assert!(error.contains("which is no SHA-256"), "{error}");
}

#[rstest]
#[case(r#"{"manifests":[]}"#, "names 0 manifests where one image is expected")]
#[case(
    r#"{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:0","size":1}]}"#,
    "names a \"application/vnd.oci.image.index.v1+json\" where an image manifest is expected"
)]
#[case("[", "cannot be read (EOF while parsing a list at line 1 column 1)")]
fn an_index_of_another_kind_is_refused(#[case] index: &str, #[case] reason: &str) {
    let written = layout_of(7);
    fs::write(written.folder.path().join("index.json"), index).unwrap();
    assert_eq!(
        written.open().unwrap_err(),
        format!("index.json of the image layout {reason}; it is not pushed")
    );
}

#[test]
fn an_index_that_is_too_large_is_not_read_whole() {
    let written = layout_of(7);
    let file = File::create(written.folder.path().join("index.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert!(
        written
            .open()
            .unwrap_err()
            .contains("is larger than 1048576 bytes")
    );
}

#[test]
fn an_annotated_manifest_is_one_of_oci_whatever_it_was() {
    let docker = r#"{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": "sha256:aa", "size": 2},
        "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "digest": "sha256:bb", "size": 7}]}"#;
    let mut layout = layout_of(7).open().unwrap();
    layout.manifest.media_type = MANIFEST_TYPES[1].to_owned();
    layout.manifest_bytes = docker.as_bytes().to_vec();
    let installed = Lock::parse("# Python 3.12.4 on x86_64\nsix==1.17.0\n").unwrap();
    layout.annotate(&installed).unwrap();
    let manifest: Value = serde_json::from_slice(&layout.manifest_bytes).unwrap();
    assert_eq!(
        manifest,
        serde_json::json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "sha256:aa", "size": 2},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:bb", "size": 7}],
            "annotations": {
                "dev.codegen-operator.packages": "six==1.17.0",
                "dev.codegen-operator.python": "3.12.4",
                "dev.codegen-operator.requirements": "# Python 3.12.4 on x86_64\nsix==1.17.0\n",
            },
        })
    );
    assert_eq!(layout.manifest.media_type, MANIFEST_TYPES[0]);
    let digest = codegen_core::digest::sha256_hex(&layout.manifest_bytes);
    assert_eq!(layout.manifest.digest, format!("sha256:{digest}"));
    assert_eq!(layout.manifest.size, layout.manifest_bytes.len() as u64);
}
