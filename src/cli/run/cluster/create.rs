//! Creates a run and what it reads.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::cli::cluster::Cluster;
use crate::cli::command::CommandError;
use crate::cli::run::request::RunObjects;
use codegen_api::CodeGenRun;

/// Creates the run and each `ConfigMap` that it reads, which then belong to it.
pub(super) async fn create(cluster: &Cluster, mut request: RunObjects) -> Result<CodeGenRun, CommandError> {
    let refused = |error: &kube::Error| cluster.refused::<CodeGenRun>(error, "");
    let maps = cluster.api::<ConfigMap>();
    let mut names = Vec::new();
    // Before the run, which cannot be changed once it is there, and names them.
    for (input, map) in std::mem::take(&mut request.config_maps) {
        match maps.create(&PostParams::default(), &map).await {
            Ok(map) => {
                request.refer(input, &map.name_any());
                names.push(map.name_any());
            }
            Err(error) => {
                remove(&maps, &names).await;
                return Err(refused(&error));
            }
        }
    }
    let runs = cluster.api::<CodeGenRun>();
    let run = match runs.create(&PostParams::default(), &request.run).await {
        Ok(run) => run,
        Err(error) => {
            remove(&maps, &names).await;
            return Err(refused(&error));
        }
    };
    let owner = run.owner_ref(&()).map(|mut owner| {
        owner.controller = None;
        owner
    });
    let patch = json!({"metadata": {"ownerReferences": [owner]}});
    // After the run, which has no uid before; from here on they go with it.
    for name in &names {
        maps.patch_metadata(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .map_err(|error| refused(&error))?;
    }
    Ok(run)
}

/// Takes back what a run that was not created would have read. What cannot be removed does no harm.
async fn remove(maps: &Api<ConfigMap>, names: &[String]) {
    for name in names {
        let _ = maps.delete(name, &DeleteParams::default()).await;
    }
}
