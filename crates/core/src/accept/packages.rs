//! Packages that follow from a reply, and checks of replacements of packages.

use std::collections::BTreeSet;

use super::source::stored;
use super::{Accepted, Facts, Refusal};
use crate::bounds::too_many;
use crate::progress::Build;
use crate::python::Module;
use crate::python::packages::{PackageSources, detect};
use crate::python::requirement::{Requirement, normalized};
use crate::reply::{EnvironmentReply, PackageManager};
use crate::sandbox::Packages;

/// Prefix of names of pip packages among the replaced ones; apt may know the same name.
const PIP: &str = "pip:";
/// Prefix of names of apt packages among the replaced ones.
const APT: &str = "apt:";

impl Facts<'_> {
    pub(super) fn fix_environment(&self, reply: EnvironmentReply) -> Result<Accepted, Refusal> {
        let build = &self.progress.build;
        let mut replaced = Vec::new();
        for row in reply.replacements {
            let (manager, known) = match row.manager {
                PackageManager::Pip => (
                    PIP,
                    build.wanted.pip.iter().find(|have| same_package(have, &row.name)),
                ),
                PackageManager::Apt => (APT, build.wanted.apt.iter().find(|have| **have == row.name)),
            };
            let Some(known) = known else {
                return Err(format!("{} is none of the packages that were wanted.", row.name).into());
            };
            replaced.push((format!("{manager}{known}"), row.replacement));
        }
        let mut next = build.clone();
        next.replaced.extend(replaced.iter().cloned());
        let wanted = next.replace(&build.wanted);
        // An answer that changes nothing would be asked for in the same words again.
        if wanted == build.wanted {
            return Err("The answer leaves the packages as they were.".into());
        }
        for name in &wanted.pip {
            Requirement::parse(name).map_err(|fault| Refusal::from(format!("Package {name}: {fault}.")))?;
        }
        Ok(Accepted::Environment { replaced, wanted })
    }

    pub(super) fn wanted_now(&self, declared: &Packages) -> Result<Packages, String> {
        let solution = stored(&self.material.solution)?;
        let tests = self.stored_tests()?;
        let modules: Vec<&Module> = std::iter::once(&solution).chain(&tests).collect();
        self.wanted(&modules, declared)
    }

    pub(super) fn wanted(&self, modules: &[&Module], declared: &Packages) -> Result<Packages, String> {
        self.wanted_beside(modules, declared, &BTreeSet::new())
    }

    /// Returns the packages that `modules` need; imports of `own`, modules that lie beside these, ask for no package.
    pub(super) fn wanted_beside(
        &self,
        modules: &[&Module],
        declared: &Packages,
        own: &BTreeSet<String>,
    ) -> Result<Packages, String> {
        let mut detected = detect(&PackageSources {
            modules,
            version: &self.task.image.python_version,
            declared,
            base: &Packages::default(),
            own,
        });
        // What the acceptance tests import must be there too; of them no more than the names of packages is used.
        let hidden = Module::parse(&self.material.acceptance_tests).ok();
        if let Some(hidden) = &hidden {
            let with_hidden = detect(&PackageSources {
                modules: &[hidden],
                version: &self.task.image.python_version,
                declared: &Packages::default(),
                base: &detected.packages,
                own: &BTreeSet::new(),
            });
            detected.packages = with_hidden.packages;
        }
        if let Some(rejected) = detected.rejected.first() {
            return Err(format!("Package {}: {}.", rejected.given, rejected.reason));
        }
        let wanted = self.progress.build.replace(&detected.packages);
        match too_many(declared).or_else(|| too_many(&wanted)) {
            Some(why) => Err(why),
            None => Ok(wanted),
        }
    }
}

impl Build {
    /// `packages` with the names that cannot be installed replaced.
    #[must_use]
    pub fn replace(&self, packages: &Packages) -> Packages {
        let replace = |manager: &str, names: &[String]| {
            let names: BTreeSet<String> = names
                .iter()
                .map(|name| self.replacement(manager, name))
                .filter(|name| !name.is_empty())
                .collect();
            names.into_iter().collect()
        };
        Packages {
            pip: replace(PIP, &packages.pip),
            apt: replace(APT, &packages.apt),
        }
    }

    /// Follows the replacements of a name to their end, over as many steps as there are replacements.
    fn replacement(&self, manager: &str, name: &str) -> String {
        let mut now = name.to_owned();
        // As many steps as there are replacements: names that replace one another in a cycle end here.
        for _ in &self.replaced {
            match self.replaced.get(&format!("{manager}{now}")) {
                Some(next) if *next != now => now.clone_from(next),
                Some(_) | None => break,
            }
        }
        now
    }
}

/// Reports whether a requirement is of the package of this name.
pub(super) fn same_package(requirement: &str, name: &str) -> bool {
    let name_of =
        |text: &str| Requirement::parse(text).map_or_else(|_| normalized(text), |parsed| parsed.name);
    name_of(requirement) == name_of(name)
}
