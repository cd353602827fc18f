//! Jobs of a few words, for the tests of every sandbox.

use std::collections::BTreeMap;

use codegen_operator::pipeline::sandbox::{
    Job, JobLimits, NetworkAccess, Phase, PhaseName, ProgramPhase, Sentinels, TestPhase,
};

pub const FIRST: &str = "test_first_4f1c";
pub const LAST: &str = "test_last_9b2e";

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
    Phase::Tests(TestPhase {
        name: PhaseName::Tests,
        solution: solution.into(),
        tests: BTreeMap::from([("test_solution.py".to_owned(), test_file.to_owned())]),
        sentinels: Sentinels {
            must_pass: FIRST.into(),
            must_fail: LAST.into(),
        },
        channel: None,
    })
}

pub fn program(solution: &str, outputs: &[&str]) -> Phase {
    Phase::Program(ProgramPhase {
        name: PhaseName::Rehearsal,
        solution: solution.into(),
        args: vec![],
        outputs: outputs.iter().map(ToString::to_string).collect(),
        max_output_bytes: 1 << 20,
        disk_bytes: None,
        in_message: false,
    })
}
