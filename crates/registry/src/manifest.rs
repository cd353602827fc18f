//! Manifests and configurations of images, as far as a layer more changes them. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::layer::{Layer, LayerEntry};
use super::layout::{MOST_LAYERS, OCI_INDEX, OCI_MANIFEST, as_oci};
use codegen_core::digest::sha256_hex;

pub(super) const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(super) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Addition to an image: what is appended.
#[derive(Clone, Debug)]
pub struct Addition {
    /// Content of the layer, in order.
    pub entries: Vec<LayerEntry>,
    /// By which the layer is found again.
    pub layer_annotations: BTreeMap<String, String>,
    /// Text about the layer in the history.
    pub created_by: String,
    /// Command that runs.
    pub entrypoint: Vec<String>,
    /// As whom (`65532:65532`).
    pub user: String,
    /// Folder in which it runs.
    pub working_folder: String,
    /// With which variables, besides those of the base.
    pub env: BTreeMap<String, String>,
    /// Labels of the configuration and annotations of the manifest.
    pub labels: BTreeMap<String, String>,
    /// The annotation that says whose image it is: a tag with another one's is not touched.
    pub owner: (&'static str, String),
}

/// A blob that is small enough to be held.
pub(super) struct Small {
    pub digest: String,
    pub bytes: Vec<u8>,
}

impl Small {
    pub fn of(bytes: Vec<u8>) -> Self {
        Self {
            digest: format!("sha256:{}", sha256_hex(&bytes)),
            bytes,
        }
    }
}

/// The digest of the image for an architecture that an index names; `None` where `manifest` is no index.
pub(super) fn chosen(manifest: &Value, architecture: &str) -> Option<Result<String, String>> {
    let is_index = |media_type: &str| media_type == OCI_INDEX || media_type.contains("manifest.list");
    let entries = manifest["manifests"]
        .as_array()
        // An index of OCI may leave out its media type; what has layers is a manifest.
        .filter(|_| manifest["mediaType"].as_str().is_none_or(is_index) && manifest["layers"].is_null())?;
    let is_it = |entry: &&Value| {
        entry["platform"]["os"] == "linux" && entry["platform"]["architecture"] == architecture
    };
    let digest = entries
        .iter()
        .find(is_it)
        .and_then(|entry| entry["digest"].as_str());
    Some(
        digest
            .map(str::to_owned)
            .ok_or_else(|| format!("has nothing for linux/{architecture}: name one that has")),
    )
}

/// The configuration of the base with one layer more, and with what runs in it.
pub(super) fn config(base: &[u8], layer: &Layer, addition: &Addition) -> Result<Small, String> {
    let unreadable = |what: &str| format!("has a configuration that cannot be read: {what}");
    let mut config: Map<String, Value> =
        serde_json::from_slice(base).map_err(|error| unreadable(&error.to_string()))?;
    let diff_ids = config
        .get_mut("rootfs")
        .and_then(|rootfs| rootfs["diff_ids"].as_array_mut());
    diff_ids
        .ok_or_else(|| unreadable("it names no layers"))?
        .push(layer.diff_id.as_str().into());
    let history = config.entry("history").or_insert_with(|| json!([]));
    if let Some(history) = history.as_array_mut() {
        history.push(json!({"created_by": addition.created_by}));
    }
    let runs = config.entry("config").or_insert_with(|| json!({}));
    let Value::Object(runs) = runs else {
        return Err(unreadable("it does not say what runs"));
    };
    // What the base would run are no options of the program.
    runs.remove("Cmd");
    runs.insert("Entrypoint".to_owned(), json!(addition.entrypoint));
    runs.insert("User".to_owned(), json!(addition.user));
    runs.insert("WorkingDir".to_owned(), json!(addition.working_folder));
    let env = runs.entry("Env").or_insert_with(|| json!([]));
    if let Some(env) = env.as_array_mut() {
        add_variables(env, &addition.env);
    }
    let labels = runs.entry("Labels").or_insert_with(|| json!({}));
    if !labels.is_object() {
        *labels = json!({});
    }
    for (name, value) in &addition.labels {
        labels[name] = value.as_str().into();
    }
    Ok(Small::of(Value::Object(config).to_string().into_bytes()))
}

fn add_variables(env: &mut Vec<Value>, variables: &BTreeMap<String, String>) {
    env.retain(|line| {
        let name = line.as_str().and_then(|line| line.split('=').next());
        name.is_none_or(|name| !variables.contains_key(name))
    });
    env.extend(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={value}").into()),
    );
}

/// The manifest of the base with one layer more. It is OCI's, whichever the base's is: Docker's has no annotations.
pub(super) fn manifest(
    base: &Value,
    layer: &Layer,
    config: &Small,
    addition: &Addition,
) -> Result<Small, String> {
    let Value::Object(mut manifest) = base.clone() else {
        return Err("has a manifest that is no object".to_owned());
    };
    as_oci(&mut manifest);
    // What it refers to is another image.
    manifest.remove("subject");
    manifest.insert(
        "config".to_owned(),
        json!({"mediaType": OCI_CONFIG, "digest": config.digest, "size": config.bytes.len()}),
    );
    let layers = manifest.get_mut("layers").and_then(Value::as_array_mut);
    let layers = layers.ok_or("has a manifest that names no layers")?;
    if layers.len() >= MOST_LAYERS {
        return Err(format!(
            "has {} layers: at most {MOST_LAYERS} are allowed",
            layers.len()
        ));
    }
    layers.push(json!({
        "mediaType": LAYER,
        "digest": layer.digest,
        "size": layer.bytes.len(),
        "annotations": addition.layer_annotations,
    }));
    let annotations = manifest.entry("annotations").or_insert_with(|| json!({}));
    if !annotations.is_object() {
        *annotations = json!({});
    }
    for (name, value) in &addition.labels {
        annotations[name] = value.as_str().into();
    }
    debug_assert_eq!(manifest.get("mediaType"), Some(&json!(OCI_MANIFEST)));
    Ok(Small::of(Value::Object(manifest).to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::layer;

    fn addition() -> Addition {
        Addition {
            entries: Vec::new(),
            layer_annotations: BTreeMap::from([("ours".to_owned(), "1".to_owned())]),
            created_by: "publish".to_owned(),
            entrypoint: vec!["python3".to_owned(), "/program/run.py".to_owned()],
            user: "65532:65532".to_owned(),
            working_folder: "/tmp".to_owned(),
            env: BTreeMap::from([("HOME".to_owned(), "/tmp".to_owned())]),
            labels: BTreeMap::from([("title".to_owned(), "penguins".to_owned())]),
            owner: ("task", "lab/penguins".to_owned()),
        }
    }

    #[test]
    fn the_configuration_has_a_layer_more_and_runs_the_program_and_nothing_of_the_base() {
        let base = json!({
            "architecture": "amd64",
            "config": {"Cmd": ["python3"], "Env": ["PATH=/usr/bin", "HOME=/root"], "Labels": {"theirs": "2"}},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:1"]},
            "history": [{"created_by": "base"}],
        });
        let layer = layer(&[]).unwrap();
        let made = config(base.to_string().as_bytes(), &layer, &addition()).unwrap();
        let made: Value = serde_json::from_slice(&made.bytes).unwrap();
        assert_eq!(
            made,
            json!({
                "architecture": "amd64",
                "config": {
                    "Env": ["PATH=/usr/bin", "HOME=/tmp"],
                    "Labels": {"theirs": "2", "title": "penguins"},
                    "Entrypoint": ["python3", "/program/run.py"],
                    "User": "65532:65532",
                    "WorkingDir": "/tmp",
                },
                "rootfs": {"type": "layers", "diff_ids": ["sha256:1", layer.diff_id]},
                "history": [{"created_by": "base"}, {"created_by": "publish"}],
            })
        );
    }

    #[test]
    fn a_manifest_of_docker_becomes_one_of_oci_with_the_same_blobs() {
        let base = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": "sha256:c", "size": 1},
            "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "digest": "sha256:1", "size": 5}],
        });
        let layer = layer(&[]).unwrap();
        let config = Small::of(b"{}".to_vec());
        let made = manifest(&base, &layer, &config, &addition()).unwrap();
        let made: Value = serde_json::from_slice(&made.bytes).unwrap();
        assert_eq!(made["mediaType"], OCI_MANIFEST);
        assert_eq!(made["config"]["digest"], config.digest);
        assert_eq!(made["config"]["mediaType"], OCI_CONFIG);
        assert_eq!(
            made["layers"][0],
            json!({"mediaType": LAYER, "digest": "sha256:1", "size": 5})
        );
        assert_eq!(made["layers"][1]["digest"], layer.digest);
        assert_eq!(made["layers"][1]["annotations"], json!({"ours": "1"}));
        assert_eq!(made["annotations"], json!({"title": "penguins"}));
    }

    #[test]
    fn of_an_index_the_image_for_the_architecture_is_chosen() {
        let entry = |architecture: &str, digest: &str| json!({"platform": {"os": "linux", "architecture": architecture}, "digest": digest});
        let index = json!({"mediaType": OCI_INDEX, "manifests": [entry("unknown", "0"), entry("arm64", "1"), entry("amd64", "2")]});
        assert_eq!(chosen(&index, "amd64"), Some(Ok("2".to_owned())));
        assert_eq!(
            chosen(&index, "s390x"),
            Some(Err("has nothing for linux/s390x: name one that has".to_owned()))
        );
        assert_eq!(chosen(&json!({"layers": []}), "amd64"), None);
    }

    #[test]
    fn a_base_that_is_no_image_is_refused_in_a_sentence() {
        let layer = layer(&[]).unwrap();
        let error = config(b"[]", &layer, &addition()).err().unwrap();
        assert!(
            error.starts_with("has a configuration that cannot be read"),
            "{error}"
        );
        let error = config(b"{}", &layer, &addition()).err().unwrap();
        assert_eq!(
            error,
            "has a configuration that cannot be read: it names no layers"
        );
        let config = Small::of(Vec::new());
        assert_eq!(
            manifest(&json!({}), &layer, &config, &addition()).err().unwrap(),
            "has a manifest that names no layers"
        );
    }
}
