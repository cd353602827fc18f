//! Settings of agents for the whole operator, by whoever installs it.

use schemars::JsonSchema;
use serde::Deserialize;

/// Programs that an agent cannot work without.
const NEEDED: [&str; 4] = ["python", "python3", "pytest", "py.test"];

/// Bounds on agents, whatever a task says.
#[derive(Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentSettings {
    /// Programs that commands of an agent are refused besides those that have no use in a sandbox (`[jq, awk]`).
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
        let is_needed = |name: &String| NEEDED.contains(&name.as_str());
        // A path would deny nothing: programs are refused by their names.
        let is_usable = |name: &String| is_name(name) && !is_needed(name);
        (!self.denied_commands.iter().all(is_usable)).then_some((
            "agent.deniedCommands",
            "a program is denied by its name alone: write jq, without a path, options or blanks, and neither python nor pytest",
        ))
    }
}
