use serde_json::json;

use super::*;

fn pod(cpu: &str, memory: &str) -> Pod {
    let requests = json!({"cpu": cpu, "memory": memory, "example.com/gpu": "1"});
    let containers = json!([{"name": "sandbox", "resources": {"requests": requests}}]);
    serde_json::from_value(json!({"metadata": {}, "spec": {"containers": containers}})).unwrap()
}

fn node(cpu: &str, memory: &str) -> Node {
    serde_json::from_value(json!({"metadata": {}, "status": {"allocatable": {"cpu": cpu, "memory": memory}}}))
        .unwrap()
}

#[test]
fn one_node_that_is_large_enough_will_do() {
    let nodes = [node("2", "4039716Ki"), node("7910m", "32Gi")];
    assert!(fits_somewhere(&pod("4", "8Gi"), &nodes));
    assert!(fits_somewhere(&pod("100m", "256Mi"), &nodes[..1]));
}

#[test]
fn no_node_fits_what_each_lacks_in_part() {
    let nodes = [node("2", "32Gi"), node("8", "4Gi")];
    assert!(!fits_somewhere(&pod("4", "8Gi"), &nodes));
    assert!(!fits_somewhere(&pod("1", "64Gi"), &nodes));
}

#[test]
fn a_container_that_comes_first_must_fit_as_well() {
    let mut build = pod("100m", "64Mi");
    let spec = build.spec.as_mut().unwrap();
    let large = pod("4", "64Gi").spec.unwrap().containers;
    spec.init_containers = Some(large);
    assert!(!fits_somewhere(&build, &[node("8", "32Gi")]));
    assert!(fits_somewhere(&build, &[node("8", "128Gi")]));
}
