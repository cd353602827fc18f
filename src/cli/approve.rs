//! `kubectl-codegen approve` and `reject`: a decision about what a task in a cluster waits with, and the question at a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Resource as _};

use super::args::{Color, DecideArgs};
use super::cluster::{Cluster, refusal};
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::paint::{Line, Mark};
use super::progress::Progress;
use super::render::approval_awaited;
use super::text::spelled_out;
use crate::api::approval::{ApprovalDecision, AwaitedApproval, CodeGenApprovalSpec, Gate, TaskRef};
use crate::api::{CodeGenApproval, CodeGenTask};
use crate::engine::results::SOLUTION;
use crate::local::approval::Answer;
use crate::pipeline::digest::sha256_hex;
use crate::sandbox::kubernetes::names;

/// Runs the command.
pub(super) fn run(args: &DecideArgs, decision: ApprovalDecision) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(decide(args, decision, &progress)) {
        Ok(said) => {
            progress.lines(&[Line::new(Mark::Done, said)]);
            0
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

async fn decide(
    args: &DecideArgs,
    decision: ApprovalDecision,
    progress: &Progress,
) -> Result<String, Absent> {
    let wrong = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.task.cluster).await.map_err(wrong)?;
    let task = cluster.task(&args.task.name).await.map_err(wrong)?;
    let asked = awaited(&task, args.gate.map(Into::into))?;
    progress.lines(&approval_awaited(asked).lines);
    let whole = whole(&cluster, &task, asked).await?;
    for line in whole.lines() {
        progress.lines(&[Line::new(Mark::Detail, line)]);
    }
    if let Some(caution) = caution(&whole) {
        progress.lines(&warning(caution));
    }
    let verb = match decision {
        ApprovalDecision::Approve => "Approve",
        ApprovalDecision::Reject => "Reject",
    };
    if !args.yes {
        if !io::stdin().is_terminal() {
            let message =
                format!("there is no terminal to ask at: --yes says that you want to {verb} what is shown");
            return Err(wrong(message.to_lowercase()));
        }
        if !is_yes(&answer(&format!("{verb} this? [y/N] "))) {
            return Err(Absent::new("nothing was decided".to_owned(), TASK_FAILED));
        }
    }
    let refused = |error: kube::Error| wrong(refusal(&error, &args.task.name, &cluster.namespace));
    // An admission policy may hold the name in a decision to that of the request: another one would be refused.
    let who = who(&cluster).await.map_err(refused)?;
    let record = record(&task, asked, decision, &who, args.reason.clone());
    let name = record.metadata.name.clone().unwrap_or_default();
    let records: Api<CodeGenApproval> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    match records.create(&PostParams::default(), &record).await {
        Ok(_) => Ok(format!(
            "gate {}: {} as {who} ({name})",
            asked.gate,
            said(decision)
        )),
        // The name follows from what was shown: somebody has decided about it before.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let before = records.get(&name).await.map_err(refused)?.spec;
            Err(Absent::new(
                format!("{} has {} this already", before.decided_by, said(before.decision)),
                TASK_FAILED,
            ))
        }
        Err(error) => Err(refused(error)),
    }
}

const fn said(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::Approve => "approved",
        ApprovalDecision::Reject => "rejected",
    }
}

/// What the task waits with, at the gate that is meant.
fn awaited(task: &CodeGenTask, gate: Option<Gate>) -> Result<&AwaitedApproval, Absent> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.as_ref();
    let stage = status
        .and_then(|status| status.stage.as_deref())
        .unwrap_or("Pending");
    let asked = status.and_then(|status| status.approval.as_ref());
    match (asked, gate) {
        (Some(asked), Some(gate)) if asked.gate != gate => Err(Absent::new(
            format!("{name} waits at the gate {}, not at {gate}", asked.gate),
            TASK_FAILED,
        )),
        (Some(asked), _) => Ok(asked),
        (None, _) => Err(Absent::new(
            format!("{name} waits for no approval; it is in stage {stage}"),
            TASK_FAILED,
        )),
    }
}

/// All of what lines cut short: the plan, or the program as it lies in the cluster.
async fn whole(cluster: &Cluster, task: &CodeGenTask, asked: &AwaitedApproval) -> Result<String, Absent> {
    let status = task.status.clone().unwrap_or_default();
    match (asked.gate, status.plan, status.result) {
        (Gate::Plan, Some(plan), _) => Ok(format!("{}\n\n{}", plan.description, plan.approach)),
        (Gate::Result, _, Some(result)) => {
            let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
            let found = maps.get(&result).await;
            let map = found.map_err(|error| {
                let message = format!("the program cannot be shown: ConfigMap {result}: {error}");
                Absent::new(message, USAGE)
            })?;
            let program = map
                .data
                .and_then(|mut data| data.remove(SOLUTION))
                .unwrap_or_default();
            let digest = sha256_hex(program.as_bytes());
            // Somebody may have replaced the program since its hash was put up for approval.
            if asked.what.iter().any(|line| line.contains(&digest)) {
                return Ok(program);
            }
            Err(Absent::new(
                format!(
                    "{SOLUTION} in the ConfigMap {result} is not the program that is to be approved: look again"
                ),
                TASK_FAILED,
            ))
        }
        _ => Ok(String::new()),
    }
}

/// The name by which the API server knows this user.
async fn who(cluster: &Cluster) -> Result<String, kube::Error> {
    let reviews: Api<SelfSubjectReview> = Api::all(cluster.client.clone());
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let user = review.status.and_then(|status| status.user_info);
    Ok(user.and_then(|user| user.username).unwrap_or_default())
}

/// One record for what was shown: a second decision about it is refused by its name.
fn record(
    task: &CodeGenTask,
    asked: &AwaitedApproval,
    decision: ApprovalDecision,
    who: &str,
    reason: Option<String>,
) -> CodeGenApproval {
    let name = task.metadata.name.clone().unwrap_or_default();
    let uid = task.metadata.uid.clone().unwrap_or_default();
    let gate = asked.gate.as_str();
    let record = names::name(
        &format!("{name}-{}", gate.to_lowercase()),
        &[&uid, gate, &asked.hash],
    );
    let mut approval = CodeGenApproval::new(
        &record,
        CodeGenApprovalSpec {
            task_ref: TaskRef { name, uid },
            gate: asked.gate,
            hash: asked.hash.clone(),
            decision,
            decided_by: who.to_owned(),
            reason,
        },
    );
    // It goes with the task.
    approval.metadata.owner_references = task.owner_ref(&()).map(|owner| vec![owner]);
    approval
}

/// Asks at the terminal of a local run.
pub(super) fn ask(asked: &AwaitedApproval, whole: &str) -> Answer {
    if !whole.is_empty() {
        // A closed stderr must not end a run.
        let _ = io::stderr().lock().write_all(shown(whole).as_bytes());
    }
    let question = format!(
        "Approve of this at the gate {}? [y]es, [n]o ends the task, anything else: later: ",
        asked.gate
    );
    let answer = answer(&question);
    if is_yes(&answer) {
        return Answer::Approve;
    }
    match answer.as_str() {
        "n" | "no" => Answer::Reject,
        _ => Answer::Later,
    }
}

/// What a terminal shows of a text that others wrote.
fn shown(whole: &str) -> String {
    let mut shown = format!("\n{}\n\n", spelled_out(whole.trim_end()));
    if let Some(caution) = caution(whole) {
        shown.extend(["! ", caution, "\n\n"]);
    }
    shown
}

/// What somebody must know before they approve of a text that a terminal would not show as it is.
fn caution(whole: &str) -> Option<&'static str> {
    let says_more = spelled_out(whole) != whole;
    says_more.then_some(
        "it holds characters that a terminal obeys or hides, spelled out above as \\u{...}: look at them before you approve",
    )
}

pub(super) fn answer(question: &str) -> String {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    drop(stderr);
    let mut line = String::new();
    // Nothing to read is no answer.
    let _ = io::stdin().lock().read_line(&mut line);
    line.trim().to_lowercase()
}

pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::status::CodeGenTaskStatus;

    #[test]
    fn a_text_with_characters_that_a_terminal_obeys_is_shown_with_a_caution() {
        assert!(caution("evil()  #\u{1b}[2K  # counts").is_some());
        assert!(caution("a = 1  # \u{202e}").is_some());
        assert!(caution("a = \"na\u{ef}ve\"\n\tb = 2\n").is_none());
    }

    /// What a terminal has on its screen once it was sent a text.
    fn on_a_screen(text: &str) -> String {
        let mut terminal = vt100::Parser::new(24, 200, 0);
        terminal.process(text.replace('\n', "\r\n").as_bytes());
        terminal.screen().contents()
    }

    /// What stands in a line from left to right, where a terminal turns text as Unicode has it.
    fn from_left_to_right(line: &str) -> String {
        let order = unicode_bidi::BidiInfo::new(line, None);
        let whole = &order.paragraphs[0];
        order.reorder_line(whole, whole.range.clone()).into_owned()
    }

    #[test]
    fn a_program_that_a_terminal_shows_as_another_one_is_shown_as_it_is() {
        let erased = "total = 0\nsend(key)\u{1b}[2K\u{1b}[Gtotal += 1\n";
        let seen = on_a_screen(erased);
        assert!(seen.contains("total += 1") && !seen.contains("send"), "{seen}");
        let seen = on_a_screen(&shown(erased));
        assert!(
            seen.contains("send(key)\\u{1b}[2K") && seen.contains("! it holds"),
            "{seen}"
        );

        // A string that ends where nobody sees it end: the condition always holds.
        let turned = "if user != \"none\u{202e}\u{2066}\":  # asked\u{2069}\u{2066}\" and user != \"guest\u{2069}\u{202c}";
        let seen = from_left_to_right(turned).replace(is_spelled_out, "");
        assert_eq!(seen, "if user != \"none\" and user != \"guest\":  # asked");
        let seen = on_a_screen(&shown(turned));
        let line = seen.lines().nth(1).unwrap();
        assert_eq!(from_left_to_right(line), line);
        assert!(line.contains("none\\u{202e}\\u{2066}\":  # asked"), "{line}");

        let honest = "total = 0\n\ttotal += 1  # na\u{ef}ve\n";
        let seen = on_a_screen(&shown(honest));
        assert!(
            seen.contains("total += 1  # na\u{ef}ve") && !seen.contains('!'),
            "{seen}"
        );
    }

    fn is_spelled_out(character: char) -> bool {
        let alone = character.to_string();
        spelled_out(&alone) != alone
    }

    fn waiting() -> CodeGenTask {
        let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
        task.metadata.uid = Some("uid-1".to_owned());
        task.status = Some(CodeGenTaskStatus {
            stage: Some("GeneratingCode".to_owned()),
            approval: Some(AwaitedApproval {
                gate: Gate::Plan,
                hash: "a".repeat(64),
                what: Vec::new(),
            }),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn a_decision_is_about_the_gate_that_the_task_waits_at() {
        let task = waiting();
        assert_eq!(awaited(&task, None).unwrap().gate, Gate::Plan);
        assert!(awaited(&task, Some(Gate::Plan)).is_ok());
        let other = awaited(&task, Some(Gate::Image)).unwrap_err();
        assert!(
            other.message.contains("waits at the gate Plan"),
            "{}",
            other.message
        );
        let none = awaited(&CodeGenTask::new("penguins", CodeGenTaskSpec::default()), None).unwrap_err();
        assert!(none.message.contains("waits for no approval"), "{}", none.message);
    }

    #[test]
    fn two_decisions_about_the_same_thing_have_the_same_name_and_go_with_the_task() {
        let task = waiting();
        let asked = awaited(&task, None).unwrap();
        let yes = record(&task, asked, ApprovalDecision::Approve, "ada", None);
        let no = record(&task, asked, ApprovalDecision::Reject, "eve", None);
        assert_eq!(yes.metadata.name, no.metadata.name);
        assert_eq!(yes.metadata.owner_references.unwrap()[0].uid, "uid-1");
        let other = AwaitedApproval {
            hash: "b".repeat(64),
            ..asked.clone()
        };
        let another = record(&task, &other, ApprovalDecision::Approve, "ada", None);
        assert_ne!(another.metadata.name, no.metadata.name);
    }
}
