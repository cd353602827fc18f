//! Choice of the tasks that an operator works on: a label selector in the form that `kubectl --selector` takes.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// One requirement: `key`, `!key`, `key=value`, `key!=value`, `key in (a, b)`, `key notin (a, b)`.
static REQUIREMENT: LazyLock<Result<Regex, regex::Error>> = LazyLock::new(|| {
    let name = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
    let key = format!("(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{name}");
    let value = format!("(?:{name})?");
    Regex::new(&format!(
        r"^\s*(?:!\s*{key}|{key}(?:\s*(?:=|==|!=)\s*{value}|\s+(?:in|notin)\s*\(\s*{value}(?:\s*,\s*{value})*\s*\))?)\s*$"
    ))
});

/// A label selector over tasks. Empty: all.
#[derive(Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct TaskSelector(String);

/// Text that is no label selector.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no requirement of a label selector: write key, !key, key=value, key!=value, key in (a,b) or key notin (a,b), and a comma \
     between two of them"
)]
pub struct SelectorError(String);

impl TryFrom<String> for TaskSelector {
    type Error = SelectorError;

    fn try_from(text: String) -> Result<Self, SelectorError> {
        let wrong = requirements(&text).into_iter().find(|requirement| {
            let pattern = REQUIREMENT.as_ref();
            pattern.is_ok_and(|pattern| !pattern.is_match(requirement))
        });
        match wrong {
            Some(wrong) if !text.trim().is_empty() => Err(SelectorError(wrong.trim().to_owned())),
            _ => Ok(Self(text.trim().to_owned())),
        }
    }
}

impl TaskSelector {
    /// As the API server takes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether a label of this key decides whether an object is worked on.
    #[must_use]
    pub fn mentions(&self, key: &str) -> bool {
        let is_part = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
        let first_word = |requirement: &str| {
            let requirement = requirement.trim().trim_start_matches('!').trim_start();
            let end = requirement.find(|character| !is_part(character));
            requirement.get(..end.unwrap_or(requirement.len())) == Some(key)
        };
        requirements(&self.0).into_iter().any(first_word)
    }
}

/// Splits a selector at the commas outside of parentheses.
fn requirements(text: &str) -> Vec<&str> {
    let mut is_list = false;
    text.split(|character| {
        match character {
            '(' => is_list = true,
            ')' => is_list = false,
            _ => {}
        }
        character == ',' && !is_list
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("")]
    #[case("  ")]
    #[case("team")]
    #[case("!codegen-operator.dev/operator")]
    #[case("codegen-operator.dev/operator=canary")]
    #[case("team == data, tier!=test,stage=")]
    #[case("team in (data, science),shard notin (a,b)")]
    fn what_the_api_server_takes_is_taken(#[case] text: &str) {
        let selector = TaskSelector::try_from(text.to_owned()).unwrap();
        assert_eq!(selector.as_str(), text.trim());
    }

    #[rstest]
    #[case("team=data science", "team=data science")]
    #[case("team,", "")]
    #[case("a=b,team in data", "team in data")]
    #[case("team in (a,b", "team in (a,b")]
    #[case("-team", "-team")]
    #[case("Example.COM/team=x", "Example.COM/team=x")]
    #[case("{matchLabels: {team: data}}", "{matchLabels: {team: data}}")]
    fn another_text_is_refused_by_the_part_that_is_wrong(#[case] text: &str, #[case] part: &str) {
        let error = TaskSelector::try_from(text.to_owned()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{part}` is no requirement")),
            "{error}"
        );
    }
}
