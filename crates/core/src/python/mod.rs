//! Python source, read by its syntax tree: what a program imports and names, and how parts of it are exchanged.
//!
//! Nothing here runs Python. The parser is used in `code_mode::python` alone.

pub mod contract;
pub mod functions;
pub mod identifiers;
pub mod imports;
pub mod in_process;
pub mod merge;
pub mod near_misses;
pub mod outline;
pub mod packages;
pub mod requirement;
pub mod stdlib;
pub mod suite;
mod syntax;
pub mod tables;

use std::fmt;

use ruff_python_ast::{ModModule, Stmt};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextSize};

use codegen_code_mode::python::{Unparsed, parse};

/// Largest source that is read, bytes.
pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// A Python file: its text and its syntax tree.
pub struct Module {
    source: String,
    tree: ModModule,
    lines: LineIndex,
}

/// Syntax error for which a text is not a Python file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxFault {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Message of the parser about what it did not understand.
    pub message: String,
}

impl Module {
    /// Reads a file of at most [`MAX_SOURCE_BYTES`].
    pub fn parse(source: &str) -> Result<Self, SyntaxFault> {
        if source.len() > MAX_SOURCE_BYTES {
            let message = format!(
                "the file has {} bytes, at most {MAX_SOURCE_BYTES} are read",
                source.len()
            );
            return Err(SyntaxFault {
                line: 1,
                column: 1,
                message,
            });
        }
        let lines = LineIndex::from_source_text(source);
        let fault = |offset: TextSize, message: String| {
            let at = lines.line_column(offset, source);
            SyntaxFault {
                line: number(at.line.get()),
                column: number(at.column.get()),
                message,
            }
        };
        let parsed = parse(source).map_err(|why| match why {
            Unparsed::TooDeep(offset) => {
                fault(TextSize::try_from(offset).unwrap_or_default(), why.to_string())
            }
            Unparsed::Syntax(ref error) => fault(error.location.start(), why.to_string()),
        })?;
        Ok(Self {
            source: source.to_owned(),
            tree: parsed.into_syntax(),
            lines,
        })
    }

    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The statements at the top.
    fn body(&self) -> &[Stmt] {
        &self.tree.body
    }

    /// The text of a node.
    fn text(&self, node: &impl Ranged) -> &str {
        &self.source[node.range()]
    }

    /// Line of an offset, counted from 1.
    fn line(&self, offset: TextSize) -> u32 {
        number(self.lines.line_index(offset).get())
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("bytes", &self.source.len())
            .finish_non_exhaustive()
    }
}

/// A source has at most 2^20 lines.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn blocks(depth: usize) -> String {
        (0..depth).map(|depth| " ".repeat(depth) + "if a:\n").collect()
    }

    #[test]
    fn a_fault_says_where_it_is() {
        let fault = Module::parse("def f():\n    return (1 +\n").unwrap_err();
        assert!(fault.line >= 2, "{fault}");
        assert!(!fault.message.is_empty());
    }

    #[test]
    fn a_file_above_one_mebibyte_is_refused() {
        let fault = Module::parse(&"x = 1\n".repeat(200_000)).unwrap_err();
        assert!(fault.message.contains("1048576"), "{fault}");
    }

    #[rstest]
    #[case::parentheses(format!("x = {}1{}", "(".repeat(10_000), ")".repeat(10_000)))]
    #[case::lists(format!("x = {}{}", "[".repeat(10_000), "]".repeat(10_000)))]
    #[case::sums(format!("x = 1{}", " + 1".repeat(100_000)))]
    #[case::attributes(format!("x = a{}", ".b".repeat(100_000)))]
    #[case::calls(format!("x = a{}", "()".repeat(100_000)))]
    #[case::subscripts(format!("x = a{}", "[0, 1]".repeat(50_000)))]
    #[case::negations(format!("x = {}1", "-".repeat(100_000)))]
    #[case::nots(format!("x = {}1", "not ".repeat(100_000)))]
    #[case::powers(format!("x = 1{}", " ** 1".repeat(100_000)))]
    #[case::lambdas(format!("x = {}1", "lambda: ".repeat(50_000)))]
    #[case::conditionals(format!("x = 1{}", " if a else 1".repeat(50_000)))]
    #[case::awaits(format!("x = {}a", "await ".repeat(50_000)))]
    #[case::assignments(format!("{}1", "a = ".repeat(3)+ &"(".repeat(9_000)))]
    #[case::blocks(blocks(900))]
    #[case::fstrings(format!("x = {}1{}", "f'{".repeat(5_000), "}'".repeat(5_000)))]
    fn nesting_beyond_reason_is_a_fault_and_no_crash(#[case] source: String) {
        assert!(Module::parse(&source).is_err());
    }

    #[rstest]
    #[case::long_list(format!("x = [{}]", "a.b + 1, ".repeat(50_000)))]
    #[case::long_dict(format!("x = {{{}}}", "'a': b.c(1), ".repeat(30_000)))]
    #[case::chain(format!("x = (df{}\n)", "\n    .assign(a=1)".repeat(60)))]
    #[case::branches(format!("if a:\n    pass\n{}", "elif b.c:\n    pass\n".repeat(10_000)))]
    #[case::text(format!("x = ({})", "'a' + b.c +\n".repeat(90) + "'z'"))]
    fn large_but_plain_code_is_read(#[case] source: String) {
        assert!(
            Module::parse(&source).is_ok(),
            "{:?}",
            Module::parse(&source).err()
        );
    }

    #[rstest]
    #[case::sum(format!("def test_f():\n    x = 1{}\n", " + 1".repeat(390)))]
    #[case::attributes(format!("def test_f():\n    x = a{}\n", ".b".repeat(390)))]
    #[case::calls(format!("def test_f():\n    x = a{}\n", "()".repeat(390)))]
    #[case::paths(format!("def test_f():\n    x = p{}\n", " / 'a'".repeat(390)))]
    #[case::blocks(blocks(95) + &" ".repeat(95) + "x = 1\n")]
    fn what_is_read_can_be_walked_on_a_small_stack(#[case] source: String) {
        let module = Module::parse(&source).unwrap();
        let _ = imports::imports(&module);
        let _ = outline::stub(&module);
        let _ = outline::outline(&module);
        assert_eq!(
            merge::tree_hash(&module),
            merge::tree_hash(&Module::parse(&source).unwrap())
        );
        assert_eq!(
            merge::merge(&module, &source).unwrap().changed,
            Vec::<String>::new()
        );
    }
}
