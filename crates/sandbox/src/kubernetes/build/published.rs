//! Reads the program in an image that somebody has published. Whoever pushed it is not trusted: sizes and digests are checked.

use kube::Client;

use super::objects::{DockerConfig, NamespaceObjects};
use super::registries::{RegistryCache, failed};
use crate::SandboxError;
use crate::kubernetes::names;
use crate::kubernetes::settings::Registries;
use crate::publication::{FILE, FOLDER, LAYER, PROGRAM};
use codegen_registry::{Foundation, InspectedImage, read_layer};

/// Most bytes of the layer with the program, packed.
// Program and launcher are some kilobytes; whoever names an image of somebody else must not cost the operator its memory.
const LARGEST_LAYER: u64 = 2 * 1024 * 1024;
/// Most bytes that it unpacks to.
// A layer of 2 MiB can unpack to gigabytes.
const LARGEST_UNPACKED: u64 = 8 * 1024 * 1024;

/// A program in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedProgram {
    /// The image by digest, as nodes know it.
    pub image: String,
    /// Source of the program.
    pub program: String,
    /// Description of the program, as JSON.
    pub file: Vec<u8>,
}

/// Contents of an image that is named as a program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InImage {
    /// The registry does not have it.
    Gone,
    /// There is no program in it: why.
    Nothing(String),
    /// There is one.
    Program(PublishedProgram),
}

/// An image to inspect.
#[derive(Clone, Copy, Debug)]
pub struct ImageToInspect<'a> {
    /// Namespace of the Secret.
    pub namespace: &'a str,
    /// The image, as nodes know it.
    pub reference: &'a str,
    /// Secret to pull it with.
    pub secret: Option<&'a str>,
    /// The field that names the Secret.
    pub field: &'a str,
}

impl ImageToInspect<'_> {
    /// Reads the contents of the image.
    pub async fn read(
        &self,
        client: &Client,
        settings: &Registries,
        registries: &RegistryCache,
    ) -> Result<InImage, SandboxError> {
        let objects = NamespaceObjects::new(client.clone(), self.namespace);
        let config = match self.secret {
            Some(name) => Some(objects.docker_config(name, self.field).await?),
            None => None,
        };
        // Nodes may have another name for the repository than the operator.
        let asked = settings.as_operator_knows(self.reference);
        let told = |error| {
            failed(
                self.reference,
                &format!("{} and the name of the image", self.field),
                error,
            )
        };
        let registry = registries
            .client(settings, config.as_ref().map(DockerConfig::bytes))
            .map_err(told)?;
        let image = Foundation {
            registry: &registry,
            reference: &asked,
            architecture: names::architecture(std::env::consts::ARCH),
        };
        let Some(InspectedImage { digest, layer }) = image.layer(LAYER, LARGEST_LAYER).await.map_err(told)?
        else {
            return Ok(InImage::Gone);
        };
        Ok(match unpacked(layer) {
            Ok((program, file)) => InImage::Program(PublishedProgram {
                image: by_digest(self.reference, &digest),
                program,
                file,
            }),
            Err(why) => InImage::Nothing(why),
        })
    }
}

/// Program and description of a packed layer.
fn unpacked(layer: Option<Vec<u8>>) -> Result<(String, Vec<u8>), String> {
    let layer = layer.ok_or_else(|| {
        format!(
            "no layer of it has the annotation {} with the value {}: name the image of a task that has published its program \
             (status.programImage)",
            LAYER.0, LAYER.1
        )
    })?;
    let files = read_layer(&layer, LARGEST_UNPACKED)
        .map_err(|error| format!("the layer with the program cannot be read: {error}"))?;
    let content = |name: &str| {
        let path = format!("{FOLDER}/{name}");
        let found = files.iter().find(|file| file.path == path);
        let content = found.and_then(|file| file.content.clone());
        content.ok_or_else(|| format!("the layer with the program has no {path}"))
    };
    let program = String::from_utf8(content(PROGRAM)?).map_err(|_| "the program is not UTF-8".to_owned())?;
    Ok((program, content(FILE)?))
}

/// The repository of a reference with another digest.
fn by_digest(reference: &str, digest: &str) -> String {
    let name = reference.split('@').next().unwrap_or(reference);
    let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
    // A colon before the last slash is a port; after it a tag begins.
    let last = last.split(':').next().unwrap_or(last);
    let repository = if folder.is_empty() {
        last.to_owned()
    } else {
        format!("{folder}/{last}")
    };
    format!("{repository}@{digest}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("registry.example:5000/lab:v1")]
    #[case("registry.example:5000/lab")]
    #[case("registry.example:5000/lab@sha256:old")]
    #[case("registry.example:5000/lab:v1@sha256:old")]
    fn an_image_is_named_by_its_digest(#[case] reference: &str) {
        assert_eq!(
            by_digest(reference, "sha256:1"),
            "registry.example:5000/lab@sha256:1"
        );
        assert_eq!(by_digest("lab:v1", "sha256:1"), "lab@sha256:1");
    }
}
