//! Place of a source's bytes, and the name of its file there.

use std::path::{Component, Path};

use super::names::last_segment;
use super::{ObjectData, SourceOrigin};
use codegen_api::source::ContentSource;
use codegen_core::mounts::ending_of_text;

/// Reason for which the bytes of a source cannot be found.
#[derive(Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is no such ConfigMap.
    ConfigMap {
        /// Its name.
        name: String,
    },
    /// The ConfigMap has no such key.
    Key {
        /// The ConfigMap.
        name: String,
        /// The key.
        key: String,
        /// The keys that it has.
        present: Vec<String>,
    },
    /// The path leads out of its claim.
    OutsideClaim {
        /// The path.
        path: String,
    },
}

/// Finds the bytes of `source` and the name of the file there: empty for a ConfigMap as a folder. Text of a manifest is called `name`, with
/// an ending found from the content.
pub fn place<'a>(
    source: ContentSource<'_>,
    name: &str,
    is_dir: bool,
    config_map: impl Fn(&str) -> Option<&'a ObjectData>,
) -> Result<(SourceOrigin, String), NotFound> {
    let keys_of = |name: &str| {
        config_map(name).ok_or_else(|| NotFound::ConfigMap {
            name: name.to_owned(),
        })
    };
    Ok(match source {
        ContentSource::Inline(text) => (
            SourceOrigin::Bytes(text.as_bytes().to_vec()),
            format!("{name}{}", ending_of_text(text)),
        ),
        ContentSource::ConfigMapKey(reference) => {
            let keys = keys_of(&reference.name)?;
            let bytes = keys.0.get(&reference.key).ok_or_else(|| NotFound::Key {
                name: reference.name.clone(),
                key: reference.key.clone(),
                present: keys.0.keys().cloned().collect(),
            })?;
            (SourceOrigin::Bytes(bytes.clone()), reference.key.clone())
        }
        ContentSource::ConfigMap(reference) => (
            SourceOrigin::Files(keys_of(&reference.name)?.0.clone()),
            String::new(),
        ),
        ContentSource::Url(url) => {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            (SourceOrigin::Download(url.to_owned()), last_segment(path))
        }
        ContentSource::Claim(claim) => {
            let path = inside(&claim.path).ok_or_else(|| NotFound::OutsideClaim {
                path: claim.path.clone(),
            })?;
            let source = SourceOrigin::Claim {
                claim: claim.claim_name.clone(),
                path,
                is_dir,
            };
            (source, last_segment(&claim.path))
        }
    })
}

/// A path on a claim without what says nothing; `None` where it leaves the claim.
fn inside(path: &str) -> Option<String> {
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(names.join("/"))
}
