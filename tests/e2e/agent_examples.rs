//! The other examples whose program an agent writes, with the turns and commands that they have on a laptop.

use rstest::rstest;

use crate::examples::{Expected, Worked, agent_example};

#[rstest]
#[case::sensor_analysis(
    "sensor-analysis-agent",
    "sensor-analysis-agent",
    Expected { calls: 7, attempts: 2 },
    Worked { turns: 5, commands: 9, denied: 1 }
)]
#[case::multi_input("multi-input-agent", "order-filter-agent", Expected { calls: 5, attempts: 2 }, Worked { turns: 4, commands: 5, denied: 0 })]
#[case::durable("durable-agent", "contact-cleanup-agent", Expected { calls: 7, attempts: 2 }, Worked { turns: 5, commands: 4, denied: 0 })]
#[case::prompt_only(
    "prompt-only-agent",
    "multiplication-table-agent",
    Expected { calls: 3, attempts: 1 },
    Worked { turns: 2, commands: 1, denied: 0 }
)]
#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn an_example_that_an_agent_writes_succeeds(
    #[case] name: &str,
    #[case] task: &str,
    #[case] expected: Expected,
    #[case] worked: Worked,
) {
    agent_example(name, task, expected, worked).await;
}
