//! Jobs of a few words, for the tests of every sandbox.

use std::collections::BTreeMap;

use codegen_operator::pipeline::sandbox::{
    Job, JobLimits, NetworkAccess, Phase, PhaseName, ProgramPhase, Sentinels, TestPhase,
};

/// Tests of ours among those of a suite.
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
    suite(PhaseName::Tests, solution, &[("test_solution.py", test_file)])
}

/// A suite with two tests of ours at the end of its last file, under names that tests can tell.
pub fn suite(name: PhaseName, solution: &str, files: &[(&str, &str)]) -> Phase {
    let (last, _) = files.last().unwrap();
    let ours = format!(
        "\n\ndef {FIRST}():\n    assert True\n\n\ndef {LAST}():\n    raise AssertionError({LAST:?})\n"
    );
    let planted = |file: &str, text: &str| {
        let ours = if file == *last { ours.as_str() } else { "" };
        (file.to_owned(), format!("{text}{ours}"))
    };
    Phase::Tests(TestPhase {
        name,
        solution: solution.into(),
        tests: files.iter().map(|(file, text)| planted(file, text)).collect(),
        sentinels: Sentinels {
            must_pass: format!("{last}::{FIRST}"),
            must_fail: format!("{last}::{LAST}"),
        },
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
