//! Ends of a run, of what its program did.

use super::*;

fn failure(end: &RunEnd) -> &RunFailure {
    match end {
        RunEnd::Failed(failure) => failure,
        RunEnd::Succeeded(outputs) => panic!("succeeded with {outputs:?}"),
    }
}

fn concluded(report: Report, read: OutputsRead) -> RunEnd {
    conclude(report, read, &Redactor::default())
}

#[test]
fn nothing_is_left_of_a_secret_that_the_cut_of_the_last_lines_divides() {
    let secret = "hunter-".repeat(12);
    let phase = PhaseReport {
        end: PhaseEnd::Exited(1),
        stderr: format!("the key is {secret}{}", "x".repeat(1_960)),
        ..phase(PhaseName::Run, 1)
    };
    let report = report(vec![phase]);
    let tail_of = |end: &RunEnd| failure(end).last_lines.contains("hunter-");
    // Cut first, its end is there and is no value of a Secret any more.
    let cut_first = concluded(report.clone(), OutputsRead::default());
    assert!(tail_of(&cut_first));
    let redactor = Redactor::new([("KEY", &secret)]);
    assert_eq!(
        redactor.redact(&failure(&cut_first).last_lines),
        failure(&cut_first).last_lines
    );
    assert!(!tail_of(&conclude(report, OutputsRead::default(), &redactor)));
}

fn ended(end: PhaseEnd) -> RunEnd {
    let phase = PhaseReport {
        end,
        stderr: "Traceback\n  File \"solution.py\"\nValueError: no column body_mass_g\n".into(),
        stdout: "what it printed".into(),
        seconds: 7.0,
        ..phase(PhaseName::Run, 0)
    };
    concluded(report(vec![phase]), OutputsRead::default())
}

#[rstest]
#[case(
    PhaseEnd::Exited(3),
    FailureReason::ProgramFailed,
    "the program ended with exit code 3: ValueError: no column body_mass_g",
    Some(3),
    None
)]
#[case(
    PhaseEnd::Signaled(11),
    FailureReason::ProgramFailed,
    "signal 11 ended the program",
    Some(139),
    None
)]
#[case(
    PhaseEnd::TimedOut,
    FailureReason::LimitExceeded,
    "the program did not end within 7 s: give it more time with --timeout, or with spec.sandbox.timeout of the run or its task",
    None,
    Some("Time")
)]
#[case(
    PhaseEnd::LimitHit(LimitKind::Memory),
    FailureReason::LimitExceeded,
    "the program used more memory than the sandbox allows: give it more with sandbox.resources.limits.memory",
    None,
    Some("Memory")
)]
fn a_failing_program_gives_its_exit_code_the_limit_it_met_and_its_last_lines(
    #[case] end: PhaseEnd,
    #[case] reason: FailureReason,
    #[case] message: &str,
    #[case] exit_code: Option<i32>,
    #[case] limit: Option<&'static str>,
) {
    let end = ended(end);
    let failure = failure(&end);
    assert_eq!(failure.reason, reason);
    assert_eq!(failure.message, message);
    assert_eq!((failure.exit_code, failure.limit), (exit_code, limit));
    assert!(failure.last_lines.ends_with("ValueError: no column body_mass_g"));
}

#[test]
fn a_sandbox_that_went_down_with_its_program_met_the_limit_of_memory() {
    let end = concluded(report(Vec::new()), OutputsRead::default());
    assert_eq!(failure(&end).limit, Some("Memory"));
}

#[test]
fn a_long_text_is_truncated_to_its_last_lines() {
    let phase = PhaseReport {
        end: PhaseEnd::Exited(1),
        stderr: (1..=100).fold(String::new(), |text, line| format!("{text}line {line}\n")),
        ..phase(PhaseName::Run, 1)
    };
    let end = concluded(report(vec![phase]), OutputsRead::default());
    let lines: Vec<&str> = failure(&end).last_lines.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[19]), (20, "line 81", "line 100"));
}

#[test]
fn an_output_of_another_type_fails_a_program_that_ended_well() {
    let read = OutputsRead {
        faults: vec![BrokenOutput {
            output: "species".into(),
            problem: "the program wrote nothing to it".into(),
            without_values: String::new(),
            broken: None,
        }],
        too_large: vec![OutputTooLarge {
            output: "summary".into(),
            bytes: Some(2_000_000),
        }],
        ..OutputsRead::default()
    };
    let ok = report(vec![phase(PhaseName::Run, 0)]);
    let end = concluded(ok.clone(), read.clone());
    assert_eq!(failure(&end).reason, FailureReason::OutputInvalid);
    assert_eq!(
        failure(&end).message,
        "output species: the program wrote nothing to it"
    );
    let end = concluded(
        ok.clone(),
        OutputsRead {
            faults: Vec::new(),
            ..read
        },
    );
    assert_eq!(failure(&end).reason, FailureReason::OutputTooLarge);
    assert!(
        failure(&end)
            .message
            .starts_with("output summary has 2000000 bytes; at most 1048576")
    );
}

#[rstest]
#[case(OutputRoom::None, "are brought back: run the program on less data")]
#[case(
    OutputRoom::Unnamed,
    "name a volume for them in spec.outputs.persistentVolumeClaim"
)]
#[case(OutputRoom::Claim, "may have 1 GiB and 10,000 files")]
fn an_output_that_is_too_large_says_where_it_could_go(#[case] room: OutputRoom, #[case] words: &str) {
    let read = OutputsRead {
        too_large: vec![OutputTooLarge {
            output: "summary".into(),
            bytes: None,
        }],
        room,
        ..OutputsRead::default()
    };
    let end = concluded(report(vec![phase(PhaseName::Run, 0)]), read);
    assert!(failure(&end).message.contains(words), "{}", failure(&end).message);
}

#[test]
fn a_claim_that_cannot_be_written_says_what_to_do() {
    let phase = PhaseReport {
        not_writable: Some("Permission denied".into()),
        ..phase(PhaseName::Run, 126)
    };
    let end = concluded(report(vec![phase]), OutputsRead::default());
    assert_eq!(failure(&end).reason, FailureReason::ClaimNotWritable);
    assert!(
        failure(&end)
            .message
            .contains("(Permission denied): let every user write")
    );
}

#[test]
fn a_run_with_a_claim_has_room_on_a_disk() {
    let claim = OutputClaim {
        claim_name: "results".into(),
        ..OutputClaim::default()
    };
    let settings = RunSettings {
        claim: Some(&claim),
        ..RunSettings::default()
    };
    let disk = |run: &ResolvedRun| match &run.job("", &BTreeMap::new(), |_, _| String::new()).phases[0] {
        Phase::Program(program) => program.disk_bytes,
        Phase::Tests(_) | Phase::Commands(_) => None,
    };
    assert_eq!(disk(&run_of(settings)), Some(4 << 30));
    assert_eq!(disk(&run_of(RunSettings::default())), None);
}

#[test]
fn a_violation_fails_the_run_and_a_warning_does_not() {
    let ok = report(vec![phase(PhaseName::Run, 0)]);
    let with = |severity| OutputsRead {
        findings: vec![finding(severity)],
        ..OutputsRead::default()
    };
    let end = concluded(ok.clone(), with(Severity::Violation));
    assert_eq!(failure(&end).reason, FailureReason::CheckFailed);
    assert_eq!(
        failure(&end).message,
        "output summary: 2 values break count greater than 0 (line 2: \"0\", line 5: \"-1\")"
    );
    assert_eq!(
        concluded(ok.clone(), with(Severity::Warning)),
        RunEnd::Succeeded(Vec::new())
    );
    assert_eq!(refused(&[finding(Severity::Warning)]), None);
    let refusal = refused(&[finding(Severity::Violation)]).unwrap();
    assert!(
        refusal
            .message
            .starts_with("the program was not run: output summary: 2 values")
    );
}

#[test]
fn an_output_has_the_bytes_of_the_program_under_a_name_with_their_format() {
    let declared = program().outputs.remove(0);
    let content = OutputContent::File("YSxiCg==".into());
    let output = TypedOutput::new(&declared, &content, None).unwrap();
    assert_eq!(output.file_name, "summary.csv");
    assert_eq!(output.files[0].bytes, b"a,b\n");
    assert_eq!(output.bytes(), 4);
    assert_eq!(output.sha256(), crate::digest::sha256_hex(b"a,b\n"));
    assert_eq!(TypedOutput::new(&declared, &OutputContent::Missing, None), None);
}
