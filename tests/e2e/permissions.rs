//! What the operator may do, and what people with the stock roles may do.

use std::process::Command;

use crate::space::{OPERATOR, Space, in_space};

fn may(space: &Space, who: &str, verb: &str, resource: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let subresource = format!("--subresource={subresource}");
    let output = Command::new("kubectl")
        .args(["--namespace", &space.name, "--as", who])
        .args(["auth", "can-i", verb, resource, &subresource])
        .output()
        .unwrap();
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => true,
        "no" => false,
        other => panic!("{other} {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_operator_may_do_what_it_needs_and_no_more() {
    in_space("permissions", async |space| {
        for (verb, resource) in [
            ("create", "pods"),
            ("get", "pods/log"),
            ("watch", "jobs.batch"),
            ("patch", "jobs.batch"),
            ("get", "secrets"),
            ("update", "codegentasks.codegen-operator.dev/status"),
            ("update", "codegenruns.codegen-operator.dev/status"),
            ("create", "networkpolicies.networking.k8s.io"),
            ("watch", "codegenapprovals.codegen-operator.dev"),
        ] {
            assert!(may(space, OPERATOR, verb, resource), "{verb} {resource}");
        }
        for (verb, resource) in [
            ("list", "secrets"),
            ("watch", "secrets"),
            ("list", "configmaps"),
            ("delete", "secrets"),
            ("list", "codegenagents.codegen-operator.dev"),
            ("create", "codegenapprovals.codegen-operator.dev"),
            ("patch", "codegentasks.codegen-operator.dev/status"),
            ("create", "pods/exec"),
            ("update", "codegentasks.codegen-operator.dev"),
            ("update", "codegenruns.codegen-operator.dev"),
            ("create", "serviceaccounts/token"),
            ("create", "rolebindings.rbac.authorization.k8s.io"),
            ("get", "leases.coordination.k8s.io"),
            ("patch", "nodes"),
            ("list", "endpointslices.discovery.k8s.io"),
            ("get", "namespaces"),
        ] {
            assert!(!may(space, OPERATOR, verb, resource), "{verb} {resource}");
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster with the operator: make e2e"]
async fn the_stock_roles_cover_tasks_and_those_of_administrators_agents_and_decisions() {
    in_space("roles", async |space| {
        for role in ["view", "edit", "admin"] {
            let clusterrole = format!("--clusterrole={role}");
            let user = format!("--user={role}er");
            space.kubectl(&["create", "rolebinding", role, &clusterrole, &user]);
        }
        for kind in [
            "codegentasks.codegen-operator.dev",
            "codegenruns.codegen-operator.dev",
        ] {
            for (who, verb, expected) in [
                ("viewer", "get", true),
                ("viewer", "create", false),
                ("editer", "get", true),
                ("editer", "create", true),
                ("adminer", "delete", true),
                ("nobody", "get", false),
            ] {
                assert_eq!(may(space, who, verb, kind), expected, "{who} {verb} {kind}");
            }
        }
        let agent = "codegenagents.codegen-operator.dev";
        for (who, verb, expected) in [
            ("viewer", "get", true),
            ("editer", "get", true),
            ("editer", "create", false),
            ("editer", "patch", false),
            ("editer", "delete", false),
            ("adminer", "create", true),
            ("adminer", "update", true),
        ] {
            assert_eq!(may(space, who, verb, agent), expected, "{who} {verb}");
        }
        let approval = "codegenapprovals.codegen-operator.dev";
        for (who, verb, expected) in [
            ("viewer", "get", true),
            ("editer", "create", false),
            ("editer", "delete", false),
            ("adminer", "create", true),
            ("adminer", "patch", false),
        ] {
            assert_eq!(may(space, who, verb, approval), expected, "{who} {verb}");
        }
    })
    .await;
}
