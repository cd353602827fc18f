//! Every command of a script, those within others included.

use super::{Argument, Command, Part, Pipeline, Run, Statement, Target};

/// The commands of these statements, each before those within it.
pub(crate) fn commands(statements: &[Statement]) -> Vec<&Command> {
    let mut found = Vec::new();
    of_statements(statements, &mut found);
    found
}

/// The commands of a pipeline, each before those within it.
pub(crate) fn commands_of(pipeline: &Pipeline) -> Vec<&Command> {
    let mut found = Vec::new();
    of_pipeline(pipeline, &mut found);
    found
}

/// The commands within a command, without itself.
pub(crate) fn commands_within(command: &Command) -> Vec<&Command> {
    let mut found = Vec::new();
    of_command(command, &mut found);
    found.split_off(1)
}

fn of_statements<'s>(statements: &'s [Statement], found: &mut Vec<&'s Command>) {
    for pipeline in statements.iter().flat_map(Statement::pipelines) {
        of_pipeline(pipeline, found);
    }
}

fn of_pipeline<'s>(pipeline: &'s Pipeline, found: &mut Vec<&'s Command>) {
    for command in &pipeline.commands {
        of_command(command, found);
    }
}

fn of_command<'s>(command: &'s Command, found: &mut Vec<&'s Command>) {
    found.push(command);
    match &command.run {
        Run::Program(call) => {
            let given = call.environment.iter().map(|(_, value)| value);
            of_arguments(call.arguments.iter().chain(given), found);
        }
        Run::Builtin(call) => of_arguments(&call.arguments, found),
        Run::Group(body) | Run::Test(body) | Run::Subshell(body) | Run::Shell(body) => {
            of_statements(body, found);
        }
        Run::If(conditional) => {
            for branch in &conditional.branches {
                of_statements(&branch.condition, found);
                of_statements(&branch.body, found);
            }
            of_statements(&conditional.otherwise, found);
        }
        Run::For(each) => {
            of_arguments(&each.words, found);
            of_statements(&each.body, found);
        }
        Run::While(each) => {
            of_statements(&each.condition, found);
            of_statements(&each.body, found);
        }
        Run::Case(case) => {
            of_arguments([&case.value], found);
            for item in &case.items {
                of_arguments(&item.patterns, found);
                of_statements(&item.body, found);
            }
        }
        Run::Assign(assigned) => of_arguments(assigned.iter().map(|(_, value)| value), found),
        Run::Read(_) => {}
    }
    for redirection in &command.redirections {
        match &redirection.to {
            Target::Read(argument)
            | Target::Write(argument)
            | Target::Append(argument)
            | Target::Data(argument) => of_arguments([argument], found),
            Target::Process(body) => of_statements(body, found),
            Target::Duplicate(_) => {}
        }
    }
}

fn of_arguments<'s>(arguments: impl IntoIterator<Item = &'s Argument>, found: &mut Vec<&'s Command>) {
    for argument in arguments {
        if let Argument::Parts(parts) = argument {
            for part in parts {
                of_part(part, found);
            }
        }
    }
}

fn of_part<'s>(part: &'s Part, found: &mut Vec<&'s Command>) {
    match part {
        Part::Output(body) | Part::Process(body) => of_statements(body, found),
        Part::Fields(part) => of_part(part, found),
        Part::Text(_)
        | Part::Pattern(_)
        | Part::Status
        | Part::PipeStatus(_)
        | Part::Folder
        | Part::Variable(_)
        | Part::Arithmetic(_)
        | Part::Program(_) => {}
    }
}
