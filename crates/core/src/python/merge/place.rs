//! Place and indentation of a patch's text in a file.

use std::collections::BTreeSet;
use std::ops::Range;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::Module;
use super::super::syntax::{Mentions, docstring, is_import, is_main_guard};
use super::{bound_names, definition, imports};

/// Edits of a file, applied at once.
pub(in crate::python) struct Splices<'a> {
    pub(super) module: &'a Module,
    patch: &'a Module,
    /// Replaced ranges and their new text; empty ranges insert, in the order given.
    edits: Vec<(Range<usize>, String)>,
    imported: BTreeSet<(u32, String, String, String)>,
    keeps_decorators: bool,
}

impl<'a> Splices<'a> {
    pub fn new(module: &'a Module, patch: &'a Module) -> Self {
        Self {
            module,
            patch,
            edits: Vec::new(),
            imported: imports::imported(module.body()),
            keeps_decorators: false,
        }
    }

    /// Leaves the decorators of a function where the new one has none.
    pub(in crate::python) fn keeping_decorators(mut self) -> Self {
        self.keeps_decorators = true;
        self
    }

    /// Puts a statement of the patch in place of one of the file.
    pub(super) fn replace(&mut self, old: &Stmt, new: &Stmt) {
        let mut range = old.range();
        if self.keeps_decorators
            && let (Stmt::FunctionDef(old), Stmt::FunctionDef(new)) = (old, new)
            && may_keep_decorators(old, new)
        {
            let last = old.decorator_list.last().map_or(old.start(), Ranged::end);
            let source = self.module.source();
            let rest = &source[usize::from(last)..usize::from(old.name.start())];
            // Comments may stand between the decorators and the function.
            let keyword = if old.is_async { "async" } else { "def" };
            let start = usize::from(last) + rest.rfind(keyword).unwrap_or_default();
            range = TextRange::new(u32::try_from(start).unwrap_or_default().into(), old.end());
        }
        self.replace_range(range, new);
    }

    /// Puts a statement of the patch in place of a range that starts a line (after its indentation).
    pub(super) fn replace_range(&mut self, range: TextRange, new: &Stmt) {
        let source = self.module.source();
        let range = with_comment(source, range);
        let indent = indentation(source, range.start);
        let text = self.text_of(new, indent);
        self.edits.push((range, text));
    }

    /// Takes decorators, bases and keywords of a class from the patch.
    pub(super) fn replace_head(&mut self, old: &ast::StmtClassDef, new: &ast::StmtClassDef) {
        let head = |class: &ast::StmtClassDef| {
            let named = class.type_params.as_deref().map_or(class.name.end(), Ranged::end);
            let end = class.arguments.as_deref().map_or(named, Ranged::end);
            usize::from(class.start())..usize::from(end)
        };
        let text = &self.patch.source()[head(new)];
        self.edits.push((head(old), text.to_owned()));
    }

    /// Adds a function, class or constant: before what needs it while the file is loaded, after what it needs.
    pub(super) fn insert(&mut self, stmt: &Stmt) {
        let body = self.module.body();
        let names: BTreeSet<&str> = bound_names(stmt).into_iter().collect();
        let needed = Mentions::at_import(stmt).names;
        // An import at the head counts as needed, or a constant could come before it.
        let after = body
            .iter()
            .rposition(|old| is_import(old) || bound_names(old).iter().any(|name| needed.contains(name)));
        let patched: Vec<&Stmt> = self.patch.body().iter().collect();
        // What runs while the file is loaded (a default, a decorator, a base class) needs the new name above it.
        let user = body.iter().enumerate().position(|(at, old)| {
            let current = patched
                .iter()
                .find(|new| definition(new).is_some() && definition(new) == definition(old))
                .copied();
            let uses = Mentions::at_import(current.unwrap_or(old)).names;
            !uses.is_disjoint(&names) && after.is_none_or(|after| at > after)
        });
        if let Some(user) = user {
            self.insert_before(&body[user], stmt);
        } else if definition(stmt).is_some() {
            self.append(stmt);
        } else {
            let first = body
                .iter()
                .enumerate()
                .position(|(at, old)| definition(old).is_some() && after.is_none_or(|after| at > after));
            match first {
                Some(first) => self.insert_before(&body[first], stmt),
                None => self.append(stmt),
            }
        }
    }

    /// Adds a statement before the main guard.
    pub(super) fn append(&mut self, stmt: &Stmt) {
        match self.module.body().iter().find(|old| is_main_guard(old)) {
            Some(guard) => self.insert_before(guard, stmt),
            None => self.append_at_end(stmt),
        }
    }

    /// Adds a statement at the end of the file.
    pub(super) fn append_at_end(&mut self, stmt: &Stmt) {
        let end = self.module.source().len();
        let text = self.text_of(stmt, "");
        let gap = if self.module.source().ends_with('\n') {
            "\n\n"
        } else {
            "\n\n\n"
        };
        self.edits.push((end..end, format!("{gap}{text}\n")));
    }

    /// Adds what is missing of an import.
    pub(super) fn import(&mut self, stmt: &Stmt) {
        let Some(line) = imports::missing(stmt, &self.imported) else {
            return;
        };
        self.imported
            .extend(imports::imported(std::slice::from_ref(stmt)));
        let is_future = |stmt: &Stmt| {
            stmt.as_import_from_stmt()
                .is_some_and(|from| from.module.as_deref() == Some("__future__"))
        };
        if is_future(stmt) {
            // Python takes `from __future__` only at the very start.
            let at = self.after_docstring();
            self.edits.push((at..at, format!("{line}\n")));
        } else {
            self.after_imports(&line);
        }
    }

    /// Adds a guarded import after the others.
    pub(super) fn insert_after_imports(&mut self, stmt: &Stmt) {
        let text = self.text_of(stmt, "");
        self.after_imports(&text);
    }

    fn after_imports(&mut self, text: &str) {
        // Only the imports at the head of the file: a later one may stand behind code.
        let head = self.module.body().iter().enumerate().take_while(|(at, stmt)| {
            is_import(stmt) || stmt.is_try_stmt() || *at == 0 && docstring(self.module.body()).is_some()
        });
        let at = match head.filter(|(_, stmt)| is_import(stmt)).last() {
            Some((_, last)) => line_end(
                self.module.source(),
                with_comment(self.module.source(), last.range()).end,
            ),
            None => self.after_docstring(),
        };
        let gap = if at > 0 && !self.module.source()[..at].ends_with('\n') {
            "\n"
        } else {
            ""
        };
        self.edits.push((at..at, format!("{gap}{text}\n")));
    }

    fn after_docstring(&self) -> usize {
        let source = self.module.source();
        if let Some(text) = docstring(self.module.body()) {
            return line_end(source, usize::from(text.end()));
        }
        source
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#'))
            .map(str::len)
            .sum()
    }

    fn insert_before(&mut self, old: &Stmt, stmt: &Stmt) {
        let source = self.module.source();
        let at = start_with_comments(source, usize::from(old.start()));
        let text = self.text_of(stmt, "");
        // Two blank lines, as PEP 8 has them: a program is read by people in the end.
        let gap = if definition(stmt).is_some() || definition(old).is_some() || is_main_guard(old) {
            "\n\n\n"
        } else {
            "\n"
        };
        self.edits.push((at..at, format!("{text}{gap}")));
    }

    /// Adds a method or field at the end of a class.
    pub(super) fn add_member(&mut self, class: &ast::StmtClassDef, stmt: &Stmt) {
        let Some(last) = class.body.last() else { return };
        let source = self.module.source();
        let indent = indentation(source, usize::from(class.body[0].start()));
        let end = with_comment(source, last.range()).end;
        let text = self.text_of(stmt, indent);
        let gap = if definition(stmt).is_some() { "\n\n" } else { "\n" };
        self.edits.push((end..end, format!("{gap}{indent}{text}")));
    }

    /// Text of a statement of the patch; its first line without indentation.
    fn text_of(&self, stmt: &Stmt, indent: &str) -> String {
        let source = self.patch.source();
        let range = with_comment(source, stmt.range());
        let from = indentation(source, range.start);
        if from == indent {
            return source[range].to_owned();
        }
        let mut strings = MultiLine {
            module: self.patch,
            starts: BTreeSet::new(),
        };
        strings.visit_stmt(stmt);
        let mut text = String::new();
        let mut offset = range.start;
        for line in source[range].split_inclusive('\n') {
            let is_first = text.is_empty();
            let inside_string = strings.starts.contains(&offset);
            offset += line.len();
            match line.strip_prefix(from) {
                // Lines inside a string are data; indenting them would change the program.
                _ if is_first || inside_string => text.push_str(line),
                Some(rest) if !rest.trim().is_empty() => {
                    text.push_str(indent);
                    text.push_str(rest);
                }
                _ => text.push_str(line.trim_start_matches(' ')),
            }
        }
        text
    }

    /// The file with every edit.
    pub(super) fn finish(mut self) -> String {
        // Stable: insertions at one place keep their order.
        self.edits.sort_by_key(|(range, _)| range.start);
        let source = self.module.source();
        let mut text = String::with_capacity(source.len());
        let mut at = 0;
        for (range, new) in self.edits {
            if range.start >= at {
                text.push_str(&source[at..range.start]);
                at = range.end;
            }
            text.push_str(&new);
        }
        text.push_str(&source[at..]);
        text
    }
}

/// Decorators stay when the new function takes the same parameters and brings none.
fn may_keep_decorators(old: &ast::StmtFunctionDef, new: &ast::StmtFunctionDef) -> bool {
    let names = |function: &ast::StmtFunctionDef| -> Vec<String> {
        function.parameters.iter().map(|p| p.name().to_string()).collect()
    };
    new.decorator_list.is_empty() && !old.decorator_list.is_empty() && names(old) == names(new)
}

/// A range with the comment that follows on its last line.
fn with_comment(source: &str, range: TextRange) -> Range<usize> {
    let range = range.to_std_range();
    let rest = source[range.end..].split('\n').next().unwrap_or_default();
    if rest.trim_start().starts_with('#') {
        range.start..range.end + rest.trim_end().len()
    } else {
        range
    }
}

/// Offset behind the line break that follows.
fn line_end(source: &str, from: usize) -> usize {
    source[from..].find('\n').map_or(source.len(), |at| from + at + 1)
}

/// Offset of the comments directly above a statement at the top.
fn start_with_comments(source: &str, start: usize) -> usize {
    let mut at = start;
    while at > 0 {
        let line = source[..at - 1].rfind('\n').map_or(0, |before| before + 1);
        if !source[line..at].starts_with('#') {
            break;
        }
        at = line;
    }
    at
}

fn indentation(source: &str, offset: usize) -> &str {
    let line = source[..offset].rfind('\n').map_or(0, |before| before + 1);
    let text = &source[line..offset];
    &text[..text.len() - text.trim_start().len()]
}

/// Starts of lines that lie in a string: their white space is data.
struct MultiLine<'a> {
    module: &'a Module,
    starts: BTreeSet<usize>,
}

impl<'b> Visitor<'b> for MultiLine<'_> {
    fn visit_expr(&mut self, expr: &'b Expr) {
        let parts: Vec<TextRange> = match expr {
            Expr::StringLiteral(string) => string.value.iter().map(Ranged::range).collect(),
            Expr::BytesLiteral(bytes) => bytes.value.iter().map(Ranged::range).collect(),
            Expr::FString(string) => string.value.iter().map(Ranged::range).collect(),
            Expr::TString(string) => string.value.iter().map(Ranged::range).collect(),
            _ => Vec::new(),
        };
        for part in parts {
            let begin = usize::from(part.start());
            let text = self.module.text(&part);
            self.starts
                .extend(text.match_indices('\n').map(|(at, _)| begin + at + 1));
        }
        visitor::walk_expr(self, expr);
    }
}
