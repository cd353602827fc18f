//! NetworkPolicies of our own: made where they are not there, put right where somebody has changed them.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};

use super::names::OPERATOR;

/// Number of tries to write a policy: another one may come first.
// Several passes write the same policy; somebody who undoes it each time is an error to report, not a loop to win.
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
