//! Outputs come back as bytes, bounded, without following anything the program planted.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_api::values::ValueType;
use codegen_core::digest::{of_folder, sha256_hex};
use codegen_core::sandbox::{LimitKind, OutputContent, Phase, PhaseEnd};
use codegen_core::stored_outputs::{FoundOutput, OutputsAsked};
use codegen_data::outputs::{Declared, parse};
use codegen_data::worker::WorkerClient;
use codegen_sources::reading::claim_outputs::check;
use rstest::rstest;

use crate::support::{environment, job, program, run_one, sandbox};

async fn output(code: &str) -> OutputContent {
    let report = run_one(program(
        &format!("import os\nos.chdir('/var/outputs')\n{code}"),
        &["out"],
    ))
    .await;
    assert_eq!(report.end, PhaseEnd::Exited(0), "{}", report.stderr);
    assert_eq!(report.outputs.len(), 1);
    report.outputs[0].content.clone()
}

#[tokio::test]
async fn a_file_comes_back_as_its_bytes() {
    let content = output("open('out', 'wb').write(bytes(range(256)))").await;
    let OutputContent::File(text) = content else {
        panic!("{content:?}")
    };
    assert_eq!(
        BASE64_STANDARD.decode(text).unwrap(),
        (0..=255).collect::<Vec<u8>>()
    );
}

#[tokio::test]
async fn a_folder_comes_back_with_all_its_files() {
    let content =
        output("os.makedirs('out/b/c')\nopen('out/b/c/z', 'w').write('1')\nopen('out/a', 'w')").await;
    assert_eq!(
        content,
        OutputContent::Dir(vec![("a".into(), String::new()), ("b/c/z".into(), "MQ==".into())])
    );
}

#[rstest]
#[case::missing("pass", OutputContent::Missing)]
#[case::link("os.symlink('/etc/passwd', 'out')", OutputContent::NotAFile("a link".into()))]
#[case::link_in_folder(
    "os.mkdir('out'); os.symlink('/etc', 'out/x')",
    OutputContent::NotAFile("a folder with a link in it".into())
)]
#[case::pipe("os.mkfifo('out')", OutputContent::NotAFile("a named pipe".into()))]
#[case::socket(
    "import socket; socket.socket(socket.AF_UNIX).bind('out')",
    OutputContent::NotAFile("a socket".into())
)]
#[case::too_large("open('out', 'wb').truncate((1 << 20) + 1)", OutputContent::TooLarge((1 << 20) + 1))]
#[case::many_files(
    "os.mkdir('out')\nfor n in range(1001): open(f'out/{n}', 'w').close()",
    OutputContent::NotAFile("a folder with more than 1000 entries".into())
)]
#[case::name_that_is_not_text(
    "os.makedirs('out/deep')\nopen(b'out/deep/caf\\xe9.csv', 'w').close()",
    OutputContent::NotAFile("a folder with a name that is not UTF-8 in it".into())
)]
#[case::folder_whose_name_is_not_text(
    "os.makedirs(b'out/caf\\xe9')",
    OutputContent::NotAFile("a folder with a name that is not UTF-8 in it".into())
)]
#[tokio::test]
async fn anything_else_is_reported_by_its_file_type(#[case] code: &str, #[case] expected: OutputContent) {
    assert_eq!(output(code).await, expected);
}

#[tokio::test]
async fn all_outputs_together_are_bounded() {
    let names = ["a", "b", "c", "d", "e"];
    let code = "for name in 'abcde': open(f'/var/outputs/{name}', 'wb').truncate(1 << 20)\n";
    let report = run_one(program(code, &names)).await;
    let large = |content: &OutputContent| matches!(content, OutputContent::TooLarge(_));
    let told: Vec<bool> = report
        .outputs
        .iter()
        .map(|output| large(&output.content))
        .collect();
    assert_eq!(told, [false, false, false, false, true]);
}

/// A program whose outputs go to a disk with so much room.
fn on_disk(code: &str, disk_bytes: u64) -> Phase {
    let code = format!("import os\nos.chdir('/var/outputs')\n{code}");
    match program(&code, &["out"]) {
        Phase::Program(program) => Phase::Program(codegen_core::sandbox::ProgramPhase {
            disk_bytes: Some(disk_bytes),
            ..program
        }),
        other @ (Phase::Tests(_) | Phase::Commands(_)) => other,
    }
}

#[rstest]
#[case::at_once("open('out', 'wb').write(bytes(3 << 20))")]
#[case::in_many_files("for n in range(30):\n    open(f'{n}', 'wb').write(bytes(100_000))")]
#[case::out_of_sight(
    "os.makedirs('a/b')\nopen('a/b/c', 'wb').write(bytes(3 << 20))\nos.chmod('a/b', 0)\nos.chmod('a', 0)"
)]
#[tokio::test]
async fn a_program_that_writes_more_to_a_disk_than_it_may_has_met_a_limit(#[case] code: &str) {
    let report = run_one(on_disk(code, 2 << 20)).await;
    assert_eq!(
        report.end,
        PhaseEnd::LimitHit(LimitKind::Disk),
        "{}",
        report.stderr
    );
    assert_eq!(report.outputs[0].content, OutputContent::Missing, "it is removed");
}

#[tokio::test]
async fn a_folder_on_a_disk_may_have_more_files_than_are_brought_back() {
    let code = "os.mkdir('out')\nfor n in range(1001): open(f'out/{n}', 'w').close()";
    let report = run_one(on_disk(code, 2 << 20)).await;
    assert_eq!(report.end, PhaseEnd::Exited(0), "{}", report.stderr);
    assert_eq!(report.outputs[0].content, OutputContent::TooLarge(0));
}

#[tokio::test]
async fn a_program_that_fails_leaves_nothing_on_a_disk() {
    let report = run_one(on_disk(
        "open('out', 'w').write('x')\nraise SystemExit(3)",
        2 << 20,
    ))
    .await;
    assert_eq!(report.end, PhaseEnd::Exited(3), "{}", report.stderr);
    assert_eq!(report.outputs[0].content, OutputContent::Missing);
}

#[tokio::test]
async fn what_goes_to_a_disk_lies_in_the_folder_that_is_given_and_every_process_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let code = "open('out', 'wb').write(bytes(3 << 20))\nif os.fork() == 0:\n    os.setsid()\n    while True: open('out', 'ab').write(b'x')";
    let job = job(vec![on_disk(code, 1 << 30)]);
    let report = sandbox()
        .run_in(&environment().await, &job, folder.path())
        .await
        .unwrap();
    let phase = &report.phases[0];
    assert_eq!(phase.end, PhaseEnd::Exited(0), "{}", phase.stderr);
    let bytes = || std::fs::metadata(folder.path().join("out")).unwrap().len();
    let before = bytes();
    assert!(before >= 3 << 20);
    // The report was written after the last process had ended.
    assert_eq!(phase.outputs[0].content, OutputContent::TooLarge(before));
    assert_eq!(bytes(), before);
}

/// What is said of a folder in the report of its program, and where it was written to.
async fn said_of_folder(code: &str) -> (OutputContent, FoundOutput) {
    let folder = tempfile::tempdir().unwrap();
    let job = job(vec![on_disk(code, 1 << 20)]);
    let report = sandbox()
        .run_in(&environment().await, &job, folder.path())
        .await
        .unwrap();
    let declared = serde_json::json!({"name": "out", "type": "Dir", "description": "d"});
    let asked = OutputsAsked {
        outputs: vec![serde_json::from_value(declared).unwrap()],
        ..OutputsAsked::default()
    };
    let worker = WorkerClient::new(Path::new("/bin/false"), [""; 0]);
    let mut found = check(folder.path(), &asked, &worker).await.unwrap();
    (report.phases[0].outputs[0].content.clone(), found.remove(0))
}

#[tokio::test]
async fn the_digest_of_a_folder_is_the_same_in_a_report_and_on_a_claim_whatever_its_names() {
    let code = "os.makedirs('out/d')\n\
                for name in ('\u{6ce8}\u{6587}', 'caf\u{e9}', 'a\\nb', '\\x1b[2J', '..\\\\x', 'z', 'Z', '\u{1f469}', '\u{ffee}'):\n    \
                for folder in ('', 'd/'): open(f'out/{folder}{name}', 'w').write(name)\n";
    let (OutputContent::Dir(reported), FoundOutput::Read { sha256, files, .. }) = said_of_folder(code).await
    else {
        panic!("it is refused");
    };
    assert_eq!((reported.len(), files), (18, 18));
    let digests = reported.iter().map(|(path, content)| {
        let content = BASE64_STANDARD.decode(content).unwrap();
        (path.clone(), sha256_hex(&content))
    });
    assert_eq!(of_folder(digests.collect()), sha256);
}

#[tokio::test]
async fn a_folder_with_a_name_that_is_not_text_fails_its_run_in_words_wherever_it_is_read() {
    let code = "os.mkdir('out')\nopen(b'out/caf\\xe9.csv', 'w').write('x')\n";
    let (reported, found) = said_of_folder(code).await;
    let declared = Declared {
        name: "out".to_owned(),
        type_: ValueType::Dir,
        format: None,
    };
    let fault = parse(&declared, &reported).unwrap_err();
    assert_eq!(found, FoundOutput::Wrong(fault.problem.to_string()));
}

#[tokio::test]
async fn no_device_can_be_made_on_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let code = "import stat\ntry:\n    os.mknod('out', 0o666 | stat.S_IFBLK, os.makedev(8, 0))\nexcept PermissionError:\n    open('out', 'w').write('refused')";
    let job = job(vec![on_disk(code, 1 << 20)]);
    let report = sandbox()
        .run_in(&environment().await, &job, folder.path())
        .await
        .unwrap();
    assert_eq!(
        report.phases[0].end,
        PhaseEnd::Exited(0),
        "{}",
        report.phases[0].stderr
    );
    let written = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(written, "refused");
}
