//! A hostile program tries everything from inside of a sandbox. Nothing gets through, and each attack is seen to get through where its defence was
//! taken away: what fails both ways is no attack.

mod cases;
mod limits;
mod verdicts;
pub mod without;

use std::collections::BTreeSet;

use codegen_core::sandbox::{Job, Report};
use codegen_sandbox::Progressing;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::Api;

use self::cases::{Case, HARNESS, NETWORK, NODE};
use self::limits::{LIMITS, PHASES};
use self::verdicts::TESTS;
use self::without::Ran;
use crate::space::variable;
use crate::support::World;

/// The program.
const ATTACKS: &str = include_str!("hostile/attacks.py");

/// Ok where an attack got through, with what it got; else why not.
type Got = Result<String, String>;

/// What the attacks on the network aim at: addresses that the cluster owns.
struct Targets {
    api_server: String,
    name_server: String,
    metadata: String,
    sibling: String,
    registry: String,
    kubelet: String,
}

impl Targets {
    async fn find(world: &World) -> Self {
        let service = async |namespace: &str, name: &str, port: u16| {
            let services: Api<Service> = Api::namespaced(world.client.clone(), namespace);
            let spec = services.get(name).await.unwrap().spec.unwrap();
            format!("{}:{port}", spec.cluster_ip.unwrap())
        };
        let nodes: Api<Node> = Api::all(world.client.clone());
        let nodes = nodes.list(&kube::api::ListParams::default()).await.unwrap();
        let addresses = nodes.items[0].status.as_ref().unwrap().addresses.as_ref();
        let node = &addresses.unwrap()[0].address;
        Self {
            api_server: service("default", "kubernetes", 443).await,
            name_server: service("kube-system", "kube-dns", 53).await,
            metadata: "169.254.169.254:80".to_owned(),
            sibling: world.listener().await,
            registry: variable("CODEGEN_E2E_REGISTRY"),
            kubelet: format!("{node}:10250"),
        }
    }

    fn of(&self, attack: &str) -> Option<&str> {
        Some(match attack {
            "api_server" => &self.api_server,
            "name_server" => &self.name_server,
            "metadata" => &self.metadata,
            "sibling" => &self.sibling,
            "registry" => &self.registry,
            "kubelet" => &self.kubelet,
            _ => return None,
        })
    }
}

/// Runs each case both ways, and says of each attack what came of it.
async fn expect_blocked(test: &str, cases: &[Case]) {
    let world = World::at(test, "privileged").await;
    let targets = Targets::find(&world).await;
    let mut wrong = Vec::new();
    for case in cases {
        let (job, job_without) = ((case.job)(&targets, true), (case.job)(&targets, false));
        let (with, without) = Box::pin(world.run_both(&job, &job_without, &case.without)).await;
        assert!(
            report(&with).is_some(),
            "nothing was seen of {:?}: {with:?}",
            case.attacks
        );
        for attack in case.attacks {
            let kept_out = (case.got)(attack, &job, &with);
            let through = (case.got)(attack, &job_without, &without);
            eprintln!(
                "{attack} | {} | {kept_out:?} | {} | {through:?}",
                case.defence, case.without.what
            );
            if kept_out.is_ok() {
                wrong.push(format!("{attack} got through {}: {with:#?}", case.defence));
            }
            if through.is_err() {
                wrong.push(format!(
                    "{attack} does not get through where {}: it is no attack: {without:#?}",
                    case.without.what
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    world.end().await;
}

/// The report, where our code takes one.
fn report(ran: &Ran) -> Option<&Report> {
    match ran {
        Ok(Progressing::Done(report)) => Some(report),
        _ => None,
    }
}

/// What the program said of an attack: in a phase's output, or in the log of a Pod without our harness.
fn said(attack: &str, _: &Job, ran: &Ran) -> Got {
    let words = match (report(ran), ran) {
        (Some(report), _) => report.phases.iter().map(|phase| phase.stdout.as_str()).collect(),
        (None, Err(error)) => error.to_string(),
        (None, Ok(other)) => format!("{other:?}"),
    };
    let start = format!("{attack}: ");
    let answer = words
        .lines()
        .filter_map(|line| line.split_once(&start))
        .map(|(_, answer)| answer.to_owned())
        .next_back()
        .unwrap_or_else(|| panic!("nothing is said of {attack}: {ran:#?}"));
    match answer.strip_prefix("through: ") {
        Some(what) => Ok(what.to_owned()),
        None => Err(answer),
    }
}

#[test]
fn the_page_with_figures_says_how_many_attacks_there_are() {
    let cases = [NETWORK, NODE, HARNESS, LIMITS, PHASES, TESTS].concat();
    let attacks: BTreeSet<&str> = cases.iter().flat_map(|case| case.attacks).copied().collect();
    let page = include_str!("../../docs/benchmarks.md");
    let said = format!("| {} attacks from inside of a sandbox", attacks.len());
    assert!(page.contains(&said), "{said}");
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_reaches_nothing_over_the_network() {
    expect_blocked("hostile-network", NETWORK).await;
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_has_no_way_to_the_node_and_no_rights() {
    expect_blocked("hostile-node", NODE).await;
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_neither_reads_the_harness_nor_reports_in_its_place() {
    expect_blocked("hostile-harness", HARNESS).await;
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_takes_no_more_than_its_limits() {
    expect_blocked("hostile-limits", LIMITS).await;
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_leaves_nothing_for_the_next_phase() {
    expect_blocked("hostile-phases", PHASES).await;
}

#[tokio::test]
#[ignore = "needs our own cluster: make e2e"]
async fn a_hostile_program_does_not_pass_tests_that_it_fails() {
    expect_blocked("hostile-tests", TESTS).await;
}
