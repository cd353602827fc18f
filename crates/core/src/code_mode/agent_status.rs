//! The status of an agent, and that of a question that has not begun. One place.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::question::SourcedTool;
use crate::bounds::{cut, message_shown};
use crate::status::{Hold, conditions};
use crate::terminal::spelled_out;
use codegen_api::code_mode::{CodeModeAgentStatus, CodeModeRunStatus, ToolStatus};
use codegen_api::conditions::{READY, TOOLS_RESOLVED, code_mode_reason};
use codegen_code_mode::signature::{Effect, READ_TEXT, Toolbox};

/// Bytes of a description in a status.
const DESCRIPTION_BYTES: usize = 160;
/// Bytes of a signature in a status.
const SIGNATURE_BYTES: usize = 300;

/// The status of an agent whose tools have signatures.
#[must_use]
pub fn resolved(
    tools: &[SourcedTool],
    toolbox: &Toolbox,
    require_approval: &[String],
    generation: Option<i64>,
    before: &[Condition],
    now: Timestamp,
) -> CodeModeAgentStatus {
    let shown: Vec<ToolStatus> = toolbox
        .names()
        .iter()
        .filter_map(|name| {
            Some(ToolStatus {
                requires_approval: require_approval.contains(name),
                ..shown(name, tools, &toolbox.find(name)?.line())
            })
        })
        .collect();
    let message = message_shown(&format!(
        "{} tools can be called{}",
        shown.len(),
        of_loosened(tools)
    ));
    let said = (true, code_mode_reason::TOOLS_RESOLVED, message.as_str());
    CodeModeAgentStatus {
        observed_generation: generation,
        conditions: both(said, generation, before, now),
        tool_count: i32::try_from(shown.len()).unwrap_or(i32::MAX),
        uses_durable_tools: shown.iter().any(|tool| tool.durable),
        tools: shown,
    }
}

/// Lists the tools that take anything in places where their server says more.
fn of_loosened(tools: &[SourcedTool]) -> String {
    let loosened = tools.iter().filter(|sourced| sourced.tool.is_loosened);
    let names: Vec<String> = loosened
        .map(|sourced| format!("`{}`", sourced.tool.name))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "; the schemas of {} have references into themselves, out of the schema or to too much, which are not followed, or unevaluated parts: those take anything",
        names.join(", ")
    )
}

fn shown(name: &str, tools: &[SourcedTool], line: &str) -> ToolStatus {
    let sourced = tools.iter().find(|sourced| sourced.tool.name == name);
    let description = sourced.map_or(String::new(), |sourced| sourced.tool.description.clone());
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    ToolStatus {
        name: name.to_owned(),
        description: cut(&spelled_out(&description), DESCRIPTION_BYTES),
        signature: cut(&spelled_out(line), SIGNATURE_BYTES),
        source: sourced
            .map_or("Builtin", |sourced| sourced.origin.as_str())
            .to_owned(),
        durable: name != READ_TEXT && sourced.is_some_and(|sourced| sourced.tool.effect == Effect::Durable),
        requires_approval: false,
    }
}

/// The status of an agent that is held: its tools as they were known before.
#[must_use]
pub fn unresolved(
    before: CodeModeAgentStatus,
    hold: &Hold,
    generation: Option<i64>,
    now: Timestamp,
) -> CodeModeAgentStatus {
    let message = message_shown(&hold.message);
    let said = (false, hold.reason, message.as_str());
    CodeModeAgentStatus {
        observed_generation: generation,
        conditions: both(said, generation, &before.conditions, now),
        ..before
    }
}

fn both(
    (is_true, reason, message): (bool, &str, &str),
    generation: Option<i64>,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let status = if is_true { "True" } else { "False" };
    let condition = |type_: &str| {
        let earlier = before.iter().find(|earlier| earlier.type_ == type_);
        let since = earlier.filter(|earlier| earlier.status == status);
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation,
            last_transition_time: since.map_or(Time(now), |earlier| earlier.last_transition_time.clone()),
        }
    };
    [READY, TOOLS_RESOLVED].map(condition).to_vec()
}

/// The status of a question that is held, whether or not it has begun.
#[must_use]
pub fn held(
    before: CodeModeRunStatus,
    hold: &Hold,
    generation: Option<i64>,
    now: Timestamp,
) -> CodeModeRunStatus {
    let message = message_shown(&hold.message);
    let said = (hold.reason, message.as_str());
    CodeModeRunStatus {
        observed_generation: generation,
        stage: before.stage.clone().or_else(|| Some("Pending".to_owned())),
        conditions: conditions(hold.until.into(), said, generation, &before.conditions, now),
        reason: Some(hold.reason.to_owned()),
        message: Some(message),
        ..before
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::code_mode::http_tool;
    use crate::status::Until;
    use codegen_api::code_mode::{HttpTool, ToolSource};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn tools() -> Vec<SourcedTool> {
        let source = ToolSource {
            name: "exchange_rate".to_owned(),
            description: Some("The rate\nof a day.".to_owned()),
            ..ToolSource::default()
        };
        let http: HttpTool = serde_json::from_value(json!({
            "url": "https://rates.example/{base}",
            "parameters": {"type": "object", "properties": {"base": {"type": "string"}}, "required": ["base"]},
            "result": {"type": "number"},
        }))
        .unwrap();
        vec![http_tool(&source, &http)]
    }

    #[test]
    fn an_agent_says_what_its_programs_can_call() {
        let tools = tools();
        let toolbox = Toolbox::new(tools.iter().map(|tool| tool.tool.clone()).collect()).unwrap();
        let names = ["exchange_rate".to_owned()];
        let status = resolved(&tools, &toolbox, &names, Some(3), &[], at(0));
        let expected = ToolStatus {
            name: "exchange_rate".to_owned(),
            description: "The rate of a day.".to_owned(),
            signature: "exchange_rate(base: str) -> float".to_owned(),
            source: "HTTP".to_owned(),
            durable: false,
            requires_approval: true,
        };
        assert_eq!(status.tools, [expected]);
        assert_eq!((status.tool_count, status.uses_durable_tools), (1, false));
        let said: Vec<_> = status
            .conditions
            .iter()
            .map(|said| (said.type_.as_str(), said.status.as_str()))
            .collect();
        assert_eq!(said, [("Ready", "True"), ("ToolsResolved", "True")]);
    }

    #[test]
    fn an_agent_says_of_which_tools_a_part_takes_anything() {
        let mut tools = tools();
        let toolbox = Toolbox::new(tools.iter().map(|tool| tool.tool.clone()).collect()).unwrap();
        let said = |tools: &[SourcedTool]| {
            let status = resolved(tools, &toolbox, &[], None, &[], at(0));
            status.conditions[1].message.clone()
        };
        assert_eq!(said(&tools), "1 tools can be called");
        tools[0].tool.is_loosened = true;
        let said = said(&tools);
        assert!(
            said.contains("`exchange_rate`") && said.contains("take anything"),
            "{said}"
        );
    }

    #[test]
    fn what_servers_say_of_their_tools_and_of_faults_is_shown_and_not_obeyed() {
        let mut tools = tools();
        let toolbox = Toolbox::new(tools.iter().map(|tool| tool.tool.clone()).collect()).unwrap();
        let said = |tools: &[SourcedTool]| {
            let status = resolved(tools, &toolbox, &[], None, &[], at(0));
            status.tools[0].description.clone()
        };
        tools[0].tool.description = "a\u{1b}[31m\u{202e}b".to_owned();
        assert_eq!(said(&tools), "a\\u{1b}[31m\\u{202e}b");
        tools[0].tool.description = "為替レート 💶".to_owned();
        assert_eq!(said(&tools), "為替レート 💶");
        let hold = Hold {
            reason: code_mode_reason::TOOLS_REFUSED,
            message: "tool `x`: the server says \u{9b}2J".to_owned(),
            until: Until::Corrected,
        };
        let refused = unresolved(CodeModeAgentStatus::default(), &hold, None, at(0));
        assert_eq!(
            refused.conditions[0].message,
            "tool `x`: the server says \\u{9b}2J"
        );
        let waits = held(CodeModeRunStatus::default(), &hold, None, at(0));
        assert_eq!(
            waits.message.as_deref(),
            Some("tool `x`: the server says \\u{9b}2J")
        );
    }

    #[test]
    fn an_agent_that_is_held_keeps_its_tools_and_says_since_when() {
        let tools = tools();
        let toolbox = Toolbox::new(tools.iter().map(|tool| tool.tool.clone()).collect()).unwrap();
        let ready = resolved(&tools, &toolbox, &[], Some(1), &[], at(0));
        let hold = Hold {
            reason: code_mode_reason::TOOLS_AWAITED,
            message: "the task is not there".to_owned(),
            until: Until::Corrected,
        };
        let waits = unresolved(ready, &hold, Some(2), at(5));
        assert_eq!(waits.tools.len(), 1);
        let since: Vec<_> = waits
            .conditions
            .iter()
            .map(|said| said.last_transition_time.0)
            .collect();
        assert_eq!(since, [at(5), at(5)]);
        let still = unresolved(waits, &hold, Some(2), at(9));
        assert_eq!(still.conditions[0].last_transition_time.0, at(5));
    }

    #[test]
    fn a_question_that_waits_before_it_begins_is_pending() {
        let status = held(CodeModeRunStatus::default(), &Hold::suspended(), Some(1), at(0));
        assert_eq!(status.stage.as_deref(), Some("Pending"));
        assert_eq!(status.reason.as_deref(), Some("Suspended"));
        assert_eq!(status.conditions.len(), 4);
    }
}
