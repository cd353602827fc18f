//! Objects that must be there before a Pod: the namespace's harness, the policy that closes its network, its job.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};

use super::super::reach::api_servers;
use super::super::refusal::{Creation, create, replaced};
use super::super::{KubernetesSandbox, names, policies};
use super::execution::Execution;
use super::job_key::{JobKey, KEY_NAME};
use super::{cluster, network, spec, volumes};
use crate::{Progressing, SandboxError};
use codegen_api::secret_use::SecretUse;
use codegen_core::sandbox::NetworkAccess;

/// The policy for sandboxes with this access.
pub(super) async fn policy(
    sandbox: &KubernetesSandbox<'_>,
    access: &NetworkAccess,
) -> Result<NetworkPolicy, SandboxError> {
    let servers = match access {
        NetworkAccess::Denied => Vec::new(),
        NetworkAccess::Internet | NetworkAccess::List(_) => api_servers(&sandbox.client).await,
    };
    network::policy(access, &sandbox.settings.sandbox.network, &servers)
}

/// Refuses a Secret that an image is to be pulled with and that its owner did not label for it: whoever may create tasks runs private images
/// by it, and reads them so. One that was built here was pushed, and its base pulled, with Secrets that were checked then.
pub(super) async fn check_pull_secret(sandbox: &KubernetesSandbox<'_>) -> Result<(), SandboxError> {
    let image = &sandbox.task.image;
    let (name, field) = match (&image.reference, &image.pull_secret, &image.push_secret) {
        (Some(_), Some(name), _) => (name, "image.pullSecretRef"),
        (Some(_), None, Some(name)) => (name, "image.pushSecretRef"),
        _ => return Ok(()),
    };
    let namespace = &sandbox.owner.namespace;
    let secrets: Api<Secret> = Api::namespaced(sandbox.client.clone(), namespace);
    let object = format!("Secret {namespace}/{name}");
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| cluster(format!("read {object}"))(error))?;
    let refused = |reason: String, remedy: String| SandboxError::Refused {
        object,
        reason,
        remedy,
    };
    match found.as_ref().map(|found| SecretUse::Registry.check(found)) {
        Some(Ok(())) => Ok(()),
        Some(Err(refusal)) => Err(refused(refusal.reason, refusal.remedy)),
        None => Err(refused(
            "it is not there".to_owned(),
            format!("create it, or correct {field}"),
        )),
    }
}

/// Creates the harness of this version where it is not there. It is the first process of every sandbox: one that is there must be the
/// very same, and stay it.
pub(super) async fn ensure_harness(sandbox: &KubernetesSandbox<'_>) -> Result<(), SandboxError> {
    let namespace = &sandbox.owner.namespace;
    let api: Api<ConfigMap> = Api::namespaced(sandbox.client.clone(), namespace);
    let name = volumes::harness_name();
    let object = format!("ConfigMap {namespace}/{name}");
    let wanted = spec::harness_config_map();
    let get = async || {
        let found = api.get_opt(&name).await;
        found.map_err(|error| cluster(format!("read {object}"))(error))
    };
    let mut found = get().await?;
    if found.is_none() {
        if !matches!(
            create(&api, &PostParams::default(), &object, &wanted).await?,
            Creation::Exists
        ) {
            return Ok(());
        }
        found = get().await?;
    }
    match found {
        // Without it the Pod waits, and says for what.
        None => Ok(()),
        Some(found) if is_same_map(&wanted, &found) => Ok(()),
        Some(_) => Err(replaced(&object, "the harness")),
    }
}

/// Reports whether nobody can have changed it, and it holds what it should.
fn is_same_map(wanted: &ConfigMap, found: &ConfigMap) -> bool {
    let component = |map: &ConfigMap| map.labels().get(names::COMPONENT).cloned();
    found.immutable == Some(true)
        && found.data == wanted.data
        && found.binary_data.as_ref().is_none_or(BTreeMap::is_empty)
        && component(found) == component(wanted)
}

/// Creates the policy, or puts right what somebody has changed; an error where another policy opens what this one closes.
pub(super) async fn ensure_policy(
    sandbox: &KubernetesSandbox<'_>,
    policy: NetworkPolicy,
    pod_labels: &BTreeMap<String, String>,
) -> Result<(), SandboxError> {
    let namespace = &sandbox.owner.namespace;
    let api: Api<NetworkPolicy> = Api::namespaced(sandbox.client.clone(), namespace);
    let name = policy.name_any();
    let listed = api.list(&ListParams::default()).await;
    let listed =
        listed.map_err(|error| cluster(format!("list the NetworkPolicies of {namespace}"))(error))?;
    if !sandbox.settings.sandbox.may_be_open(namespace)
        // Policies add up: one that opens egress for these labels cannot be closed by ours.
        && let Some(opener) = network::opener(&listed.items, &name, pod_labels)
    {
        return Err(SandboxError::Refused {
            object: format!("NetworkPolicy {namespace}/{opener}"),
            reason: "it opens the network of sandboxes, for policies add up".to_owned(),
            remedy: format!(
                "let its podSelector leave out Pods with the label {}",
                network::EGRESS
            ),
        });
    }
    let found = listed.items.into_iter().find(|found| found.name_any() == name);
    Box::pin(policies::ensure(&api, namespace, &policy, found)).await
}

/// Creates the Secret with the job, encrypted with `key`; the key of the one that is there. `Queued` where a quota leaves no room.
pub(super) async fn create_job(
    sandbox: &KubernetesSandbox<'_>,
    run: &Execution<'_>,
    key: &JobKey,
) -> Result<Progressing<JobKey>, SandboxError> {
    let owner = sandbox.owner;
    let api: Api<Secret> = Api::namespaced(sandbox.client.clone(), &owner.namespace);
    let wanted = run.secret(key);
    let name = wanted.name_any();
    let object = format!("Secret {}/{name}", owner.namespace);
    match create(&api, &PostParams::default(), &object, &wanted).await? {
        Creation::New(_) => Ok(Progressing::Done(key.clone())),
        Creation::Queued(why) => Ok(Progressing::Queued(why)),
        Creation::Exists => {
            let found = api.get_opt(&name).await;
            let found = found.map_err(|error| cluster(format!("read {object}"))(error))?;
            match found.map(|found| key_of(run, &found)) {
                // Somebody has removed it since: the next pass makes it anew.
                None => Ok(Progressing::Pending),
                Some(Some(key)) => Ok(Progressing::Done(key)),
                Some(None) => Err(replaced(&object, "the job of a sandbox")),
            }
        }
    }
}

/// The key of a Secret that is of the same task, holds the same job, and that nobody can have changed.
pub(super) fn key_of(run: &Execution<'_>, found: &Secret) -> Option<JobKey> {
    let digits = &found.data.as_ref()?.get(KEY_NAME)?.0;
    let key = JobKey::from_hex(str::from_utf8(digits).ok()?)?;
    let wanted = run.secret(&key);
    let of = |secret: &Secret| secret.labels().get(names::TASK_UID).cloned();
    let is_same = found.immutable == Some(true)
        && found.type_ == wanted.type_
        && found.data == wanted.data
        && of(found) == of(&wanted);
    is_same.then_some(key)
}
