//! Makes the calls of a program on this machine.

use std::time::Duration;

use serde_json::{Map, Value};

use super::clients::{Clients, as_listed};
use crate::code_mode::journal::Outcome;
use crate::engine::code_mode::{CallKey, Made, ToolCaller};
use crate::pipeline::code_mode::{SourcedTool, ToolOrigin};
use crate::tools::{Called, Raised, Sent};

/// Makes calls through the clients of a question's tools.
pub(super) struct Caller {
    /// The clients.
    pub clients: Clients,
    /// Name of the question, the same at every command that goes on with it.
    pub name: String,
    /// Time of one call.
    pub timeout: Duration,
}

impl ToolCaller for Caller {
    async fn call(&self, tool: &SourcedTool, key: &CallKey, arguments: &Map<String, Value>) -> Made {
        let name = &tool.tool.name;
        let key = format!("{}-{}-{}", self.name, key.attempt, key.number);
        let called = match &tool.origin {
            ToolOrigin::Http { .. } => match self.clients.http(name) {
                Some(client) => client.call(arguments, Some(&key), self.timeout).await,
                None => return not_here(name),
            },
            ToolOrigin::Mcp {
                url,
                tool: listed,
                headers,
            } => match self.clients.server(url, headers) {
                Some(client) => {
                    let listed = as_listed(listed, &tool.tool);
                    client
                        .call(&listed, arguments.clone(), Some(&key), self.timeout)
                        .await
                }
                None => return not_here(name),
            },
            ToolOrigin::Task { .. } | ToolOrigin::Program { .. } => return not_here(name),
        };
        let is_repeatable = tool.retries_unknown || tool.tool.effect.is_repeatable();
        made(called, is_repeatable)
    }

    async fn read_text(&self, _handle: &Value, _limit: usize) -> Outcome {
        Outcome::Raised {
            kind: "ValueError".to_owned(),
            message: "there is no such file: no tool of this agent gives files".to_owned(),
        }
    }
}

/// What a call came to: nobody knows it of one that may have been made and must not be made twice.
fn made(called: Called, is_repeatable: bool) -> Made {
    match called {
        Called::Returned(value) => Made::Ended(Outcome::Returned(value)),
        Called::Raised(Raised {
            message,
            was_sent: Sent::Perhaps,
            ..
        }) if !is_repeatable => Made::Unknown(message),
        Called::Raised(Raised { kind, message, .. }) => Made::Ended(Outcome::Raised {
            kind: kind.to_string(),
            message,
        }),
    }
}

fn not_here(tool: &str) -> Made {
    Made::Blocked {
        message: format!("`{tool}` cannot be called on this machine: ask again with --fresh"),
        needs_person: true,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::tools::RaisedKind;

    fn failed(was_sent: Sent) -> Called {
        Called::Raised(Raised {
            kind: RaisedKind::TimeoutError,
            message: "gave no reply".to_owned(),
            was_sent,
        })
    }

    #[rstest]
    #[case(Sent::No, false)]
    #[case(Sent::Answered, false)]
    #[case(Sent::Perhaps, true)]
    fn a_program_catches_what_is_certain_or_can_be_asked_again(
        #[case] was_sent: Sent,
        #[case] is_repeatable: bool,
    ) {
        let expected = Made::Ended(Outcome::Raised {
            kind: "TimeoutError".to_owned(),
            message: "gave no reply".to_owned(),
        });
        assert_eq!(made(failed(was_sent), is_repeatable), expected);
    }

    #[test]
    fn what_may_have_been_done_and_must_not_be_done_twice_is_unknown() {
        let expected = Made::Unknown("gave no reply".to_owned());
        assert_eq!(made(failed(Sent::Perhaps), false), expected);
    }
}
