//! Exchanges parts of a file: functions, methods, constants, imports. Everything else stays byte for byte.

mod compare;
mod imports;
mod place;

use ruff_python_ast::{self as ast, Stmt};

use super::syntax::{Mentions, assigned, docstring, is_import, is_main_guard, shape};
use super::{Module, SyntaxFault};

pub use compare::{changed_names, tree_hash};
pub(super) use place::Splices;

/// A file after a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The whole file.
    pub source: String,
    /// Names that are different in the tree, sorted: see [`changed_names`].
    pub changed: Vec<String>,
}

/// Reason why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeFault {
    /// The patch is no Python.
    #[error("the patch is not valid Python: {0}")]
    Patch(SyntaxFault),
    /// The patch has no statement.
    #[error("the patch is empty; give the functions that change")]
    Empty,
    /// The file with the patch is no Python.
    #[error("the file is not valid Python with the patch: {0}")]
    Result(SyntaxFault),
}

/// Puts the parts of a patch in place of the parts of the same name; what is new is added.
///
/// A patch that is a whole file of its own replaces the file. A class of the patch replaces the members it has.
pub fn merge(module: &Module, patch: &str) -> Result<Merged, MergeFault> {
    let patch = Module::parse(patch).map_err(MergeFault::Patch)?;
    if patch.body().is_empty() {
        return Err(MergeFault::Empty);
    }
    let source = if is_whole_file(module, &patch) {
        patch.source().to_owned()
    } else {
        apply(Splices::new(module, &patch), &parts(&patch))
    };
    let merged = Module::parse(&source).map_err(MergeFault::Result)?;
    let changed = changed_names(module, &merged).into_iter().collect();
    Ok(Merged { source, changed })
}

/// One thing that a patch brings.
pub(super) struct PatchPart<'a> {
    /// Class that it belongs to; `None` at the top.
    pub(super) class: Option<String>,
    /// Statement itself.
    pub(super) stmt: &'a Stmt,
}

/// Statements of a patch, without its docstring.
fn parts(patch: &Module) -> Vec<PatchPart<'_>> {
    let skip = usize::from(docstring(patch.body()).is_some());
    let statements = patch.body().iter().skip(skip);
    statements.map(|stmt| PatchPart { class: None, stmt }).collect()
}

/// Reports whether the patch has the main guard, every function and class, and whatever else it uses itself.
fn is_whole_file(module: &Module, patch: &Module) -> bool {
    let defines = |name: &str| patch.body().iter().any(|stmt| definition(stmt) == Some(name));
    let bound: Vec<&str> = patch.body().iter().flat_map(bound_names).collect();
    let used = Mentions::of(patch.body());
    let is_complete = |stmt: &Stmt| match definition(stmt) {
        Some(name) => defines(name),
        None => bound_names(stmt)
            .iter()
            .all(|name| bound.contains(name) || !used.names.contains(name)),
    };
    patch.body().iter().any(is_main_guard) && module.body().iter().all(is_complete)
}

/// Name of a function or class.
pub(super) fn definition(stmt: &Stmt) -> Option<&str> {
    match stmt {
        Stmt::FunctionDef(function) => Some(function.name.as_str()),
        Stmt::ClassDef(class) => Some(class.name.as_str()),
        _ => None,
    }
}

/// Names that a statement binds.
fn bound_names(stmt: &Stmt) -> Vec<&str> {
    match stmt {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => definition(stmt).into_iter().collect(),
        Stmt::Import(ast::StmtImport { names, .. }) => names
            .iter()
            .map(|alias| {
                alias
                    .asname
                    .as_ref()
                    .map_or(alias.name.split('.').next().unwrap_or_default(), |name| {
                        name.as_str()
                    })
            })
            .collect(),
        Stmt::ImportFrom(ast::StmtImportFrom { names, .. }) => names
            .iter()
            .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str())
            .collect(),
        Stmt::Try(attempt) => attempt.body.iter().flat_map(bound_names).collect(),
        Stmt::If(branch) if !is_main_guard(stmt) => branch.body.iter().flat_map(bound_names).collect(),
        _ => assigned(stmt),
    }
}

/// The statement of a body that a patch statement replaces: the last one of the same name.
fn counterpart<'a>(body: &'a [Stmt], stmt: &Stmt) -> Option<&'a Stmt> {
    if is_main_guard(stmt) {
        return body.iter().rev().find(|old| is_main_guard(old));
    }
    if let Some(name) = definition(stmt) {
        // From the end: in Python the last definition of a name holds.
        return body.iter().rev().find(|old| definition(old) == Some(name));
    }
    let names = assigned(stmt);
    body.iter()
        .rev()
        .find(|old| !names.is_empty() && assigned(old) == names)
}

/// The file with parts of a patch in it.
pub(super) fn apply(mut splices: Splices, parts: &[PatchPart]) -> String {
    for part in parts {
        match &part.class {
            Some(class) => match class_of(splices.module, class) {
                Some(class) => member(&mut splices, class, part.stmt),
                None => splices.append(part.stmt),
            },
            None => top_level(&mut splices, part.stmt),
        }
    }
    splices.finish()
}

fn class_of<'a>(module: &'a Module, name: &str) -> Option<&'a ast::StmtClassDef> {
    let classes = module.body().iter().rev().filter_map(Stmt::as_class_def_stmt);
    classes.into_iter().find(|class| class.name.as_str() == name)
}

fn top_level(splices: &mut Splices, stmt: &Stmt) {
    let module = splices.module;
    if is_import(stmt) {
        splices.import(stmt);
        return;
    }
    match (counterpart(module.body(), stmt), stmt) {
        (Some(Stmt::ClassDef(old)), Stmt::ClassDef(new)) => class(splices, old, new, stmt),
        (Some(old), _) => splices.replace(old, stmt),
        // It must stay last, since what stands below it is not defined when the program runs.
        (None, _) if is_main_guard(stmt) => splices.append_at_end(stmt),
        (None, _) if definition(stmt).is_some() || !assigned(stmt).is_empty() => splices.insert(stmt),
        // A statement without a name is there already, or new.
        (None, _) if module.body().iter().any(|old| shape(old) == shape(stmt)) => {}
        (None, Stmt::Try(attempt)) if attempt.body.iter().all(is_import) => {
            splices.insert_after_imports(stmt);
        }
        (None, _) => splices.append(stmt),
    }
}

/// A class of a patch: whole when it has every method of the old one, otherwise member by member.
fn class(splices: &mut Splices, old: &ast::StmtClassDef, new: &ast::StmtClassDef, stmt: &Stmt) {
    let methods = |class: &ast::StmtClassDef| -> Vec<String> {
        class
            .body
            .iter()
            .filter_map(definition)
            .map(str::to_owned)
            .collect()
    };
    let given = methods(new);
    let has_fields = |class: &ast::StmtClassDef| class.body.iter().any(|stmt| !assigned(stmt).is_empty());
    // Models often give only the method that changes, inside its class. Fields that are missing then are not meant to go.
    let is_whole =
        methods(old).iter().all(|name| given.contains(name)) && (has_fields(new) || !has_fields(old));
    if is_whole {
        splices.replace_range(old.range, stmt);
        return;
    }
    if new.arguments.is_some() || !new.decorator_list.is_empty() {
        splices.replace_head(old, new);
    }
    let skip = usize::from(docstring(&new.body).is_some());
    for stmt in new
        .body
        .iter()
        .skip(skip)
        // `...` and `pass` stand for what is left as it was.
        .filter(|stmt| !stmt.is_pass_stmt() && !is_ellipsis(stmt))
    {
        member(splices, old, stmt);
    }
}

fn member(splices: &mut Splices, class: &ast::StmtClassDef, stmt: &Stmt) {
    match counterpart(&class.body, stmt) {
        Some(old) => splices.replace(old, stmt),
        None => splices.add_member(class, stmt),
    }
}

fn is_ellipsis(stmt: &Stmt) -> bool {
    stmt.as_expr_stmt()
        .is_some_and(|expr| expr.value.is_ellipsis_literal_expr())
}

#[cfg(test)]
mod tests;
