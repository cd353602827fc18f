//! `kubectl-codegen approve` and `reject`: a decision about what a task or a question in a cluster waits with.

mod ask;
mod question;
mod task;

use std::fmt::Display;
use std::io::{self, IsTerminal as _};

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::PostParams;

pub(super) use self::ask::{answer, ask, is_allowed, is_yes};
use self::ask::{caution, may_trust};
use super::args::{Color, DecideArgs, WaitingArg};
use super::cluster::Cluster;
use super::command::{self, CommandError, is_interactive, warning};
use super::paint::{Mark, PaintedLine};
use super::progress::ProgressPrinter;
use super::render::approval_awaited;
use crate::local::trust::Trust;
use codegen_api::CodeGenApproval;
use codegen_api::approval::{
    AnyGate, ApprovalDecision, AwaitedApproval, CodeGenApprovalSpec, CodeModeRunRef, TaskRef,
};
use codegen_sandbox::kubernetes::names;

/// Object that waits for a decision.
struct Awaiting {
    reference: Reference,
    gate: AnyGate,
    hash: String,
    /// Lines that it shows.
    lines: Vec<PaintedLine>,
    /// All of what lines cut short.
    whole: String,
    /// Reason that it is not shown.
    not_shown: Option<String>,
    /// A record goes with it.
    owner: Option<OwnerReference>,
}

/// The object that waits.
enum Reference {
    Task(TaskRef),
    Question(CodeModeRunRef),
}

/// The say on records that were made elsewhere: the command line's, else that of whoever sits at the terminal.
pub(super) fn trust(is_given: bool) -> Trust {
    Trust {
        given: is_given,
        ask: is_interactive().then_some(may_trust),
    }
}

/// Runs the command.
pub(super) fn run(args: &DecideArgs, decision: ApprovalDecision) -> i32 {
    command::run(Color::Auto, async |progress| {
        let said = Box::pin(decide(args, decision, progress)).await?;
        progress.lines(&[PaintedLine::new(Mark::Done, said)]);
        Ok(0)
    })
}

async fn decide(
    args: &DecideArgs,
    decision: ApprovalDecision,
    progress: &ProgressPrinter,
) -> Result<String, CommandError> {
    let cluster = Cluster::connect(&args.cluster).await?;
    let gate = args.gate.map(Into::into);
    let awaiting = match &args.waiting {
        WaitingArg::Task(name) => task::awaiting(&cluster, name, gate).await?,
        WaitingArg::Question(name) => question::awaiting(&cluster, name, gate).await?,
    };
    show(&awaiting, progress);
    let verb = match decision {
        ApprovalDecision::Approve => "Approve",
        ApprovalDecision::Reject => "Reject",
    };
    if !args.yes {
        if !io::stdin().is_terminal() {
            let message =
                format!("there is no terminal to ask at: --yes says that you want to {verb} what is shown");
            return Err(CommandError::usage(message.to_lowercase()));
        }
        if !is_yes(&answer(&format!("{verb} this? [y/N] "))) {
            return Err(CommandError::failed("nothing was decided"));
        }
    }
    let refused = |error: kube::Error| cluster.refused::<CodeGenApproval>(&error, "");
    // An admission policy may hold the name in a decision to that of the request: another one would be refused.
    let who = who(&cluster)
        .await
        .map_err(|error| cluster.refused::<SelfSubjectReview>(&error, ""))?;
    let record = awaiting.record(decision, &who, args.reason.clone());
    let name = record.metadata.name.clone().unwrap_or_default();
    let records = cluster.api::<CodeGenApproval>();
    match records.create(&PostParams::default(), &record).await {
        Ok(_) => Ok(format!(
            "gate {}: {} as {who} ({name})",
            awaiting.gate,
            said(decision)
        )),
        // The name follows from what was shown: somebody has decided about it before.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let before = records.get(&name).await.map_err(refused)?.spec;
            Err(CommandError::failed(format!(
                "{} has {} this already",
                before.decided_by,
                said(before.decision)
            )))
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

fn show(awaiting: &Awaiting, progress: &ProgressPrinter) {
    progress.lines(&awaiting.lines);
    for line in awaiting.whole.lines() {
        progress.lines(&[PaintedLine::new(Mark::Detail, line)]);
    }
    for told in caution(&awaiting.whole)
        .into_iter()
        .chain(awaiting.not_shown.as_deref())
    {
        progress.lines(&warning(told));
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

/// Returns the approval that an object waits for; an error where it waits for none.
fn awaited<'a, G>(
    name: &str,
    stage: Option<&str>,
    approval: Option<&'a AwaitedApproval<G>>,
) -> Result<&'a AwaitedApproval<G>, CommandError> {
    let stage = stage.unwrap_or("Pending");
    approval
        .ok_or_else(|| CommandError::failed(format!("{name} waits for no approval; it is in stage {stage}")))
}

impl Awaiting {
    fn of<G: Display + Copy + Into<AnyGate>>(
        asked: &AwaitedApproval<G>,
        reference: Reference,
        owner: Option<OwnerReference>,
    ) -> Self {
        Self {
            reference,
            gate: asked.gate.into(),
            hash: asked.hash.clone(),
            lines: approval_awaited(asked).lines,
            whole: String::new(),
            not_shown: None,
            owner,
        }
    }

    /// One record for what was shown: a second decision about it is refused by its name.
    fn record(&self, decision: ApprovalDecision, who: &str, reason: Option<String>) -> CodeGenApproval {
        let gate = self.gate.as_str();
        let (task_ref, code_mode_run_ref) = match &self.reference {
            Reference::Task(task) => (Some(task.clone()), None),
            Reference::Question(run) => (None, Some(run.clone())),
        };
        let (name, uid) = match &self.reference {
            Reference::Task(TaskRef { name, uid }) | Reference::Question(CodeModeRunRef { name, uid }) => {
                (name, uid)
            }
        };
        let record = names::name(
            &format!("{name}-{}", gate.to_lowercase()),
            &[uid, gate, &self.hash],
        );
        let mut approval = CodeGenApproval::new(
            &record,
            CodeGenApprovalSpec {
                task_ref,
                code_mode_run_ref,
                gate: self.gate,
                hash: self.hash.clone(),
                decision,
                decided_by: who.to_owned(),
                reason,
            },
        );
        // It goes with what waited.
        approval.metadata.owner_references = self.owner.clone().map(|owner| vec![owner]);
        approval
    }
}
