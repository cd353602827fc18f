//! The packages that files need: what they import, what their calls and marks imply, what the model declares.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use crate::sandbox::Packages;

use super::Module;
use super::imports::{Guard, Import, imports};
use super::requirement::{Requirement, RequirementFault, normalized, system_package};
use super::syntax::{Mentions, dotted, literal};
use super::{stdlib, tables};

/// Sources from which packages are found.
#[derive(Clone, Copy, Debug)]
pub struct PackageSources<'a> {
    /// The program and its tests.
    pub modules: &'a [&'a Module],
    /// Python version (`3.12`).
    pub version: &'a str,
    /// Packages that the model declares.
    pub declared: &'a Packages,
    /// Packages that are always installed.
    pub base: &'a Packages,
    /// Modules that lie beside these, and are no packages.
    pub own: &'a BTreeSet<String>,
}

/// Packages to install, and declared ones that are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectedPackages {
    /// Normalised, sorted, without duplicates; the base included, pytest left out unless it is declared.
    pub packages: Packages,
    /// In the order given.
    pub rejected: Vec<RejectedPackage>,
}

/// A declared package that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedPackage {
    /// As it was given.
    pub given: String,
    /// Reason why it is refused.
    pub reason: RequirementFault,
}

/// Finds the packages that a program and its tests need.
#[must_use]
pub fn detect(sources: &PackageSources) -> DetectedPackages {
    let mut collector = Collector {
        sources,
        pip: BTreeMap::new(),
        apt: BTreeSet::new(),
        rejected: Vec::new(),
    };
    collector.given(sources.base);
    collector.declared();
    // Every module, the suite too: tests import packages that the program does not need.
    for module in sources.modules {
        let imports = imports(module);
        collector.imported(&imports);
        collector.implied(module, &imports);
    }
    DetectedPackages {
        packages: Packages {
            pip: collector.pip.values().map(ToString::to_string).collect(),
            apt: collector.apt.into_iter().collect(),
        },
        rejected: collector.rejected,
    }
}

/// Packages whose modules have other names: all of them popular.
pub fn aliased_packages() -> impl Iterator<Item = &'static str> {
    let bare = |package: &'static str| package.split('[').next().unwrap_or(package);
    tables::PACKAGES.iter().map(move |(_, package)| bare(package))
}

struct Collector<'a> {
    sources: &'a PackageSources<'a>,
    pip: BTreeMap<String, Requirement>,
    apt: BTreeSet<String>,
    rejected: Vec<RejectedPackage>,
}

impl Collector<'_> {
    fn add(&mut self, requirement: Requirement) {
        match self.pip.get_mut(&requirement.name) {
            Some(known) => known.merge(requirement),
            None => {
                self.pip.insert(requirement.name.clone(), requirement);
            }
        }
    }

    /// A name of our tables or of an import statement.
    fn add_name(&mut self, name: &str) {
        if let Ok(requirement) = Requirement::parse(name) {
            self.add(requirement);
        }
    }

    fn given(&mut self, packages: &Packages) {
        for given in &packages.pip {
            match Requirement::parse(given) {
                Ok(requirement) => self.add(requirement),
                Err(reason) => self.rejected.push(RejectedPackage {
                    given: given.clone(),
                    reason,
                }),
            }
        }
        self.system(packages);
    }

    /// Models name modules where packages are meant: `sklearn`, `json`.
    fn declared(&mut self) {
        for given in &self.sources.declared.pip {
            match Requirement::parse(given) {
                // A module of the standard library cannot be installed, and a package of its name may be anybody's.
                Ok(requirement) if self.is_standard(&requirement.name.replace('-', "_")) => {}
                Ok(requirement) => {
                    // A name that is itself a package, such as `attr`, is not replaced by the package of a module of that name.
                    let package = tables::PACKAGES.iter().find(|(import, package)| {
                        normalized(import) == requirement.name
                            && tables::PACKAGES
                                .iter()
                                .all(|(_, p)| *p != requirement.name || p == package)
                    });
                    match package.and_then(|(_, package)| Requirement::parse(package).ok()) {
                        Some(target) => self.add(requirement.renamed(target)),
                        None => self.add(requirement),
                    }
                }
                Err(reason) => self.rejected.push(RejectedPackage {
                    given: given.clone(),
                    reason,
                }),
            }
        }
        self.system(self.sources.declared);
    }

    fn system(&mut self, packages: &Packages) {
        for given in &packages.apt {
            match system_package(given) {
                Ok(name) => {
                    self.apt.insert(name.to_owned());
                }
                Err(reason) => self.rejected.push(RejectedPackage {
                    given: given.clone(),
                    reason,
                }),
            }
        }
    }

    fn is_standard(&self, module: &str) -> bool {
        stdlib::contains(self.sources.version, module)
    }

    /// Modules that a sandbox has without any package.
    fn is_present(&self, import: &Import) -> bool {
        let top = top(&import.module);
        self.is_standard(top)
            // They lie beside the suite or come with pytest.
            || self.sources.own.contains(top)
            || matches!(top, "solution" | "conftest" | "pytest" | "_pytest")
            || top.starts_with("test_")
    }

    fn imported(&mut self, imports: &[Import]) {
        for import in imports {
            let wanted = match import.guard {
                Guard::Required => true,
                Guard::Optional { chain, alternative } => {
                    // The first of several guarded imports is the wanted one, unless another is there without any package.
                    alternative == 0 && !self.has_standard_alternative(imports, chain)
                }
                // `TYPE_CHECKING` is false when the program runs.
                Guard::TypeChecking => false,
            };
            if !wanted || self.is_present(import) {
                continue;
            }
            for package in packages_of(import) {
                self.add_name(&package);
            }
            let system = tables::SYSTEM
                .iter()
                .filter(|(name, _)| *name == top(&import.module));
            self.apt
                .extend(system.flat_map(|(_, apt)| *apt).map(|name| (*name).to_owned()));
        }
    }

    /// Reports whether one alternative of a chain imports modules that are there anyway, and nothing else.
    fn has_standard_alternative(&self, imports: &[Import], chain: u32) -> bool {
        let mut alternatives: BTreeMap<u32, bool> = BTreeMap::new();
        for import in imports {
            if let Guard::Optional {
                chain: of,
                alternative,
            } = import.guard
                && of == chain
            {
                *alternatives.entry(alternative).or_insert(true) &= self.is_present(import);
            }
        }
        alternatives.into_values().any(|present| present)
    }

    fn implied(&mut self, module: &Module, imports: &[Import]) {
        let mentions = Mentions::of(module.body());
        let is_imported = |library: &str| imports.iter().any(|import| top(&import.module) == library);
        let calls = |method: &str| {
            mentions.attributes.contains(method)
                || imports
                    .iter()
                    .any(|import| import.names.iter().any(|name| name == method))
        };
        // pandas and others import these by themselves when a method is called: no import statement names them.
        for engine in tables::ENGINES {
            if is_imported(engine.library) && engine.methods.iter().any(|method| calls(method)) {
                self.add_name(engine.package);
            }
        }
        let mut implied = Implied::default();
        implied.visit_body(module.body());
        for package in implied.packages {
            self.add_name(package);
        }
        // pytest runs no coroutine by itself; a suite that names no other plugin means this one.
        let has_other_plugin = ["anyio", "trio"]
            .iter()
            .any(|name| mentions.attributes.contains(*name));
        if implied.has_async_test && !has_other_plugin {
            self.add_name("pytest-asyncio");
        }
    }
}

fn top(module: &str) -> &str {
    module.split('.').next().unwrap_or(module)
}

/// Packages of an import by the longest dotted prefix that the table knows.
fn packages_of(import: &Import) -> BTreeSet<String> {
    let paths = if import.names.is_empty() {
        vec![import.module.clone()]
    } else {
        import
            .names
            .iter()
            .map(|name| format!("{}.{name}", import.module))
            .collect()
    };
    paths.iter().map(|path| package_of(path)).collect()
}

fn package_of(path: &str) -> String {
    let mut prefix = path;
    // The longest prefix first: `google.cloud.storage` and `google.protobuf` are different packages.
    loop {
        if let Ok(row) = tables::PACKAGES.binary_search_by_key(&prefix, |(name, _)| name) {
            return tables::PACKAGES[row].1.to_owned();
        }
        match prefix.rsplit_once('.') {
            Some((shorter, _)) => prefix = shorter,
            None => break,
        }
    }
    // Client libraries of Google Cloud follow one pattern, with or without the version of the interface.
    match path
        .strip_prefix("google.cloud.")
        .and_then(|rest| rest.split('.').next())
    {
        Some(service) => match service.split_once("_v") {
            Some((plain, _)) => package_of(&format!("google.cloud.{plain}")),
            None => format!("google-cloud-{}", service.replace('_', "-")),
        },
        None => top(path).to_owned(),
    }
}

/// Packages behind keyword arguments, marks and fixtures.
#[derive(Default)]
struct Implied {
    packages: BTreeSet<&'static str>,
    /// True where a test is a coroutine function.
    has_async_test: bool,
}

impl Implied {
    fn add_package_for(&mut self, table: &[(&str, &'static str)], name: &str) {
        self.packages.extend(
            table
                .iter()
                .filter(|(key, _)| *key == name)
                .map(|(_, package)| *package),
        );
    }
}

impl<'a> Visitor<'a> for Implied {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt
            && (function.name.starts_with("test") || is_fixture(function))
        {
            self.has_async_test |= function.is_async && function.name.starts_with("test");
            for parameter in function.parameters.iter_non_variadic_params() {
                self.add_package_for(tables::FIXTURES, parameter.parameter.name.as_str());
            }
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                if let Some(engine) = call
                    .arguments
                    .find_keyword("engine")
                    .and_then(|keyword| literal(&keyword.value))
                {
                    self.add_package_for(tables::NAMED_ENGINES, engine);
                }
                if method(call).is_some_and(|method| tables::COMPRESSING.contains(&method))
                    && let Some(keyword) = call.arguments.find_keyword("compression")
                    && let Some(compression) = literal(&keyword.value)
                {
                    self.add_package_for(tables::COMPRESSIONS, compression);
                }
                if dotted(&call.func).is_some_and(|name| name.ends_with("BeautifulSoup"))
                    && let Some(parser) = call
                        .arguments
                        .find_argument_value("features", 1)
                        .and_then(literal)
                {
                    self.add_package_for(
                        tables::NAMED_ENGINES,
                        if parser == "xml" { "lxml" } else { parser },
                    );
                }
            }
            Expr::Attribute(mark) if dotted(&mark.value).as_deref() == Some("pytest.mark") => {
                self.add_package_for(tables::MARKS, mark.attr.as_str());
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// The name of the function or method that is called, without what it is called on.
fn method(call: &ast::ExprCall) -> Option<&str> {
    match &*call.func {
        Expr::Attribute(method) => Some(method.attr.as_str()),
        Expr::Name(function) => Some(function.id.as_str()),
        _ => None,
    }
}

/// Reports whether a function is a fixture of pytest.
fn is_fixture(function: &ast::StmtFunctionDef) -> bool {
    function.decorator_list.iter().any(|decorator| {
        let callable = ast::helpers::map_callable(&decorator.expression);
        dotted(callable).is_some_and(|name| name == "fixture" || name.ends_with(".fixture"))
    })
}

#[cfg(test)]
mod tests;
