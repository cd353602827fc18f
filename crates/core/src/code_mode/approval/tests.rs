use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::code_mode::{
    AnswerOutcome as Came, ProgramOutcome, Question, QuestionDecision, QuestionStage, QuestionStatusContext,
    Waits, advance, decide, question, status,
};
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun, PendingCall};
use codegen_code_mode::signature::{Effect, Tool};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn call(number: u32, tool: &str, arguments: &Value) -> Call {
    Call {
        number,
        tool: tool.to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
    }
}

fn refund() -> Call {
    call(
        3,
        "refund",
        &json!({"order": {"id": 7, "shop": "north"}, "cents": 1200}),
    )
}

fn toolbox() -> Toolbox {
    let tool = Tool {
        name: "refund".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        result: None,
        effect: Effect::Once,
        is_loosened: false,
    };
    Toolbox::new(vec![tool]).unwrap()
}

fn a_question() -> Question {
    let agent: CodeModeAgent = serde_json::from_value(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeAgent", "metadata": {"name": "shop"},
        "spec": {"model": {"name": "m"}, "tools": [], "requireApproval": ["refund"], "limits": {"deadline": "10m"}},
    }))
    .unwrap();
    let run: CodeModeRun = serde_json::from_value(json!({
        "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeModeRun", "metadata": {"name": "ask"},
        "spec": {"agentRef": {"name": "shop"}, "message": "Refund it."},
    }))
    .unwrap();
    question(&run, &agent, None, (Vec::new(), Vec::new(), Vec::new())).unwrap()
}

fn awaited(call: &Call, more: u32) -> AwaitedCall {
    AwaitedCall {
        number: call.number,
        tool: call.tool.clone(),
        asked: asked("uid-1", 1, call, None),
        document: None,
        more,
    }
}

/// A program that waits, since second 10, until somebody has decided about `call`.
fn waiting(call: &Call, calls: Vec<PendingCall>) -> QuestionProgress {
    let progress = QuestionProgress {
        stage: QuestionStage::Running,
        ..QuestionProgress::start(at(0))
    };
    let waits = Waits {
        calls,
        approval: Some(awaited(call, 2)),
    };
    let ran = Came::Ran {
        ran: ProgramOutcome::Pending(waits),
        calls: [("refund".to_owned(), 3)].into(),
    };
    advance(&a_question(), progress, ran, at(10))
}

fn said(decision: ApprovalDecision, hash: &str) -> ApprovalStatus<QuestionGate> {
    ApprovalStatus {
        gate: QuestionGate::ToolCall,
        decision,
        decided_by: "ada".to_owned(),
        verified: true,
        decided_at: Time(at(5)),
        hash: hash.to_owned(),
        reason: Some("not after 30 days".to_owned()),
    }
}

#[rstest]
#[case::another_question("uid-2", 1, refund())]
#[case::another_program("uid-1", 2, refund())]
#[case::another_place("uid-1", 1, Call { number: 4, ..refund() })]
#[case::another_tool("uid-1", 1, Call { tool: "refunds".to_owned(), ..refund() })]
#[case::another_argument("uid-1", 1, call(3, "refund", &json!({"order": {"id": 7, "shop": "north"}, "cents": 1201})))]
#[case::an_argument_of_another_type("uid-1", 1, call(3, "refund", &json!({"order": {"id": "7", "shop": "north"}, "cents": 1200})))]
#[case::an_argument_more("uid-1", 1, call(3, "refund", &json!({"order": {"id": 7, "shop": "north"}, "cents": 1200, "note": null})))]
fn no_other_call_has_the_hash_of_a_call(#[case] uid: &str, #[case] attempt: u32, #[case] other: Call) {
    let hash = call_hash("uid-1", 1, &refund());
    assert_eq!(hash.len(), 64);
    assert_ne!(call_hash(uid, attempt, &other), hash);
    let reordered = call(
        3,
        "refund",
        &json!({"cents": 1200, "order": {"shop": "north", "id": 7}}),
    );
    assert_eq!(
        call_hash("uid-1", 1, &reordered),
        hash,
        "the order of keys is no part of it"
    );
}

#[test]
fn what_is_shown_names_the_tool_its_place_and_each_argument() {
    let asked = asked("uid-1", 2, &refund(), None);
    assert_eq!(
        asked.what,
        [
            "tool: refund (built in)",
            "program 2, call 3",
            r#"order: {"id":7,"shop":"north"}"#,
            "cents: 1200"
        ]
    );
    assert!(!is_cut(&refund()));
}

#[test]
fn a_long_argument_is_shown_cut_with_how_much_of_it_and_the_digest_of_all_and_counts_as_a_whole() {
    let long = |end: &str| {
        call(
            1,
            "refund",
            &json!({"note": format!("{}{end}", "x".repeat(1_000_000))}),
        )
    };
    let (one, other) = (long("a"), long("b"));
    assert!(is_cut(&one));
    let shown = asked("uid-1", 1, &one, None);
    let line = &shown.what[2];
    assert!(line.starts_with("note: \"xxx"), "{line}");
    assert!(
        line.contains("... (999703 of 1000003 bytes are not shown; sha256"),
        "{line}"
    );
    assert!(
        line.contains(&sha256_hex(one.arguments["note"].to_string().as_bytes())),
        "{line}"
    );
    let bytes: usize = shown.what.iter().map(String::len).sum();
    assert!(bytes < 1_000, "{bytes}");
    assert_ne!(shown.hash, asked("uid-1", 1, &other, None).hash);
}

#[test]
fn many_arguments_are_counted() {
    let arguments: serde_json::Map<String, Value> = (0..40)
        .map(|number| (format!("a{number}"), json!(number)))
        .collect();
    let many = call(1, "refund", &Value::Object(arguments));
    assert!(is_cut(&many));
    let shown = asked("uid-1", 1, &many, None).what;
    assert_eq!(
        (shown.len(), shown[18].as_str()),
        (19, "... and 24 more arguments")
    );
}

#[test]
fn nothing_that_a_terminal_obeys_is_left_in_what_is_shown_and_a_caution_says_so() {
    let hostile = call(
        1,
        "refund",
        &json!({"note\u{1b}[2K": ["order 7\u{1b}[2K\u{1b}[Gorder 8", "\u{9b}31m \u{202e}77 \u{200b}"]}),
    );
    let shown = asked("uid-1", 1, &hostile, None).what;
    for line in &shown {
        assert!(!line.contains(is_obeyed), "{line:?}");
    }
    assert!(
        shown[2].contains(r"order 7\u001b[2K\u001b[Gorder 8"),
        "{}",
        shown[2]
    );
    assert!(shown[2].contains(r"\u{202e}77"), "{}", shown[2]);
    assert!(shown[3].starts_with("caution: "), "{}", shown[3]);
    let honest = call(1, "refund", &json!({"note": "na\u{ef}ve\n\tline"}));
    let shown = asked("uid-1", 1, &honest, None).what;
    assert_eq!(shown[2..], [r#"note: "naïve\n\tline""#]);
}

#[test]
fn a_program_waits_for_the_decision_and_the_time_until_then_does_not_count() {
    let (question, progress) = (a_question(), waiting(&refund(), Vec::new()));
    let asked = progress.waits.approval.clone().unwrap().asked;
    let much_later = at(1_000_000);
    assert_eq!(
        decide(&question, &progress, much_later),
        QuestionDecision::AwaitApproval(asked.clone())
    );
    assert!((progress.active_seconds(much_later) - 10.0).abs() < 0.1);
    let around = QuestionStatusContext {
        how_to_decide: "ask ada",
        ..QuestionStatusContext::default()
    };
    let shown = status(&progress, &[], &around, much_later);
    assert_eq!(
        (shown.stage.as_deref(), shown.reason.as_deref(), shown.approval),
        (Some("Running"), Some("AwaitingApproval"), Some(asked.clone()))
    );
    assert_eq!(
        shown.message.unwrap(),
        "call 3 of `refund` waits until a person has decided about what status.approval shows: ask ada; 2 more calls wait after it"
    );
    let conditions = shown.conditions.iter();
    let said_of: Vec<_> = conditions
        .map(|said| (said.type_.as_str(), said.status.as_str()))
        .collect();
    assert_eq!(
        said_of,
        [
            ("Ready", "False"),
            ("Succeeded", "Unknown"),
            ("Reconciling", "False"),
            ("Stalled", "True")
        ]
    );
    let decided = Came::Decided(said(ApprovalDecision::Approve, &asked.hash));
    let next = advance(&question, progress, decided, much_later);
    assert_eq!(decide(&question, &next, much_later), QuestionDecision::Run);
    assert!((next.active_seconds(at(1_000_001)) - 11.0).abs() < 0.1);
    let shown = status(&next, &[], &around, much_later);
    assert_eq!((shown.approval, shown.approvals.len()), (None, 1));
}

#[test]
fn a_program_that_waits_for_a_run_besides_is_run_again_when_that_may_have_ended() {
    let run = PendingCall {
        number: 1,
        tool: "report".to_owned(),
        run: "run-1".to_owned(),
    };
    let progress = waiting(&refund(), vec![run]);
    assert_eq!(decide(&a_question(), &progress, at(20)), QuestionDecision::Run);
}

#[test]
fn a_decision_about_another_call_changes_nothing() {
    let question = a_question();
    for decision in [ApprovalDecision::Approve, ApprovalDecision::Reject] {
        let progress = waiting(&refund(), Vec::new());
        let other = Came::Decided(said(decision, &"0".repeat(64)));
        assert_eq!(advance(&question, progress.clone(), other, at(10)), progress);
    }
}

#[test]
fn a_decision_counts_once() {
    let (question, progress) = (a_question(), waiting(&refund(), Vec::new()));
    let hash = call_hash("uid-1", 1, &refund());
    let next = advance(
        &question,
        progress,
        Came::Decided(said(ApprovalDecision::Approve, &hash)),
        at(20),
    );
    assert!(next.decision(&hash).is_some());
    let ran = Came::Ran {
        ran: ProgramOutcome::Pending(Waits::default()),
        calls: std::collections::BTreeMap::new(),
    };
    let next = advance(&question, next, ran, at(21));
    assert_eq!((next.decision(&hash), next.approvals.len()), (None, 1));
}

#[test]
fn decisions_are_shown_in_short() {
    let question = a_question();
    let mut progress = waiting(&refund(), Vec::new());
    for number in 1..=20 {
        let call = Call { number, ..refund() };
        progress.waits.approval = Some(awaited(&call, 0));
        let decision = ApprovalStatus {
            decided_by: "a".repeat(500),
            reason: Some("b".repeat(1_000)),
            ..said(ApprovalDecision::Approve, &call_hash("uid-1", 1, &call))
        };
        progress = advance(&question, progress, Came::Decided(decision), at(10));
        assert!(progress.decision(&call_hash("uid-1", 1, &call)).is_some());
    }
    assert_eq!(progress.approvals.len(), 8);
    assert!(serde_json::to_string(&progress.approvals).unwrap().len() < 8 * 800);
}

#[test]
fn a_refusal_names_the_call_who_refused_it_and_why() {
    let CallOutcome::Raised { kind, message } = refusal(&refund(), &said(ApprovalDecision::Reject, ""))
    else {
        panic!("it is an exception");
    };
    assert_eq!(kind, "PermissionError");
    assert_eq!(
        message,
        r#"the call refund(order={"id":7,"shop":"north"}, cents=1200) was refused by ada: not after 30 days"#
    );
    let silent = ApprovalStatus {
        reason: Some("  ".to_owned()),
        ..said(ApprovalDecision::Reject, "")
    };
    let CallOutcome::Raised { message, .. } = refusal(&refund(), &silent) else {
        panic!("it is an exception");
    };
    assert!(message.ends_with("by ada: no reason given"), "{message}");
}

#[test]
fn an_agent_that_names_a_tool_that_it_has_not_is_refused_with_the_names_that_there_are() {
    let check = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        check_required(&names, &toolbox())
    };
    assert_eq!(check(&["refund"]), Ok(()));
    let error = check(&["refund", "refnd"]).unwrap_err().message;
    assert!(
        error.starts_with("spec.requireApproval names `refnd`,"),
        "{error}"
    );
    assert!(error.contains("(refund)"), "{error}");
}
