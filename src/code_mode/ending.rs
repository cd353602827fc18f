//! What the source of a program says of its end: whether it can have a value, and what it begins and never waits for.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};

use crate::python::parse;

/// Functions of `asyncio` that only wrap what they are given.
const WRAPPING: [&str; 1] = ["gather"];

/// What a program that came to `None` lacks, for the model; nothing where `None` may be its answer: it printed nothing, and its last
/// statement is an expression.
#[must_use]
pub fn lacks_answer(code: &str, printed: &str) -> Option<&'static str> {
    if !printed.is_empty() {
        return Some(
            "it printed and ends without a value, and what is printed is no answer: put the answer in an expression on the last line",
        );
    }
    let is_expression = parse(code).is_ok_and(|parsed| {
        let last = parsed.syntax().body.last();
        last.is_some_and(|last| match last {
            Stmt::Expr(_) => true,
            Stmt::Return(returned) => returned.value.is_some(),
            _ => false,
        })
    });
    (!is_expression).then_some("it ends without a value: put the answer in an expression on the last line")
}

/// A call of an `async def` of the program's own, of which nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverAwaited {
    /// The function.
    pub name: String,
    /// The line of the call, from 1.
    pub line: u32,
}

impl std::fmt::Display for NeverAwaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.name;
        write!(
            f,
            "call of {name} is never awaited, so nothing of it runs; write `await {name}(...)`"
        )
    }
}

/// The calls of the program's own `async def`s whose coroutines get a name that nothing uses, or none.
#[must_use]
pub fn never_awaited(code: &str) -> Vec<NeverAwaited> {
    let Ok(parsed) = parse(code) else {
        return Vec::new();
    };
    let mut found = Found::default();
    found.visit_body(&parsed.syntax().body);
    let line = |offset: usize| {
        let before = code.get(..offset).unwrap_or_default();
        u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX)
    };
    let is_lost = |begun: &&Begun<'_>| match begun.target {
        Some(target) => !found.used.contains(target),
        None => true,
    };
    let lost = found.begun.iter().filter(is_lost);
    lost.filter(|begun| found.own.contains(begun.name))
        .map(|begun| NeverAwaited {
            name: begun.name.to_owned(),
            line: line(begun.offset),
        })
        .collect()
}

/// A call that is not awaited where it stands.
struct Begun<'a> {
    name: &'a str,
    target: Option<&'a str>,
    offset: usize,
}

#[derive(Default)]
struct Found<'a> {
    own: BTreeSet<&'a str>,
    used: BTreeSet<&'a str>,
    begun: Vec<Begun<'a>>,
}

impl<'a> Found<'a> {
    fn begin(&mut self, value: &'a Expr, target: Option<&'a str>) {
        match value {
            Expr::Call(call) => match &*call.func {
                Expr::Name(function) => self.begun.push(Begun {
                    name: function.id.as_str(),
                    target,
                    offset: call.arguments.range.start().to_usize(),
                }),
                Expr::Attribute(function) if WRAPPING.contains(&function.attr.as_str()) => {
                    for argument in &call.arguments.args {
                        self.begin(argument, target);
                    }
                }
                _ => {}
            },
            Expr::Starred(starred) => self.begin(&starred.value, target),
            Expr::ListComp(list) => self.begin(&list.elt, target),
            Expr::List(list) => list.elts.iter().for_each(|item| self.begin(item, target)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.begin(item, target)),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Found<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(StmtFunctionDef {
                is_async: true, name, ..
            }) => {
                self.own.insert(name.as_str());
            }
            Stmt::Expr(statement) => self.begin(&statement.value, None),
            Stmt::Assign(assign) => {
                if let [Expr::Name(target)] = assign.targets.as_slice() {
                    self.begin(&assign.value, Some(target.id.as_str()));
                }
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_load()
        {
            self.used.insert(name.id.as_str());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing_but_a_comment("# nothing")]
    #[case::an_assignment("x = await rate(1)")]
    #[case::branches("if await rate(1):\n    'a'\nelse:\n    'b'")]
    #[case::a_main("async def main():\n    pass\nif __name__ == '__main__':\n    await main()")]
    #[case::a_bare_return("return")]
    fn a_program_whose_last_statement_is_no_expression_lacks_an_answer(#[case] code: &str) {
        let lacks = lacks_answer(code, "").unwrap();
        assert!(lacks.starts_with("it ends without a value"), "{lacks}");
    }

    #[test]
    fn what_is_printed_is_no_answer() {
        let lacks = lacks_answer("print(3)", "3\n").unwrap();
        assert!(
            lacks.starts_with("it printed and ends without a value"),
            "{lacks}"
        );
    }

    #[rstest]
    #[case("None")]
    #[case("best = None\nbest")]
    #[case("await send(1)")]
    #[case("return None")]
    fn none_is_an_answer_where_the_last_statement_is_an_expression(#[case] code: &str) {
        assert_eq!(lacks_answer(code, ""), None);
    }

    #[rstest]
    #[case::assigned("async def f():\n    pass\nt = f()\n'done'", 3)]
    #[case::alone("async def f():\n    pass\nf()\n'done'", 3)]
    #[case::in_gather(
        "import asyncio\nasync def f():\n    pass\nt = asyncio.gather(f(), f())\n1",
        4
    )]
    #[case::in_a_list("async def f(i):\n    pass\n\nts = [f(i) for i in range(3)]\n1", 4)]
    #[case::before_it_is_defined("def g():\n    t = f()\nasync def f():\n    pass\ng()", 2)]
    fn a_coroutine_of_its_own_that_nothing_awaits_is_found(#[case] code: &str, #[case] line: u32) {
        let found = never_awaited(code);
        assert_eq!(
            found.first().map(|one| (one.name.as_str(), one.line)),
            Some(("f", line))
        );
    }

    #[rstest]
    #[case::awaited("async def f():\n    pass\nt = await f()\n'done'")]
    #[case::awaited_later("async def f():\n    pass\nt = f()\nawait t")]
    #[case::collected("async def f(i):\n    pass\nts = [f(i) for i in range(3)]\nawait asyncio.gather(*ts)")]
    #[case::appended("async def f():\n    pass\nts = []\nts.append(f())\nawait asyncio.gather(*ts)")]
    #[case::returned("async def f():\n    pass\ndef g():\n    return f()\nawait g()")]
    #[case::run("async def main():\n    pass\nasyncio.run(main())")]
    #[case::no_coroutine("def f():\n    pass\nt = f()\n'done'")]
    #[case::awaited_in_a_list("async def f(i):\n    pass\nts = [await f(i) for i in range(3)]\n1")]
    fn coroutines_that_somebody_awaits_are_not_found(#[case] code: &str) {
        assert_eq!(never_awaited(code), []);
    }
}
