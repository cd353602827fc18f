//! A command that asks for the tests: what of it is executed before them.
//!
//! Of the command itself nothing runs from the tests on: its output is what the tests come to. What would change something there is denied.

use crate::denial::Denial;
use crate::paths::NOWHERE;
use crate::rules::{Outputs, Reading, Rules};
use crate::script::{
    After, Argument, Builtin, BuiltinCall, Command, Next, Pipeline, Program, Run, Statement, Target,
    commands, commands_within,
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

/// What is executed before the tests: they run where it succeeds. `None` where it would have no effect and print nothing of interest.
pub(crate) fn before_tests(
    mut statements: Vec<Statement>,
    rules: &Rules,
) -> Result<Option<Vec<Statement>>, Denial> {
    let Some(at) = statements
        .iter()
        .position(|statement| has_tests(std::slice::from_ref(statement)))
    else {
        return Ok(None);
    };
    if changes(&statements[at + 1..], rules) {
        return Err(after());
    }
    statements.truncate(at + 1);
    let asking = statements.pop();
    let mut before = statements;
    let is_bound = match asking {
        Some(asking) => of_statement(asking, &mut before, rules)?,
        None => false,
    };
    if !commands(&before).into_iter().any(is_of_interest) {
        return Ok(None);
    }
    if !is_bound {
        before.push(succeeds());
    }
    Ok(Some(before))
}

/// Adds what of the statement that asks for the tests is executed before them. Whether they run only where that succeeds.
fn of_statement(statement: Statement, before: &mut Vec<Statement>, rules: &Rules) -> Result<bool, Denial> {
    let first = Next {
        after: After::Success,
        pipeline: statement.first,
    };
    let mut row: Vec<Next> = std::iter::once(first).chain(statement.rest).collect();
    let at = row.iter().position(|next| pipeline_has_tests(&next.pipeline));
    let mut rest = row.split_off(at.unwrap_or_default());
    let asking = rest.remove(0);
    let rest: Vec<Statement> = rest.into_iter().map(|next| alone(next.pipeline)).collect();
    if changes(&rest, rules) {
        return Err(after());
    }
    let inner = within(asking.pipeline, rules)?;
    let mut row = row.into_iter();
    let head = row.next().map(|first| Statement {
        first: first.pipeline,
        rest: row.collect(),
    });
    match (head, inner) {
        (Some(head), inner) if asking.after == After::Failure => {
            let mut conditions = commands(std::slice::from_ref(&head)).into_iter();
            if inner.is_some() || conditions.any(is_of_interest) {
                return Err(denied(
                    "the tests are not run by what failed before ||: call pytest alone where it did",
                ));
            }
            Ok(false)
        }
        (Some(mut head), inner) => {
            head.rest.extend(inner.map(|pipeline| Next {
                after: After::Success,
                pipeline,
            }));
            before.push(head);
            Ok(true)
        }
        (None, Some(inner)) => {
            before.push(alone(inner));
            Ok(true)
        }
        (None, None) => Ok(false),
    }
}

/// What of the pipeline that asks for the tests is executed before them: a part of a group, a subshell or a shell.
fn within(mut pipeline: Pipeline, rules: &Rules) -> Result<Option<Pipeline>, Denial> {
    let at = pipeline.commands.iter().position(command_has_tests);
    let asking = pipeline.commands.remove(at.unwrap_or_default());
    let others = pipeline.commands.iter();
    if others.clone().any(|command| pipe_changes(command, rules)) {
        return Err(denied(
            "only filters (tail, head, grep) stand in a pipe with the tests: call the rest in a command of its own, before or after them",
        ));
    }
    let wrapped: fn(Vec<Statement>) -> Run = match &asking.run {
        Run::Group(_) => Run::Group,
        Run::Subshell(_) => Run::Subshell,
        Run::Shell(_) => Run::Shell,
        _ => {
            let mut nested = commands_within(&asking).into_iter();
            if nested.any(|command| command_changes(command, rules)) {
                return Err(denied(
                    "the tests run by themselves: call what changes files in a command of its own, before or after them",
                ));
            }
            return Ok(None);
        }
    };
    let (Run::Group(body) | Run::Subshell(body) | Run::Shell(body)) = asking.run else {
        return Ok(None);
    };
    let inner = before_tests(body, rules)?;
    Ok(inner.map(|body| Pipeline {
        negated: false,
        timed: false,
        commands: vec![Command {
            run: wrapped(body),
            redirections: Vec::new(),
        }],
    }))
}

fn denied(reason: &str) -> Denial {
    Denial::new("tests", reason)
}

fn after() -> Denial {
    denied(
        "nothing of a command runs after the tests that it asks for: call what follows them in a command of its own",
    )
}

fn alone(first: Pipeline) -> Statement {
    Statement {
        first,
        rest: Vec::new(),
    }
}

/// `true`: what follows a line or a `;` runs whatever came of what is before it.
fn succeeds() -> Statement {
    alone(Pipeline {
        negated: false,
        timed: false,
        commands: vec![Command {
            run: Run::Builtin(BuiltinCall {
                name: Builtin::True,
                arguments: Vec::new(),
            }),
            redirections: Vec::new(),
        }],
    })
}

fn has_tests(statements: &[Statement]) -> bool {
    commands(statements).into_iter().any(asks_for_tests)
}

fn pipeline_has_tests(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().any(command_has_tests)
}

fn command_has_tests(command: &Command) -> bool {
    asks_for_tests(command) || commands_within(command).into_iter().any(asks_for_tests)
}

fn asks_for_tests(command: &Command) -> bool {
    matches!(&command.run, Run::Program(call) if call.program.name == TESTS)
}

/// Whether a command has an effect or an output that is missed where it is not run.
fn is_of_interest(command: &Command) -> bool {
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

fn changes(statements: &[Statement], rules: &Rules) -> bool {
    commands(statements)
        .into_iter()
        .any(|command| command_changes(command, rules))
}

/// Whether a command changes files. One that may be either does.
fn command_changes(command: &Command, rules: &Rules) -> bool {
    let is_of_tests = asks_for_tests(command);
    let runs = match &command.run {
        Run::Program(call) => !is_of_tests && program_changes(&call.program.name, &call.arguments, rules),
        _ => false,
    };
    runs || !is_of_tests && writes(command)
}

/// Whether a command in a pipe with the tests changes files besides one that holds what it passes on.
fn pipe_changes(command: &Command, rules: &Rules) -> bool {
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
fn writes(command: &Command) -> bool {
    command
        .redirections
        .iter()
        .any(|redirection| match &redirection.to {
            Target::Write(path) | Target::Append(path) => path.text() != Some(NOWHERE),
            Target::Read(_) | Target::Duplicate(_) | Target::Data(_) | Target::Process(_) => false,
        })
}
