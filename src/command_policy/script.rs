//! What is executed: plain data for a program that starts argument vectors, without a shell.

mod commands;
mod word;

use serde::{Deserialize, Serialize};

pub(crate) use commands::{commands, commands_of, commands_within};
pub use word::{Argument, Expression, Part};

/// A command as it was judged.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// One after the other.
    pub statements: Vec<Statement>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The first of them.
    pub first: Pipeline,
    /// Those after it, which bind to the left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<Next>,
}

impl Statement {
    /// Its pipelines, in order.
    pub(crate) fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        let rest = self.rest.iter().map(|next| &next.pipeline);
        std::iter::once(&self.first).chain(rest)
    }
}

/// A pipeline that runs depending on the status so far.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The status after which it runs.
    pub after: After,
    /// What runs.
    pub pipeline: Pipeline,
}

/// A status of what came before.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum After {
    /// `&&`.
    Success,
    /// `||`.
    Failure,
}

/// Commands whose output is the input of the next.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// `!`: success is failure.
    #[serde(default, skip_serializing_if = "is_false")]
    pub negated: bool,
    /// `time`: how long it took is printed to stderr.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
    /// The commands, at least one.
    pub commands: Vec<Command>,
}

impl Pipeline {
    /// `true` or `false`.
    pub(crate) fn constant(succeeds: bool) -> Self {
        let call = BuiltinCall {
            name: if succeeds { Builtin::True } else { Builtin::False },
            arguments: Vec::new(),
        };
        Self {
            negated: false,
            timed: false,
            commands: vec![Command {
                run: Run::Builtin(call),
                redirections: Vec::new(),
            }],
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// One command with its redirections.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What runs.
    pub run: Run,
    /// Where its streams go, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirections: Vec<Redirection>,
}

/// What a command runs.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Run {
    /// A program.
    Program(ProgramCall),
    /// What changes or reads the state of the script itself.
    Builtin(BuiltinCall),
    /// `{ ...; }`.
    Group(Vec<Statement>),
    /// `[[ ... ]]`: its status is one of its own, whatever of it failed.
    Test(Vec<Statement>),
    /// `( ... )`: folder and settings are as before, afterwards.
    Subshell(Vec<Statement>),
    /// `bash -c`: as a subshell, with settings and variables of its own.
    Shell(Vec<Statement>),
    /// `if`, with each `elif`.
    If(Conditional),
    /// `for`, over words.
    For(Loop),
    /// `while` and `until`.
    While(WhileLoop),
    /// `case`.
    Case(CaseCall),
    /// Variables of the script itself, in order.
    Assign(Vec<(String, Argument)>),
    /// `read`.
    Read(ReadCall),
}

/// A program and what it is started with.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ProgramCall {
    /// What is started.
    pub program: Program,
    /// Its arguments, without its name.
    pub arguments: Vec<Argument>,
    /// Variables of this process alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, Argument)>,
    /// Milliseconds after which it is ended with status 124, as `timeout` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// What is required of arguments that are not settled before it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// What is required of an argument once it is filled in: where it is not, the program does not start.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Which argument, from 0 on.
    pub argument: usize,
    /// What it is then.
    pub is: Requirement,
}

/// What an argument must be. It is one word in any case, except of a pattern, where each of them is.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Requirement {
    /// Not empty, no option and no sign of an expression.
    Operand,
    /// An operand that is a path of one of the folders that a command may write to.
    Writable,
    /// Such a path below one of these folders.
    Below,
    /// A script of sed with line numbers and commands that print or leave out lines, and nothing else.
    Lines,
}

/// A program of the table.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name, which it gets as the first entry of its argument vector.
    pub name: String,
    /// Where it lies: the first path at which there is a file. Empty for the interpreter of the environment.
    pub paths: Vec<String>,
}

/// A command that is no program.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct BuiltinCall {
    /// Which.
    pub name: Builtin,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
}

/// Commands that are no programs.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Builtin {
    /// Changes the folder.
    Cd,
    /// Ends the script (or subshell) with a status.
    Exit,
    /// Switches `errexit` or `pipefail`: the name with `+` or `-` before it.
    Set,
    /// Succeeds.
    True,
    /// Fails.
    False,
    /// Prints the folder.
    Pwd,
    /// Ends a loop, or as many as it says.
    Break,
    /// Ends a pass of a loop, and the loops within it that it says.
    Continue,
    /// Prints its arguments.
    Echo,
    /// Prints texts and whole numbers by a format.
    Printf,
    /// Succeeds where an expression holds.
    Test,
    /// The same, with a bracket at its end.
    #[serde(rename = "[")]
    Bracket,
    /// Succeeds where two numbers compare as its second argument says; an empty text is 0.
    Compare,
}

/// Conditions and what follows them.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Conditional {
    /// In order; the first whose condition succeeds runs.
    pub branches: Vec<Branch>,
    /// What runs where none does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Statement>,
}

/// A condition and what follows it.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The last status counts.
    pub condition: Vec<Statement>,
    /// What runs where it is 0.
    pub body: Vec<Statement>,
}

/// A loop over words.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The variable of [`Part::Variable`].
    pub variable: String,
    /// What it has as its value, one after the other.
    pub words: Vec<Argument>,
    /// What runs for each.
    pub body: Vec<Statement>,
}

/// A loop until its condition fails, or succeeds.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct WhileLoop {
    /// `until`: it runs as long as the condition fails.
    #[serde(default, skip_serializing_if = "is_false")]
    pub until: bool,
    /// The last status counts.
    pub condition: Vec<Statement>,
    /// What runs each time.
    pub body: Vec<Statement>,
}

/// A text, and what runs for it.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct CaseCall {
    /// The text.
    pub value: Argument,
    /// In order; the first of which a pattern matches the whole text runs.
    pub items: Vec<CaseItem>,
}

/// Patterns and what runs for them.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct CaseItem {
    /// Patterns of texts, not of files.
    pub patterns: Vec<Argument>,
    /// What runs.
    pub body: Vec<Statement>,
}

/// A line of the input, as variables.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct ReadCall {
    /// The last of them gets what is left of the line.
    pub variables: Vec<String>,
    /// What separates fields, where it is not a blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separators: Option<String>,
    /// What ends the line, where it is no line end; empty for the character 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Whether a backslash stands for itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub raw: bool,
}

/// A redirection of one stream.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// 0, 1 or 2.
    pub stream: u8,
    /// What it becomes.
    pub to: Target,
}

/// What a stream becomes.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// A file that is read.
    Read(Argument),
    /// A file that is emptied or made.
    Write(Argument),
    /// A file that is made or added to.
    Append(Argument),
    /// What another stream is at that moment.
    Duplicate(u8),
    /// The text of a here-document or here-string.
    Data(Argument),
    /// What commands print, as `< <(...)` reads it.
    Process(Vec<Statement>),
}
