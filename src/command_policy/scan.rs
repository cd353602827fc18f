//! A first pass over a command, quotes and here-documents aside: what is never settled, and what lies too deep, is denied before the parser
//! follows it into its depth, where it may take all memory (a here-document without an end within `$(...)`).

use crate::arithmetic;
use crate::denial::Denial;

/// Substitutions of a command. The parser reads each several times, and more often within each other.
const MOST_SUBSTITUTIONS: usize = 40;
const DEEPEST_SUBSTITUTION: usize = 3;
/// Parentheses within a substitution, which the parser may take for one of several things.
const MOST_PARENTHESES: usize = 3;

/// Where a character stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Bare,
    SingleQuoted,
    DoubleQuoted,
    AnsiQuoted,
    /// Within `$(...)`, in so many parentheses of its own.
    Substituted(usize),
}

/// A here-document whose lines are still to come.
struct Document {
    delimiter: String,
    has_tabs: bool,
}

struct Scan<'a> {
    rest: &'a str,
    state: State,
    /// The states that this one lies in.
    enclosing: Vec<State>,
    substitutions: usize,
    is_word_start: bool,
    documents: Vec<Document>,
}

/// Denies a command with expansions that are never settled.
pub(crate) fn check_command(command: &str) -> Result<(), Denial> {
    let mut scan = Scan {
        rest: command,
        state: State::Bare,
        enclosing: Vec::new(),
        substitutions: 0,
        is_word_start: true,
        documents: Vec::new(),
    };
    while let Some(c) = scan.next() {
        scan.character(c)?;
    }
    if scan
        .enclosing
        .iter()
        .chain([&scan.state])
        .any(|state| matches!(state, State::Substituted(_)))
    {
        return Err(Denial::syntax("$(...) has no end: close its parenthesis"));
    }
    match scan.documents.first() {
        Some(document) => Err(no_end(&document.delimiter)),
        None => Ok(()),
    }
}

/// Denies a here-document whose delimiter is not quoted, and that a shell would expand.
pub(crate) fn check_document(text: &str) -> Result<(), Denial> {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let found = match c {
            '\\' => {
                rest.next();
                continue;
            }
            '`' => Some("a command in backquotes"),
            '$' if rest.as_str().starts_with('(') => Some("$(...)"),
            '$' => unsettled(rest.as_str()),
            _ => None,
        };
        if let Some(found) = found {
            return Err(Denial::syntax(format!(
                "the here-document has {found}, which a shell would expand: quote its delimiter, as in <<'EOF', where the text is meant as it stands; or write NAME=$(...) before it, and $NAME in it"
            )));
        }
    }
    Ok(())
}

impl Scan<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn character(&mut self, c: char) -> Result<(), Denial> {
        let was_word_start = std::mem::replace(&mut self.is_word_start, false);
        match (self.state, c) {
            (State::SingleQuoted | State::AnsiQuoted, '\'') | (State::DoubleQuoted, '"') => self.leave(),
            (State::SingleQuoted, _) => {}
            (_, '\\') => {
                self.next();
            }
            (State::AnsiQuoted, _) => {}
            (_, '`') => return Err(never_settled("a command in backquotes")),
            (_, '$') => self.expansion()?,
            (State::DoubleQuoted, _) => {}
            (_, '\'') => self.enter(State::SingleQuoted),
            (_, '"') => self.enter(State::DoubleQuoted),
            (State::Substituted(open), _) => self.substituted(c, open, was_word_start)?,
            (State::Bare, '#') if was_word_start => {
                self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
            }
            (State::Bare, '<') if self.rest.starts_with("<<") => {
                self.rest = &self.rest[2..];
                self.is_word_start = true;
            }
            (State::Bare, '<') if self.rest.starts_with('<') => self.document()?,
            (State::Bare, '\n') => {
                self.is_word_start = true;
                self.skip_documents()?;
            }
            (State::Bare, _) => self.is_word_start = ends_word(c),
        }
        Ok(())
    }

    fn enter(&mut self, state: State) {
        self.enclosing.push(std::mem::replace(&mut self.state, state));
    }

    fn leave(&mut self) {
        self.state = self.enclosing.pop().unwrap_or(State::Bare);
    }

    /// A character of the commands in `$(...)`.
    fn substituted(&mut self, c: char, open: usize, was_word_start: bool) -> Result<(), Denial> {
        self.is_word_start = ends_word(c) || c == '\n';
        match c {
            '(' if open == MOST_PARENTHESES => Err(too_deep()),
            '(' => {
                self.state = State::Substituted(open + 1);
                Ok(())
            }
            ')' if open == 0 => {
                self.leave();
                self.is_word_start = false;
                Ok(())
            }
            ')' => {
                self.state = State::Substituted(open - 1);
                Ok(())
            }
            '<' if self.rest.starts_with("<<") => {
                self.rest = &self.rest[2..];
                Ok(())
            }
            '<' if self.rest.starts_with('<') => Err(Denial::syntax(
                "a here-document does not stand within $(...): write it to a file first, or use printf",
            )),
            '\n' if !self.documents.is_empty() => Err(Denial::syntax(
                "$(...) after a here-document has one line: write it before, as NAME=$(...)",
            )),
            '#' if was_word_start => Err(Denial::syntax(
                "a comment does not stand within $(...): leave it out",
            )),
            _ => Ok(()),
        }
    }

    fn expansion(&mut self) -> Result<(), Denial> {
        if self.rest.starts_with('(') {
            self.substitutions += 1;
            let is_within = |state: &&State| matches!(state, State::Substituted(_));
            let depth = self
                .enclosing
                .iter()
                .chain([&self.state])
                .filter(is_within)
                .count();
            if self.substitutions > MOST_SUBSTITUTIONS || depth == DEEPEST_SUBSTITUTION {
                return Err(too_deep());
            }
            if self.rest.starts_with("((") {
                self.rest = &self.rest[arithmetic::length(self.rest)?..];
                return Ok(());
            }
            self.next();
            self.enter(State::Substituted(0));
            self.is_word_start = true;
            return Ok(());
        }
        if let Some(found) = unsettled(self.rest) {
            return Err(never_settled(found));
        }
        if self.state != State::DoubleQuoted && self.rest.starts_with('\'') {
            self.next();
            self.enter(State::AnsiQuoted);
        }
        Ok(())
    }

    /// The delimiter of a here-document, after the first `<`.
    fn document(&mut self) -> Result<(), Denial> {
        let after = &self.rest[1..];
        let has_tabs = after.starts_with('-');
        let word = after
            .strip_prefix('-')
            .unwrap_or(after)
            .trim_start_matches([' ', '\t']);
        let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"' | '\\'));
        let begin = usize::from(quote.is_some());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = word[begin..].find(|c| !is_plain(c)).unwrap_or(word.len() - begin);
        let (delimiter, mut rest) = word[begin..].split_at(length);
        let is_closed = match quote {
            Some(quote @ ('\'' | '"')) => rest.strip_prefix(quote).is_some_and(|after| {
                rest = after;
                true
            }),
            _ => true,
        };
        let is_end = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&', ')', '<', '>']);
        if delimiter.is_empty() || !is_closed || !is_end {
            return Err(Denial::syntax(
                "the delimiter of a here-document is not plain: write <<'EOF', with letters alone",
            ));
        }
        self.documents.push(Document {
            delimiter: delimiter.to_owned(),
            has_tabs,
        });
        self.rest = rest;
        Ok(())
    }

    /// The lines of the here-documents that begin after this line.
    fn skip_documents(&mut self) -> Result<(), Denial> {
        for document in std::mem::take(&mut self.documents) {
            loop {
                if self.rest.is_empty() {
                    return Err(no_end(&document.delimiter));
                }
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if document.has_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if line == document.delimiter {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// What follows a `$` and is never settled.
fn unsettled(rest: &str) -> Option<&'static str> {
    match rest.chars().next()? {
        '[' => Some("$[...]"),
        '$' | '!' | '@' | '*' | '#' | '-' | '0'..='9' => {
            Some("a parameter of the shell ($1, $@, $$ and their like)")
        }
        '{' => {
            let inner = rest[1..].split_once('}').map(|(inner, _)| inner);
            let is_settled = inner.is_some_and(|inner| {
                let status = inner
                    .strip_prefix("PIPESTATUS[")
                    .and_then(|rest| rest.strip_suffix(']'));
                let is_status = status.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
                let is_name = inner
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                is_status || is_name || inner == "?"
            });
            (!is_settled).then_some("${...} with an operator or an index (NAME=$(basename FILE .csv) and $(... | cut ...) do the same)")
        }
        _ => None,
    }
}

fn never_settled(found: &str) -> Denial {
    Denial::syntax(format!(
        "{found} is not settled before the command runs: run what is in it first and write its result, or write a small Python file"
    ))
}

fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | ';' | '|' | '&' | '(' | ')' | '<' | '>')
}

fn too_deep() -> Denial {
    Denial::syntax(format!(
        "there are more than {MOST_SUBSTITUTIONS} $(...), or more than {DEEPEST_SUBSTITUTION} within each other: write NAME=$(...) first, and then $NAME"
    ))
}

fn no_end(delimiter: &str) -> Denial {
    Denial::syntax(format!(
        "the here-document has no end: write {delimiter} on a line of its own after it"
    ))
}
