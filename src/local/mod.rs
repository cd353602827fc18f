//! The engine over a folder: manifests from files, sources frozen beside the run, results written where a person looks.

mod adopt;
pub(crate) mod approval;
mod client;
pub(crate) mod code_mode;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod credentials;
pub(crate) mod data_files;
pub(crate) mod draft;
pub(crate) mod error;
pub(crate) mod execute;
pub(crate) mod files;
pub(crate) mod folder;
pub mod freeze;
pub(crate) mod interrupt;
pub mod kustomize;
pub(crate) mod large;
pub(crate) mod lock;
pub mod manifest;
pub(crate) mod objects;
mod on_disk;
pub(crate) mod opens;
pub(crate) mod options;
pub(crate) mod prepare;
pub(crate) mod propose;
pub(crate) mod results;
pub mod run;
pub(crate) mod runner;
mod shown;
mod terminal;
pub(crate) mod trust;
mod yaml;

#[cfg(test)]
mod tests;
