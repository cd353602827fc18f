//! Everything that a question left, as a folder like that of `ask` on a laptop.

use super::{Caution, Exported, manifest};
use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::recorded::{RecordedQuestion, question_from_cluster};
use crate::local::code_mode::results::files;
use codegen_api::code_mode::CodeModeRun;
use codegen_engine::results::Files;

/// Collects what the question `name` left.
pub(super) async fn from_question(cluster: &Cluster, name: &str) -> Result<Exported, CommandError> {
    let question = question_from_cluster(cluster, name).await?;
    if question.readable()?.progress.is_none() {
        let message = format!("nothing is recorded of {name} yet; {}", question.standing());
        return Err(CommandError::failed(message));
    }
    Ok(Exported {
        files: everything(&question).await?,
        cautions: doubt(&question).into_iter().collect(),
        record: None,
        command: format!("kubectl-codegen export codemoderun/{name}"),
    })
}

async fn everything(question: &RecordedQuestion) -> Result<Files, CommandError> {
    let mut status = question.status();
    status.progress = None;
    let store = question.store();
    let left = files(
        &question.record().await?,
        question.conversation(),
        &status,
        &store,
    )
    .await;
    let mut files = left.map_err(CommandError::usage)?;
    // The last one is program.py.
    for program in question.programs().await? {
        if program.error.is_some() && !program.code.is_empty() {
            let text = format!("{}\n", program.code.trim_end());
            files.insert(format!("programs/{:04}.py", program.number), text.into_bytes());
        }
    }
    let object = CodeModeRun {
        status: None,
        ..question.object.clone()
    };
    files.insert("run.yaml".to_owned(), manifest("run.yaml", object)?);
    Ok(files)
}

/// Says why there is no answer among the files.
fn doubt(question: &RecordedQuestion) -> Option<Caution> {
    let status = question.status();
    if status.answer.is_some() {
        return None;
    }
    let standing = question.standing();
    let name = question.name();
    let text = if question.has_ended() {
        let message = status.message.unwrap_or_default();
        format!("there is no answer of {name}: {standing}: {message}")
    } else {
        format!(
            "{name} has no answer yet, {standing}, so this is what there is of it so far: export it again when it has ended"
        )
    };
    Some(Caution {
        text,
        is_failure: true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::recorded::fixture::seen;
    use crate::controller::tests::code_mode::Shop;

    async fn exported(program: &str) -> Exported {
        let mut shop = Shop::new(program).await;
        shop.ask("ask", &json!({}));
        shop.settle("ask").await;
        from_question(&seen(&shop.world), "ask").await.unwrap()
    }

    fn text(exported: &Exported, name: &str) -> String {
        String::from_utf8(exported.files[name].clone()).unwrap()
    }

    #[tokio::test]
    async fn an_exported_question_has_program_answer_calls_and_a_manifest_to_apply_again() {
        let exported = exported("await till() + 1").await;
        assert!(exported.cautions.is_empty());
        let names: Vec<&str> = exported.files.keys().map(String::as_str).collect();
        let expected = [
            "answer.json",
            "answer.txt",
            "conversation.json",
            "conversation.jsonl",
            "journal.jsonl",
            "program.py",
            "replies.jsonl",
            "run.yaml",
            "status.yaml",
        ];
        assert_eq!(names, expected);
        assert_eq!(text(&exported, "program.py"), "await till() + 1\n");
        assert_eq!(text(&exported, "answer.txt"), "21\n");
        assert!(text(&exported, "journal.jsonl").contains(r#""tool":"till""#));
        let manifest = text(&exported, "run.yaml");
        assert!(
            manifest.contains("message: How much?") && !manifest.contains("uid"),
            "{manifest}"
        );
    }

    #[tokio::test]
    async fn programs_that_failed_are_exported_and_that_there_is_no_answer_is_said() {
        let exported = exported("1 // 0").await;
        let programs = exported.files.keys().filter(|name| name.starts_with("programs/"));
        assert_eq!(programs.count(), 3);
        assert!(!exported.files.contains_key("answer.txt"));
        let caution = &exported.cautions[0];
        assert!(
            caution.is_failure && caution.text.contains("RetriesExhausted"),
            "{}",
            caution.text
        );
    }
}
