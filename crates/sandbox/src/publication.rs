//! A finished program as a layer of files, and the list of what an image with it is made of.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::HASH_SEED;
use codegen_core::digest::{sha256_hex, sha256_hex_of_parts};
use codegen_registry::LayerEntry;

/// Folder of the program in its image.
pub const FOLDER: &str = "program";
/// Names of its files.
pub const PROGRAM: &str = "solution.py";
/// Name of the file that describes the program, as JSON.
pub const FILE: &str = "program.json";
const LAUNCHER: (&str, &str) = ("run.py", include_str!("launcher/run.py"));
/// Annotation of the layer with the program, and the version of its form.
pub const LAYER: (&str, &str) = ("dev.codegen-operator.program", "1");
/// As whom the program runs.
pub const USER: u64 = 65_532;

/// A program that has passed, on its way into an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Source of the program.
    pub program: String,
    /// Description of the program, as JSON.
    pub file: Vec<u8>,
    /// Labels of the image.
    pub labels: BTreeMap<String, String>,
    /// The image that it was tested in.
    pub environment: String,
    /// The interpreter in that (`3.12.4`); empty where it is not known.
    pub python: String,
    /// Distributions installed in that (`pandas==2.3.1`).
    pub installed: Vec<String>,
    /// apt packages that were asked for.
    pub system_packages: Vec<String>,
}

/// A program that is in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its image by digest, as nodes know it.
    pub image: String,
    /// The tag that it was given.
    pub tag: String,
    /// Bytes that were uploaded.
    pub uploaded_bytes: u64,
}

impl Publication {
    /// The files of the layer, and the folders that sandboxes have.
    #[must_use]
    pub fn entries(&self) -> Vec<LayerEntry> {
        let folder = |path: &str, owner: u64| LayerEntry {
            path: path.to_owned(),
            owner,
            content: None,
        };
        let file = |name: &str, content: &[u8]| LayerEntry {
            path: format!("{FOLDER}/{name}"),
            owner: 0,
            content: Some(content.to_vec()),
        };
        vec![
            folder(FOLDER, 0),
            file(FILE, &self.file),
            file(HASH_SEED.0, HASH_SEED.1.as_bytes()),
            file(LAUNCHER.0, LAUNCHER.1.as_bytes()),
            file(PROGRAM, self.program.as_bytes()),
            folder("var/inputs", 0),
            // Only the folder for outputs belongs to the user that the program runs as.
            folder("var/outputs", USER),
        ]
    }

    /// Returns the command that runs in the image.
    #[must_use]
    pub fn entrypoint() -> Vec<String> {
        vec!["python3".to_owned(), format!("/{FOLDER}/{}", LAUNCHER.0)]
    }

    /// Lists the parts of the image `digest` of `repository`, as `CycloneDX`. Equal images have equal lists.
    #[must_use]
    pub fn bill_of_materials(&self, repository: &str, digest: &str, base_digest: &str) -> Vec<u8> {
        let name = self.labels.get("org.opencontainers.image.title");
        let name = name.map_or("program", String::as_str);
        let packages = self.installed.iter().filter_map(|installed| {
            let (name, version) = installed.split_once("==")?;
            // A purl of PyPI is in lower case with hyphens.
            let purl = format!("pkg:pypi/{}@{version}", name.to_lowercase().replace('_', "-"));
            Some(json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}))
        });
        let system = self.system_packages.iter().map(|package| {
            // apt takes `name=version` with one sign; versions are optional there.
            let (name, version) = package.split_once('=').unwrap_or((package, ""));
            let purl = format!("pkg:deb/debian/{name}");
            let mut component = json!({"type": "library", "bom-ref": purl, "name": name, "purl": purl});
            if !version.is_empty() {
                component["version"] = version.into();
            }
            component
        });
        let (base, _) = self
            .environment
            .split_once('@')
            .unwrap_or((&self.environment, ""));
        let sha256 = sha256_hex(self.program.as_bytes());
        let mut components = vec![
            json!({
                "type": "application",
                "bom-ref": "program",
                "name": name,
                "version": sha256,
                "hashes": [{"alg": "SHA-256", "content": sha256}],
            }),
            json!({"type": "container", "bom-ref": "environment", "name": base, "version": base_digest}),
        ];
        if !self.python.is_empty() {
            components.push(
                json!({"type": "platform", "bom-ref": "python", "name": "python", "version": self.python}),
            );
        }
        components.extend(packages.chain(system));
        let depends_on: Vec<Value> = components
            .iter()
            .skip(1)
            .map(|component| component["bom-ref"].clone())
            .collect();
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            // It follows from the image, so that publishing twice attaches the same document.
            "serialNumber": serial_number(&[repository, digest]),
            "version": 1,
            "metadata": {
                "component": {"type": "container", "bom-ref": "image", "name": repository, "version": digest},
                "tools": {"components": [{"type": "application", "name": "codegen-operator", "version": env!("CARGO_PKG_VERSION")}]},
            },
            "components": components,
            "dependencies": [
                {"ref": "image", "dependsOn": ["program"]},
                {"ref": "program", "dependsOn": depends_on},
            ],
        });
        bill.to_string().into_bytes()
    }
}

/// A UUID (of version 8: by a rule of our own) that follows from what it names.
fn serial_number(parts: &[&str]) -> String {
    let digits = sha256_hex_of_parts(parts);
    format!(
        "urn:uuid:{}-{}-8{}-a{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..32]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn publication() -> Publication {
        Publication {
            program: "print(1)\n".to_owned(),
            file: b"{}".to_vec(),
            labels: BTreeMap::from([("org.opencontainers.image.title".to_owned(), "penguins".to_owned())]),
            environment: "registry.example/lab@sha256:1".to_owned(),
            python: "3.12.4".to_owned(),
            installed: vec!["pandas==2.3.1".to_owned(), "PyYAML==6.0".to_owned()],
            system_packages: vec!["libgomp1".to_owned(), "curl=8.1-2".to_owned()],
        }
    }

    #[test]
    fn the_bill_of_materials_names_program_base_interpreter_and_packages_and_is_the_same_each_time() {
        let bill = |digest: &str| publication().bill_of_materials("registry.example/lab", digest, "sha256:1");
        assert_eq!(bill("sha256:2"), bill("sha256:2"));
        let found: Value = serde_json::from_slice(&bill("sha256:2")).unwrap();
        let other: Value = serde_json::from_slice(&bill("sha256:3")).unwrap();
        assert_ne!(found["serialNumber"], other["serialNumber"]);
        let serial = found["serialNumber"].as_str().unwrap();
        let uuid =
            regex::Regex::new("^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$");
        assert!(uuid.unwrap().is_match(serial), "{serial}");
        let names: Vec<String> = found["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|component| {
                let text = |field: &str| component[field].as_str().unwrap_or_default().to_owned();
                format!("{} {} {}", text("type"), text("purl"), text("version"))
            })
            .collect();
        let sha256 = sha256_hex(b"print(1)\n");
        assert_eq!(
            names,
            [
                format!("application  {sha256}"),
                "container  sha256:1".to_owned(),
                "platform  3.12.4".to_owned(),
                "library pkg:pypi/pandas@2.3.1 2.3.1".to_owned(),
                "library pkg:pypi/pyyaml@6.0 6.0".to_owned(),
                "library pkg:deb/debian/libgomp1 ".to_owned(),
                "library pkg:deb/debian/curl 8.1-2".to_owned(),
            ]
        );
    }

    #[test]
    fn the_layer_holds_program_launcher_and_description_and_a_folder_that_the_program_may_write() {
        let entries = publication().entries();
        let of = |path: &str| entries.iter().find(|entry| entry.path == path).unwrap();
        assert_eq!(
            of("program/solution.py").content.as_deref(),
            Some("print(1)\n".as_bytes())
        );
        assert_eq!(of("var/outputs").owner, USER);
        assert_eq!(entries.len(), 7);
    }
}
