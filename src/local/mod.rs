//! The engine over a folder: manifests from files, sources frozen beside the run, results written where a person looks.

pub mod approval;
pub mod context;
pub mod credentials;
pub mod error;
pub mod execute;
pub mod files;
pub mod folder;
pub mod freeze;
pub mod interrupt;
pub mod kustomize;
pub mod lock;
pub mod manifest;
pub mod objects;
pub mod prepare;
pub mod results;
pub mod run;
pub mod runner;
