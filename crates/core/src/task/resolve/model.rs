//! The model with its defaults, from whichever objects give its fields.

use crate::task::ModelSettings;
use codegen_api::model::Model;

/// The model whose fields are those of the first layer that gives them; its name is empty where no layer names one. `frozen` is the name
/// that was sent so far, for a model that has been asked before.
pub fn model_settings<'a>(
    layers: &(impl Iterator<Item = &'a Model> + Clone),
    frozen: Option<String>,
) -> ModelSettings {
    let all = || layers.clone();
    let provider = all().find_map(|model| model.provider).unwrap_or_default();
    let name = all().find_map(|model| model.name.clone()).unwrap_or_default();
    let name = match provider.alias(&name) {
        Some(current) => frozen.unwrap_or_else(|| current.to_owned()),
        None => name,
    };
    let base_url = all().find_map(|model| model.base_url.as_deref());
    let headers = all()
        .map(|model| &model.headers)
        .find(|headers| !headers.is_empty());
    let query = all().map(|model| &model.query).find(|query| !query.is_empty());
    ModelSettings {
        provider,
        name,
        base_url: base_url
            .unwrap_or(provider.default_base_url())
            .trim_end_matches('/')
            .to_owned(),
        api_key_secret_ref: all().find_map(|model| model.api_key_secret_ref.clone()),
        parameters: all()
            .find_map(|model| model.parameters.clone())
            .unwrap_or_default(),
        headers: headers.cloned().unwrap_or_default(),
        query: query.cloned().unwrap_or_default(),
    }
}
