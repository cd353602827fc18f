//! Programs with and without a fault that their source shows.

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::signature::{Effect, Tool};

fn tools() -> Toolbox {
    let tool = |name: &str, parameters: Value| Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters,
        result: None,
        effect: Effect::ReadOnly,
        is_loosened: false,
    };
    let properties = json!({
        "id": {"type": "string"}, "limit": {"type": "integer"}, "unit": {"enum": ["g", "kg"]}, "loose": {"properties": {"a": {}}},
        "ids": {"type": "array", "items": {"type": "string"}}, "note": {"type": ["string", "null"]}
    });
    let order = json!({"type": "object", "properties": properties, "required": ["id"]});
    Toolbox::new(vec![tool("order", order), tool("stock", json!({}))]).unwrap()
}

fn faults(code: &str) -> Vec<CertainFault> {
    certain_faults(code, &tools())
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
    let found = faults(code);
    let first = found.first().map(|one| (one.line, one.message.as_str()));
    let message = "call of f is never awaited, so nothing of it runs; write `await f(...)`";
    assert_eq!(first, Some((line, message)));
}

#[rstest]
#[case::awaited("async def f():\n    pass\nt = await f()\n'done'")]
#[case::awaited_later("async def f():\n    pass\nt = f()\nawait t")]
#[case::collected(
    "import asyncio\nasync def f(i):\n    pass\nts = [f(i) for i in range(3)]\nawait asyncio.gather(*ts)"
)]
#[case::appended(
    "import asyncio\nasync def f():\n    pass\nts = []\nts.append(f())\nawait asyncio.gather(*ts)"
)]
#[case::returned("async def f():\n    pass\ndef g():\n    return f()\nawait g()")]
#[case::run("import asyncio\nasync def main():\n    pass\nasyncio.run(main())")]
#[case::no_coroutine("def f():\n    pass\nt = f()\n'done'")]
#[case::awaited_in_a_list("async def f(i):\n    pass\nts = [await f(i) for i in range(3)]\n1")]
fn coroutines_that_somebody_awaits_are_not_found(#[case] code: &str) {
    assert_eq!(faults(code), []);
}

#[rstest]
#[case::alone("order('a')\n1")]
#[case::as_the_answer("order('a')")]
#[case::a_variable_that_is_only_a_number("o = order('a')\no * 2")]
#[case::rows_of_a_loop("for row in order('a'):\n    print(row)")]
#[case::rows_of_a_list("[row for row in order('a')]")]
#[case::a_key("order('a')['x']")]
#[case::an_attribute("order('a').x")]
#[case::a_sum("total = 0\ntotal += order('a')\ntotal")]
#[case::a_comparison("order('a') > 3")]
fn a_call_of_a_tool_that_nothing_awaits_is_found(#[case] code: &str) {
    let found = faults(code);
    assert!(
        matches!(found.as_slice(), [one] if one.message.contains("call of order is never awaited")),
        "{found:?}"
    );
}

#[rstest]
#[case("order()", "order() missing 1 required argument: 'id'")]
#[case("order('a', name=1)", "order() got an unexpected keyword argument 'name'")]
#[case("order('a', id='b')", "order() got multiple values for argument 'id'")]
#[case("stock(1)", "stock() takes 0 arguments but 1 were given")]
#[case("order(978)", "order(): the argument id is str, and 978 is not")]
#[case("order(None)", "order(): the argument id is str, and None is not")]
#[case(
    "order('a', limit='ten')",
    "order(): the argument limit is int, and \"ten\" is not"
)]
#[case("order('a', unit='lb')", "and \"lb\" is not")]
#[case(
    "order('a', ids='b')",
    "order(): the argument ids is list[str], and \"b\" is not"
)]
fn arguments_that_a_tool_does_not_take_are_found(#[case] call: &str, #[case] why: &str) {
    let found = faults(&format!("x = 1\nawait {call}"));
    assert!(
        matches!(found.as_slice(), [one] if one.line == 2 && one.message.contains(why)),
        "{found:?}"
    );
}

#[rstest]
#[case("await fetch('a')", "there is no `fetch`")]
#[case("import random", "there is no module `random` here")]
#[case("from pandas.api import types", "there is no module `pandas.api` here")]
#[case("await order('a'", "unexpected EOF while parsing")]
fn what_is_not_there_is_found(#[case] code: &str, #[case] why: &str) {
    let found = faults(code);
    assert!(
        matches!(found.as_slice(), [one] if one.message.contains(why)),
        "{found:?}"
    );
}

#[rstest]
#[case::what_a_try_catches(
    "try:\n    import numpy\n    x = fetch(1)\n    await order(1)\nexcept Exception as e:\n    print(e)"
)]
#[case::a_name_of_its_own_for_a_tool("def order(x):\n    return x\norder(1) + 2")]
#[case::arguments_in_a_list("a = ['x']\nawait order(*a)\nawait order(**{'id': 'x'})")]
#[case::an_optional_argument_that_is_none("await order('a', limit=None, unit=None, note=None)")]
#[case::a_whole_number_as_a_float("await order('a', limit=3.0)")]
#[case::a_schema_without_a_type("await order('a', loose='b')")]
#[case::a_value_that_is_computed("await order(str(3), ids=[f'{n}' for n in range(2)], limit=-1)")]
#[case::a_coroutine_that_is_returned("def ask(n):\n    return order(n)\nawait ask('a')")]
#[case::coroutines_in_a_list("import asyncio\nts = [order('a')] + [stock()]\nawait asyncio.gather(*ts)")]
#[case::one_of_a_list("ts = [order('a'), stock()]\nawait ts[0]\nawait ts[1]")]
#[case::awaited_and_computed_with("t = stock()\nt = await t\nt * 2")]
#[case::a_class_in_an_annotation(
    "def f(rows: list[Order]) -> Order | None:\n    x: Row = rows[0]\n    return x\nf([1])"
)]
#[case::names_that_are_bound_in_any_way(
    "from math import pi as p\nimport os.path\nwith open('x') as f: pass\n(n := 2)\ng = lambda a, *b, **c: (a, b, c)\n[os, p, f, n, g]"
)]
#[case::names_that_python_has("print(__name__, ConnectionError, sorted)")]
#[case::names_of_a_star("from math import *\nfloor(2.5)")]
fn what_may_be_right_is_let_pass(#[case] code: &str) {
    assert_eq!(faults(code), []);
}

#[test]
fn faults_are_listed_by_line_and_each_once() {
    let found = faults("b(1)\na(1)\na(1)\norder()\n");
    let lines: Vec<_> = found.iter().map(|one| one.line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 4]);
}
