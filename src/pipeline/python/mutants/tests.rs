use std::collections::BTreeSet;

use super::*;
use rstest::rstest;

/// Every change of `f`, as the lines that it makes of the changed one.
fn changed(program: &str) -> Vec<String> {
    let suite = "import solution\n\n\ndef test_f():\n    assert solution.f(1) == 1\n";
    let program = Module::parse(program).unwrap();
    mutants(&program, &Module::parse(suite).unwrap())
        .iter()
        .map(|mutant| line_of(&program, mutant))
        .collect()
}

fn line_of(program: &Module, mutant: &Mutant) -> String {
    let mut source = program.source().to_owned();
    source.replace_range(mutant.start..mutant.end, &mutant.replacement);
    assert!(
        Module::parse(&source).is_ok(),
        "{mutant:?} is no Python:\n{source}"
    );
    assert_ne!(source, program.source());
    source
        .lines()
        .nth(mutant.line as usize - 1)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[rstest]
#[case::unknown("return x", &["return type(x)()"])]
#[case::nothing("return None", &[])]
#[case::bare("return", &[])]
#[case::itself("return self", &[])]
#[case::list("return sorted(x)", &["return type(sorted(x))()"])]
#[case::comprehension("return [y for y in x]", &["return []"])]
#[case::text("return f'{x}!'", &["return \"mutant\""])]
#[case::pair("return x, y", &["return ()"])]
#[case::truth("return True", &["return False"])]
#[case::number("return 3", &["return 3 + 1"])]
#[case::equality("return x == y", &["return not (x == y)"])]
#[case::order("return x < y", &["return not (x < y)", "return x <= y"])]
#[case::generator("yield x", &["yield type(x)()"])]
#[case::turned("if x in y:\n        z = g(x)", &["if not (x in y):"])]
#[case::bound("if x > len(y):\n        z = g(x)", &["if not (x > len(y)):", "if x >= len(y):"])]
#[case::choice("z = g(x) if x else y", &["z = g(x) if not (x) else y"])]
#[case::filter("z = [y for y in x if y]", &["z = [y for y in x if not (y)]"])]
#[case::chain("z = a < b < c", &[])]
#[case::membership("z = a not in b", &["z = a in b"])]
#[case::identity("z = a is not None", &["z = a is None"])]
#[case::sum("z = a + b", &["z = a - b"])]
#[case::joined("z = a + 'b'", &[])]
#[case::formatted("z = '%s' % a", &[])]
#[case::divided("z = (a) // (b)", &["z = (a) * (b)"])]
#[case::added_up("z += a", &["z -= a"])]
#[case::call("z.append(x)", &["None"])]
#[case::said("print(x + 1)", &[])]
#[case::logged("log.info('%d', x + 1)", &[])]
#[case::raised("raise ValueError(x + 1)", &[])]
#[case::doubted("assert x > 1", &[])]
#[case::described("'''Adds 1 + 1.'''", &[])]
#[case::only_said("if x:\n        print(x)", &[])]
#[case::verbose("if args.verbose:\n        z = g(x)", &[])]
#[case::constant("z = g(x, 2)", &["z = g(x, (2 + 1))"])]
#[case::switched("z = g(x, reverse=True)", &["z = g(x, reverse=False)"])]
#[case::endless("while x < 3:\n        x += 1", &[])]
#[case::commented("z = (a  # or b\n         + b)", &[])]
fn each_operator_changes_what_can_be_noticed(#[case] body: &str, #[case] expected: &[&str]) {
    assert_eq!(changed(&format!("def f(x):\n    {body}\n")), expected);
}

#[rstest]
#[case("int", "-7919")]
#[case("float", "-7919.5")]
#[case("str", "\"mutant\"")]
#[case("list[str]", "[]")]
#[case("typing.Dict[str, int]", "{}")]
#[case("bool", "not (g(x))")]
#[case("float | None", "type(g(x))()")]
#[case("tuple[int, int]", "type(g(x))()")]
fn a_returned_value_becomes_another_of_the_annotated_type(#[case] annotation: &str, #[case] expected: &str) {
    let program = format!("def f(x) -> {annotation}:\n    return g(x)\n");
    assert_eq!(changed(&program), [format!("return {expected}")]);
}

#[test]
fn the_first_changes_of_a_function_differ_and_constants_come_last() {
    let program = "def f(rows, limit=10):\n    total = 0\n    for row in rows:\n        if row.size < limit:\n            \
                   total += row.size * 2\n            seen.append(row)\n    if not rows:\n        return 0\n    return total / len(rows)\n";
    assert_eq!(
        changed(program)[..5],
        [
            "return type(total / len(rows))()",
            "if not (row.size < limit):",
            "if row.size <= limit:",
            "total -= row.size * 2",
            "None",
        ]
    );
}

#[test]
fn what_handles_an_error_is_changed_later() {
    let program = "def f(x):\n    try:\n        return g(x)\n    except ValueError:\n        return h(x)\n";
    assert_eq!(changed(program), ["return type(g(x))()", "return type(h(x))()"]);
    let parsed = Module::parse(program).unwrap();
    let suite = Module::parse("from solution import f\ndef test_f():\n    assert f(1)\n").unwrap();
    let lines: Vec<u32> = mutants(&parsed, &suite)
        .iter()
        .map(|mutant| mutant.line)
        .collect();
    assert_eq!(lines, [3, 5]);
}

const PROGRAM: &str = "\
class Table:
    def __init__(self, rows):
        self.rows = list(rows)
        self.size = len(self.rows) + 0

    def mean(self):
        return sum(self.rows) / self.size

    def read(self):
        return self.rows

    @classmethod
    def parse(cls, text):
        return cls(text.split(','))

def double(x):
    return 2 * x

def fetch(x):
    return get(x)

def main():
    return double(2)

if __name__ == '__main__':
    main()
";

#[rstest]
#[case::attribute("import solution\ndef test_a():\n    assert solution.double(1) == 2\n", &["double"])]
#[case::renamed("import solution as s\ndef test_a():\n    assert s.double(1) == 2\n", &["double"])]
#[case::name("from solution import double as d\ndef test_a():\n    assert d(1) == 2\n", &["double"])]
#[case::by_name("import importlib\nprogram = importlib.import_module('solution')\ndef test_a():\n    assert program.double(1) == 2\n", &["double"])]
#[case::fixture("import pytest\n@pytest.fixture\ndef program():\n    import solution\n    return solution\ndef test_a(program):\n    assert program.double(1) == 2\n", &["double"])]
#[case::parametrized("import pytest, solution\n@pytest.mark.parametrize('f', [solution.double])\ndef test_a(f):\n    assert f(1) == 2\n", &["double"])]
#[case::all_names("from solution import *\ndef test_a():\n    assert double(1) == 2\n", &["double"])]
#[case::all_names_of_a_class("from solution import *\ndef test_a():\n    assert Table.parse('1').mean() == 1\n", &["Table.__init__", "Table.mean", "Table.parse"])]
#[case::all_names_but_its_own("from solution import *\nimport pytest\n@pytest.fixture\ndef fetch():\n    return 3\ndef test_a(fetch, double):\n    assert fetch == double == main()\n", &["main"])]
#[case::class("from solution import Table\ndef test_a():\n    assert Table([1]).mean() == 1\n", &["Table.__init__", "Table.mean"])]
#[case::of_a_class("import solution\ndef test_a():\n    assert solution.Table.parse('1').rows == ['1']\n", &["Table.__init__", "Table.parse"])]
#[case::builtin_name("from solution import Table\ndef test_a(path):\n    assert Table(open(path).read())\n", &["Table.__init__"])]
#[case::other_module("import numpy\ndef test_a():\n    assert numpy.double(1) == 1\n", &[])]
#[case::own_function("def double(x):\n    return 2 * x\ndef test_a():\n    assert double(1) == 2\n", &[])]
#[case::replaced("import solution\ndef test_a(monkeypatch):\n    monkeypatch.setattr(solution, 'fetch', lambda x: x)\n    assert solution.fetch(1) + solution.double(1) == 3\n", &["double"])]
#[case::patched("from unittest import mock\nimport solution\n@mock.patch('solution.fetch')\ndef test_a(fetch):\n    assert solution.fetch(1) != solution.double(1)\n", &["double"])]
#[case::child("import subprocess, sys\ndef test_a():\n    assert subprocess.run([sys.executable, 'solution.py']).returncode == 0\n", &[])]
fn only_functions_that_the_suite_calls_are_changed(#[case] suite: &str, #[case] expected: &[&str]) {
    let found = mutants(&Module::parse(PROGRAM).unwrap(), &Module::parse(suite).unwrap());
    let functions: BTreeSet<&str> = found.iter().map(|mutant| mutant.function.as_str()).collect();
    assert_eq!(functions.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn few_functions_get_many_mutants_and_many_get_enough_for_a_verdict() {
    let body = "    if x > 1:\n        y = x * 2\n        log.append(x)\n    return x + 1 - 2\n";
    let all = ["a", "b", "c", "d", "e", "f", "g"];
    for (count, functions, of_each) in [(1, 1, 8), (2, 2, 4), (4, 4, 4), (7, 5, 4)] {
        let program: Vec<String> = all[..count]
            .iter()
            .map(|name| format!("def {name}(x):\n{body}"))
            .collect();
        let calls: Vec<String> = all[..count]
            .iter()
            .map(|name| format!("    assert solution.{name}(1) == 1\n"))
            .collect();
        let (program, calls) = (program.concat(), calls.concat());
        let suite = format!("import solution\ndef test_all():\n{calls}");
        let found = mutants(&Module::parse(&program).unwrap(), &Module::parse(&suite).unwrap());
        let names: BTreeSet<&str> = found.iter().map(|mutant| mutant.function.as_str()).collect();
        assert_eq!(
            (names.len(), found.len()),
            (functions, functions * of_each),
            "{count}"
        );
    }
}

#[test]
fn a_phase_names_what_can_be_loaded_once() {
    let program = Module::parse("import csv\nimport os.path\ntry:\n    import fast\nexcept ImportError:\n    fast = None\ndef f(x):\n    return csv.reader(x)\n").unwrap();
    let suite =
        Module::parse("import pytest\nimport solution\ndef test_f():\n    assert solution.f([])\n").unwrap();
    let phase = mutant_phase(&program, &suite, true).unwrap();
    assert_eq!(phase.preload, ["csv", "os.path", "pytest"]);
    assert_eq!(phase.most, MOST_RUN);
    let child = Module::parse("def test_f():\n    assert 1\n").unwrap();
    assert!(mutant_phase(&program, &child, true).is_none());
}
