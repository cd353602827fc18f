//! Syntax that the interpreter has not, and where it says so.

use rstest::rstest;

use crate::support::run;

#[rstest]
#[case::inheritance("class A: pass\nclass B(A): pass", "NotImplementedError", 2)]
#[case::generators("def f():\n    yield 1", "NotImplementedError", 2)]
#[case::patterns("x = 1\nmatch x:\n    case 1: pass", "NotImplementedError", 2)]
#[case::del("x = 1\ndel x", "NotImplementedError", 2)]
#[case::type_alias("\ntype X = int", "NotImplementedError", 2)]
#[case::bracket("x = 1\ny = )", "SyntaxError", 2)]
#[case::indentation("for x in []:\npass", "SyntaxError", 2)]
#[case::operator("\n\nx = 1 +* 2", "SyntaxError", 3)]
#[case::module("x = 1\nimport random", "ModuleNotFoundError", 2)]
#[case::clock("\nimport time", "ModuleNotFoundError", 2)]
#[case::unknown_function("x = 1\n\nfetch(x)", "NameError", 3)]
#[tokio::test]
async fn a_fault_of_the_source_names_its_line(#[case] code: &str, #[case] kind: &str, #[case] line: u32) {
    // The lines of tools that stand before the program do not count.
    let raised = run(&format!("{code}\nawait double(1)")).await.raised();
    assert_eq!(
        (raised.kind.as_str(), raised.line),
        (kind, Some(line)),
        "{raised:#?}"
    );
}

#[rstest]
#[case::formatting_by_percent("'%d' % 3", "unsupported operand type(s) for %")]
#[case::a_method_as_a_value("rates = {'a': 1}\nmax(rates, key=rates.get)", "has no attribute 'get'")]
#[case::arithmetic_with_booleans("sum(n > 2 for n in [1, 3])", "unsupported operand type(s) for +")]
#[case::a_slice_as_target("rows = [1, 2]\nrows[0:1] = [3]", "list indices must be integers")]
#[case::items_as_targets(
    "rows = [1, 2]\nrows[0], rows[1] = rows[1], rows[0]",
    "invalid unpacking target"
)]
#[case::exceptions_of_gather(
    "import asyncio\nawait asyncio.gather(a(1), return_exceptions=True)",
    "keyword arguments"
)]
#[case::a_function_in_sub(
    "import re\nre.sub('a', lambda found: 'b', 'a')",
    "callable replacement is not yet supported"
)]
#[case::an_order_of_sets("{1} <= {1, 2}", "'<=' not supported between instances of 'set' and 'set'")]
#[case::groupby("import itertools\nitertools.groupby([])", "has no attribute 'groupby'")]
#[case::field("from dataclasses import field", "cannot import name 'field'")]
#[case::a_tool_in_map(
    "import asyncio\nawait asyncio.gather(*map(a, [1, 2]))",
    "not yet supported in this context"
)]
#[tokio::test]
async fn what_the_prompt_says_that_the_interpreter_has_not_it_has_not(
    #[case] code: &str,
    #[case] words: &str,
) {
    let raised = run(code).await.raised();
    assert!(raised.message.contains(words), "{raised:#?}");
}

#[tokio::test]
async fn what_the_prompt_says_that_the_interpreter_does_otherwise_it_does_otherwise() {
    let code = "[round(2.675, 2), f'{2.675:.2f}', hasattr('', 'upper'), {1}.issubset({1, 2})]";
    assert_eq!(
        run(code).await.value(),
        serde_json::json!([2.68, "2.67", false, true])
    );
}

#[tokio::test]
async fn a_traceback_shows_the_lines_of_the_program_alone() {
    let code = "async def ask(n):\n    return await a(n)\n\nx = 1\nawait ask(x / 0)";
    let raised = run(code).await.raised();
    let expected = "Traceback (most recent call last):\n  File \"program.py\", line 5, in <module>\n    await ask(x / 0)\n              \
                    ~~~~~\nZeroDivisionError: division by zero";
    assert_eq!(raised.traceback, expected);
}

#[tokio::test]
async fn source_that_nests_without_end_does_not_end_the_worker() {
    let raised = run(&"[".repeat(100_000)).await.raised();
    assert_eq!(raised.kind, "SyntaxError");
    let raised = run(&format!("x = 0{}", "+1".repeat(100_000))).await.raised();
    assert!(!raised.message.is_empty());
}
