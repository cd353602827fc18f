//! `deploy/`, for those who do not use Helm.

use std::fs;

use crate::tool::{identity, objects, of_kind, output, root};

#[test]
#[ignore = "needs Helm: make packaging"]
fn the_base_is_what_the_chart_makes() {
    let file = fs::read_to_string(root().join("deploy/base/operator.yaml")).unwrap();
    let rendered = output("scripts/render-deploy", &["--print"], "");
    for (number, (found, wanted)) in file.lines().zip(rendered.lines()).enumerate() {
        assert_eq!(found, wanted, "line {}: run make render", number + 1);
    }
    assert_eq!(file.lines().count(), rendered.lines().count(), "run make render");
}

#[test]
#[ignore = "needs kubectl: make packaging"]
fn an_overlay_says_once_where_the_image_lies() {
    for (overlay, image) in [
        ("deploy", "registry.example.com/codegen-operator:0.1.0"),
        (
            "deploy/gitops/operator",
            "registry.example.com/mirror/codegen-operator:0.1.0",
        ),
    ] {
        let objects = objects(&output("kubectl", &["kustomize", overlay], ""));
        let [deployment] = of_kind(&objects, "Deployment")[..] else {
            panic!("one Deployment")
        };
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], image);
        let variables = container["env"].as_array().unwrap();
        let own = variables
            .iter()
            .find(|variable| variable["name"] == "OPERATOR_IMAGE")
            .unwrap();
        assert_eq!(own["value"], image, "what the operator starts Pods with");
        let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
        let config_map = volumes[0]["configMap"]["name"].as_str().unwrap();
        let wanted = format!("ConfigMap codegen-system/{config_map}");
        assert!(
            config_map.len() > "codegen-operator-".len(),
            "a change of the configuration is not seen"
        );
        assert!(
            objects.iter().any(|object| identity(object) == wanted),
            "{wanted}"
        );
        assert_eq!(
            of_kind(&objects, "CustomResourceDefinition").len(),
            codegen_api::crds().len()
        );
    }
}
