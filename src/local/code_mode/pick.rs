//! Choice of what is asked, and of whom: from the command line and the manifests to one question.

use std::path::Path;

use serde_json::{Value, json};

use super::error::AskError;
use crate::local::objects::Objects;
use codegen_api::code_mode::{CodeModeAgent, CodeModeRun, HistoryMessage};
use codegen_api::validate::{self, Manifest};
use codegen_api::{GROUP, VERSION};
use codegen_core::digest::sha256_hex;
use codegen_sources::{ObjectKey, find};

/// Hex digits of a question's hash in names.
const HASH_DIGITS: usize = 12;

/// Parts of a question on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandQuestion {
    /// The question; where none is given, that of the manifests.
    pub message: Option<String>,
    /// The agent; where none is given, the only one, or that of the question among the manifests.
    pub agent: Option<String>,
    /// The conversation before it.
    pub history: Vec<HistoryMessage>,
    /// The options that name the manifests (`-k shop`), for messages.
    pub manifests: String,
}

/// A question, and the agent that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Picked<'a> {
    /// The question.
    pub run: CodeModeRun,
    /// The agent.
    pub agent: &'a CodeModeAgent,
    /// The options that name the manifests (`-k shop`), for messages.
    pub manifests: String,
}

impl Picked<'_> {
    /// Name of the agent.
    pub fn agent_name(&self) -> &str {
        &self.run.spec.agent_ref.name
    }

    /// Namespace of both.
    pub fn namespace(&self) -> &str {
        self.run.metadata.namespace.as_deref().unwrap_or("default")
    }

    /// Returns the hash that distinguishes this question from others: agent, conversation and message.
    pub fn hash(&self) -> String {
        let spec = &self.run.spec;
        let decisive = json!([self.namespace(), spec.agent_ref.name, spec.history, spec.message]);
        sha256_hex(decisive.to_string().as_bytes())
    }

    /// Name of the folder of its results.
    pub fn folder_name(&self) -> String {
        let mut hash = self.hash();
        hash.truncate(HASH_DIGITS);
        format!("{}-{hash}", self.agent_name())
    }
}

/// The one question that is meant.
pub(crate) fn pick<'a>(objects: &'a Objects, asked: &CommandQuestion) -> Result<Picked<'a>, AskError> {
    if objects.code_mode_agents.is_empty() {
        let why = "the manifests hold no CodeModeAgent: write one, with the tools that it may call";
        return Err(AskError::Request(why.to_owned()));
    }
    let run = match &asked.message {
        Some(message) => {
            let (namespace, name) = agent_key(objects, asked.agent.as_deref())?;
            question(namespace, name, message, &asked.history)?
        }
        None => of_the_manifests(objects, asked)?,
    };
    let namespace = run.metadata.namespace.as_deref().unwrap_or("default");
    let name = &run.spec.agent_ref.name;
    let agent =
        find(&objects.code_mode_agents, namespace, name).ok_or_else(|| no_such_agent(objects, name))?;
    let manifests = asked.manifests.clone();
    Ok(Picked {
        run,
        agent,
        manifests,
    })
}

/// Reads a conversation: a list of messages with `role` and `content`. Whether it can be used is checked with the question.
pub(crate) fn read_history(file: &Path) -> Result<Vec<HistoryMessage>, AskError> {
    let unusable = |why: String| AskError::Request(format!("--history {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        unusable(format!(
            "is not a list of messages like [{{\"role\": \"user\", \"content\": \"...\"}}]: {error}"
        ))
    })
}

fn agent_key<'a>(objects: &'a Objects, name: Option<&str>) -> Result<&'a ObjectKey, AskError> {
    let mut keys = objects.code_mode_agents.keys();
    if let Some(name) = name {
        return keys
            .find(|(_, other)| other == name)
            .ok_or_else(|| no_such_agent(objects, name));
    }
    match (keys.next(), keys.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(AskError::Request(format!(
            "the manifests hold several agents ({}): name one with --agent",
            names(objects)
        ))),
    }
}

fn of_the_manifests(objects: &Objects, asked: &CommandQuestion) -> Result<CodeModeRun, AskError> {
    let is_meant = |run: &&CodeModeRun| {
        let of = &run.spec.agent_ref.name;
        asked.agent.as_ref().is_none_or(|agent| agent == of)
    };
    let runs: Vec<&CodeModeRun> = objects.code_mode_runs.iter().filter(is_meant).collect();
    let name = |run: &CodeModeRun| run.metadata.name.clone().unwrap_or_default();
    let run = match runs.as_slice() {
        [] => return Err(no_question()),
        [only] => *only,
        several => {
            let names: Vec<String> = several.iter().map(|run| name(run)).collect();
            return Err(AskError::Request(format!(
                "the manifests hold several questions ({}): give the one that is meant on the command line, or name their agent with --agent",
                names.join(", ")
            )));
        }
    };
    let Some(continues) = &run.spec.continues else {
        let mut run = run.clone();
        if !asked.history.is_empty() {
            run.spec.history.clone_from(&asked.history);
            check(&run)?;
        }
        return Ok(run);
    };
    if asked.history.is_empty() {
        return Err(AskError::Request(format!(
            "CodeModeRun {}: spec.continues names the run {}, which a cluster has: give its conversation with --history",
            name(run),
            continues.name
        )));
    }
    let mut run = run.clone();
    run.spec.continues = None;
    run.spec.history.clone_from(&asked.history);
    check(&run)?;
    Ok(run)
}

/// A question as a cluster would take it.
fn question(
    namespace: &str,
    agent: &str,
    message: &str,
    history: &[HistoryMessage],
) -> Result<CodeModeRun, AskError> {
    let spec = json!({"agentRef": {"name": agent}, "message": message, "history": history});
    read(&json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "CodeModeRun",
        "metadata": {"namespace": namespace, "name": agent},
        "spec": spec,
    }))
}

fn check(run: &CodeModeRun) -> Result<(), AskError> {
    // Plain data with string keys: it becomes a value always.
    read(&serde_json::to_value(run).unwrap_or_default()).map(drop)
}

fn read(run: &Value) -> Result<CodeModeRun, AskError> {
    match validate::manifest(run) {
        Ok(Manifest::CodeModeRun(run)) => Ok(*run),
        // Another kind is none: the document says which one it is.
        Ok(_) => Err(no_question()),
        Err(faults) => Err(AskError::Question(faults)),
    }
}

fn no_question() -> AskError {
    let why = "nothing is asked: give a question, or a CodeModeRun among the manifests, whose message is one";
    AskError::Request(why.to_owned())
}

fn no_such_agent(objects: &Objects, name: &str) -> AskError {
    AskError::Request(format!(
        "the manifests hold no CodeModeAgent named {name}: there is {}",
        names(objects)
    ))
}

fn names(objects: &Objects) -> String {
    let keys = objects.code_mode_agents.keys();
    keys.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::manifest::parse;

    const AGENT: &str = "apiVersion: codegen-operator.dev/v1alpha1\nkind: CodeModeAgent\nmetadata: {name: shop}\nspec:\n  model: {name: m}\n  tools: [{name: rate, http: {url: 'https://rates.example'}}]\n";
    const RUN: &str = "---\napiVersion: codegen-operator.dev/v1alpha1\nkind: CodeModeRun\nmetadata: {name: today}\nspec: {agentRef: {name: shop}, message: How much?}\n";

    fn objects(text: &str) -> Objects {
        Objects::collect(parse("a.yaml", text).unwrap()).unwrap()
    }

    fn asked(message: Option<&str>) -> CommandQuestion {
        CommandQuestion {
            message: message.map(str::to_owned),
            ..CommandQuestion::default()
        }
    }

    fn error(text: &str, asked: &CommandQuestion) -> String {
        pick(&objects(text), asked).unwrap_err().to_string()
    }

    #[test]
    fn the_only_agent_is_asked_and_the_question_of_the_command_line_goes_first() {
        let objects = objects(&format!("{AGENT}{RUN}"));
        assert_eq!(
            pick(&objects, &asked(None)).unwrap().run.spec.message,
            "How much?"
        );
        let picked = pick(&objects, &asked(Some("Why?"))).unwrap();
        assert_eq!(
            (picked.agent_name(), picked.run.spec.message.as_str()),
            ("shop", "Why?")
        );
    }

    #[test]
    fn another_question_and_another_conversation_have_another_folder() {
        let objects = objects(AGENT);
        let name = |asked: &CommandQuestion| pick(&objects, asked).unwrap().folder_name();
        let first = name(&asked(Some("Why?")));
        assert!(first.starts_with("shop-"), "{first}");
        assert_eq!(first, name(&asked(Some("Why?"))));
        assert_ne!(first, name(&asked(Some("How?"))));
        let before = HistoryMessage {
            role: "user".to_owned(),
            content: "Hello".to_owned(),
        };
        let with_history = CommandQuestion {
            history: vec![before],
            ..asked(Some("Why?"))
        };
        assert_ne!(first, name(&with_history));
    }

    #[test]
    fn what_is_not_clear_is_refused_with_what_to_give() {
        let two = format!("{AGENT}---\n{}", AGENT.replace("shop", "store"));
        assert!(error(&two, &asked(Some("Why?"))).contains("name one with --agent"));
        assert!(error(AGENT, &asked(None)).contains("give a question"));
        let two = format!("{AGENT}{RUN}{}", RUN.replace("today", "then"));
        assert!(error(&two, &asked(None)).contains("several questions (today, then)"));
        let continued = RUN.replace("How much?", "x, continues: {name: before}");
        assert!(error(&format!("{AGENT}{continued}"), &asked(None)).contains("--history"));
    }

    #[test]
    fn a_blank_question_and_a_role_that_there_is_not_are_refused_as_in_a_cluster() {
        assert_eq!(
            error(AGENT, &asked(Some("  "))),
            "the question: the message is blank: ask something"
        );
        let system = HistoryMessage {
            role: "system".to_owned(),
            content: "Obey.".to_owned(),
        };
        let with_system = CommandQuestion {
            history: vec![system],
            ..asked(Some("Why?"))
        };
        let refused = error(AGENT, &with_system);
        assert!(
            refused.contains("a message is said by user or assistant"),
            "{refused}"
        );
    }
}
