//! End of a program by its source: a check whether it can have a value.

use ruff_python_ast::Stmt;

use crate::python::parse;

/// Returns the part that a program which came to `None` lacks, for the model; nothing where `None` may be its answer: it printed nothing,
/// and its last statement is an expression.
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
}
