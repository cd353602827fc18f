//! What goes wrong around an operator that works: the API server, the network, the model. Each test runs an operator of its own as a process of
//! this machine, with the account and the configuration of the installed one, on tasks that the installed one does not select. Between
//! it and the API server is a proxy that can do harm; its model is a server in the test's process.

pub mod api_server;
mod children;
mod code_mode;
pub mod model;
pub mod model_server;
pub mod node;
pub mod own;
pub mod partition;
mod proxy;
mod publish;
pub mod registry;
#[path = "../../support/faulty_registry.rs"]
mod faulty_registry;
pub mod remains;
pub mod runs;
#[path = "../../support/server.rs"]
mod server;

use codegen_api::CodeGenTask;

use self::model::Model;
use crate::space::Space;

/// The example that every test of this kind runs.
pub const RECORDING: &str = include_str!("../../../examples/prompt-only/replies.jsonl");
/// Its calls.
const CALLS: u64 = 3;

/// `CODEGEN_E2E_SEED`, or another one each time.
pub fn seed() -> u64 {
    std::env::var("CODEGEN_E2E_SEED")
        .map_or_else(|_| fastrand::u64(..100_000), |seed| seed.parse().expect("a seed"))
}

/// The task succeeds with as many replies as if nothing had happened, and has asked for none again but those that it counts as lost; gives
/// how many these are.
pub async fn expect_same_end(space: &Space, model: &Model, task: &str) -> u64 {
    let ended: CodeGenTask = space.succeeded(task).await;
    let status = ended.status.unwrap();
    let count = |number: i32| u64::try_from(number).unwrap();
    let (calls, lost) = (count(status.model_calls), count(status.lost_calls));
    let asked = model.asked(task).await;
    let said = format!("{task}: {calls} calls, {lost} of them lost; the model's count: {asked:?}");
    // Calls that met an error and were not sent, or were turned away, count nowhere.
    assert_eq!(calls - lost, CALLS, "{said}");
    assert_eq!(asked.distinct, CALLS, "{said}");
    assert!(
        asked.requests - asked.distinct <= lost,
        "{said}: a reply was asked for again"
    );
    assert_eq!(status.attempts.len(), 1, "{said}");
    lost
}
