//! NetworkPolicies of our own: made where they are not there, put right where somebody has changed them.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};

use super::names::OPERATOR;

/// How often another one may come first.
const TRIES: u32 = 3;

/// Makes the policy stand as `wanted`. `found` is what stands there under its name.
pub(super) async fn ensure(
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
                found = policies.get_opt(&name).await?;
            }
            written => return written.map(drop),
        }
    }
}
