//! `kubectl-codegen code`: the program of a task that has ended in a cluster.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::args::{Color, TaskArgs};
use super::cluster::{Cluster, refusal};
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::{Absent, ended};
use super::progress::Progress;
use crate::engine::results::SOLUTION;

/// Runs the command.
pub(super) fn run(args: &TaskArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(program(args)) {
        Ok(Program { text, caution }) => {
            if let Err(error) = super::print_as_it_is(text.as_bytes()) {
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

async fn program(args: &TaskArgs) -> Result<Program, Absent> {
    let unreachable = |message| Absent::new(message, USAGE);
    let cluster = Cluster::connect(&args.cluster).await.map_err(unreachable)?;
    let task = cluster.task(&args.name).await.map_err(unreachable)?;
    let ended = ended(&task)?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let found = match maps.get_opt(&ended.result).await {
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
                    cluster.namespace, ended.result
                ),
                TASK_FAILED,
            )
        })?;
    Ok(Program {
        text,
        caution: ended.caution,
    })
}
