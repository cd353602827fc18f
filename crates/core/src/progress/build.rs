//! The image of a task: what it must hold, and what came of building it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::documents::Document;
use crate::sandbox::Packages;

/// The image and what it must hold.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Build {
    /// Packages that program and suite need.
    pub wanted: Packages,
    /// Packages that replies and diagnoses declared, besides those that the syntax trees show.
    pub declared: Packages,
    /// Names that could not be installed, after `pip:` or `apt:`, and what took their place (empty: nothing).
    pub replaced: BTreeMap<String, String>,
    /// The last image that was built.
    pub built: Option<BuiltImage>,
    /// Cause for which the last build failed for want of a package.
    pub fault: Option<BuildFault>,
    /// The image that a sandbox could not find although it was built.
    pub lost: Option<String>,
    /// Archives that the last image held, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<RecordedLock>,
}

/// Archives of an environment: whoever makes the same one again makes it of the same archives.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RecordedLock {
    /// Hash of everything that the environment was asked to be.
    pub environment: String,
    /// A requirements file.
    pub document: Document,
}

/// An image that was built.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct BuiltImage {
    /// Its reference (locally the environment's name).
    pub image: String,
    /// Packages that were asked of it.
    pub packages: Packages,
    /// Packages that were installed (`pandas==2.3.1`).
    pub resolved: Vec<String>,
    /// The interpreter inside (`3.12.4`).
    pub python: String,
    /// Days that every release in it had been there when it was asked for.
    #[serde(skip_serializing_if = "is_none")]
    pub min_release_age_days: u32,
}

/// A build that failed for want of a package.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct BuildFault {
    /// Packages that were wanted.
    pub packages: Packages,
    /// Message of the package manager.
    pub message: String,
}

impl Build {
    /// The image, when it holds everything that is wanted.
    #[must_use]
    pub fn ready(&self) -> Option<&BuiltImage> {
        self.built
            .as_ref()
            .filter(|built| covers(&built.packages, &self.wanted))
    }

    /// Reports whether the image has everything that is wanted, and packages that are not wanted any more.
    #[must_use]
    pub fn has_surplus(&self) -> bool {
        let built = self.ready();
        built.is_some_and(|built| !covers(&self.wanted, &built.packages))
    }

    /// The fault, when it is about what is wanted now.
    #[must_use]
    pub fn present_fault(&self) -> Option<&BuildFault> {
        self.fault.as_ref().filter(|fault| fault.packages == self.wanted)
    }
}

/// Reports whether `have` holds all of `want`.
fn covers(have: &Packages, want: &Packages) -> bool {
    want.pip.iter().all(|p| have.pip.contains(p)) && want.apt.iter().all(|p| have.apt.contains(p))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it this way")]
pub(super) const fn is_none(count: &u32) -> bool {
    *count == 0
}
