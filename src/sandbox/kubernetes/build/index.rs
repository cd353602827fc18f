//! Which package index a build takes, and what that has of what is to be installed.

use super::{Build, KubernetesSandbox};
use crate::api::image::default_base;
use crate::package_index::PYPI;
use crate::registry::Image;
use crate::sandbox::index::{self, Where};
use crate::sandbox::{ImageSpec, SandboxError};

/// Where pip finds its index.
pub(super) const INDEX_URL: &str = "PIP_INDEX_URL";
/// Variables by which pip takes packages from elsewhere too.
const OTHER_SOURCES: [&str; 4] = [
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_CONFIG_FILE",
];

/// What the index says of a build.
#[derive(Clone, Debug, Default)]
pub(super) struct Verified {
    /// Requirements of versions that are old enough, in the place of those of the same name.
    pub bounds: Vec<String>,
    /// Whether a pip can be had that passes over what is too young, where that matters.
    pub passes_over: bool,
}

impl Build<'_> {
    /// What the index has of all that is to be installed: what it lacks costs no build.
    pub(super) async fn verify(&self) -> Result<Verified, SandboxError> {
        // What was installed before was judged then.
        if self.spec.lock.is_some() {
            return Ok(Verified::default());
        }
        let bounds = index::verify(self.sandbox.index, self.spec, self.place()).await?;
        let place = Where {
            index: Some(installer_index(self.sandbox)),
            ..self.place()
        };
        let passes_over = self.spec.min_release_age_days > 0
            && index::has_newer_pip(self.sandbox.index, self.spec, place).await;
        Ok(Verified { bounds, passes_over })
    }

    /// Whether all in an image is old enough: what was brought along as well.
    pub(super) async fn judge(&self, image: &Image) -> Result<(), SandboxError> {
        let (index, days) = (self.sandbox.index, self.spec.min_release_age_days);
        if days == 0 || index.is_settled(&image.digest, days) {
            return Ok(());
        }
        index::judge_installed(index, self.spec, self.place(), &image.installed.packages).await?;
        index.settle(&image.digest, days);
        Ok(())
    }

    fn place(&self) -> Where<'_> {
        Where {
            index: index_to_ask(self.sandbox, self.spec),
            python: &self.spec.python_version,
        }
    }
}

/// The hash of what the image holds, whatever name its base goes by.
pub(super) fn content(sandbox: &KubernetesSandbox<'_>, spec: &ImageSpec, base: &str) -> String {
    let spec = ImageSpec {
        base: base.to_owned(),
        index_url: index_url(sandbox, spec).map(str::to_owned),
        ..spec.clone()
    };
    spec.content_hash()
}

/// The task's package index, else the operator's.
pub(super) fn index_url<'a>(sandbox: &'a KubernetesSandbox<'_>, spec: &'a ImageSpec) -> Option<&'a str> {
    let shared = sandbox.settings.build.env.get(INDEX_URL);
    spec.index_url.as_deref().or(shared.map(String::as_str))
}

/// The index that installers come from: the operator's. What a task names is for its packages alone.
pub(super) fn installer_index<'a>(sandbox: &'a KubernetesSandbox<'_>) -> &'a str {
    let shared = sandbox.settings.build.env.get(INDEX_URL);
    shared.map_or(PYPI, String::as_str)
}

/// The index that the build will take, where that can be said: a base image of somebody's own may bring settings of pip.
fn index_to_ask<'a>(sandbox: &'a KubernetesSandbox<'_>, spec: &'a ImageSpec) -> Option<&'a str> {
    let has_others = OTHER_SOURCES
        .iter()
        .any(|name| sandbox.settings.build.env.contains_key(*name));
    if has_others {
        return None;
    }
    let is_official = spec.base == default_base(&spec.python_version);
    index_url(sandbox, spec).or_else(|| is_official.then_some(PYPI))
}
