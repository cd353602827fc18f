//! Every parse of Python that a model or a stranger wrote, with a bound on how deep its syntax tree may get, found from the tokens alone.
//!
//! The parser bounds its own recursion, yet reads chains such as `a.b.c` or `1 + 1 + 1` in a loop: their tree is as deep as
//! they are long, and every walk over it (dropping it too) recurses. So depth is bounded before there is a tree.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseError, ParseOptions, Parsed, lexer};

/// Deepest expression, in operators, brackets and blocks around a token. Real programs stay far below 100.
const MAX_DEPTH: usize = 400;
/// Deepest block; Python itself allows 100.
const MAX_BLOCKS: usize = 100;

/// Reason that there is no syntax tree.
#[derive(Debug, thiserror::Error)]
pub enum Unparsed {
    /// An expression or a block is too deep; the offset is that of the end of the first line where it is.
    #[error("the expression is nested too deeply; split it into steps")]
    TooDeep(usize),
    /// It is no Python.
    #[error("{}", .0.error)]
    Syntax(ParseError),
}

/// The syntax tree of a file, of the latest Python.
pub fn parse(source: &str) -> Result<Parsed<ModModule>, Unparsed> {
    if let Some(offset) = first_too_deep(source) {
        return Err(Unparsed::TooDeep(offset));
    }
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::latest());
    let parsed = ruff_python_parser::parse(source, options).map_err(Unparsed::Syntax)?;
    // Of the mode that is asked for it is always one.
    parsed.try_into_module().ok_or(Unparsed::TooDeep(0))
}

fn first_too_deep(source: &str) -> Option<usize> {
    if !is_too_deep(source) {
        return None;
    }
    // The lexer gives no positions: the shortest run of lines that is too deep ends at the place.
    let ends: Vec<usize> = source
        .match_indices('\n')
        .map(|(at, _)| at)
        .chain([source.len()])
        .collect();
    let line = ends.partition_point(|end| !is_too_deep(&source[..*end]));
    ends.get(line).copied()
}

fn is_too_deep(source: &str) -> bool {
    let mut lexer = lexer::lex(source, Mode::Module);
    // Depth that each open bracket has reached since its last comma.
    let mut chains = vec![0_usize];
    let mut total = 0_usize;
    let mut blocks = 0_usize;
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return false,
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline | TokenKind::Semi => {
                chains.truncate(1);
                chains[0] = 0;
                total = 0;
            }
            TokenKind::Comma => {
                if let Some(chain) = chains.last_mut() {
                    total -= *chain;
                    *chain = 0;
                }
            }
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                count(&mut chains, &mut total);
                chains.push(0);
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                total -= chains.pop().unwrap_or_default();
                if chains.is_empty() {
                    chains.push(0);
                }
            }
            _ if deepens(kind) => count(&mut chains, &mut total),
            _ => {}
        }
        if total > MAX_DEPTH || blocks > MAX_BLOCKS {
            return true;
        }
    }
}

fn count(chains: &mut [usize], total: &mut usize) {
    if let Some(chain) = chains.last_mut() {
        *chain += 1;
        *total += 1;
    }
}

fn deepens(kind: TokenKind) -> bool {
    kind.is_operator() && kind != TokenKind::Colon
        || matches!(
            kind,
            TokenKind::Not
                | TokenKind::Await
                | TokenKind::Lambda
                | TokenKind::If
                | TokenKind::And
                | TokenKind::Or
                | TokenKind::For
        )
}
