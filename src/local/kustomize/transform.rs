//! Names, namespaces and labels of everything that a kustomization holds.

use serde_json::json;

use super::file::Kustomization;
use super::resource::Resource;

/// Applies the transformations of `kustomization` to what it holds.
pub(super) fn apply(kustomization: &Kustomization, resources: &mut [Resource]) {
    for resource in resources {
        let named = resource.document.name().map(str::to_owned);
        if let Some(name) = &named
            && !kustomization.name_prefix.is_empty()
        {
            resource.rename(format!("{}{name}", kustomization.name_prefix));
            resource.added.0.push(kustomization.name_prefix.clone());
        }
        if let Some(name) = resource.document.name().map(str::to_owned)
            && !kustomization.name_suffix.is_empty()
        {
            resource.rename(format!("{name}{}", kustomization.name_suffix));
            resource.added.1.push(kustomization.name_suffix.clone());
        }
        if !kustomization.namespace.is_empty() {
            resource.document.value["metadata"]["namespace"] = json!(kustomization.namespace);
        }
        let labels = kustomization.labels.iter().flat_map(|labels| &labels.pairs);
        let labels = labels.chain(&kustomization.common_labels);
        let labels = labels.map(|pair| ("labels", pair));
        let annotations = kustomization.common_annotations.iter();
        for (field, (key, value)) in labels.chain(annotations.map(|pair| ("annotations", pair))) {
            resource.document.value["metadata"][field][key] = json!(value);
        }
    }
}
