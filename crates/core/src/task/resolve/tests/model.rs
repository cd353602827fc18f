//! Tests of the model of a task: where it is, and what it is called there.

use super::*;
use codegen_api::model::ANTHROPIC_ALIASES;

#[rstest]
#[case("Anthropic", "https://api.anthropic.com/v1")]
#[case("OpenAI", "https://api.openai.com/v1")]
fn the_base_address_follows_the_provider(#[case] provider: &str, #[case] address: &str) {
    let task = resolved(&format!(
        "{{prompt: count, model: {{name: m, provider: {provider}}}}}"
    ));
    assert_eq!(task.model.base_url, address);
}

#[test]
fn a_base_address_loses_its_trailing_slash() {
    let task = resolved("{prompt: count, model: {name: m, baseURL: 'http://127.0.0.1:8000/v1/'}}");
    assert_eq!(task.model.base_url, "http://127.0.0.1:8000/v1");
}

#[test]
fn a_short_name_is_sent_as_the_current_name_of_its_provider_alone() {
    for (alias, sent) in ANTHROPIC_ALIASES {
        let of = |provider: &str| {
            let task = format!("{{prompt: count, model: {{provider: {provider}, name: {alias}}}}}");
            resolved(&task).model.name
        };
        assert_eq!(of("Anthropic"), sent);
        assert_eq!(of("OpenAI"), alias, "a gateway may know a model by this name");
    }
}

#[test]
fn a_short_name_stands_for_what_it_did_when_the_inputs_were_frozen() {
    let named = |name: &str| {
        let task = task(&format!(
            "{{prompt: count, model: {{provider: Anthropic, name: {name}}}}}"
        ));
        let frozen = FrozenFiles {
            model: Some("claude-sonnet-4-5".to_owned()),
            ..FrozenFiles::default()
        };
        resolve(&task, None, frozen).unwrap()
    };
    assert_eq!(named("sonnet").model.name, "claude-sonnet-4-5");
    assert_eq!(named("claude-sonnet-5").model.name, "claude-sonnet-5");
    assert_eq!(
        named("sonnet").reuse_key(),
        resolved("{prompt: count, model: {provider: Anthropic, name: claude-sonnet-4-5}}").reuse_key(),
        "a result is reused by the name that was sent"
    );
}

#[test]
fn the_documentation_lists_what_short_names_stand_for() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let page = std::fs::read_to_string(path).unwrap();
    for (alias, sent) in ANTHROPIC_ALIASES {
        let row = format!("| `{alias}` | `{sent}` |");
        assert!(page.contains(&row), "docs/models.md lacks {row}");
    }
}
