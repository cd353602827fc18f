//! The page on the model protocol, written from the code so that it cannot drift.

use std::fmt::Write as _;

use serde_json::json;

use super::agent::TOOLS;
use super::call::CallKind;
use super::reply::schema;

const HEAD: &str = "\
# Model protocol

Written by `make generate`; a test fails when it differs from the code.

Any server can take the model's place. Each call is one request that names its kind:

* **OpenAI-compatible**: `POST <baseURL>/chat/completions` with two messages (`system`, `user`) and `response_format: \
{type: json_schema, json_schema: {name: <kind>, strict: true, schema}}`. The reply's `choices[0].message.content` is the JSON.
* **Anthropic Messages**: `POST <baseURL>/messages` with one tool named after the kind, `input_schema` the schema, and `tool_choice` \
that forces it. The reply's `tool_use` block carries the JSON as its `input`.

System text, task and data context are byte-identical in every call of a task and come first, so that prompt caches hit; what the call \
asks for comes last. A reply that is cut, fenced, not JSON or of another shape is asked for again with the reason, at most twice.

The order of a task that passes at once: `constraints` (only when the task has constraints), `plan`, `code`, `tests`. A failed attempt adds \
`diagnosis`, then `fix_code` and `fix_tests` as the diagnosis says; missing packages are added without a call. \
An agent (`backend: Agent`) makes one call `turn` after another once there is a plan. \
`kubectl-codegen new` makes one call before there is a task, `outputs`, when the command line names no outputs.
";

/// The whole page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for kind in CallKind::ALL {
        let form = match kind {
            CallKind::Turn => json!({"tools": *TOOLS}),
            kind => schema(kind),
        };
        let json = serde_json::to_string_pretty(&form).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## `{kind}`\n\n{}\n\n```json\n{json}\n```\n",
            purpose(kind)
        );
    }
    page
}

const fn purpose(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Plan => "What the program does and how, before any code.",
        CallKind::Code => {
            "The program, whole. Packages are read from its imports; only what they do not show is declared."
        }
        CallKind::Tests => {
            "The pytest suite. The request shows signatures and docstrings of the program, never its bodies, so that a bug is \
             not copied into its test."
        }
        CallKind::Constraints => "All constraints as checks on columns, in one call.",
        CallKind::Diagnosis => {
            "Why each listed check fails. The request shows the failing tests, what they reported and the functions on the way."
        }
        CallKind::FixCode => {
            "The functions, classes, constants and imports of the program that change; they are merged by syntax tree. The whole \
             file is accepted too."
        }
        CallKind::FixTests => "The tests that change, in their class where they have one.",
        CallKind::Cases => {
            "What a right program makes of cases that a diagnosis blames for a failure. The request shows their inputs, and neither \
             the program nor what it wrote."
        }
        CallKind::MoreCases => {
            "Further cases, once, where a program that passed cannot be told from near misses of it by those of the plan. The request says what \
             they do not show, and shows neither the program nor what it wrote."
        }
        CallKind::Scope => {
            "Whether constraints that an output breaks must hold for that output, where a sample has a column of the same name. The request shows the \
             constraint, the column and the output, and neither the program nor what it wrote."
        }
        CallKind::Outputs => {
            "The outputs of a task that is written from a prompt alone. The request shows the prompt, constraints, options and data as those \
             of the task will."
        }
        CallKind::Program => {
            "The program that answers a question of code mode. The request shows the tools as Python declares them, the conversation and the \
             question; after a program that failed, that program and what was wrong with it."
        }
        CallKind::Turn => {
            "What an agent does next: any number of calls of these tools, or a sentence without one when it is done. The request offers them \
             as the protocol's own tools, without a `response_format` and without `tool_choice`, and repeats everything that was said."
        }
        CallKind::FixEnvironment => {
            "Names for packages that cannot be installed. An empty replacement leaves the package out."
        }
    }
}
