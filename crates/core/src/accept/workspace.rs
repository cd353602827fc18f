//! Checks of an agent's files before their tests run: the same as of a program and a suite of the pipeline.

use std::collections::BTreeSet;

use super::Facts;
use super::source::parse_source;
use crate::agent::{PACKAGES, SOLUTION, Workspace};
use crate::package_policy::denial;
use crate::progress::Progress;
use crate::prompts::Material;
use crate::python::Module;
use crate::python::imports::{Guard, imports};
use crate::python::merge::tree_hash;
use crate::python::stdlib;
use crate::sandbox::Packages;
use crate::task::Task;

/// Prefix of a line of the list of packages that names one of the system.
const APT: &str = "apt:";

/// Program, suite and packages that may be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedWorkspace {
    /// Hash of the program's syntax tree.
    pub solution_tree: String,
    /// Hash of the suite's.
    pub tests_tree: String,
    /// Packages that are listed.
    pub declared: Packages,
    /// Packages that program and suite need.
    pub wanted: Packages,
}

/// Checks that the files may be tested; otherwise the error is the reason, as a sentence for the agent.
pub fn accept_workspace(
    task: &Task,
    progress: &Progress,
    material: &Material,
    workspace: &Workspace,
) -> Result<AcceptedWorkspace, String> {
    let facts = Facts {
        task,
        progress,
        material,
    };
    let solution = parse_source(SOLUTION, workspace.text(SOLUTION)?)?;
    facts.check_solution(&solution)?;
    facts.check_imports(SOLUTION, "program", &solution, workspace)?;
    let suite_name = workspace.suite();
    let suite = workspace.text(suite_name);
    let suite =
        suite.map_err(|why| format!("{why} The suite is one file of this name, beside {SOLUTION}."))?;
    let suite = parse_source(suite_name, suite)?;
    facts.check_imports(suite_name, "suite", &suite, workspace)?;
    Facts::check_suite(&suite)?;
    let (declared, wanted) = facts.packages_of(workspace, &[&solution, &suite])?;
    Ok(AcceptedWorkspace {
        solution_tree: tree_hash(&solution),
        tests_tree: tree_hash(&suite),
        declared,
        wanted,
    })
}

/// The packages that are listed, and what commands need with them; why there can be none, as a sentence for the agent.
pub fn workspace_packages(
    task: &Task,
    progress: &Progress,
    material: &Material,
    workspace: &Workspace,
) -> Result<(Packages, Packages), String> {
    let facts = Facts {
        task,
        progress,
        material,
    };
    // A file that does not parse yet says nothing of packages; the command will say what is wrong with it.
    let modules: Vec<Module> = [SOLUTION, workspace.suite()]
        .iter()
        .filter_map(|path| Module::parse(workspace.text(path).ok()?).ok())
        .collect();
    facts.packages_of(workspace, &modules.iter().collect::<Vec<_>>())
}

/// Packages that nothing but the user's acceptance tests asks for, of which an agent knows nothing.
#[must_use]
pub fn packages_of_acceptance_tests(
    task: &Task,
    progress: &Progress,
    material: &Material,
    workspace: &Workspace,
) -> Vec<String> {
    let without = Material {
        acceptance_tests: String::new(),
        ..material.clone()
    };
    let wanted = |material| workspace_packages(task, progress, material, workspace);
    let (Ok((_, all)), Ok((_, own))) = (wanted(material), wanted(&without)) else {
        return Vec::new();
    };
    all.pip
        .into_iter()
        .filter(|name| !own.pip.contains(name))
        .collect()
}

/// The modules that the files are beside the program, by their names, each with the file or folder.
fn own_modules(workspace: &Workspace) -> BTreeSet<String> {
    let name = |(path, _): (&str, _)| match path.split_once('/') {
        Some((folder, _)) => Some(folder.to_owned()),
        None => path.strip_suffix(".py").map(str::to_owned),
    };
    workspace.files().filter_map(name).collect()
}

impl Facts<'_> {
    /// Program and suite are one file each: no other is there where they run.
    fn check_imports(
        &self,
        file: &str,
        what: &str,
        module: &Module,
        workspace: &Workspace,
    ) -> Result<(), String> {
        let own = own_modules(workspace);
        for import in imports(module) {
            let top = import.module.split('.').next().unwrap_or_default();
            let is_there = top == "solution" || stdlib::contains(&self.task.image.python_version, top);
            if is_there || import.guard != Guard::Required || !own.contains(top) {
                continue;
            }
            let script = format!("{top}.py");
            let other = if workspace.get(&script).is_some() {
                script
            } else {
                format!("{top}/")
            };
            return Err(format!(
                "{file} imports {other}, and a {what} is one file: put what it needs of it in."
            ));
        }
        Ok(())
    }

    fn packages_of(
        &self,
        workspace: &Workspace,
        modules: &[&Module],
    ) -> Result<(Packages, Packages), String> {
        let declared = listed(workspace)?;
        let wanted = self.wanted_beside(modules, &declared, &own_modules(workspace))?;
        let mut progress = self.progress.clone();
        progress.build.wanted.clone_from(&wanted);
        match denial(self.task, &progress) {
            Some(denial) => Err(denial.stop().message),
            None => Ok((declared, wanted)),
        }
    }
}

/// The packages in the agent's list; lines that are empty or begin with `#` say nothing.
fn listed(workspace: &Workspace) -> Result<Packages, String> {
    let mut packages = Packages::default();
    if workspace.get(PACKAGES).is_none() {
        return Ok(packages);
    }
    for line in workspace.text(PACKAGES)?.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix(APT) {
            _ if line.is_empty() => {}
            Some(name) => packages.apt.push(name.trim().to_owned()),
            None => packages.pip.push(line.to_owned()),
        }
    }
    Ok(packages)
}
