use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn rules(access: &NetworkAccess, settings: &NetworkSettings) -> Value {
    let servers = ["203.0.113.9/32".parse().unwrap()];
    let policy = policy(access, settings, &servers).unwrap();
    let spec = serde_json::to_value(policy.spec.unwrap()).unwrap();
    assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(spec.get("ingress"), None, "nobody reaches a sandbox");
    spec.get("egress").cloned().unwrap_or_default()
}

fn list(cidr: &str, ports: &[u16]) -> NetworkAccess {
    NetworkAccess::List(vec![(cidr.to_owned(), ports.to_vec())])
}

#[test]
fn denied_opens_nothing() {
    assert_eq!(
        rules(&NetworkAccess::Denied, &NetworkSettings::default()),
        Value::Null
    );
}

#[test]
fn a_policy_selects_the_label_that_its_pods_carry() {
    let policy = policy(&list("198.51.100.0/24", &[]), &NetworkSettings::default(), &[]).unwrap();
    let label = label(&policy);
    assert!(label.starts_with("list-"), "{label}");
    assert_eq!(policy.metadata.name.unwrap(), format!("codegen-sandbox-{label}"));
    let selector = policy.spec.unwrap().pod_selector.unwrap().match_labels.unwrap();
    assert_eq!(selector, BTreeMap::from([(EGRESS.to_owned(), label)]));
}

#[test]
fn the_internet_is_what_is_public_and_the_names() {
    let settings = NetworkSettings {
        denied_cidrs: vec!["198.51.100.0/24".into()],
        ..NetworkSettings::default()
    };
    let rules = rules(&NetworkAccess::Internet, &settings);
    let all = &rules[0]["to"][0]["ipBlock"];
    assert_eq!(all["cidr"], "0.0.0.0/0");
    let except: Vec<&str> = all["except"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cidr| cidr.as_str().unwrap())
        .collect();
    for closed in [
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.51.100.0/24",
        "203.0.113.9/32",
    ] {
        assert!(except.contains(&closed), "{closed} in {except:?}");
    }
    let all = &rules[0]["to"][1]["ipBlock"];
    assert_eq!(all["cidr"], "::/0");
    assert!(all["except"].as_array().unwrap().contains(&json!("fc00::/7")));
    assert_eq!(
        rules[1]["to"][0]["podSelector"],
        json!({"matchLabels": {"k8s-app": "kube-dns"}})
    );
    assert_eq!(
        rules[1]["ports"],
        json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}])
    );
}

#[test]
fn a_list_opens_its_public_ranges_at_its_ports() {
    let rules = rules(&list("203.0.113.0/24", &[443, 8443]), &NetworkSettings::default());
    assert_eq!(
        rules[1],
        json!({"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.9/32"]}}],
            "ports": [{"port": 443, "protocol": "TCP"}, {"port": 8443, "protocol": "TCP"}]})
    );
}

#[test]
fn what_an_administrator_closes_is_left_out_of_every_list() {
    let settings = NetworkSettings {
        denied_cidrs: vec!["203.0.113.80/32".into()],
        ..NetworkSettings::default()
    };
    let rules = rules(&list("203.0.113.0/24", &[443]), &settings);
    let except = &rules[1]["to"][0]["ipBlock"]["except"];
    assert_eq!(*except, json!(["203.0.113.9/32", "203.0.113.80/32"]));
    let error = policy(&list("203.0.113.80/32", &[443]), &settings, &[]).unwrap_err();
    assert!(
        error.to_string().contains("sandboxes do not reach this range"),
        "{error}"
    );
}

#[test]
fn every_address_in_a_list_is_every_public_address() {
    let rules = rules(&list("0.0.0.0/0", &[]), &NetworkSettings::default());
    let except = rules[1]["to"][0]["ipBlock"]["except"].as_array().unwrap().clone();
    assert!(except.contains(&json!("10.0.0.0/8")));
    assert_eq!(rules[1].get("ports"), None);
}

#[rstest]
#[case("10.4.0.0/16")]
#[case("169.254.169.254/32")]
#[case("fd00::/64")]
#[case("203.0.113.9/32")]
fn a_closed_range_is_refused_by_name(#[case] cidr: &str) {
    let servers = ["203.0.113.9/32".parse().unwrap()];
    let error = policy(&list(cidr, &[]), &NetworkSettings::default(), &servers).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "sandbox.network.allow {cidr}: sandboxes do not reach this range; list public addresses, or have the administrator open it in sandbox.network.allowedPrivateCidrs"
        )
    );
}

#[rstest]
#[case("10.4.2.0/24", "10.4.2.0/24")]
#[case("10.0.0.0/8", "10.4.0.0/16")]
#[case("10.4.7.9/16", "10.4.0.0/16")]
fn what_an_administrator_opens_may_be_listed(#[case] cidr: &str, #[case] opened: &str) {
    let settings = NetworkSettings {
        allowed_private_cidrs: vec!["10.4.0.0/16".into()],
        ..NetworkSettings::default()
    };
    let rules = rules(&list(cidr, &[5432]), &settings);
    assert_eq!(rules[1]["to"], json!([{"ipBlock": {"cidr": opened}}]));
}

#[test]
fn a_setting_that_is_no_range_is_named() {
    let settings = NetworkSettings {
        denied_cidrs: vec!["10.0.0.0".into()],
        ..NetworkSettings::default()
    };
    let error = policy(&NetworkAccess::Internet, &settings, &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the operator's setting sandbox.network.deniedCidrs: `10.0.0.0` is no range")
    );
}

fn other(name: &str, spec: &Value) -> NetworkPolicy {
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    serde_json::from_value(policy).unwrap()
}

#[test]
fn a_policy_that_opens_what_ours_closes_is_found() {
    let labels = BTreeMap::from([(EGRESS.to_owned(), "denied".to_owned())]);
    let names_for_all =
        json!({"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"ports": [{"port": 53}]}]});
    let by_expression = json!({
        "podSelector": {"matchExpressions": [{"key": EGRESS, "operator": "Exists"}]},
        "egress": [{}],
    });
    for spec in [names_for_all, by_expression] {
        let policies = [
            other("ours", &json!({"podSelector": {}, "egress": [{}]})),
            other("theirs", &spec),
        ];
        assert_eq!(opener(&policies, "ours", &labels), Some("theirs"));
    }
}

#[test]
fn a_policy_that_closes_or_selects_others_opens_nothing() {
    let labels = BTreeMap::from([(EGRESS.to_owned(), "denied".to_owned())]);
    let policies = [
        other(
            "closes",
            &json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}),
        ),
        other("ingress", &json!({"podSelector": {}, "ingress": [{}]})),
        other(
            "web",
            &json!({"podSelector": {"matchLabels": {"app": "web"}}, "egress": [{}]}),
        ),
        other(
            "but-sandboxes",
            &json!({
                "podSelector": {"matchExpressions": [{"key": EGRESS, "operator": "DoesNotExist"}]},
                "egress": [{}],
            }),
        ),
    ];
    assert_eq!(opener(&policies, "ours", &labels), None);
}
