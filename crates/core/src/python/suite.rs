//! Test files: their tests, and the exchange of named tests alone.

use std::collections::BTreeSet;

use ruff_python_ast::{self as ast, Stmt};

use super::functions::definitions;
use super::merge::{self, PatchPart, Splices, changed_names};
use super::syntax::{docstring, dotted, is_import, is_main_guard};
use super::{Module, SyntaxFault};

/// Reason why a suite cannot be patched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchFault {
    /// The patch is no Python.
    #[error("the patch is not valid Python: {0}")]
    Patch(SyntaxFault),
    /// Tests that the suite does not have.
    #[error("the suite has no test {}; name tests as pytest reports them", .0.join(", "))]
    Unknown(Vec<String>),
    /// Named tests that the patch does not hold.
    #[error("the patch lacks {}; give each of them in full", .0.join(", "))]
    Missing(Vec<String>),
    /// Named tests that are as they were.
    #[error("{} did not change; change each of them", .0.join(", "))]
    Unchanged(Vec<String>),
    /// The patched suite is no Python.
    #[error("the suite is not valid Python with the patch: {0}")]
    Result(SyntaxFault),
}

/// Every function that pytest collects by its default rules, in order: `test_empty`, `TestMean.test_empty`.
fn all_tests(module: &Module) -> Vec<String> {
    definitions(module)
        .into_iter()
        .filter(|(class, function, _)| {
            function.name.starts_with("test")
                && class.as_deref().is_none_or(|class| is_test_class(module, class))
        })
        .map(|(class, function, _)| qualname(class.as_deref(), function.name.as_str()))
        .collect()
}

/// Qualified name of the test behind a pytest node id or a function name, when the suite has it.
#[must_use]
pub fn resolve(module: &Module, named: &str) -> Option<String> {
    let path = named.split('[').next().unwrap_or(named).trim();
    let segments: Vec<&str> = path
        .split("::")
        .filter(|segment| segment.rsplit('.').next() != Some("py"))
        .collect();
    let wanted = segments.join(".");
    let tests = all_tests(module);
    if tests.contains(&wanted) {
        return Some(wanted);
    }
    if let [class, method] = segments[..]
        && let Some(owner) = owner(module, class, method, GENERATIONS)
        && let Some(test) = tests.iter().find(|test| **test == format!("{owner}.{method}"))
    {
        return Some(test.clone());
    }
    // A bare name may mean a method, when only one class has it.
    let suffix = format!(".{wanted}");
    let mut methods = tests.iter().filter(|test| test.ends_with(&suffix));
    let found = methods.next()?;
    methods.next().is_none().then(|| found.clone())
}

/// Puts the named tests of a patch into a suite; imports, fixtures and helpers of the patch come along, other tests stay.
///
/// Decorators stay where a test of the patch has none and takes the same parameters.
pub fn patch(suite: &Module, patch: &str, named: &[String]) -> Result<String, PatchFault> {
    let new = Module::parse(patch).map_err(PatchFault::Patch)?;
    let (wanted, unknown): (Vec<_>, Vec<_>) = named
        .iter()
        .map(|name| resolve(suite, name).ok_or(name))
        .partition(Result::is_ok);
    let unknown: Vec<String> = unknown.into_iter().filter_map(Result::err).cloned().collect();
    if !unknown.is_empty() {
        return Err(PatchFault::Unknown(unknown));
    }
    let wanted: BTreeSet<String> = wanted.into_iter().flatten().collect();
    let mut parts = Vec::new();
    let mut given = BTreeSet::new();
    let skip = usize::from(docstring(new.body()).is_some());
    for stmt in new.body().iter().skip(skip).filter(|stmt| !is_main_guard(stmt)) {
        choose(suite, stmt, &wanted, &mut parts, &mut given);
    }
    let missing: Vec<String> = wanted.difference(&given).cloned().collect();
    if !missing.is_empty() {
        return Err(PatchFault::Missing(missing));
    }
    let source = merge::apply(Splices::new(suite, &new).keeping_decorators(), &parts);
    let patched = Module::parse(&source).map_err(PatchFault::Result)?;
    let changed = changed_names(suite, &patched);
    let unchanged: Vec<String> = wanted.difference(&changed).cloned().collect();
    if unchanged.is_empty() {
        Ok(source)
    } else {
        Err(PatchFault::Unchanged(unchanged))
    }
}

/// Takes from a statement of the patch what may go into the suite.
fn choose<'a>(
    suite: &Module,
    stmt: &'a Stmt,
    wanted: &BTreeSet<String>,
    parts: &mut Vec<PatchPart<'a>>,
    given: &mut BTreeSet<String>,
) {
    match stmt {
        Stmt::FunctionDef(function) if function.name.starts_with("test") => {
            let name = function.name.as_str();
            let target = if wanted.contains(name) {
                Some(name.to_owned())
            } else {
                lost_method(function, wanted)
            };
            if let Some(target) = target {
                let class = target.rsplit_once('.').map(|(class, _)| class.to_owned());
                parts.push(PatchPart { class, stmt });
                given.insert(target);
            }
        }
        Stmt::ClassDef(class) if has_definition(suite, &class.name) => {
            choose_members(class, wanted, parts, given);
        }
        Stmt::ClassDef(class) if class.name.starts_with("Test") => {}
        _ if is_import(stmt) || !stmt.is_expr_stmt() => {
            parts.push(PatchPart { class: None, stmt });
        }
        _ => {}
    }
}

fn has_definition(suite: &Module, name: &str) -> bool {
    let mut definitions = suite.body().iter().map(merge::definition);
    definitions.any(|definition| definition == Some(name))
}

/// Takes from a class that the suite has the tests that are wanted, and what is no test.
fn choose_members<'a>(
    class: &'a ast::StmtClassDef,
    wanted: &BTreeSet<String>,
    parts: &mut Vec<PatchPart<'a>>,
    given: &mut BTreeSet<String>,
) {
    let skip = usize::from(docstring(&class.body).is_some());
    for member in class.body.iter().skip(skip) {
        let Some(name) = merge::definition(member) else {
            continue;
        };
        let name = qualname(Some(class.name.as_str()), name);
        let is_test = member
            .as_function_def_stmt()
            .is_some_and(|function| function.name.starts_with("test"));
        let is_wanted = wanted.contains(&name);
        if is_wanted || !is_test {
            parts.push(PatchPart {
                class: Some(class.name.to_string()),
                stmt: member,
            });
        }
        if is_wanted {
            given.insert(name);
        }
    }
}

/// A method that the patch gives without its class.
fn lost_method(function: &ast::StmtFunctionDef, wanted: &BTreeSet<String>) -> Option<String> {
    let takes_self = function
        .parameters
        .iter()
        .next()
        .is_some_and(|first| first.name().as_str() == "self");
    let suffix = format!(".{}", function.name);
    let mut methods = wanted.iter().filter(|name| takes_self && name.ends_with(&suffix));
    let found = methods.next()?;
    methods.next().is_none().then(|| found.clone())
}

fn qualname(class: Option<&str>, name: &str) -> String {
    class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}"))
}

/// Number of generations for which bases are followed: a cycle of them is no Python, and need not be noticed.
const GENERATIONS: u32 = 8;

/// Reports whether pytest may find a test here: something in the file has a name that begins as those of tests do. Whether it is one, a run
/// shows.
#[must_use]
pub fn may_have_tests(module: &Module) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = module.source().split(|letter| !is_word(letter));
    words.any(|word| word.starts_with("test") || word.starts_with("Test"))
}

/// Classes whose tests pytest collects: those named `Test…`, those of `unittest`, and those that one of these inherits from.
fn is_test_class(module: &Module, name: &str) -> bool {
    let outer = name.split('.').next().unwrap_or(name);
    name.split('.').all(|part| part.starts_with("Test"))
        || is_unittest(module, outer, GENERATIONS)
        || heirs(module, outer)
            .iter()
            .any(|heir| heir.starts_with("Test") || is_unittest(module, heir, GENERATIONS))
}

fn is_unittest(module: &Module, name: &str, generations: u32) -> bool {
    let bases = class_named(module, name).map(bases).unwrap_or_default();
    bases.iter().any(|base| {
        base.ends_with("TestCase") || generations > 0 && is_unittest(module, base, generations - 1)
    })
}

/// Names of the classes at the top of the file that inherit from the one of this name, over any number of generations.
fn heirs<'a>(module: &'a Module, name: &str) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..GENERATIONS {
        for class in classes(module) {
            let inherits = |base: &String| base == name || found.contains(base.as_str());
            if bases(class).iter().any(inherits) {
                found.insert(&class.name);
            }
        }
    }
    found
}

/// The class in which a method of this class is written: itself, or the first of its bases that has it.
fn owner(module: &Module, class: &str, method: &str, generations: u32) -> Option<String> {
    let found = class_named(module, class)?;
    let is_method =
        |stmt: &Stmt| matches!(stmt, Stmt::FunctionDef(function) if function.name.as_str() == method);
    if found.body.iter().any(is_method) {
        return Some(class.to_owned());
    }
    let next = generations.checked_sub(1)?;
    let mut bases = bases(found).into_iter();
    bases.find_map(|base| owner(module, &base, method, next))
}

/// Classes at the top of the file, those in branches left out.
fn classes(module: &Module) -> impl Iterator<Item = &ast::StmtClassDef> {
    module.body().iter().filter_map(Stmt::as_class_def_stmt)
}

fn class_named<'a>(module: &'a Module, name: &str) -> Option<&'a ast::StmtClassDef> {
    classes(module).find(|class| class.name.as_str() == name)
}

fn bases(class: &ast::StmtClassDef) -> Vec<String> {
    let arguments = class.arguments.as_deref();
    let bases = arguments.into_iter().flat_map(|arguments| &arguments.args);
    bases.filter_map(dotted).collect()
}

#[cfg(test)]
mod tests;
