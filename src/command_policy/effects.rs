//! What commands do beside the tests that they ask for: which of them ask, which change files, and which nobody would miss.

use crate::paths::NOWHERE;
use crate::rules::{Outputs, Reading, Rules};
use crate::script::{
    Argument, Builtin, Command, Pipeline, Program, Run, Statement, Target, commands, commands_within,
};

/// The name of a program that stands for the tests in a script that is settled.
const TESTS: &str = "pytest";
/// Reads what is piped into it, and passes it on.
const COPIES_INPUT: &str = "tee";

/// Marks a call that asks for the tests. A shell has it among its own commands.
pub(crate) fn mark(run: &mut Run) {
    if let Run::Program(call) = run {
        call.program = Program {
            name: TESTS.to_owned(),
            paths: Vec::new(),
        };
    }
}

/// Whether statements ask for the tests.
pub(crate) fn has_tests(statements: &[Statement]) -> bool {
    commands(statements).into_iter().any(asks_for_tests)
}

pub(crate) fn pipeline_has_tests(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(command_has_tests)
}

pub(crate) fn command_has_tests(command: &Command) -> bool {
    asks_for_tests(command) || commands_within(command).into_iter().any(asks_for_tests)
}

/// Whether a command is itself what asks for the tests.
pub(crate) fn asks_for_tests(command: &Command) -> bool {
    matches!(&command.run, Run::Program(call) if call.program.name == TESTS)
}

/// Whether what the tests of a pipeline print goes to a file.
pub(crate) fn goes_to_file(pipeline: &Pipeline) -> bool {
    let copies =
        |command: &Command| matches!(&command.run, Run::Program(call) if call.program.name == COPIES_INPUT);
    pipeline
        .commands
        .iter()
        .any(|command| writes(command) || copies(command))
}

/// Whether a command has an effect or an output that is missed where it is not run.
pub(crate) fn is_of_interest(command: &Command) -> bool {
    let is_plain = match &command.run {
        Run::Builtin(call) => matches!(
            call.name,
            Builtin::Cd
                | Builtin::Echo
                | Builtin::Printf
                | Builtin::Pwd
                | Builtin::Set
                | Builtin::True
                | Builtin::False
        ),
        Run::Assign(_) | Run::Group(_) | Run::Subshell(_) | Run::Shell(_) => true,
        _ => false,
    };
    !is_plain || writes(command)
}

/// Whether statements change files.
pub(crate) fn changes(statements: &[Statement], rules: &Rules) -> bool {
    commands(statements)
        .into_iter()
        .any(|command| command_changes(command, rules))
}

/// Whether a command changes files. One that may be either does.
pub(crate) fn command_changes(command: &Command, rules: &Rules) -> bool {
    let is_of_tests = asks_for_tests(command);
    let runs = match &command.run {
        Run::Program(call) => !is_of_tests && program_changes(&call.program.name, &call.arguments, rules),
        _ => false,
    };
    runs || !is_of_tests && writes(command)
}

/// Whether a command in a pipe with the tests changes files besides one that holds what it passes on.
pub(crate) fn pipe_changes(command: &Command, rules: &Rules) -> bool {
    let is_filter = match &command.run {
        Run::Program(call) => {
            call.program.name == COPIES_INPUT || !program_changes(&call.program.name, &call.arguments, rules)
        }
        _ => !command_changes(command, rules),
    };
    let nested = commands_within(command);
    !is_filter || nested.into_iter().any(|command| command_changes(command, rules))
}

fn program_changes(name: &str, arguments: &[Argument], rules: &Rules) -> bool {
    let has =
        |changing: &dyn Fn(&str) -> bool| arguments.iter().any(|argument| changing(argument.beginning().0));
    let Some(rule) = rules.safe(name) else { return true };
    match rule.arguments {
        Reading::Any | Reading::Awk | Reading::Builtin => false,
        Reading::Options if rule.outputs == Outputs::None => {
            has(&|text| text.starts_with("-o") || text.starts_with("--output"))
        }
        Reading::Options if rule.outputs == Outputs::Second => {
            let is_operand = |argument: &&Argument| !argument.beginning().0.starts_with('-');
            arguments.iter().filter(is_operand).count() > 1
        }
        Reading::Sed => has(&|text| {
            text.starts_with("--in-place")
                || text.starts_with('-') && !text.starts_with("--") && text.contains('i')
        }),
        Reading::Find => has(&|text| {
            ["-delete", "-exec", "-ok"]
                .iter()
                .any(|action| text.starts_with(action))
        }),
        Reading::Archive
        | Reading::Options
        | Reading::Python
        | Reading::Shell
        | Reading::Wrapper
        | Reading::Xargs => true,
    }
}

/// Whether a command's output goes to a file.
pub(crate) fn writes(command: &Command) -> bool {
    command
        .redirections
        .iter()
        .any(|redirection| match &redirection.to {
            Target::Write(path) | Target::Append(path) => path.text() != Some(NOWHERE),
            Target::Read(_) | Target::Duplicate(_) | Target::Data(_) | Target::Process(_) => false,
        })
}
