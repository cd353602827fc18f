//! The charts.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::tool::{identity, objects, of_kind, output, refusal, root, template};

/// What whoever has rights in these namespaces alone installs: docs/install.md shows it.
fn namespaced() -> String {
    let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
    let (_, after) = page.split_once("<!-- namespaced.yaml -->\n```yaml\n").unwrap();
    after.split_once("```").unwrap().0.to_owned()
}

const CLUSTER_SCOPED: [&str; 7] = [
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "PriorityClass",
];

#[test]
#[ignore = "needs Helm: make packaging"]
fn whoever_has_rights_in_some_namespaces_alone_can_install_the_operator_for_them() {
    let values = namespaced();
    let objects = template("codegen-operator", &values);
    let places: BTreeSet<&str> = objects
        .iter()
        .map(|object| {
            let kind = object["kind"].as_str().unwrap();
            assert!(!CLUSTER_SCOPED.contains(&kind), "{}", identity(object));
            object["metadata"]["namespace"].as_str().unwrap()
        })
        .collect();
    assert_eq!(places, BTreeSet::from(["operators", "team-a", "team-b"]));
    for namespace in ["team-a", "team-b"] {
        for kind in ["Role", "RoleBinding"] {
            let wanted = format!("{kind} {namespace}/release-codegen-operator");
            assert!(
                objects.iter().any(|object| identity(object) == wanted),
                "{wanted}"
            );
        }
    }
    for binding in of_kind(&objects, "RoleBinding") {
        let subject = &binding["subjects"][0];
        assert_eq!(subject["name"], "release-codegen-operator");
        assert_eq!(subject["namespace"], "operators");
    }
}

/// The rules of a role, each verb with its group and resource.
fn rights(role: &Value) -> BTreeSet<String> {
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().unwrap().iter();
        all.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                rights.insert(format!("{verb} {resource}"));
            }
        }
    }
    rights
}

fn role<'a>(objects: &'a [Value], wanted: &str) -> &'a Value {
    let mut roles = objects.iter().filter(|object| identity(object) == wanted);
    roles.next().unwrap_or_else(|| panic!("{wanted} is not there"))
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn the_operator_has_the_same_rights_where_tasks_are_however_it_is_installed() {
    let without_policies = "image: {repository: r}\nadmissionPolicy: {create: false}";
    let everywhere = template("codegen-operator", without_policies);
    let here = template("codegen-operator", &namespaced());
    let cluster_role = role(&everywhere, "ClusterRole /release-codegen-operator");
    let rules = &cluster_role["rules"];
    assert_eq!(
        rules,
        &role(&here, "Role team-a/release-codegen-operator")["rules"]
    );
    // By it the policies of another release let through what this one makes; its own know its account.
    let marks = "create sandboxes".to_owned();
    assert!(rights(cluster_role).contains(&marks));
    let with_policies = template("codegen-operator", "image: {repository: r}");
    let cluster_role = role(&with_policies, "ClusterRole /release-codegen-operator");
    assert!(!rights(cluster_role).contains(&marks));
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn the_namespaces_of_builds_and_canaries_get_less_than_those_of_tasks() {
    let values = "{image: {repository: r}, config: {watchNamespaces: [team-a], build: {namespace: builds}}}";
    let objects = template("codegen-operator", values);
    let of_tasks = rights(role(&objects, "Role team-a/release-codegen-operator"));
    let of_a_leader = ["create leases", "get leases", "update leases"];
    for (wanted, beside) in [
        ("Role builds/release-codegen-operator-builds", Vec::new()),
        (
            "Role operators/release-codegen-operator-own",
            [&of_a_leader[..], &["patch networkpolicies"]].concat(),
        ),
    ] {
        let its = rights(role(&objects, wanted));
        let mut more: Vec<&str> = its.difference(&of_tasks).map(String::as_str).collect();
        more.sort_unstable_by_key(|right| (right.ends_with("networkpolicies"), *right));
        assert_eq!(more, beside, "{wanted}");
        assert!(
            !its.iter().any(|right| right.contains("codegentasks")),
            "{wanted}: {its:?}"
        );
    }
    let own = rights(role(&objects, "Role operators/release-codegen-operator-own"));
    let secrets: Vec<&String> = own.iter().filter(|right| right.contains("secrets")).collect();
    assert_eq!(secrets, ["create secrets", "get secrets"], "{own:?}");
    let rules = role(&objects, "Role operators/release-codegen-operator-own")["rules"].clone();
    let reads = |rule: &&Value| rule["resources"] == json!(["secrets"]) && rule["verbs"] == json!(["get"]);
    let reads = rules.as_array().unwrap().iter().find(reads).unwrap();
    let names = ["", "-0000000001"].map(|end| format!("release-codegen-operator-signing{end}"));
    assert_eq!(reads["resourceNames"], json!(names));
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn the_operators_own_namespace_may_be_one_of_those_with_tasks() {
    let values =
        "{image: {repository: r}, config: {watchNamespaces: [operators], build: {namespace: operators}}}";
    let objects = template("codegen-operator", values);
    let names: Vec<String> = objects.iter().map(identity).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(names.len(), distinct.len(), "{names:?}");
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn a_value_that_there_is_not_is_refused_by_its_name() {
    for (chart, values, named) in [
        (
            "codegen-operator",
            "{image: {repository: r}, replicaCount: 2}",
            "replicaCount",
        ),
        ("codegen-operator", "{image: {repository: r, tags: x}}", "tags"),
        (
            "codegen-operator",
            "{image: {repository: r}, rbac: {clusterWide: true}}",
            "clusterWide",
        ),
        (
            "codegen-operator",
            "{image: {repository: r}, replicas: two}",
            "replicas",
        ),
        (
            "codegen-operator",
            "{image: {repository: r}, serviceMonitor: {create: true}, service: {create: false}}",
            "service.create",
        ),
        ("codegen-operator", "{}", "image.repository"),
        ("codegen-operator-crds", "{install: true}", "install"),
    ] {
        let said = refusal(chart, values);
        assert!(said.contains(named), "{values}: {said}");
    }
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn either_chart_installs_the_crds_and_keeps_them_by_default() {
    let from = |chart: &str, values: &str| -> Vec<(String, bool)> {
        let objects = template(chart, values);
        let crds = of_kind(&objects, "CustomResourceDefinition").into_iter();
        crds.map(|crd| {
            let stays = crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep";
            (identity(crd), stays)
        })
        .collect()
    };
    let both = |stays: bool| {
        [
            "codegenagents",
            "codegenapprovals",
            "codegenruns",
            "codegentasks",
            "codemodeagents",
            "codemoderuns",
        ]
        .map(|plural| {
            (
                format!("CustomResourceDefinition /{plural}.codegen-operator.dev"),
                stays,
            )
        })
        .to_vec()
    };
    assert_eq!(from("codegen-operator", "image: {repository: r}"), both(true));
    assert_eq!(
        from(
            "codegen-operator",
            "{image: {repository: r}, crds: {keep: false}}"
        ),
        both(false)
    );
    assert_eq!(
        from(
            "codegen-operator",
            "{image: {repository: r}, crds: {install: false}}"
        ),
        []
    );
    assert_eq!(from("codegen-operator-crds", "{}"), both(true));
    assert_eq!(from("codegen-operator-crds", "keep: false"), both(false));
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn a_disruption_budget_is_rendered_from_two_replicas_on() {
    let budgets = |values: &str| {
        let objects = template("codegen-operator", values);
        of_kind(&objects, "PodDisruptionBudget").len()
    };
    assert_eq!(budgets("{image: {repository: r}}"), 0);
    assert_eq!(budgets("{image: {repository: r}, replicas: 2}"), 1);
    assert_eq!(
        budgets("{image: {repository: r}, replicas: 2, podDisruptionBudget: {create: false}}"),
        0
    );
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn alerts_have_a_severity_and_say_what_to_do() {
    let values = "{image: {repository: r}, serviceMonitor: {create: true}, \
        prometheusRule: {create: true, labels: {release: prometheus}, alertLabels: {team: platform}}}";
    let objects = template("codegen-operator", values);
    let [rule] = of_kind(&objects, "PrometheusRule")[..] else {
        panic!("one rule")
    };
    assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    let alerts = rule["spec"]["groups"][0]["rules"].as_array().unwrap();
    assert!(alerts.len() >= 5);
    for alert in alerts {
        let name = &alert["alert"];
        assert!(
            ["critical", "warning", "info"].contains(&alert["labels"]["severity"].as_str().unwrap()),
            "{name}"
        );
        assert_eq!(alert["labels"]["team"], "platform");
        for text in ["summary", "action"] {
            assert!(alert["annotations"][text].is_string(), "{name} {text}");
        }
        let expression = alert["expr"].as_str().unwrap();
        assert!(expression.contains("{namespace=\"operators\""), "{expression}");
    }
    assert_eq!(of_kind(&objects, "ServiceMonitor").len(), 1);
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn the_notes_name_the_next_command_and_what_is_not_covered() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("chart");
    let chart = chart.to_str().unwrap();
    output("cp", &["--recursive", "charts/codegen-operator", chart], "");
    // Notes as an object, which Helm renders without a cluster.
    let notes = fs::read_to_string(format!("{chart}/templates/NOTES.txt")).unwrap();
    let told = format!(
        "{{{{- define \"told\" }}}}{notes}{{{{ end }}}}\nkind: Told\nnotes: {{{{ include \"told\" . | quote }}}}\n"
    );
    fs::write(format!("{chart}/templates/told.yaml"), told).unwrap();
    let notes = |values: &str| {
        let place = ["--namespace", "operators", "--show-only", "templates/told.yaml"];
        let template = ["template", "release", chart, "--values", "-"];
        let told = output("helm", &[template.as_slice(), &place].concat(), values);
        objects(&told)[0]["notes"].as_str().unwrap().to_owned()
    };
    let everywhere = notes("{image: {repository: r}, config: {registries: {repository: r/x}}}");
    for told in [
        "rollout status deployment/release-codegen-operator",
        "helm test release",
        "kubectl apply -f -",
    ] {
        assert!(everywhere.contains(told), "{told}: {everywhere}");
    }
    let namespaced = notes(&namespaced());
    for told in [
        "team-a, team-b",
        "crds",
        "admissionPolicy.create",
        "rbac.aggregate",
        "rbac.nodes",
        "rbac.apiServerAddresses",
    ] {
        assert!(namespaced.contains(told), "{told}: {namespaced}");
        assert!(
            told == "crds" || !everywhere.contains(told),
            "{told}: {everywhere}"
        );
    }
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn every_object_says_what_it_belongs_to() {
    let values = "{image: {repository: r}, replicas: 2, serviceMonitor: {create: true}, prometheusRule: {create: true}}";
    for object in template("codegen-operator", values) {
        let labels = &object["metadata"]["labels"];
        let is_definition = object["kind"] == "CustomResourceDefinition";
        assert!(
            is_definition || labels["app.kubernetes.io/instance"] == "release",
            "{}",
            identity(&object)
        );
    }
    let printed = output("helm", &["show", "chart", "charts/codegen-operator"], "");
    let [chart] = &objects(&printed)[..] else {
        panic!("one chart")
    };
    for list in ["artifacthub.io/crds", "artifacthub.io/crdsExamples"] {
        let [entries] = &objects(chart["annotations"][list].as_str().unwrap())[..] else {
            panic!("{list}")
        };
        assert!(!entries.as_array().unwrap().is_empty(), "{list}");
    }
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn nothing_but_metrics_and_health_is_open_on_the_operator_and_only_to_whom_the_values_name() {
    let policy =
        |values: &str| of_kind(&template("codegen-operator", values), "NetworkPolicy")[0]["spec"].clone();
    let spec = policy("image: {repository: r}");
    assert_eq!(
        spec["ingress"],
        json!([{"ports": [{"protocol": "TCP", "port": 8080}]}])
    );
    assert_eq!(spec["egress"], json!([{}]));
    let objects = template("codegen-operator", "image: {repository: r}");
    let labels = &of_kind(&objects, "Deployment")[0]["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&spec["podSelector"]["matchLabels"], labels);

    let peer = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}});
    let api_server = json!({"ports": [{"port": 6443}]});
    let values = json!({"image": {"repository": "r"}, "networkPolicy": {"metricsFrom": [peer], "egress": [api_server]}});
    let spec = policy(&values.to_string());
    assert_eq!(spec["ingress"][0]["from"], json!([peer]));
    assert_eq!(spec["egress"], json!([api_server]));

    let without = template(
        "codegen-operator",
        "{image: {repository: r}, networkPolicy: {create: false}}",
    );
    assert!(of_kind(&without, "NetworkPolicy").is_empty());
}

#[test]
#[ignore = "needs Helm: make packaging"]
fn replicas_prefer_different_nodes_unless_the_values_say_where_they_run() {
    let affinity = |values: &str| {
        let objects = template("codegen-operator", values);
        of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["affinity"].clone()
    };
    assert!(affinity("image: {repository: r}").is_null());
    let several = affinity("{image: {repository: r}, replicas: 2}");
    let term = &several["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(term["podAffinityTerm"]["topologyKey"], "kubernetes.io/hostname");
    let own = affinity("{image: {repository: r}, replicas: 2, affinity: {nodeAffinity: {}}}");
    assert_eq!(own, json!({"nodeAffinity": {}}));
}
