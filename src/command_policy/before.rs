//! A command that asks for the tests: what of it is executed before them.
//!
//! Of what stands beside the tests in a group, a loop or a pipe nothing runs, nor of what follows them and cannot be executed after them
//! (`after.rs`). What would change something there is denied.

use crate::denial::Denial;
use crate::effects::{
    changes, command_changes, command_has_tests, has_tests, is_of_interest, pipe_changes, pipeline_has_tests,
};
use crate::rules::Rules;
use crate::script::{After, Command, Next, Pipeline, Run, Statement, commands, commands_within};

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
        // What follows a line or a `;` runs whatever came of what is before it.
        before.push(alone(Pipeline::constant(true)));
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
    denied("what follows these tests would not run after them as in a shell: call it in a command of its own")
}

fn alone(first: Pipeline) -> Statement {
    Statement {
        first,
        rest: Vec::new(),
    }
}
