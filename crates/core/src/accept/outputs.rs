//! Checks of proposed outputs, by the rules of an API server.

use serde_json::json;

use crate::call::{Reply, ReplyFault};
use crate::reply::{OutputsReply, parse};
use codegen_api::validate;
use codegen_api::values::Output;
use codegen_api::{GROUP, VERSION};

/// The outputs that a reply to `outputs` proposes. What a manifest could not have is refused, with every reason.
pub fn proposed_outputs(reply: &Reply) -> Result<Vec<Output>, ReplyFault> {
    let OutputsReply { outputs } = parse(reply)?;
    if outputs.is_empty() {
        return Err("There is no output: name at least one.".into());
    }
    let outputs: Vec<Output> = outputs.into_iter().map(Output::from).collect();
    let task = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "CodeGenTask",
        "metadata": {"name": "proposed"},
        "spec": {"prompt": "p", "model": {"name": "m"}, "outputs": outputs},
    });
    match validate::manifest(&task) {
        Ok(_) => Ok(outputs),
        Err(faults) => {
            let reasons: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Err(format!("{}.", reasons.join("; ").replace("spec.", "")).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::call::{FinishReason, Usage};
    use codegen_api::values::{FileFormat, ValueType};

    fn proposed(outputs: &Value) -> Result<Vec<Output>, ReplyFault> {
        proposed_outputs(&Reply {
            text: json!({"outputs": outputs}).to_string(),
            finish: FinishReason::Complete,
            usage: Usage::default(),
            ..Reply::default()
        })
    }

    #[test]
    fn a_format_is_that_of_a_file_and_an_empty_description_is_none() {
        let outputs = proposed(&json!([
            {"name": "summary", "type": "CSV", "description": "One row per species."},
            {"name": "species", "type": "Int", "description": " "},
        ]))
        .unwrap();
        assert_eq!(
            (outputs[0].type_, outputs[0].format),
            (ValueType::File, Some(FileFormat::CSV))
        );
        assert_eq!(outputs[1].description, None);
    }

    #[rstest]
    #[case::none(json!([]), "no output")]
    #[case::a_path(json!([{"name": "../x", "type": "CSV", "description": ""}]), "outputs[0].name")]
    #[case::twice(json!([{"name": "a", "type": "Int", "description": ""}, {"name": "a", "type": "CSV", "description": ""}]), "same name")]
    #[case::another_type(json!([{"name": "a", "type": "Dataframe", "description": ""}]), "\"Dataframe\" is no type: write one of String, ")]
    #[case::without_end(json!([{"name": "a", "type": "Int", "description": "x".repeat(2_000)}]), "outputs[0].description")]
    fn what_no_manifest_could_have_is_refused_with_the_reason(#[case] outputs: Value, #[case] says: &str) {
        let fault = proposed(&outputs).unwrap_err();
        assert!(fault.reason.contains(says), "{fault}");
    }
}
