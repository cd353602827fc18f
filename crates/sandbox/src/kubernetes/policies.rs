//! NetworkPolicies of our own: closed but for their rules, made where they are not there, put right where somebody has changed them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyEgressRule};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};

use super::manifest;
use super::names::OPERATOR;
use super::refusal::failed;
use crate::SandboxError;

/// Number of tries to write a policy: another one may come first.
// Several passes write the same policy; somebody who undoes it each time is an error to report, not a loop to win.
const TRIES: u32 = 3;

/// Manifest of every policy.
static CLOSED: LazyLock<NetworkPolicy> = LazyLock::new(|| manifest::parse(include_str!("closed.yaml")));

/// The policy of this name for the Pods with this label, which reach what these rules open and nothing else.
pub(super) fn policy(
    name: String,
    (label, value): (&str, &str),
    egress: Option<Vec<NetworkPolicyEgressRule>>,
) -> NetworkPolicy {
    let mut policy = CLOSED.clone();
    policy.metadata.name = Some(name);
    let spec = policy.spec.get_or_insert_default();
    let selector = spec.pod_selector.get_or_insert_default();
    selector.match_labels = Some(BTreeMap::from([(label.to_owned(), value.to_owned())]));
    spec.egress = egress;
    policy
}

/// Makes the policy stand as `wanted` in a namespace.
pub(super) async fn write(
    client: &Client,
    namespace: &str,
    wanted: &NetworkPolicy,
) -> Result<(), SandboxError> {
    let policies: Api<NetworkPolicy> = Api::namespaced(client.clone(), namespace);
    let name = wanted.name_any();
    let found = policies.get_opt(&name).await;
    let found = found.map_err(|error| failed("read", &object(namespace, &name), error))?;
    ensure(&policies, namespace, wanted, found).await
}

/// Makes the policy stand as `wanted`. `found` is what stands there under its name.
pub(super) async fn ensure(
    policies: &Api<NetworkPolicy>,
    namespace: &str,
    wanted: &NetworkPolicy,
    found: Option<NetworkPolicy>,
) -> Result<(), SandboxError> {
    // Without it no Pod may start, so a person must fix what prevents it.
    let written = replace(policies, wanted, found).await;
    written.map_err(|error| failed("write", &object(namespace, &wanted.name_any()), error))
}

fn object(namespace: &str, name: &str) -> String {
    format!("NetworkPolicy {namespace}/{name}")
}

async fn replace(
    policies: &Api<NetworkPolicy>,
    wanted: &NetworkPolicy,
    mut found: Option<NetworkPolicy>,
) -> Result<(), kube::Error> {
    let name = wanted.name_any();
    let parameters = PostParams {
        field_manager: Some(OPERATOR.to_owned()),
        ..PostParams::default()
    };
    let mut tries = 1;
    loop {
        let written = match found {
            // Nothing is written where nothing differs: this runs before every Pod.
            Some(found) if found.spec == wanted.spec => return Ok(()),
            // Whole: what somebody added to it must go.
            Some(found) => {
                let corrected = NetworkPolicy {
                    spec: wanted.spec.clone(),
                    ..found
                };
                policies.replace(&name, &parameters, &corrected).await
            }
            None => policies.create(&parameters, wanted).await,
        };
        match written {
            Err(kube::Error::Api(status))
                if (status.is_already_exists() || status.is_conflict()) && tries < TRIES =>
            {
                tries += 1;
                // Read again: the replacement must be at the version that is there now.
                found = policies.get_opt(&name).await?;
            }
            written => return written.map(drop),
        }
    }
}
