//! Facts that an execution on private samples may show: how it ended, the type of an exception, its place in the program, one column.
//!
//! A program can print, raise and write whatever it has read, and it chooses the names of its exceptions and the text of its
//! tracebacks. So nothing of what it printed is passed on: what is shown is rebuilt from the program's own source, from names of
//! columns and from a fixed list of exceptions.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::python::Module;
use super::python::functions::{Function, enclosing, functions};
use super::python::identifiers::identifiers;
use super::sandbox::{PhaseEnd, PhaseReport, Report};

/// Innermost frames of the program that are shown.
const SHOWN_FRAMES: usize = 3;
/// Bytes of a message that are searched for a column.
// A message can be as long as a file, and a column is searched for once per name.
const SEARCHED_BYTES: usize = 4_096;
const TRACEBACK: &str = "Traceback (most recent call last):";

static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^ +File "(?:[^"]*/)?solution\.py", line ([0-9]{1,7}), in "#).ok());
static RAISED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:[A-Za-z_][A-Za-z0-9_]*\.)*([A-Za-z_][A-Za-z0-9_]*)(?:: |:?$)").ok());

/// The report of a program's run on private samples as the model, the status and whoever watches may see it.
///
/// `columns` are the names that the model knows already.
#[must_use]
pub fn visible_report(report: &Report, solution: &str, columns: &BTreeSet<String>) -> Report {
    let source = Source::of(solution);
    let phases = report.phases.iter().map(|phase| {
        // All fields by name: a new one does not compile until somebody has decided whether it may be seen.
        let PhaseReport {
            name,
            end,
            seconds,
            stdout: _,
            stderr,
            cut: _,
            tests: _,
            outputs: _,
            not_writable: _,
            commands: _,
        } = phase;
        PhaseReport {
            name: *name,
            end: visible_end(end),
            // How long a run took may follow from a value; that its time ran out says nothing more than that.
            seconds: if *end == PhaseEnd::TimedOut { *seconds } else { 0.0 },
            stdout: String::new(),
            stderr: visible_stderr(stderr, source.as_ref(), columns),
            cut: Vec::new(),
            tests: None,
            outputs: Vec::new(),
            not_writable: None,
            commands: None,
        }
    });
    Report {
        phases: phases.collect(),
        seconds: 0.0,
    }
}

/// A program chooses its exit code and its signal: both would carry a value.
const fn visible_end(end: &PhaseEnd) -> PhaseEnd {
    match end {
        // 0 and 2 are success and wrong use (argparse); every other code becomes 1.
        PhaseEnd::Exited(code @ (0 | 2)) => PhaseEnd::Exited(*code),
        PhaseEnd::Exited(_) => PhaseEnd::Exited(1),
        PhaseEnd::Signaled(signal @ (6 | 8 | 11)) => PhaseEnd::Signaled(*signal),
        PhaseEnd::Signaled(_) => PhaseEnd::Signaled(9),
        PhaseEnd::TimedOut => PhaseEnd::TimedOut,
        PhaseEnd::LimitHit(kind) => PhaseEnd::LimitHit(*kind),
    }
}

/// The last traceback, rebuilt; empty without one.
fn visible_stderr(stderr: &str, source: Option<&Source>, columns: &BTreeSet<String>) -> String {
    // The last one: before it a program may print whatever looks like a traceback.
    let Some((_, traceback)) = stderr.rsplit_once(TRACEBACK) else {
        return String::new();
    };
    // Without a parsed program nothing can be distinguished from values, and nothing is shown.
    let (Some(frame), Some(raised), Some(source)) = (FRAME.as_ref(), RAISED.as_ref(), source) else {
        return String::new();
    };
    let lines = traceback.lines().skip(1);
    let is_inner = |line: &&str| line.starts_with(' ') || line.is_empty();
    let places: Vec<String> = lines
        .clone()
        .take_while(is_inner)
        // A place is rebuilt from its number and the source, and nothing of the line itself is copied.
        .filter_map(|line| source.place(frame.captures(line)?.get(1)?.as_str()))
        .collect();
    let said: Vec<&str> = lines.skip_while(is_inner).collect();
    let type_ = said
        .first()
        .and_then(|line| raised.captures(line)?.get(1))
        .and_then(|name| source.exception(name.as_str()))
        // An exception class may be named by data (`type(value, ...)`), so only names that are known without the data are shown.
        .unwrap_or(UNKNOWN);
    let message = said.join("\n");
    let message = &message[..message.floor_char_boundary(SEARCHED_BYTES)];
    // Names that stand in the program are the model's own words, and so are columns that it was shown.
    let known = source.word(type_, message);
    let named = known
        .map(|word| format!("name {word}"))
        .or_else(|| column(message, columns).map(|name| format!("column {name}")));

    let innermost = places.len().saturating_sub(SHOWN_FRAMES);
    let mut text = String::new();
    for place in &places[innermost..] {
        text.push_str("  solution.py, ");
        text.push_str(place);
        text.push('\n');
    }
    let told: Vec<String> = places.last().cloned().into_iter().chain(named).collect();
    let told = if told.is_empty() {
        "outside solution.py".to_owned()
    } else {
        told.join(", ")
    };
    text + &format!("{type_}: {told}\n")
}

/// Stands for an exception whose name may be a value.
const UNKNOWN: &str = "Exception";

/// The program's own text, from which tracebacks are rebuilt.
struct Source {
    identifiers: BTreeSet<String>,
    functions: Vec<Function>,
    lines: u32,
}

impl Source {
    fn of(solution: &str) -> Option<Self> {
        let module = Module::parse(solution).ok()?;
        Some(Self {
            identifiers: identifiers(&module).into_iter().map(str::to_owned).collect(),
            functions: functions(&module),
            lines: u32::try_from(solution.lines().count()).unwrap_or(u32::MAX),
        })
    }

    /// A line of the program, with the function that it belongs to.
    fn place(&self, line: &str) -> Option<String> {
        let line: u32 = line.parse().ok().filter(|line| (1..=self.lines).contains(line))?;
        let function =
            enclosing(&self.functions, line).map_or("the module", |function| function.qualname.as_str());
        Some(format!("line {line} in {function}"))
    }

    /// The name of an exception that Python or a well-known library has, or that stands in the program.
    fn exception<'n>(&self, name: &'n str) -> Option<&'n str> {
        (EXCEPTIONS.contains(&name) || self.identifiers.contains(name)).then_some(name)
    }

    /// The identifier of the program that an exception about identifiers quotes.
    fn word<'m>(&self, type_: &str, message: &'m str) -> Option<&'m str> {
        let is_about_names = matches!(
            type_,
            "ModuleNotFoundError" | "ImportError" | "NameError" | "UnboundLocalError" | "AttributeError"
        );
        quoted(message).find(|word| is_about_names && self.identifiers.contains(*word))
    }
}

/// The column that a message names: one that it quotes, or else the longest that stands in it as a word.
fn column<'c>(message: &str, columns: &'c BTreeSet<String>) -> Option<&'c str> {
    let known = |word: &str| columns.get(word).map(String::as_str);
    quoted(message).find_map(known).or_else(|| {
        columns
            .iter()
            // One or two letters stand in every sentence.
            .filter(|name| name.len() > 2 && is_word_of(message, name))
            .max_by_key(|name| name.len())
            .map(String::as_str)
    })
}

fn quoted(message: &str) -> impl Iterator<Item = &str> {
    ['\'', '"', '`']
        .into_iter()
        .flat_map(|quote| message.split(quote).skip(1))
}

fn is_word_of(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Exceptions of Python and of what programs on data use, without modules.
const EXCEPTIONS: &[&str] = &[
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BaseException",
    "BlockingIOError",
    "BrokenPipeError",
    "BufferError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "EOFError",
    "Exception",
    "FileExistsError",
    "FileNotFoundError",
    "FloatingPointError",
    "GeneratorExit",
    "ImportError",
    "IndentationError",
    "IndexError",
    "InterruptedError",
    "IsADirectoryError",
    "KeyError",
    "KeyboardInterrupt",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotADirectoryError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PermissionError",
    "ProcessLookupError",
    "RecursionError",
    "ReferenceError",
    "RuntimeError",
    "StopAsyncIteration",
    "StopIteration",
    "SyntaxError",
    "SystemError",
    "SystemExit",
    "TabError",
    "TimeoutError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeDecodeError",
    "UnicodeEncodeError",
    "UnicodeError",
    "UnicodeTranslateError",
    "ValueError",
    "ZeroDivisionError",
    // The standard library.
    "ArgumentError",
    "BadGzipFile",
    "BadZipFile",
    "DecimalException",
    "DivisionByZero",
    "Error",
    "FrozenInstanceError",
    "InvalidOperation",
    "JSONDecodeError",
    "LZMAError",
    "OperationalError",
    "ParseError",
    "StatisticsError",
    "TOMLDecodeError",
    "UnsupportedOperation",
    "ZoneInfoNotFoundError",
    // Libraries for data.
    "ArrowInvalid",
    "AxisError",
    "ColumnNotFoundError",
    "ComputeError",
    "DataError",
    "DateParseError",
    "DuplicateLabelError",
    "EmptyDataError",
    "IncompatibleFrequency",
    "IntCastingNaNError",
    "InvalidFileException",
    "InvalidIndexError",
    "LinAlgError",
    "MergeError",
    "NotFittedError",
    "OutOfBoundsDatetime",
    "OutOfBoundsTimedelta",
    "ParserError",
    "SchemaError",
    "SchemaErrors",
    "ShapeError",
    "SpecificationError",
    "UFuncTypeError",
    "UndefinedVariableError",
    "UnsortedIndexError",
    "ValidationError",
    "XMLSyntaxError",
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::sandbox::{PhaseName, TestReport};

    const PROGRAM: &str = "import pandas\n\n\nclass Odd(Exception):\n    pass\n\n\ndef load(path):\n    return pandas.read_csv(path)\n\n\nload('x')\n";

    fn columns() -> BTreeSet<String> {
        ["mass", "body mass", "in"].map(str::to_owned).into()
    }

    fn rebuilt(raised: &str) -> String {
        let stderr = format!(
            "secret\n{TRACEBACK}\n  File \"/sandbox/solution.py\", line 12, in <module>\n    load('x')\n  \
             File \"/sandbox/solution.py\", line 9, in secret\n    ~~~~\n  File \"/lib/frame.py\", line 4711, in \
             secret\n    x\n{raised}"
        );
        visible_stderr(&stderr, Source::of(PROGRAM).as_ref(), &columns())
    }

    const PLACES: &str = "  solution.py, line 12 in the module\n  solution.py, line 9 in load\n";

    #[rstest]
    #[case::column("KeyError: 'mass'\n", "KeyError: line 9 in load, column mass")]
    #[case::no_column("KeyError: 'secret'\n", "KeyError: line 9 in load")]
    #[case::quoted_first(
        "KeyError: \"body mass of ['mass']\"",
        "KeyError: line 9 in load, column mass"
    )]
    #[case::longest(
        "ValueError: no body mass, secret",
        "ValueError: line 9 in load, column body mass"
    )]
    #[case::short_words_are_words("ValueError: error in secret", "ValueError: line 9 in load")]
    #[case::several_lines("ValueError: secret\nsecret: mass", "ValueError: line 9 in load, column mass")]
    #[case::library("pandas.errors.ParserError: secret", "ParserError: line 9 in load")]
    #[case::own_class("__main__.Odd: secret", "Odd: line 9 in load")]
    #[case::class_of_data("__main__.secret: secret", "Exception: line 9 in load")]
    #[case::class_of_a_sentence("a secret sentence: mass", "Exception: line 9 in load, column mass")]
    #[case::without_message("Odd", "Odd: line 9 in load")]
    #[case::module(
        "ModuleNotFoundError: No module named 'pandas'",
        "ModuleNotFoundError: line 9 in load, name pandas"
    )]
    #[case::module_of_data(
        "ModuleNotFoundError: No module named 'secret'",
        "ModuleNotFoundError: line 9 in load"
    )]
    #[case::cut_short("", "Exception: line 9 in load")]
    fn an_exception_is_its_type_its_place_and_a_column(#[case] raised: &str, #[case] expected: &str) {
        assert_eq!(rebuilt(raised), format!("{PLACES}{expected}\n"));
    }

    #[rstest]
    #[case::line_beyond_the_program("  File \"solution.py\", line 4711, in load\n")]
    #[case::another_file("  File \"/secret/secret.py\", line 9, in load\n")]
    #[case::forged("File \"solution.py\", line 9, in load\nsecret: mass\n")]
    fn a_line_outside_of_the_program_is_not_shown(#[case] frames: &str) {
        let stderr = format!("{TRACEBACK}\n{frames}ValueError: x\n");
        let text = visible_stderr(&stderr, Source::of(PROGRAM).as_ref(), &BTreeSet::new());
        assert!(text.ends_with(": outside solution.py\n"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn of_chained_exceptions_the_last_is_shown_and_of_other_output_nothing() {
        let chained = rebuilt(&format!(
            "KeyError: 'mass'\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACEBACK}\n  \
             File \"solution.py\", line 9, in load\nValueError: secret\n"
        ));
        assert_eq!(
            chained,
            "  solution.py, line 9 in load\nValueError: line 9 in load\n"
        );
        assert_eq!(
            visible_stderr("secret\n", Source::of(PROGRAM).as_ref(), &columns()),
            ""
        );
    }

    #[rstest]
    #[case(PhaseEnd::Exited(47), PhaseEnd::Exited(1))]
    #[case(PhaseEnd::Exited(2), PhaseEnd::Exited(2))]
    #[case(PhaseEnd::Signaled(34), PhaseEnd::Signaled(9))]
    #[case(PhaseEnd::TimedOut, PhaseEnd::TimedOut)]
    fn an_exit_code_that_a_program_chooses_is_not_shown(#[case] end: PhaseEnd, #[case] expected: PhaseEnd) {
        let phase = PhaseReport {
            name: PhaseName::Rehearsal,
            end,
            seconds: 47.11,
            stdout: "secret".into(),
            stderr: "secret".into(),
            cut: Vec::new(),
            tests: Some(TestReport::default()),
            outputs: Vec::new(),
            not_writable: None,
            commands: None,
        };
        let report = Report {
            phases: vec![phase],
            seconds: 47.11,
        };
        let told = visible_report(&report, PROGRAM, &columns());
        assert_eq!(told.phases[0].end, expected);
        let text = format!("{told:?}");
        assert!(
            !text.contains("secret") && (expected == PhaseEnd::TimedOut || !text.contains("47")),
            "{text}"
        );
    }
}
