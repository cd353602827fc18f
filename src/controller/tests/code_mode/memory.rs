//! Memory and places that programs of questions have.

use std::sync::Arc;

use super::*;

#[tokio::test]
async fn a_question_whose_program_would_have_too_much_is_refused_before_the_model_is_asked() {
    let mut shop = Shop::configured("await till() + 1", &json!({"interpreterMemory": "40Mi"})).await;
    shop.world.succeeded("words").await;
    let calls = shop.world.provider.calls().await.len();
    shop.ask("ask", &json!({}));
    shop.world.settle::<CodeModeRun>("ask").await;
    assert_eq!(
        shop.world.condition::<CodeModeRun>("ask", "Stalled").as_deref(),
        Some("True Configuration")
    );
    let message = shop.world.message::<CodeModeRun>("ask");
    assert!(
        message.starts_with(
            "limits.memory of the CodeModeAgent shop gives a program 50Mi, and a program may have 40Mi"
        ),
        "{message}"
    );
    assert_eq!(shop.world.provider.calls().await.len(), calls);
}

#[tokio::test]
async fn a_program_that_has_no_place_beside_others_waits_and_its_question_says_so() {
    let mut shop = Shop::new("await till() + 1").await;
    shop.ask("ask", &json!({}));
    let context = Arc::clone(&shop.world.context);
    let others = shop.filled();
    let server = shop.world.server.clone();
    let queued = async move {
        loop {
            let run: CodeModeRun = server.get("ask").unwrap();
            let status = run.status.unwrap_or_default();
            if status.reason.as_deref() == Some("Queued") {
                drop(others);
                return (status.stage.unwrap(), status.message.unwrap());
            }
            tokio::task::yield_now().await;
        }
    };
    let (_, (stage, message)) = tokio::join!(shop.settle("ask"), queued);
    assert_eq!(stage, "Running");
    assert!(message.contains("codeMode.maxInterpreters"), "{message}");
    assert_eq!(
        shop.world.stage_and_reason::<CodeModeRun>("ask"),
        "Succeeded Answered"
    );
    assert!(context.interpreters.try_reserve().is_some());
}
