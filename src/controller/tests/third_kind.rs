//! A kind that is not there yet costs its steps and nothing else.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::controller::config::ConcurrencyLimits;
use crate::controller::context::Context;
use crate::controller::control::{self, Controlled, Pass, PassResult};
use crate::controller::error::ReconcileError;
use crate::controller::hold::misconfigured;
use crate::controller::schedule::gate::PlaceCount;
use crate::controller::schedule::shared::{Shared, SharedKind};
use crate::controller::telemetry::metrics::{Metrics, Reconciled};
use crate::controller::tests::api_server::{Fault, NAMESPACE};
use crate::controller::tests::world::{World, pass};
use codegen_core::status::Hold;
use codegen_ledger::StoreError;

/// A map whose `count` is counted up to 2, one step a pass; without one it is held.
impl SharedKind for ConfigMap {
    type Memory = ();
    type Beside = ();

    fn places(limits: ConcurrencyLimits) -> PlaceCount {
        PlaceCount::of_runs(limits)
    }

    fn has_begun(&self) -> bool {
        self.data.is_some()
    }

    fn is_under_way(&self) -> bool {
        self.has_begun()
    }
}

static MAPS: LazyLock<Shared<ConfigMap>> =
    LazyLock::new(|| Shared::new(ConcurrencyLimits::default(), Metrics::new()));

impl Controlled for ConfigMap {
    type Pass<'a> = MapPass<'a>;

    fn shared(_: &Context) -> &Shared<Self> {
        &MAPS
    }

    fn pass(self, context: &Context) -> MapPass<'_> {
        MapPass { map: self, context }
    }
}

pub struct MapPass<'a> {
    map: ConfigMap,
    context: &'a Context,
}

impl MapPass<'_> {
    async fn write(&mut self, name: &str, value: String) -> Result<(), StoreError> {
        self.map
            .data
            .get_or_insert_default()
            .insert(name.to_owned(), value);
        let maps: Api<ConfigMap> = Api::namespaced(self.context.client.clone(), NAMESPACE);
        let written = maps
            .replace(&self.map.name_any(), &PostParams::default(), &self.map)
            .await;
        let object = self.map.name_any();
        let written = written.map_err(|error| match error {
            kube::Error::Api(status) if status.is_conflict() => StoreError::Conflict { object },
            error => StoreError::Remote {
                action: object,
                source: Box::new(error),
            },
        })?;
        MAPS.wrote(&written);
        Ok(())
    }
}

impl Pass for MapPass<'_> {
    type Of = ConfigMap;

    fn object(&self) -> &ConfigMap {
        &self.map
    }

    fn context(&self) -> &Context {
        self.context
    }

    async fn act(&mut self) -> PassResult {
        let count = self
            .map
            .data
            .as_ref()
            .and_then(|data| data.get("count")?.parse::<u32>().ok());
        match count {
            None => Err(misconfigured("give a count".to_owned()).into()),
            Some(2..) => Ok((None, Reconciled::Idle)),
            Some(count) => {
                self.write("count", (count + 1).to_string()).await?;
                Ok((None, Reconciled::Advanced))
            }
        }
    }

    fn says_hold(&self, hold: &Hold) -> bool {
        let data = self.map.data.as_ref();
        data.and_then(|data| data.get("held")) == Some(&hold.message)
    }

    async fn write_hold(&mut self, hold: &Hold) -> Result<(), ReconcileError> {
        Ok(self.write("held", hold.message.clone()).await?)
    }
}

async fn reconciled(world: &World, name: &str) -> Action {
    let map = Arc::new(world.server.get::<ConfigMap>(name).unwrap());
    pass(map, &world.context).await
}

fn value(world: &World, name: &str, key: &str) -> Option<String> {
    world.server.get::<ConfigMap>(name)?.data?.get(key).cloned()
}

#[tokio::test]
async fn a_third_kind_is_held_goes_on_after_conflicts_and_acts_on_no_stale_object() {
    let world = World::new().await;
    let map = |name: &str, data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data});
    world.server.create(map("empty", json!({})));
    assert_eq!(
        reconciled(&world, "empty").await,
        Action::requeue(Duration::from_secs(1))
    );
    assert_eq!(value(&world, "empty", "held").as_deref(), Some("give a count"));

    world.server.create(map("counts", json!({"count": "0"})));
    let old = Arc::new(world.server.get::<ConfigMap>("counts").unwrap());
    world
        .server
        .fail("update ConfigMap counts", Fault::Refused(409, "Conflict"));
    assert_eq!(reconciled(&world, "counts").await, Action::await_change());
    assert_eq!(value(&world, "counts", "count").as_deref(), Some("0"));
    for expected in ["1", "2", "2"] {
        assert_eq!(reconciled(&world, "counts").await, Action::await_change());
        assert_eq!(value(&world, "counts", "count").as_deref(), Some(expected));
    }
    let stale = control::reconcile(old, Arc::clone(&world.context)).await.unwrap();
    assert_eq!(stale, Action::await_change());
    assert_eq!(value(&world, "counts", "count").as_deref(), Some("2"));
}
