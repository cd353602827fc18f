//! The operator that is installed, to be killed.

use std::fs;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, DeleteParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt as _};
use rustix::process::{Pid, Signal, kill_process};

use crate::space::OPERATOR_NAMESPACE;

/// Name of the release, of its Lease and of its configuration.
const NAME: &str = "codegen-operator";
/// Longest wait for an operator that leads again: the time of the Lease, and the start of a Pod on a busy node.
const LEADS_AGAIN: Duration = Duration::from_mins(2);

/// The installed operator.
pub struct Operator {
    client: Client,
}

/// What was killed, and how.
pub struct Killed {
    /// `process` or `Pod`.
    pub how: &'static str,
    /// When it was last seen to hold the Lease.
    renewed: Option<MicroTime>,
    since: Instant,
}

impl Operator {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), OPERATOR_NAMESPACE)
    }

    /// Its configuration file.
    pub async fn configuration(&self) -> serde_json::Value {
        let map = self.api::<ConfigMap>().get(NAME).await.unwrap();
        serde_saphyr::from_str(&map.data.unwrap()["config.yaml"]).unwrap()
    }

    /// Kills the process that holds the Lease, which has no time to do anything about it. Its container starts again at once the first
    /// time; from then on the Pod goes too, since the kubelet would let it wait longer each time. Where its process cannot be seen from
    /// here, only the Pod goes.
    pub async fn kill(&self) -> Killed {
        let lease = self.lease().await;
        let holder = lease.spec.as_ref().unwrap().holder_identity.clone().unwrap();
        let pod = self.api::<Pod>().get(&holder).await.unwrap();
        let process = process_of(&pod.uid().unwrap());
        if let Some(process) = process {
            kill_process(process, Signal::KILL).expect("the operator is killed; are you root?");
        }
        let since = Instant::now();
        if process.is_none() || has_restarted(&pod) {
            let at_once = DeleteParams {
                grace_period_seconds: Some(0),
                ..DeleteParams::default()
            };
            self.api::<Pod>().delete(&holder, &at_once).await.unwrap();
        }
        Killed {
            how: match process {
                None => "Pod",
                Some(_) if has_restarted(&pod) => "process, then Pod",
                Some(_) => "process",
            },
            renewed: self.lease().await.spec.unwrap().renew_time,
            since,
        }
    }

    /// Seconds until an operator led again.
    pub async fn leads_again(&self, killed: &Killed) -> f64 {
        let wait = await_condition(self.api::<Lease>(), NAME, |lease: Option<&Lease>| {
            let spec = lease.and_then(|lease| lease.spec.as_ref());
            spec.is_some_and(|spec| spec.renew_time != killed.renewed)
        });
        let leads = tokio::time::timeout(LEADS_AGAIN, wait).await;
        leads.expect("an operator leads again").unwrap();
        killed.since.elapsed().as_secs_f64()
    }

    async fn lease(&self) -> Lease {
        self.api::<Lease>().get(NAME).await.unwrap()
    }
}

fn has_restarted(pod: &Pod) -> bool {
    let containers = pod
        .status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    containers.map(|container| container.restart_count).sum::<i32>() > 0
}

/// The operator's process on this machine, by the cgroup of its Pod.
fn process_of(pod: &str) -> Option<Pid> {
    let names = [format!("pod{pod}"), format!("pod{}", pod.replace('-', "_"))];
    let processes = fs::read_dir("/proc").ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let number: i32 = path.file_name()?.to_str()?.parse().ok()?;
        let groups = fs::read_to_string(path.join("cgroup")).ok()?;
        let command = fs::read_to_string(path.join("cmdline")).ok()?;
        let mut words = command.split('\0');
        let is_it = words.next()?.ends_with(NAME) && words.next()? == "run";
        (is_it && names.iter().any(|name| groups.contains(name))).then_some(number)
    });
    processes.min().and_then(Pid::from_raw)
}
