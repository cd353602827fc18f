//! Jobs of a few words, for the tests of every sandbox.

use std::collections::BTreeMap;

use codegen_core::sandbox::{Job, JobLimits, NetworkAccess, Phase, PhaseName, ProgramPhase, TestPhase};

pub fn job(phases: Vec<Phase>) -> Job {
    Job {
        phases,
        inputs: vec![],
        env: BTreeMap::new(),
        limits: JobLimits {
            timeout_seconds: 60.0,
            cpus: 1.0,
            memory_bytes: 256 << 20,
            processes: 64,
            file_bytes: 32 << 20,
        },
        network: NetworkAccess::Denied,
    }
}

pub fn tests(solution: &str, test_file: &str) -> Phase {
    suite(PhaseName::Tests, solution, &[("test_solution.py", test_file)])
}

pub fn suite(name: PhaseName, solution: &str, files: &[(&str, &str)]) -> Phase {
    let own = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
    Phase::Tests(TestPhase {
        name,
        solution: solution.into(),
        tests: files.iter().map(own).collect(),
        channel: None,
    })
}

pub fn program(solution: &str, outputs: &[&str]) -> Phase {
    Phase::Program(ProgramPhase {
        name: PhaseName::Rehearsal,
        solution: solution.into(),
        args: vec![],
        files: Vec::new(),
        outputs: outputs.iter().map(ToString::to_string).collect(),
        max_output_bytes: 1 << 20,
        disk_bytes: None,
        in_message: false,
    })
}
