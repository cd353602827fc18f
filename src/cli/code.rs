//! `kubectl-codegen code`: the program of a task that has ended in a cluster.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::args::{CodeArgs, Color};
use super::cluster::{Cluster, refusal};
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::progress::Progress;
use crate::api::CodeGenTask;
use crate::engine::results::SOLUTION;
use crate::pipeline::stage::Stage;

/// Runs the command.
pub(super) fn run(args: &CodeArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(program(args)) {
        Ok(Program { text, caution }) => {
            if let Err(error) = super::print(text.as_bytes()) {
                return fail(
                    &progress,
                    &format!("cannot write to stdout: {error}"),
                    TASK_FAILED,
                );
            }
            let Some(caution) = caution else { return 0 };
            progress.lines(&warning(&caution));
            TASK_FAILED
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

struct Program {
    text: String,
    /// What whoever uses it must know.
    caution: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Absent {
    message: String,
    code: i32,
}

impl Absent {
    const fn new(message: String, code: i32) -> Self {
        Self { message, code }
    }
}

async fn program(args: &CodeArgs) -> Result<Program, Absent> {
    let unreachable = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.cluster).await.map_err(unreachable)?;
    let task = cluster.task(&args.name).await.map_err(unreachable)?;
    let result = result(&task)?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let found = match maps.get_opt(&result.name).await {
        Ok(found) => found,
        Err(error) => return Err(unreachable(refusal(&error, &args.name, &cluster.namespace))),
    };
    let text = found
        .and_then(|map| map.data)
        .and_then(|mut data| data.remove(SOLUTION))
        .ok_or_else(|| {
            Absent::new(
                format!(
                    "the ConfigMap {}/{} has no {SOLUTION}: the task ended before there was a program, or its result was deleted",
                    cluster.namespace, result.name
                ),
                TASK_FAILED,
            )
        })?;
    Ok(Program {
        text,
        caution: result.caution,
    })
}

/// Where the program lies.
#[derive(Debug, PartialEq, Eq)]
struct Lies {
    name: String,
    caution: Option<String>,
}

fn result(task: &CodeGenTask) -> Result<Lies, Absent> {
    let name = task.metadata.name.as_deref().unwrap_or_default();
    let status = task.status.clone().unwrap_or_default();
    let stage = status.stage.as_deref().unwrap_or("Pending");
    let has_failed = stage == Stage::Failed.as_str();
    if !has_failed && stage != Stage::Succeeded.as_str() {
        return Err(Absent::new(
            format!(
                "{name} is in stage {stage}, its program is there when it has ended: kubectl-codegen watch {name} shows how far it is"
            ),
            TASK_FAILED,
        ));
    }
    let message = status.message.unwrap_or_default();
    match status.result {
        Some(result) => Ok(Lies {
            name: result,
            caution: has_failed
                .then(|| format!("{name} failed, so this program did not pass its tests: {message}")),
        }),
        None => Err(Absent::new(
            format!("{name} ended in stage {stage} without a program: {message}"),
            TASK_FAILED,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::CodeGenTaskSpec;
    use crate::api::status::CodeGenTaskStatus;

    fn task(stage: Option<&str>, result: Option<&str>) -> CodeGenTask {
        let mut task = CodeGenTask::new("penguins", CodeGenTaskSpec::default());
        task.status = Some(CodeGenTaskStatus {
            stage: stage.map(str::to_owned),
            result: result.map(str::to_owned),
            message: Some("5 of 6 tests passed".to_owned()),
            ..CodeGenTaskStatus::default()
        });
        task
    }

    #[test]
    fn a_task_that_runs_says_so_and_how_to_follow_it() {
        for stage in [None, Some("RunningTests")] {
            let absent = result(&task(stage, None)).unwrap_err();
            assert!(
                absent.message.contains("kubectl-codegen watch penguins"),
                "{}",
                absent.message
            );
            assert_eq!(absent.code, 1);
        }
    }

    #[test]
    fn the_program_of_a_task_that_failed_comes_with_a_caution() {
        let passed = result(&task(Some("Succeeded"), Some("penguins-1"))).unwrap();
        assert_eq!((passed.name.as_str(), passed.caution), ("penguins-1", None));
        let failed = result(&task(Some("Failed"), Some("penguins-1"))).unwrap();
        assert!(failed.caution.unwrap().contains("did not pass its tests: 5 of 6"));
    }

    #[test]
    fn a_task_that_failed_before_there_was_a_program_says_why() {
        let absent = result(&task(Some("Failed"), None)).unwrap_err();
        assert!(
            absent.message.contains("without a program: 5 of 6"),
            "{}",
            absent.message
        );
    }
}
