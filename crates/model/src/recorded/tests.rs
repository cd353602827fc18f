use super::*;
use crate::test_support::request;

const RECORDING: &str = r#"{"kind":"plan","reply":{"description":"x"},"usage":{"input":812,"output":131}}

{"kind":"plan","text":"```json\n{}\n```"}
{"kind":"plan","text":"{\"descr","finish":"length","requestHash":"feed"}
"#;

fn recorded() -> Recorded {
    Recorded::parse("replies.jsonl", RECORDING).unwrap()
}

#[tokio::test]
async fn replies_come_in_order_with_finish_and_usage() {
    let model = recorded();
    let first = model.call(&request()).await.unwrap();
    assert_eq!(first.text, r#"{"description":"x"}"#);
    assert_eq!(
        first.usage,
        Usage {
            input: 812,
            output: 131
        }
    );
    let second = model.call(&request()).await.unwrap();
    assert_eq!(
        (second.text.as_str(), second.finish),
        ("```json\n{}\n```", FinishReason::Complete)
    );
    assert_eq!(second.usage.output, estimate_tokens(&second.text));
    let third = model.call(&request()).await.unwrap();
    assert_eq!(
        (third.text.as_str(), third.finish),
        ("{\"descr", FinishReason::Length)
    );
    assert_eq!(*model.next(), 3);
}

#[tokio::test]
async fn a_reply_of_another_kind_is_an_error_and_is_not_used_up() {
    let model = recorded().skip(1);
    let other = Request {
        kind: CallKind::Code,
        ..request()
    };
    let error = model.call(&other).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3 of the recording replies.jsonl holds a reply to `plan`, but the call asks for `code`: \
         the task took another way than when it was recorded; record it again"
    );
    assert!(model.call(&request()).await.is_ok());
}

#[tokio::test]
async fn a_recording_that_is_used_up_says_so() {
    let error = recorded().skip(3).call(&request()).await.unwrap_err();
    assert_eq!(
        error,
        ModelError::RecordingEnded {
            recording: "replies.jsonl".to_owned(),
            replies: 3,
            asked: CallKind::Plan
        }
    );
}

#[tokio::test]
async fn a_changed_request_is_answered_or_refused_when_strict() {
    let lenient = recorded().skip(2);
    assert_eq!(lenient.mismatch(), None);
    lenient.call(&request()).await.unwrap();
    let told = lenient.mismatch().unwrap();
    assert!(
        told.starts_with("1 reply was recorded for another request")
            && told.contains("line 4 of replies.jsonl"),
        "{told}"
    );

    let strict = recorded().skip(2).strict(true);
    let error = strict.call(&request()).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::RecordingChanged { line: 4, recorded, .. } if recorded == "feed"),
        "{error}"
    );
    assert_eq!(*strict.next(), 2, "the reply is still there");
}

#[tokio::test]
async fn an_unchanged_or_unknown_request_is_no_change() {
    let hash = request_hash(&request());
    let recording = format!(r#"{{"kind":"plan","requestHash":"{hash}","reply":{{}}}}"#);
    let model = Recorded::parse("r", &format!("{recording}\n{}", r#"{"kind":"plan","reply":{}}"#))
        .unwrap()
        .strict(true);
    model.call(&request()).await.unwrap();
    model.call(&request()).await.unwrap();
    assert_eq!(model.mismatch(), None);
}

#[test]
fn lines_that_cannot_be_read_are_named() {
    for (line, detail) in [
        ("not json", "expected ident at line 1 column 2"),
        (r#"{"kind":"poem","reply":{}}"#, "unknown variant `poem`"),
        (r#"{"kind":"plan","answer":{}}"#, "unknown field `answer`"),
        (r#"{"kind":"plan"}"#, "give exactly one of `reply` and `text`"),
        (
            r#"{"kind":"plan","reply":{},"text":""}"#,
            "give exactly one of `reply` and `text`",
        ),
    ] {
        let recording = format!("{}\n{line}\n", r#"{"kind":"plan","reply":{}}"#);
        let error = Recorded::parse("r.jsonl", &recording).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "line 2 of the recording r.jsonl cannot be read: {detail}"
            )),
            "{error}"
        );
    }
}

#[tokio::test]
async fn every_reply_survives_recording_and_replay() {
    let texts = [
        r#"{"code":"print(\"ä\")\n"}"#,
        "```\nfenced\n```",
        "[1, 2]",
        "",
        "{\"cut",
    ];
    let finishes = [
        FinishReason::Complete,
        FinishReason::Length,
        FinishReason::Refused,
        FinishReason::Other("pause".to_owned()),
    ];
    for text in texts {
        for finish in &finishes {
            let usage = Usage { input: 1, output: 2 };
            let reply = Reply {
                text: text.to_owned(),
                finish: finish.clone(),
                usage,
                ..Reply::default()
            };
            let line = serde_json::to_string(&RecordedReply::new(CallKind::Plan, "h", &reply)).unwrap();
            let model = Recorded::parse("r", &line).unwrap();
            assert_eq!(model.call(&request()).await.unwrap(), reply);
        }
    }
}
