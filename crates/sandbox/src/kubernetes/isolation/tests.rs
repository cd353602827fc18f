use rstest::rstest;

use super::*;

fn targets() -> Vec<ClosedTarget> {
    let target = |name: &str, open_to_builds| ClosedTarget {
        name: name.to_owned(),
        address: "192.0.2.1:1".to_owned(),
        open_to_builds,
    };
    vec![
        target(API_SERVER, false),
        target("DNS", true),
        target("metadata service", false),
        target(SIBLING, false),
    ]
}

fn reached(names: &[&str]) -> Probed {
    Probed {
        reached: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn pool(name: &str, selector: &[(&str, &str)]) -> NodePool {
    NodePool {
        name: name.to_owned(),
        node_selector: selector_of(selector),
        tolerations: Vec::new(),
    }
}

fn selector_of(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    labels.iter().map(own).collect()
}

fn enforced() -> IsolationVerdict {
    IsolationVerdict::Enforced {
        blocked: names(&[API_SERVER]),
        unproved: Vec::new(),
    }
}

#[test]
fn silence_where_the_control_was_answered_shows_that_the_policies_hold() {
    let findings = Findings {
        control: reached(&[API_SERVER, "DNS", SIBLING]),
        sandbox: reached(&[]),
        build: Some(reached(&["DNS"])),
    };
    assert_eq!(
        conclude(&targets(), &findings),
        IsolationVerdict::Enforced {
            blocked: names(&[API_SERVER, "DNS", SIBLING]),
            unproved: names(&["metadata service"]),
        }
    );
}

#[test]
fn a_dead_api_server_proves_nothing() {
    let findings = Findings {
        control: reached(&["DNS", SIBLING]),
        ..Findings::default()
    };
    let IsolationVerdict::Unknown { why } = conclude(&targets(), &findings) else {
        panic!("silence was taken for a proof");
    };
    assert!(why.contains("did not answer the control"), "{why}");
}

#[rstest]
#[case::by_a_sandbox(&["metadata service"], &[], "sandbox")]
#[case::of_dns_by_a_sandbox(&["DNS"], &[], "sandbox")]
#[case::by_a_build(&[], &["metadata service", "DNS"], "build")]
fn one_target_that_is_reached_refutes_whatever_the_others_say(
    #[case] sandbox: &[&str],
    #[case] build: &[&str],
    #[case] policy: &str,
) {
    let findings = Findings {
        control: reached(&[API_SERVER]),
        sandbox: reached(sandbox),
        build: Some(reached(build)),
    };
    let expected = if policy == "build" {
        names(&["metadata service"])
    } else {
        names(sandbox)
    };
    assert_eq!(
        conclude(&targets(), &findings),
        IsolationVerdict::Open {
            policy: policy.to_owned(),
            reached: expected
        }
    );
}

#[test]
fn a_task_waits_until_every_node_pool_that_it_may_land_on_was_checked() {
    let (small, large) = (
        pool("small", &[("size", "small")]),
        pool("large", &[("size", "large")]),
    );
    let isolation = Isolation::awaiting(&[small.clone(), large]);
    isolation.found(&small, enforced());
    let anywhere = isolation.standing(&BTreeMap::new());
    assert!(matches!(anywhere, Standing::Awaited(why) if why.contains("large")));
    let pinned = isolation.standing(&selector_of(&[("size", "small"), ("disk", "ssd")]));
    assert_eq!(
        pinned,
        Standing::Verified("a Pod under the same policy was kept from: API server".to_owned())
    );
}

#[test]
fn a_pool_that_lets_a_canary_through_holds_those_that_may_land_there() {
    let (open, closed) = (pool("open", &[("a", "1")]), pool("closed", &[("a", "2")]));
    let isolation = Isolation::awaiting(&[open.clone(), closed.clone()]);
    isolation.found(&closed, enforced());
    isolation.found(
        &open,
        IsolationVerdict::Open {
            policy: "sandbox".to_owned(),
            reached: names(&["DNS"]),
        },
    );
    assert!(matches!(
        isolation.standing(&BTreeMap::new()),
        Standing::Refuted(why) if why.contains("reached DNS") && why.contains("pool open")
    ));
    assert!(matches!(
        isolation.standing(&selector_of(&[("a", "2")])),
        Standing::Verified(_)
    ));
}

#[test]
fn a_verdict_that_an_earlier_version_recorded_is_read() {
    let recorded = serde_json::json!({"enforced": {"kept_from": ["API server"], "unproved": []}});
    let verdict = IsolationVerdict::Enforced {
        blocked: names(&["API server"]),
        unproved: Vec::new(),
    };
    assert_eq!(serde_json::to_value(&verdict).unwrap(), recorded);
    assert_eq!(
        serde_json::from_value::<IsolationVerdict>(recorded).unwrap(),
        verdict
    );
}
