//! Fixtures of the pipeline's tests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use codegen_api::case::CaseMode;
use codegen_api::common::{Backend, CacheMode, Exposure, Language, TestingMode};
use codegen_api::model::Provider;
use codegen_api::status::{RehearsalResult, RehearsalStatus, TestCounts};

use super::package_policy::PackagePolicy;
use super::progress::{BuiltImage, Document, Progress};
use super::sandbox::{
    Job, JobLimits, NetworkAccess, Packages, Phase, PhaseEnd, PhaseName, PhaseReport, ProgramPhase, Report,
    TestFailure, TestOutcome, TestPhase, TestReport, TestResult,
};
use super::task::{ImageSettings, LimitSettings, ModelSettings, Placement, SandboxSettings, Task};
use super::verdict::{CheckSource, FailedCheck, Verdict};

/// A task of a prompt and a model, all else default.
pub fn task() -> Task {
    Task {
        namespace: "default".into(),
        name: "words".into(),
        prompt: "Count the words of a text.".into(),
        schema: None,
        system_prompt: None,
        constraints: Vec::new(),
        samples: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        input_files: Vec::new(),
        acceptance_tests: None,
        testing: TestingMode::Generate,
        cases: CaseMode::Require,
        examples: Vec::new(),
        backend: Backend::Pipeline,
        language: Language::Python,
        max_sample_rows: 100,
        exposure: Exposure::Rows,
        model: model_settings(),
        escalation: Vec::new(),
        image: image_settings(),
        packages: PackagePolicy::default(),
        sandbox: sandbox_settings(),
        limits: limit_settings(),
        cache: CacheMode::Auto,
        reruns_tests: true,
        approvals: BTreeSet::new(),
        publish: None,
    }
}

fn model_settings() -> ModelSettings {
    ModelSettings {
        provider: Provider::OpenAI,
        name: "test-model".into(),
        base_url: "http://127.0.0.1:1/v1".into(),
        api_key_secret_ref: None,
        parameters: serde_json::Map::new(),
        headers: Vec::new(),
        query: BTreeMap::new(),
    }
}

fn image_settings() -> ImageSettings {
    ImageSettings {
        reference: None,
        pull_repository: None,
        push_secret: None,
        pull_secret: None,
        repository: None,
        base: "python:3.12-slim".into(),
        base_packages: Vec::new(),
        base_system_packages: Vec::new(),
        python_version: "3.12".into(),
        index_url: None,
        index_ca_bundle: None,
    }
}

fn sandbox_settings() -> SandboxSettings {
    SandboxSettings {
        cpus: 1.0,
        memory_bytes: 1 << 30,
        disk_bytes: None,
        timeout_seconds: 300.0,
        retries: 0,
        network: NetworkAccess::Denied,
        env: BTreeMap::new(),
        secrets: Vec::new(),
        placement: Placement::default(),
    }
}

fn limit_settings() -> LimitSettings {
    LimitSettings {
        max_iterations: 10,
        agent_max_turns: 50,
        max_tokens: 1_000_000,
        max_model_calls: 100,
        max_builds: 20,
        deadline_seconds: 7_200.0,
        max_context_tokens: 4_000,
        reclassify_after: 1,
    }
}

/// The epoch plus some seconds.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// A task that has done nothing yet.
pub fn start() -> Progress {
    Progress::start("run".into(), at(0))
}

/// A document of that name.
pub fn document(name: &str) -> Document {
    Document {
        name: name.into(),
        sha256: "0".repeat(64),
        bytes: 1,
    }
}

/// pip packages.
pub fn pip(names: &[&str]) -> Packages {
    Packages {
        pip: names.iter().map(ToString::to_string).collect(),
        apt: Vec::new(),
    }
}

/// An image that holds those pip packages.
pub fn image(names: &[&str]) -> BuiltImage {
    BuiltImage {
        image: "env-1".into(),
        packages: pip(names),
        resolved: Vec::new(),
        python: "3.12.1".into(),
        min_release_age_days: 0,
    }
}

/// A verdict with these failures.
pub fn verdict(failed: Vec<FailedCheck>) -> Verdict {
    let bad = i32::try_from(failed.len()).unwrap();
    Verdict {
        near_misses: None,
        tests: Some(TestCounts {
            total: 3,
            passed: 3 - bad.min(3),
            failed: bad.min(3),
            skipped: 0,
        }),
        suite: None,
        acceptance: None,
        acceptance_imports: false,
        cases: None,
        examples: None,
        rehearsal: RehearsalStatus {
            result: RehearsalResult::Passed,
            message: None,
        },
        exit_code: Some(0),
        failed,
        reported: Vec::new(),
        held: Vec::new(),
        seen: BTreeSet::new(),
        doubtful: Vec::new(),
        too_large: Vec::new(),
        is_on_disk: false,
    }
}

/// A failing test.
pub fn failed(source: CheckSource, id: &str, message: &str) -> FailedCheck {
    FailedCheck {
        source,
        detail: TestFailure {
            id: id.into(),
            exception: "AssertionError".into(),
            message: message.into(),
            ..TestFailure::default()
        },
    }
}

/// A job of one test phase.
pub fn test_job(name: PhaseName) -> Job {
    job(vec![Phase::Tests(TestPhase {
        name,
        solution: String::new(),
        tests: BTreeMap::new(),
        channel: None,
    })])
}

/// A job of these phases.
pub fn job(phases: Vec<Phase>) -> Job {
    Job {
        phases,
        inputs: Vec::new(),
        env: BTreeMap::new(),
        limits: JobLimits {
            timeout_seconds: 10.0,
            cpus: 1.0,
            memory_bytes: 1 << 30,
            processes: 64,
            file_bytes: 1 << 20,
        },
        network: NetworkAccess::Denied,
    }
}

/// A run of the program.
pub fn program() -> Phase {
    Phase::Program(ProgramPhase {
        name: PhaseName::Rehearsal,
        solution: String::new(),
        args: Vec::new(),
        files: Vec::new(),
        outputs: Vec::new(),
        max_output_bytes: 1,
        disk_bytes: None,
        in_message: false,
    })
}

/// A phase that ended by itself with nothing to say.
pub fn phase(name: PhaseName, code: i32) -> PhaseReport {
    PhaseReport {
        name,
        end: PhaseEnd::Exited(code),
        seconds: 0.1,
        stdout: String::new(),
        stderr: String::new(),
        cut: Vec::new(),
        tests: None,
        outputs: Vec::new(),
        not_writable: None,
        commands: None,
    }
}

/// An honest session in which these tests ended so.
pub fn session(outcomes: &[(&str, TestOutcome)]) -> PhaseReport {
    let fails =
        |(_, outcome): &(&str, TestOutcome)| matches!(outcome, TestOutcome::Failed | TestOutcome::Error);
    let code = match outcomes.len() {
        0 => 5,
        _ => i32::from(outcomes.iter().any(fails)),
    };
    let mut report = phase(PhaseName::Tests, code);
    report.tests = Some(TestReport {
        collected: outcomes.iter().map(|(id, _)| (*id).to_owned()).collect(),
        collection_errors: Vec::new(),
        results: outcomes
            .iter()
            .map(|(id, outcome)| TestResult {
                id: (*id).to_owned(),
                outcome: *outcome,
                failure: None,
                stdout: String::new(),
            })
            .collect(),
        session_exit: Some(code),
    });
    report
}

/// A report of these phases.
pub fn report(phases: Vec<PhaseReport>) -> Report {
    Report { phases, seconds: 0.2 }
}
