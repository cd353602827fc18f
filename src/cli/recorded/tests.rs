use serde_json::json;

use super::fixture::seen;
use super::*;
use crate::controller::tests::api_server::Fault;
use crate::controller::tests::world::World;
use codegen_api::CodeGenTask;

fn kinds(task: &RecordedTask) -> Vec<&'static str> {
    let entries = task.entries().unwrap();
    entries.iter().map(|entry| entry.kind.as_str()).collect()
}

#[tokio::test]
async fn the_record_of_a_task_is_read_under_way_and_after_its_end() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    let cluster = seen(&world);
    let pending = from_cluster(&cluster, "words").await.unwrap();
    assert_eq!((pending.program(), pending.entries().unwrap().len()), (None, 0));
    world
        .until::<CodeGenTask>("words", "RunningTests Progressing")
        .await;
    let under_way = from_cluster(&cluster, "words").await.unwrap();
    let program = under_way.program().unwrap();
    assert!(program.contains("def "), "{program}");
    assert_eq!(kinds(&under_way), ["plan", "code", "tests"]);
    assert_eq!(under_way.task.as_ref().unwrap().name, "words", "by its snapshot");
    let absent = under_way.attempt(None).unwrap_err();
    assert_eq!(absent.code, 1);
    assert!(absent.to_string().contains("stage RunningTests"), "{absent}");
    world.settle::<CodeGenTask>("words").await;
    let ended = from_cluster(&cluster, "words").await.unwrap();
    assert_eq!(ended.program().unwrap(), program);
    assert_eq!(kinds(&ended), kinds(&under_way));
    assert_eq!(ended.attempts(), [1]);
    let attempt = ended.attempt(None).unwrap();
    assert_eq!(ended.sources(&attempt).await.unwrap().solution, program);
    assert_eq!(ended.model(), Some("test-model"));
}

#[tokio::test]
async fn who_may_not_read_secrets_gets_the_status_and_learns_what_to_ask_for() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    world.server.fail("get Secret", Fault::Refused(403, "Forbidden"));
    let task = from_cluster(&seen(&world), "words").await.unwrap();
    assert_eq!(task.status.stage.as_deref(), Some("Succeeded"));
    assert_eq!(task.model(), Some("test-model"), "by the manifest");
    let refused = task.readable().unwrap_err();
    assert_eq!(refused.code, 2);
    assert!(
        refused.to_string().contains("namespace data")
            && refused.to_string().contains("right to get Secrets"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_task_whose_result_somebody_has_deleted_names_it() {
    let mut world = World::new().await;
    world.apply_task("words", &json!({}));
    world.settle::<CodeGenTask>("words").await;
    let result = world.status_of("words").result.unwrap();
    world.server.remove("secrets", &result);
    let absent = from_cluster(&seen(&world), "words").await.unwrap_err();
    assert!(absent.to_string().contains(&result), "{absent}");
}

#[tokio::test]
async fn tasks_are_listed_by_label_and_of_all_namespaces() {
    let world = World::new().await;
    world.apply_task("words", &json!({}));
    world.apply_task("sums", &json!({}));
    world.server.edit("codegentasks", "sums", |task| {
        task["metadata"]["labels"] = json!({"team": "data"});
    });
    let names = async |all: bool, selector: Option<&str>| {
        let found: Vec<CodeGenTask> = seen(&world).list(all, selector).await.unwrap();
        let names = found.into_iter().map(|task| task.metadata.name.unwrap());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(true, None).await, ["sums", "words"]);
    assert_eq!(names(false, Some("team=data")).await, ["sums"]);
}

#[test]
fn what_has_a_slash_is_a_folder_and_what_has_none_a_task() {
    for folder in ["codegen-out/sum", "./sum", "sum/", "/tmp/sum", ".", ".."] {
        assert!(is_folder(folder), "{folder}");
    }
    for task in ["sum", "sum.v1", "sum-2"] {
        assert!(!is_folder(task), "{task}");
    }
}

#[tokio::test]
async fn a_folder_without_a_result_says_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let absent = from_folder(folder.path()).await.unwrap_err();
    assert_eq!(absent.code, 2);
    assert!(absent.to_string().contains("codegen-out/NAME"), "{absent}");
}

#[tokio::test]
async fn a_folder_of_a_question_is_named_as_one_with_what_to_read_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join(".runs");
    std::fs::create_dir_all(state.join("0a1b")).unwrap();
    std::fs::write(state.join("latest"), "0a1b").unwrap();
    std::fs::write(state.join("0a1b/question.json"), "{}").unwrap();
    let absent = from_folder(folder.path()).await.unwrap_err();
    assert_eq!(absent.code, 2);
    assert!(absent.to_string().contains("it is of a question"), "{absent}");
    assert!(absent.to_string().contains("journal.jsonl"), "{absent}");
}

#[tokio::test]
async fn attempts_have_the_sources_that_were_the_newest_when_they_began() {
    let task = fixture::recorded();
    let sources = async |number| {
        let attempt = task.attempt(Some(number)).unwrap();
        task.sources(&attempt).await.unwrap()
    };
    let (first, second) = (sources(1).await, sources(2).await);
    assert_eq!(
        (first.solution.as_str(), second.solution.as_str()),
        (fixture::FIRST_PROGRAM, fixture::SECOND_PROGRAM)
    );
    assert_eq!(
        (first.tests.as_str(), &second.tests),
        (fixture::SUITE, &first.tests)
    );
    let absent = task.attempt(Some(3)).unwrap_err();
    assert!(absent.to_string().contains("recorded are 1, 2"), "{absent}");
}
