//! What separates a sandbox from the machine, and a phase from the next one, where a user starts it. Each attack prints what it gets;
//! `walls_down` runs the same tests where one of the walls is missing.

use codegen_core::sandbox::{Job, Phase, PhaseEnd, PhaseReport, Report};

use crate::support::{job, program, run, run_one};

/// Names the wall that is missing.
pub const WITHOUT: &str = "CODEGEN_TESTS_WITHOUT";

const KEYRINGS: &str = include_str!("walls/keyrings.py");
const LEFTOVERS: &str = include_str!("walls/leftovers.py");
const TRAP: &str = include_str!("walls/trap.py");

/// Whether the attack shall work.
fn is_without(wall: &str) -> bool {
    std::env::var(WITHOUT).is_ok_and(|missing| missing == wall)
}

fn program_with_word(solution: &str, word: &str) -> Phase {
    let mut phase = program(solution, &[]);
    if let Phase::Program(run) = &mut phase {
        run.args = vec![word.into()];
    }
    phase
}

/// What a program finds that has run before, and was told to leave something.
async fn found(solution: &str) -> String {
    let report = run(&job(vec![
        program_with_word(solution, "leave"),
        program_with_word(solution, "find"),
    ]))
    .await;
    for phase in &report.phases {
        assert_eq!(phase.end, PhaseEnd::Exited(0), "{phase:?}");
    }
    report.phases[1].stdout.clone()
}

async fn printed(solution: &str) -> String {
    let report = run_one(program(solution, &[])).await;
    assert_eq!(report.end, PhaseEnd::Exited(0), "{}", report.stderr);
    report.stdout
}

#[tokio::test]
async fn no_keyring_brings_a_phase_words_of_the_one_before_or_keys_of_who_started_it() {
    let found = found(KEYRINGS).await;
    if is_without("filter") {
        assert!(found.contains("'left'"), "{found}");
        assert!(found.contains("'own'"), "{found}");
    } else {
        assert_eq!(found, "[]\n");
    }
}

#[tokio::test]
async fn calls_that_lead_deep_into_the_kernel_do_not_exist() {
    let got = printed(include_str!("walls/calls.py")).await;
    if is_without("filter") {
        assert!(got.contains("unshare"), "{got}");
        let of_the_kernel = std::fs::read_to_string("/proc/net/protocols").unwrap();
        assert_eq!(got.contains("AF_VSOCK"), of_the_kernel.contains("VSOCK"), "{got}");
    } else {
        assert_eq!(got, "[] True\n");
    }
}

#[tokio::test]
async fn what_others_lock_is_out_of_sight() {
    let seen = printed(include_str!("walls/locks.py")).await;
    assert_eq!(seen == "True\n", is_without("locks"), "{seen}");
}

/// The job of a program that tells a word to whoever listens on the channel, or hears one; it waits for so many seconds.
fn speaks(role: &str, channel: u32, seconds: u32) -> Job {
    let mut phase = program(include_str!("walls/words.py"), &[]);
    if let Phase::Program(run) = &mut phase {
        let (channel, seconds) = (channel.to_string(), seconds.to_string());
        run.args = [role, &channel, &seconds, "4711"].map(str::to_owned).into();
    }
    job(vec![phase])
}

/// What a program that models are told of hears of one that they are not told of: in sandboxes at once, and one after the other.
#[tokio::test]
async fn a_word_goes_from_one_sandbox_to_another_that_runs_at_once_and_not_to_one_that_has_ended() {
    let channel = std::process::id();
    let heard = |report: Report| {
        let ended = &report.phases[0];
        assert_eq!(ended.end, PhaseEnd::Exited(0), "{}", ended.stderr);
        ended.stdout.trim_end().to_owned()
    };
    let is_open = is_without("locks");
    // Where they can speak they do so as soon as both are there.
    let seconds = if is_open { 60 } else { 1 };
    let (listener, teller) = (speaks("hear", channel, seconds), speaks("tell", channel, seconds));
    let (at_once, _) = tokio::join!(run(&listener), run(&teller));
    assert_eq!(heard(at_once), if is_open { "4711" } else { "0" });

    let main = run(&speaks("hear", channel, 1)).await;
    run(&speaks("tell", channel, 1)).await;
    assert_eq!(heard(main), "0");
}

#[tokio::test]
async fn nothing_stays_beside_the_devices_or_in_the_settings_of_a_kernel_or_on_the_folders_themselves() {
    let found = found(LEFTOVERS).await;
    if is_without("devices") {
        assert!(found.contains("'file'"), "{found}");
    } else if is_without("settings") {
        assert_eq!(found, "['setting']\n");
    } else if is_without("first state") {
        for word in ["'/tmp mode'", "'/tmp time'", "'/dev/pts mode'"] {
            assert!(found.contains(word), "{found}");
        }
    } else {
        assert_eq!(found, "[]\n");
    }
}

#[tokio::test]
async fn files_beside_the_devices_take_no_memory() {
    let mut job = job(vec![program(include_str!("walls/fill_devices.py"), &[])]);
    job.limits.memory_bytes = 64 << 20;
    let ended: &PhaseReport = &run(&job).await.phases[0];
    assert_eq!(
        ended.end == PhaseEnd::Exited(0),
        is_without("devices"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_pipe_in_the_place_of_the_last_words_does_not_end_the_harness() {
    let report = run(&job(vec![program(TRAP, &[]), program("print('next')", &[])])).await;
    assert_eq!(
        report.phases[0].stdout == "set\n",
        is_without("devices"),
        "{report:?}"
    );
    assert_eq!(report.phases[1].stdout, "next\n", "{report:?}");
}

#[tokio::test]
async fn no_file_is_open_that_a_program_did_not_open() {
    let open = printed(include_str!("walls/descriptors.py")).await;
    if is_without("closed files") {
        assert!(open.contains("77"), "{open}");
    } else {
        assert_eq!(open, "[]\n");
    }
}

#[tokio::test]
async fn what_honest_programs_ask_of_the_machine_is_there() {
    assert_eq!(printed(include_str!("walls/honest.py")).await, "done\n");
}
