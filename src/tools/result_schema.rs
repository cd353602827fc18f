//! Whether a value is what a tool's schema says.

use serde_json::Value;

use crate::code_mode::faults::{Fault, HeldTo};

/// The schema of a result. References to other documents are refused: nothing is read for them.
#[derive(Debug)]
pub(super) struct ResultSchema(HeldTo);

impl ResultSchema {
    /// Compiles `schema`, or says what is wrong with it.
    pub fn new(schema: &Value) -> Result<Self, String> {
        HeldTo::new(schema).map(Self)
    }

    /// What is wrong with `value`: where in it, what, and by which part of the schema.
    pub fn fault(&self, value: &Value) -> Option<String> {
        let fault = self.0.faults(value, 1).into_iter().next()?;
        let Fault::There(error) = fault else {
            let said = "none of the alternatives fits that the schema gives, and it is too long to say where";
            return Some(said.to_owned());
        };
        let at = |path: &str| match path {
            "" => "the top".to_owned(),
            path => format!("`{path}`"),
        };
        Some(format!(
            "at {}: {} (schema {})",
            at(error.instance_path().as_str()),
            error.masked(),
            at(error.schema_path().as_str())
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_names_its_place_in_the_value_and_in_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"rates": {"type": "array", "items": {"type": "number"}}},
        });
        let schema = ResultSchema::new(&schema).unwrap();
        assert_eq!(schema.fault(&json!({"rates": [1.5, 2]})), None);
        assert_eq!(
            schema.fault(&json!({"rates": [1.5, "two"]})).unwrap(),
            "at `/rates/1`: value is not of type \"number\" (schema `/properties/rates/items/type`)"
        );
        assert!(schema.fault(&json!([])).unwrap().starts_with("at the top: "));
    }

    #[test]
    fn a_schema_at_another_address_is_not_fetched() {
        let schema = json!({"$ref": "https://example.com/schema.json"});
        assert!(ResultSchema::new(&schema).is_err());
    }
}
