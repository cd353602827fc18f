//! What whoever installs the operator says of agents.

use schemars::JsonSchema;
use serde::Deserialize;

/// What agents may do, whatever a task says.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentSettings {
    /// Programs, and modules of Python, that no command of an agent runs besides those that are denied anyway (`[jq, awk]`).
    #[schemars(inner(pattern(r"^[A-Za-z0-9_][A-Za-z0-9._+-]*$")))]
    pub denied_commands: Vec<String>,
}

impl AgentSettings {
    /// The field that has a value without a sense, and what to write.
    pub(super) fn unusable(&self) -> Option<(&'static str, &'static str)> {
        let is_name = |name: &String| {
            let begins_well = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            name.starts_with(begins_well)
                && name
                    .chars()
                    .all(|letter| begins_well(letter) || matches!(letter, '.' | '+' | '-'))
        };
        // A path would deny nothing: programs are judged by their names.
        (!self.denied_commands.iter().all(is_name)).then_some((
            "agent.deniedCommands",
            "a program is denied by its name alone: write jq, without a path, options or blanks",
        ))
    }
}
