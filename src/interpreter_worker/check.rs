//! Programs whose types are checked, one after another.

use std::fmt::Write as _;
use std::io;

use codegen_interpreter::protocol::{Diagnostic, FromWorker, ToWorker};
use monty::MontyRun;
use monty_type_checking::{SourceFile, TypeChecker};
use monty_types::{CompileOptions, ExcType, TypeCheckingConfig, TypeCheckingFormat};
use serde::Deserialize;

use crate::decisive::Stubs;
use crate::link::{self, Received};
use crate::memory;
use crate::refusal::DERIVED;
use crate::values::cut;

/// The longest message that starts a check.
const MOST_PROGRAM: usize = 8 * 1024 * 1024;
/// Diagnostics that are sent. The first ones cause most of the others.
const MOST_DIAGNOSTICS: usize = 50;
/// Bytes of one message.
const MOST_TEXT: usize = 2 * 1024;
const INVALID_SYNTAX: &str = "invalid-syntax";
/// The program, and the stub file that it imports everything from.
const PROGRAM: &str = "program.py";
const STUBS: &str = "codegen_tools.pyi";

/// A checker that has read the builtins. What it asks of the system it asks for the first time only, so it does before this process
/// is confined: the number of processors stands in files.
pub(crate) fn warm() -> Result<TypeChecker, String> {
    let mut checker = TypeChecker::default();
    check(
        &mut checker,
        "import asyncio\nundefined",
        "async def tool() -> str: ...",
    )?;
    checker.reset()?;
    Ok(checker)
}

/// Checks programs until the host is gone. The checker with all that it caches has so many bytes.
pub(crate) fn serve(mut checker: TypeChecker, memory_bytes: u64) -> io::Result<()> {
    memory::limit(memory_bytes)?;
    while let Received::Message(message) = link::receive(MOST_PROGRAM)? {
        let ToWorker::<()>::Check { code, stubs } = serde_json::from_slice(&message)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a check was expected"));
        };
        let diagnostics = check(&mut checker, &code, &stubs).map_err(io::Error::other)?;
        link::send(&FromWorker::<()>::Checked { diagnostics })?;
        checker.reset().map_err(io::Error::other)?;
    }
    Ok(())
}

/// A diagnostic as the checker prints it.
#[derive(Deserialize)]
struct Found {
    code: Option<String>,
    location: Option<Location>,
    message: String,
}

#[derive(Deserialize)]
struct Location {
    row: u32,
    column: u32,
}

fn check(checker: &mut TypeChecker, code: &str, stubs: &str) -> Result<Vec<Diagnostic>, String> {
    let unsupported = match syntax(code) {
        // Types of what cannot be parsed say nothing more, and may take very long.
        Some(error) if error.rule == INVALID_SYNTAX => return Ok(vec![error]),
        other => other,
    };
    let mut found = types(checker, code, stubs)?;
    found.extend(unsupported);
    found.sort_by_key(|found| (found.line, found.column));
    found.truncate(MOST_DIAGNOSTICS);
    Ok(found)
}

/// What the type checker finds.
fn types(checker: &mut TypeChecker, code: &str, stubs: &str) -> Result<Vec<Diagnostic>, String> {
    let config = TypeCheckingConfig {
        format: TypeCheckingFormat::Json,
        color: false,
    };
    let program = SourceFile::new(code, PROGRAM);
    let declared = Stubs::new(stubs);
    let stubs = with_undeclared(stubs);
    let stubs = SourceFile::new(&stubs, STUBS);
    let Some(found) = checker.run(&program, Some(&stubs), config)? else {
        return Ok(Vec::new());
    };
    let found: Vec<Found> = serde_json::from_str(&found.to_string()).map_err(|error| error.to_string())?;
    Ok(found
        .into_iter()
        .filter(|found| !runs(found))
        .map(diagnostic)
        .filter(|found| declared.decides(&found.rule, &found.message))
        .collect())
}

/// Whether the interpreter runs it all the same: a `return` ends the program with that value, which is what whoever writes one means.
fn runs(found: &Found) -> bool {
    found.message == "`return` statement outside of a function"
}

/// Exceptions that the interpreter has and the checker's builtins have not, each with its base.
const UNDECLARED: [(&str, &str); 10] = [
    ("FileExistsError", "OSError"),
    ("FileNotFoundError", "OSError"),
    ("ImportError", "Exception"),
    ("IsADirectoryError", "OSError"),
    ("ModuleNotFoundError", "ImportError"),
    ("NotADirectoryError", "OSError"),
    ("PermissionError", "OSError"),
    ("UnboundLocalError", "NameError"),
    ("UnicodeDecodeError", "ValueError"),
    ("UnicodeEncodeError", "ValueError"),
];

/// Functions that the interpreter has and the checker's builtins have not.
const UNDECLARED_FUNCTIONS: &str = "
def map(function, iterable, *iterables): ...
def filter(function, iterable): ...";

/// The stubs, and what a program has besides that the checker knows nothing of.
fn with_undeclared(stubs: &str) -> String {
    let mut text = format!("{stubs}{UNDECLARED_FUNCTIONS}");
    // Writing to a string does not fail.
    for (name, base) in DERIVED {
        let _ = write!(text, "\nclass {name}({base}): ...");
    }
    for (name, base) in UNDECLARED {
        let _ = write!(text, "\nclass {name}({base}): ...");
    }
    text
}

/// Why the interpreter does not compile it: it is no Python, or Python that the interpreter has not.
fn syntax(code: &str) -> Option<Diagnostic> {
    let error = MontyRun::new(code.to_owned(), PROGRAM, Vec::new(), CompileOptions::default()).err()?;
    let rule = match error.exc_type() {
        ExcType::NotImplementedError => "unsupported-syntax",
        _ => INVALID_SYNTAX,
    };
    let at = error
        .traceback()
        .last()
        .map(|frame| frame.start)
        .unwrap_or_default();
    Some(Diagnostic {
        line: at.line,
        column: at.column,
        rule: rule.to_owned(),
        message: cut(error.message().unwrap_or_default(), MOST_TEXT),
    })
}

fn diagnostic(found: Found) -> Diagnostic {
    let (line, column) = found.location.map_or((1, 1), |at| (at.row, at.column));
    Diagnostic {
        line,
        column,
        rule: found.code.unwrap_or_else(|| INVALID_SYNTAX.to_owned()),
        message: cut(&found.message, MOST_TEXT),
    }
}
