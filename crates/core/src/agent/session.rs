//! An agent's session, replayed from what is recorded: its files, what was said, and where its present turn stands.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::command::{AgentCommand, is_call_of_tests};
use super::command_results::command_results;
use super::conversation::cut;
use super::room::room;
use super::step::{AgentStep, CallResult, CommandRun, EarlyEnd, INTERCEPTED};
use super::tools::{AgentFiles, Bash, ToolUse};
use super::turn::{AgentTurn, Repeated};
use super::workspace::{PACKAGES, SOLUTION, Workspace};
use crate::call::Reply;
use crate::conversation::{Exchange, ToolCall, ToolResult};
use crate::digest::sha256_hex_of_parts;

/// Turns in a row of which every call was denied before the task stops.
pub const MAX_DENIALS: u32 = 5;
/// Times that the same call may come to the same, with nothing changed between, before the task stops.
pub const MAX_REPEATS: usize = 3;
/// Calls among which such repeats are looked for: a file may well be read again much later.
const RECENT_CALLS: usize = 12;
/// Characters of the line that a call is summed up in.
const SUMMARY_CHARS: usize = 160;
/// Calls of one turn that are made.
const MAX_CALLS: usize = 20;

/// Text about the last call of a reply that met its limit.
const CUT: &str = "Not done: your reply met the limit of output tokens, and this call may lack its end. Call it again with less at a time: \
                   write the first part of a long file, then add the rest with Edit.";

/// Event for which the present turn waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Pending {
    /// Nothing: the next turn begins.
    Turn,
    /// These commands, which the turn calls in a row.
    Commands(Vec<AgentCommand>),
    /// The tests that the next call asks for.
    Tests,
    /// A look at whether the agent is done, as it says.
    Claim,
    /// Nothing: the reply ended before it said what is to be done. This is what the agent is told.
    Unfinished(String),
}

impl Pending {
    /// Returns true where it runs in a sandbox, with packages.
    #[must_use]
    pub const fn needs_packages(&self) -> bool {
        match self {
            Self::Commands(_) | Self::Tests | Self::Claim => true,
            Self::Turn | Self::Unfinished(_) => false,
        }
    }
}

/// Progress of a turn without a sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Proceeded {
    /// Results of the calls that were made.
    pub results: Vec<CallResult>,
    /// Event that is waited for.
    pub pending: Pending,
}

/// Everything that an agent did and was told.
#[derive(Clone, Debug, Default)]
pub struct AgentSession {
    files: AgentFiles,
    exchanges: Vec<Exchange>,
    open: Option<AgentTurn>,
    /// The latest calls and replies, each as one hash with what it came to and the files that it found.
    recent: VecDeque<(Repeated, String)>,
    denials: u32,
    reported_cases: BTreeSet<String>,
    /// Bytes of all results.
    recorded: usize,
}

impl AgentSession {
    /// The files.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.files.workspace
    }

    /// Everything that was said in the turns that are over.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Returns a hash of program, suite and packages, which is the same where these are.
    #[must_use]
    pub fn tested_state(&self) -> String {
        let workspace = &self.files.workspace;
        let digests = [SOLUTION, workspace.suite(), PACKAGES].map(|path| workspace.digest(path));
        sha256_hex_of_parts(&digests.each_ref().map(String::as_str))
    }

    /// Cases whose failure the agent was told of.
    #[must_use]
    pub const fn reported_cases(&self) -> &BTreeSet<String> {
        &self.reported_cases
    }

    /// The agent is told that these cases fail.
    pub fn report_cases(&mut self, cases: &[String]) {
        self.reported_cases.extend(cases.iter().cloned());
    }

    /// Begins a turn with what the model says.
    pub fn begin(&mut self, sequence: u32, mut reply: Reply) {
        let number = u32::try_from(self.exchanges.len() + 1).unwrap_or(u32::MAX);
        for (index, call) in reply.calls.iter_mut().enumerate() {
            // Some servers give none; a result must be known by one.
            if call.id.is_empty() {
                call.id = format!("call-{number}-{}", index + 1);
            }
        }
        self.open = Some(AgentTurn {
            number,
            sequence,
            reply,
            results: Vec::new(),
            earlier: None,
            note: String::new(),
        });
    }

    /// An empty step of the present turn.
    #[must_use]
    pub fn step(&self) -> AgentStep {
        let (turn, sequence) = self
            .open
            .as_ref()
            .map_or((0, 0), |turn| (turn.number, turn.sequence));
        AgentStep {
            turn,
            sequence,
            results: Vec::new(),
            changes: BTreeMap::new(),
            note: String::new(),
            reported_cases: Vec::new(),
            not_tested: String::new(),
        }
    }

    /// Takes what is recorded of the present turn.
    pub fn take(&mut self, step: &AgentStep) {
        // Commands come first in a step: what they changed was there before the calls after them.
        self.change(&step.changes);
        for result in &step.results {
            self.settle(result.clone());
        }
        self.say(&step.note);
        self.report_cases(&step.reported_cases);
    }

    /// Records the result of the turn's next call, cut to the room that is left, and returns it as recorded.
    pub fn answer(&mut self, mut result: CallResult) -> CallResult {
        let whole = u64::try_from(result.text.len()).unwrap_or(u64::MAX);
        result.bytes = result.bytes.max(whole);
        let earlier = self.open.as_mut().and_then(|turn| turn.earlier.take());
        if let Some(earlier) = earlier {
            result = earlier.followed_by(result);
        }
        result.text = cut(&result.text, room(self.recorded));
        self.settle(result)
    }

    /// Records the result of the tests that the turn's next call asks for, and returns it as recorded.
    pub fn answer_tests(&mut self, mut result: CallResult) -> CallResult {
        INTERCEPTED.clone_into(&mut result.class);
        self.answer(result)
    }

    /// Settles the turn's next call with this result, and returns it as recorded.
    fn settle(&mut self, mut result: CallResult) -> CallResult {
        let Some(call) = self.open.as_ref().and_then(AgentTurn::next_call).cloned() else {
            return result;
        };
        result.what = summary(&call);
        self.recorded += result.text.len();
        if result.is_partial {
            self.open
                .iter_mut()
                .for_each(|turn| turn.earlier = Some(result.clone()));
            return result;
        }
        let found = self.files.workspace.hash();
        if !result.is_error {
            // What it came to is recorded; only its effect is wanted.
            let _ =
                ToolUse::of(&call).and_then(|tool| self.without_sandbox(&tool).unwrap_or(Ok(String::new())));
        }
        self.remember(
            Repeated::Call,
            &[&call.name, &call.input.to_string(), &found, &result.text],
        );
        if let Some(turn) = &mut self.open {
            turn.earlier = None;
            turn.results.push(result.clone());
        }
        self.close();
        result
    }

    /// Tells the agent something besides what its calls came to.
    pub fn say(&mut self, note: &str) {
        if note.is_empty() {
            return;
        }
        let what = self.open.as_ref().map_or(Repeated::Claim, AgentTurn::repeated);
        self.remember(what, &[&self.files.workspace.hash(), note]);
        if let Some(turn) = &mut self.open {
            note.clone_into(&mut turn.note);
        }
        self.close();
    }

    /// Makes the calls that need no sandbox, up to the first that does.
    pub fn proceed(&mut self, now: Timestamp) -> Proceeded {
        let mut results = Vec::new();
        loop {
            let Some(turn) = &self.open else {
                return Proceeded {
                    results,
                    pending: Pending::Turn,
                };
            };
            let Some(call) = turn.next_call() else {
                let pending = turn.unfinished().map_or(Pending::Claim, Pending::Unfinished);
                return Proceeded { results, pending };
            };
            let name = call.name.clone();
            let is_one_too_many = turn.results.len() >= MAX_CALLS;
            let is_cut = turn.is_cut(turn.results.len());
            let result = match ToolUse::of(call) {
                _ if is_one_too_many => {
                    let why = format!(
                        "Not done: at most {MAX_CALLS} calls of one turn are made. Call it in the next one."
                    );
                    CallResult::at_once(&name, Err(why), now)
                }
                _ if is_cut => CallResult::at_once(&name, Err(CUT.to_owned()), now),
                Err(why) => CallResult::at_once(&name, Err(why), now),
                Ok(ToolUse::Bash(bash)) => {
                    let asks_for_tests = turn.earlier.is_some() || is_call_of_tests(&bash.command);
                    let pending = if asks_for_tests {
                        Pending::Tests
                    } else {
                        Pending::Commands(self.commands())
                    };
                    return Proceeded { results, pending };
                }
                Ok(tool) => {
                    let mut files = self.files.clone();
                    let done = on(&mut files, &tool).unwrap_or(Ok(String::new()));
                    CallResult::at_once(&name, done, now)
                }
            };
            results.push(self.answer(result));
        }
    }

    /// The commands that the turn's next calls are, up to one that is none, or that is nothing but the tests.
    fn commands(&self) -> Vec<AgentCommand> {
        let Some(turn) = &self.open else {
            return Vec::new();
        };
        let calls = turn.reply.calls.iter().enumerate().take(MAX_CALLS);
        let calls = calls
            .filter(|(index, _)| !turn.is_cut(*index))
            .map(|(_, call)| call);
        let calls = calls.skip(turn.results.len());
        let mut commands = Vec::new();
        for call in calls {
            let Ok(ToolUse::Bash(Bash { command, timeout })) = ToolUse::of(call) else {
                break;
            };
            if is_call_of_tests(&command) {
                break;
            }
            commands.push(AgentCommand {
                line: command,
                timeout,
            });
        }
        commands
    }

    /// Returns the results of so many commands as a step; `ended` says why the sandbox ended early.
    pub fn ran(
        &mut self,
        run: CommandRun,
        commands: usize,
        ended: Option<&EarlyEnd>,
        began: Timestamp,
        now: Timestamp,
    ) -> AgentStep {
        let mut step = self.step();
        self.change(&run.changes);
        let results = command_results(&run, commands, ended, began, now);
        step.results = results.into_iter().map(|result| self.answer(result)).collect();
        step.changes = run.changes;
        step
    }

    /// Returns the reason for which going on would repeat itself, if it would.
    #[must_use]
    pub fn stuck(&self) -> Option<String> {
        if self.denials >= MAX_DENIALS {
            return Some(format!(
                "every call of {} turns in a row was denied",
                self.denials
            ));
        }
        let last = self.recent.back()?;
        let times = self.recent.iter().filter(|call| *call == last).count();
        let what = match last.0 {
            Repeated::Call => format!("the same call came to the same {times} times"),
            Repeated::Claim => {
                format!("the agent said {times} times that it is done while the same was missing")
            }
            Repeated::Cut => {
                format!("{times} replies met the limit of output tokens before they called a tool")
            }
            Repeated::Refusal => {
                format!("{times} replies were refusals, of the model or of a filter of its provider")
            }
        };
        (times >= MAX_REPEATS).then(|| format!("{what}, with nothing changed between"))
    }

    fn change(&mut self, changes: &BTreeMap<String, Option<String>>) {
        let decoded = |content: &String| STANDARD.decode(content).unwrap_or_default();
        let changes = changes.iter();
        let changes = changes.map(|(path, content)| (path.clone(), content.as_ref().map(decoded)));
        // The sandbox has said what it left out for want of room.
        self.files.workspace.change(changes.collect());
    }

    fn without_sandbox(&mut self, tool: &ToolUse) -> Option<Result<String, String>> {
        on(&mut self.files, tool)
    }

    fn remember(&mut self, what: Repeated, parts: &[&str]) {
        if self.recent.len() == RECENT_CALLS {
            self.recent.pop_front();
        }
        self.recent.push_back((what, sha256_hex_of_parts(parts)));
    }

    /// Ends the turn when everything of it is answered.
    fn close(&mut self) {
        let Some(turn) = self.open.take_if(|turn| turn.is_over()) else {
            return;
        };
        // Calls beyond them are not made, whatever they are.
        let mut made = turn.results.iter().take(MAX_CALLS);
        if !turn.results.is_empty() {
            let is_denied = made.all(CallResult::is_denied);
            self.denials = if is_denied { self.denials + 1 } else { 0 };
        }
        let results = turn
            .reply
            .calls
            .iter()
            .zip(&turn.results)
            .map(|(call, result)| ToolResult {
                id: call.id.clone(),
                text: result.text.clone(),
                is_error: result.is_error,
            });
        self.exchanges.push(Exchange {
            results: results.collect(),
            text: turn.reply.text,
            calls: turn.reply.calls,
            echo: turn.reply.echo,
            note: turn.note,
        });
    }
}

/// Executes a call that needs no sandbox and returns its result; `None` for one that needs a sandbox.
fn on(files: &mut AgentFiles, tool: &ToolUse) -> Option<Result<String, String>> {
    match tool {
        ToolUse::Read(asked) => Some(files.read(asked)),
        ToolUse::Write(asked) => Some(files.write(asked)),
        ToolUse::Edit(asked) => Some(files.edit(asked)),
        ToolUse::Bash(_) => None,
    }
}

/// Returns the input of a tool call, in a line.
fn summary(call: &ToolCall) -> String {
    let text = |name: &str| call.input.get(name).and_then(Value::as_str);
    let what = text("command").or_else(|| text("file_path")).unwrap_or_default();
    what.trim().chars().take(SUMMARY_CHARS).collect()
}
