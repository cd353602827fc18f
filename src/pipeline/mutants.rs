//! What a sandbox is asked about mutants, and what it answers. A mutant is the program with one small change that its suite should
//! notice: it tests the suite, never the program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Most mutants that one attempt runs.
pub const MOST_RUN: u32 = 8;

/// The generated suite against mutants of the program.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MutantPhase {
    /// Source of `solution.py` as it is.
    pub solution: String,
    /// Test files by name.
    pub tests: BTreeMap<String, String>,
    /// What may be run: of each function the most distinctive first.
    pub mutants: Vec<Mutant>,
    /// How many of them are run at most.
    pub most: u32,
    /// Modules of packages that are loaded once for all of them.
    pub preload: Vec<String>,
    /// Whether a suite that notices none of a function's fails the attempt.
    pub decides: bool,
}

/// A program with one change.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Mutant {
    /// Unique in its phase.
    pub id: String,
    /// The function that it changes (`mean`, `Table.rows`).
    pub function: String,
    /// Line of the change, counted from 1.
    pub line: u32,
    /// What is changed, in words.
    pub what: String,
    /// First byte of what is replaced.
    pub start: usize,
    /// First byte behind it.
    pub end: usize,
    /// What takes its place.
    pub replacement: String,
}

/// What the suite made of the mutants.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct MutantReport {
    /// Those that were run, in that order; none where the suite did not pass the unchanged program in the same way.
    pub results: Vec<MutantResult>,
    /// How many were not run for want of time.
    pub not_run: u32,
}

/// What the suite made of one mutant.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MutantResult {
    /// Which.
    pub id: String,
    /// Whether it was noticed.
    pub outcome: MutantOutcome,
}

/// Whether a suite noticed a mutant.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum MutantOutcome {
    /// A test failed, or the session did not end as one that passes.
    Caught,
    /// Every test passed.
    Survived,
    /// The session took much longer than that of the program.
    TimedOut,
}
