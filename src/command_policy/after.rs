//! A command that asks for the tests: what of it is executed after them, by what they came to.

use serde::{Deserialize, Serialize};

use crate::effects::{asks_for_tests, goes_to_file, has_tests, is_of_interest};
use crate::paths::WORKSPACE;
use crate::script::{
    After, Argument, Builtin, Command, Next, Pipeline, Run, Script, Statement, commands, commands_of,
};

/// Ends with whether it found something.
const SEARCHES_INPUT: &str = "grep";

/// What is executed after tests.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub struct AfterTests {
    /// Where they passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Script>,
    /// Where they did not, or did not run because what comes before them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Script>,
}

impl AfterTests {
    /// Whether nothing is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.passed.is_none() && self.failed.is_none()
    }
}

/// Takes off what follows the tests, where it does the same in a script of its own as it would here.
pub(crate) fn take_after_tests(statements: &mut Vec<Statement>) -> AfterTests {
    let Some((at, asking)) = tests_apart(statements) else {
        return AfterTests::default();
    };
    let row = &statements[at];
    let later = Later {
        rest: row.rest[asking..].to_vec(),
        following: statements[at + 1..].to_vec(),
    };
    let tests = row.pipelines().nth(asking);
    let after = |passed| later.script(status(tests?, passed));
    let after = AfterTests {
        passed: after(true),
        failed: after(false),
    };
    if !after.is_empty() {
        statements.truncate(at + 1);
        statements[at].rest.truncate(asking);
    }
    after
}

/// The statement that asks for the tests, and which of its pipelines is that, where nothing but their status matters to what follows them.
fn tests_apart(statements: &[Statement]) -> Option<(usize, usize)> {
    let asks = |statement: &Statement| has_tests(std::slice::from_ref(statement));
    let at = statements.iter().position(asks)?;
    let row: Vec<&Pipeline> = statements[at].pipelines().collect();
    let asking = row
        .iter()
        .position(|pipeline| pipeline.commands.iter().any(asks_for_tests))?;
    let (earlier, later) = (&statements[..at], &statements[at + 1..]);
    let mut earlier = earlier
        .iter()
        .flat_map(Statement::pipelines)
        .chain(row[..asking].iter().copied());
    let mut later = later
        .iter()
        .flat_map(Statement::pipelines)
        .chain(row[asking + 1..].iter().copied());
    let is_apart = !earlier.any(|pipeline| commands_of(pipeline).into_iter().any(sets_state))
        && !later.any(|pipeline| commands_of(pipeline).into_iter().any(asks_for_tests))
        && !goes_to_file(row[asking]);
    let is_reached = asking == 0 || statements[at].rest[asking - 1].after == After::Success;
    (is_apart && is_reached).then_some((at, asking))
}

/// What follows the tests: the rest of their row, and the statements after it.
struct Later {
    rest: Vec<Next>,
    following: Vec<Statement>,
}

impl Later {
    /// What is executed after this status; `None` where nobody would miss it.
    fn script(&self, status: bool) -> Option<Script> {
        let wanted = if status { After::Success } else { After::Failure };
        let mut reached = self.rest.iter().skip_while(|next| next.after != wanted);
        let is_missed = |pipeline: &Pipeline| commands_of(pipeline).into_iter().any(is_of_interest);
        if !reached.any(|next| is_missed(&next.pipeline))
            && !commands(&self.following).into_iter().any(is_of_interest)
        {
            return None;
        }
        let first = Statement {
            first: Pipeline::constant(status),
            rest: self.rest.clone(),
        };
        let statements = std::iter::once(first).chain(self.following.iter().cloned());
        Some(Script {
            statements: statements.collect(),
        })
    }
}

/// The status of the pipeline that asks for the tests.
fn status(pipeline: &Pipeline, passed: bool) -> bool {
    let last = pipeline.commands.last();
    let is_of_tests = last.is_some_and(|command| {
        asks_for_tests(command)
            || matches!(&command.run, Run::Program(call) if call.program.name == SEARCHES_INPUT)
    });
    // A filter ends well, whatever it is given.
    (passed || !is_of_tests) != pipeline.negated
}

/// Whether a command changes what those after it find, besides files.
fn sets_state(command: &Command) -> bool {
    match &command.run {
        Run::Assign(_) | Run::Read(_) | Run::For(_) => true,
        Run::Builtin(call) => match call.name {
            Builtin::Set | Builtin::Exit => true,
            Builtin::Cd => call.arguments.first().and_then(Argument::text) != Some(WORKSPACE),
            _ => false,
        },
        _ => false,
    }
}
