use std::process::Command;

use rstest::rstest;
use serde_json::json;

use super::*;
use codegen_core::sandbox::{PhaseEnd, PhaseName, PhaseReport, Report};

const NONCE: [u8; 32] = [7; 32];

fn report() -> Report {
    Report {
        phases: vec![PhaseReport {
            name: PhaseName::Rehearsal,
            end: PhaseEnd::Exited(0),
            seconds: 0.5,
            stdout: "some words ".repeat(2000),
            stderr: String::new(),
            cut: Vec::new(),
            tests: None,
            outputs: Vec::new(),
            not_writable: None,
            commands: None,
        }],
        seconds: 0.7,
    }
}

fn signed(nonce: &[u8], body: &str) -> String {
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, nonce), body.as_bytes());
    format!("{}\n{body}", hex(signature.as_ref()))
}

fn lines_of(text: &[u8]) -> Vec<String> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text).unwrap();
    let encoded = BASE64.encode(packed.finish().unwrap());
    let chunks = encoded.as_bytes().chunks(40);
    chunks
        .map(|chunk| format!("4f1c {}\n", std::str::from_utf8(chunk).unwrap()))
        .collect()
}

/// A message about a report, and the lines of the report.
fn sent() -> (String, Vec<String>) {
    let text = serde_json::to_vec(&report()).unwrap();
    let lines = lines_of(&text);
    let about =
        json!({"marker": "4f1c", "lines": lines.len(), "length": text.len(), "sha256": sha256_hex(&text)});
    (
        signed(&NONCE, &json!({"report": about, "phases": []}).to_string()),
        lines,
    )
}

fn taken(message: &str, log: &str) -> Result<Report, ChannelError> {
    match verify(message, &NONCE)? {
        SignedContent::Report(announced) => announced.find(log),
        SignedContent::NotIsolated(address) => panic!("{address}"),
    }
}

#[test]
fn a_signed_report_is_taken() {
    let (message, lines) = sent();
    assert_eq!(taken(&message, &lines.concat()), Ok(report()));
}

#[test]
fn other_lines_of_the_log_do_not_disturb() {
    let (message, lines) = sent();
    let log = format!(
        "a warning of the interpreter\n{}",
        lines.join("4f1d AAAA\nmore words\n")
    );
    assert_eq!(taken(&message, &log), Ok(report()));
}

#[test]
fn a_message_under_the_nonce_of_another_pod_is_forged() {
    let (message, lines) = sent();
    let replayed = message.replacen(message.lines().next().unwrap(), "", 1);
    let replayed = signed(&[8; 32], replayed.trim_start());
    assert_eq!(taken(&replayed, &lines.concat()), Err(ChannelError::Forged));
}

#[rstest]
#[case::of_words("passed: 12")]
#[case::of_an_empty_signature("\n{\"report\":{}}")]
#[case::of_a_short_signature("ab\n{\"report\":{}}")]
#[case::of_no_digits("zz\n{}")]
#[case::of_letters_beyond_ascii("éé\n{}")]
fn a_message_that_code_under_test_writes_is_forged(#[case] message: &str) {
    assert_eq!(verify(message, &NONCE), Err(ChannelError::Forged));
}

#[test]
fn a_changed_message_is_forged() {
    let (message, _) = sent();
    assert_eq!(
        verify(&message.replace("4f1c", "4f1d"), &NONCE),
        Err(ChannelError::Forged)
    );
    assert_eq!(verify(&format!("{message} "), &NONCE), Err(ChannelError::Forged));
}

#[test]
fn two_messages_are_no_message() {
    let (message, _) = sent();
    assert_eq!(
        verify(&format!("{message}\n{message}"), &NONCE),
        Err(ChannelError::Forged)
    );
}

#[test]
fn no_message_is_no_report() {
    assert_eq!(verify("", &NONCE), Err(ChannelError::Missing));
}

#[test]
fn a_message_that_the_node_has_cut_says_so() {
    let message = signed(&NONCE, &format!("{{\"report\":\"{}\"}}", "x".repeat(5000)));
    assert_eq!(
        verify(&message[..MOST_MESSAGE_BYTES], &NONCE),
        Err(ChannelError::Cut)
    );
}

#[test]
fn a_signed_message_that_announces_nothing_is_unreadable() {
    let error = verify(&signed(&NONCE, "{\"phases\":[]}"), &NONCE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the message of the container cannot be read: it announces nothing"
    );
}

#[test]
fn an_open_network_is_reported() {
    let message = signed(&NONCE, "{\"notIsolated\":\"10.96.0.1:443\"}");
    assert_eq!(
        verify(&message, &NONCE),
        Ok(SignedContent::NotIsolated("10.96.0.1:443".into()))
    );
}

#[test]
fn a_log_that_has_lost_a_line_is_incomplete() {
    let (message, lines) = sent();
    let error = taken(&message, &lines[1..].concat()).unwrap_err();
    let announced = lines.len();
    assert_eq!(
        error,
        ChannelError::LogIncomplete {
            found: announced - 1,
            announced
        }
    );
}

#[test]
fn another_report_in_the_log_is_not_the_announced_one() {
    let (message, lines) = sent();
    let other = lines_of(&serde_json::to_vec(&report()).unwrap().to_ascii_uppercase());
    let log = other.iter().chain(&lines).cloned().collect::<String>();
    assert_eq!(taken(&message, &log), Err(ChannelError::NotAsAnnounced));
}

#[test]
fn no_more_is_unpacked_than_was_announced() {
    let lines = lines_of(&vec![b' '; 1 << 20]);
    for length in [10, MOST_REPORT_BYTES + 1] {
        let about = json!({"marker": "4f1c", "lines": lines.len(), "length": length, "sha256": "0"});
        let message = signed(&NONCE, &json!({"report": about}).to_string());
        assert_eq!(
            taken(&message, &lines.concat()),
            Err(ChannelError::NotAsAnnounced)
        );
    }
}

/// Returns the output of the harness for a report: the message and the log.
fn of_the_harness(report: &serde_json::Value) -> (String, String) {
    sent_by_the_harness(report, false)
}

fn sent_by_the_harness(report: &serde_json::Value, in_message: bool) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("message");
    std::fs::write(&message, "words of code under test").unwrap();
    std::fs::write(folder.path().join("report"), report.to_string()).unwrap();
    let code = "import json, os, sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import channel\n\
                channel.MESSAGE = sys.argv[2]\n\
                report = json.load(open(sys.argv[3]))\n\
                channel.send_report(report, bytes([7] * 32), lambda stream, part: open(stream, 'wb', closefd=False).write(part), sys.argv[4] == 'true')";
    let output = Command::new("python3")
        .args(["-I", "-S", "-c", code])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/harness"))
        .arg(&message)
        .arg(folder.path().join("report"))
        .arg(in_message.to_string())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (
        std::fs::read_to_string(message).unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn what_the_harness_sends_is_taken() {
    let (message, log) = of_the_harness(&serde_json::to_value(report()).unwrap());
    assert!(
        message.len() < MOST_MESSAGE_BYTES && message.contains("\"phases\":[{\"name\":\"rehearsal\""),
        "{message}"
    );
    assert!(log.lines().all(|line| line.len() < 8192));
    assert_eq!(taken(&message, &log), Ok(report()));
}

#[test]
fn a_small_report_is_in_the_message_where_it_may_be_there() {
    let here = |report: &Report, may_be: bool| {
        let (message, log) = sent_by_the_harness(&serde_json::to_value(report).unwrap(), may_be);
        assert!(message.len() < MOST_MESSAGE_BYTES, "{message}");
        assert_eq!(taken(&message, &log).as_ref(), Ok(report));
        match verify(&message, &NONCE).unwrap() {
            SignedContent::Report(announced) => announced.here::<Report>(),
            SignedContent::NotIsolated(address) => panic!("{address}"),
        }
    };
    assert_eq!(here(&report(), true), Some(Ok(report())));
    assert_eq!(here(&report(), false), None);
    let mut large = report();
    large.phases[0].stdout =
        (0..2000).fold(String::new(), |text, number| format!("{text}{}", number * number));
    assert_eq!(here(&large, true), None);
}

#[test]
fn a_report_that_is_too_long_loses_its_words_first() {
    let result = json!({"id": "t", "outcome": "failed", "stdout": "x".repeat(20 << 20),
        "failure": {"id": "t", "exception": "E", "message": "m", "frames": [], "text": "y".repeat(20 << 20)}});
    let tests = json!({"collected": ["t"], "collectionErrors": [], "results": [result], "sessionExit": 1});
    let phase = json!({"name": "tests", "end": {"exited": 1}, "seconds": 1.0, "stdout": "", "stderr": "", "tests": tests, "outputs": []});
    let (message, log) = of_the_harness(&json!({"phases": [phase], "seconds": 1.0}));
    let report = taken(&message, &log).unwrap();
    let result = &report.phases[0].tests.as_ref().unwrap().results[0];
    assert_eq!(
        (result.stdout.len(), result.failure.as_ref().unwrap().text.len()),
        (0, 0)
    );
    assert_eq!(result.failure.as_ref().unwrap().message, "m");
}

#[test]
fn a_report_that_stays_too_long_proves_nothing() {
    let tests =
        json!({"collected": ["c".repeat(33 << 20)], "collectionErrors": [], "results": [], "sessionExit": 1});
    let phase = json!({"name": "tests", "end": {"exited": 1}, "seconds": 1.0, "stdout": "", "stderr": "", "tests": tests, "outputs": []});
    let (message, log) = of_the_harness(&json!({"phases": [phase], "seconds": 1.0}));
    let tests = taken(&message, &log).unwrap().phases.remove(0).tests.unwrap();
    assert_eq!((tests.collected.len(), tests.session_exit), (0, None));
}

#[test]
fn what_the_reader_of_sources_sends_is_what_arrives() {
    let text: Vec<String> = (0..20_000_u16).map(|n| sha256_hex(&n.to_le_bytes())).collect();
    let sent = send(&serde_json::to_vec(&text).unwrap(), &hex(&NONCE)).unwrap();
    assert!(sent.message.len() < MOST_MESSAGE_BYTES);
    assert!(sent.log.lines().count() > 1 && sent.log.lines().all(|line| line.len() < 8 * 1024));
    let SignedContent::Report(announced) = verify(&sent.message, &NONCE).unwrap() else {
        panic!("{}", sent.message)
    };
    assert_eq!(announced.find::<Vec<String>>(&sent.log).unwrap(), text);
    assert_eq!(verify(&sent.message, &[8; 32]), Err(ChannelError::Forged));
}

#[test]
fn a_report_that_no_log_takes_is_not_sent() {
    let mut noise = vec![0; 8 << 20];
    let mut random = fastrand::Rng::with_seed(1);
    random.fill(&mut noise);
    assert_eq!(send(&noise, &hex(&NONCE)), None);
    assert_eq!(send(b"{}", "no digits"), None);
}
