//! Python source, read by its syntax tree.
#![allow(missing_docs, unused_variables, clippy::all, clippy::pedantic, clippy::panic, clippy::todo)]
use std::collections::BTreeSet;
use crate::api::values::{Input, Output};
use super::sandbox::Packages;
pub struct Module { s: String }
#[derive(Debug, thiserror::Error)] #[error("{message}")]
pub struct SyntaxFault { pub line: u32, pub column: u32, pub message: String }
impl Module { pub fn parse(source: &str) -> Result<Self, SyntaxFault> { Ok(Self { s: source.into() }) } pub fn source(&self) -> &str { &self.s } }
pub struct Detected { pub packages: Packages, pub rejected: Vec<Rejected> }
#[derive(Debug, thiserror::Error)] #[error("{given} {reason}")]
pub struct Rejected { pub given: String, pub reason: String }
pub struct Merged { pub source: String, pub changed: Vec<String> }
pub fn outline(m: &Module) -> String { todo!() }
pub fn stub(m: &Module) -> String { todo!() }
pub fn tree_hash(m: &Module) -> String { todo!() }
pub fn test_source(m: &Module, id: &str) -> Option<String> { todo!() }
pub fn sources_of(m: &Module, names: &[String]) -> String { todo!() }
pub fn on_the_way(m: &Module, lines: &[u32], test: &str) -> Vec<String> { todo!() }
pub fn function_names(m: &Module) -> Vec<String> { todo!() }
pub fn normalise_name(n: &str) -> String { todo!() }
pub fn same_package(a: &str, b: &str) -> bool { todo!() }
pub fn check_requirement(n: &str) -> Result<(), String> { todo!() }
pub fn resolve_function(m: &Module, n: &str) -> Option<String> { todo!() }
pub fn merge(m: &Module, patch: &str) -> Result<Merged, SyntaxFault> { todo!() }
pub fn changed_names(a: &Module, b: &Module) -> BTreeSet<String> { todo!() }
pub fn patch_suite(m: &Module, patch: &str, named: &[String]) -> Result<String, SyntaxFault> { todo!() }
pub fn violations(m: &Module, i: &[Input], o: &[Output]) -> Vec<String> { todo!() }
pub fn solution_findings(m: &Module) -> Vec<Rejected> { todo!() }
pub fn suite_findings(m: &Module) -> Vec<Rejected> { todo!() }
pub fn test_functions(m: &Module) -> Vec<String> { todo!() }
pub fn detect(m: &[&Module], v: &str, d: &Packages) -> Detected { todo!() }
