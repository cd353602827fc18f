//! Patches of programs.

use super::*;
use rstest::rstest;

const PROGRAM: &str = r#""""Mean mass."""
from __future__ import annotations

import csv  # rows
from pathlib import Path

LIMIT = 10  # rows at most
OUT = Path("/var/outputs")


# Reads.
def read(path):
    # Keep this comment.
    with open(path) as file:
        return list(csv.DictReader(file))


class Table:
    """Rows."""

    kind = "plain"

    def __init__(self, rows):
        self.rows = rows

    def size(self):
        return len(self.rows)  # rows


def mean(rows):
    return sum(rows) / len(rows)


# Starts.
if __name__ == "__main__":
    print(mean([1]))
"#;

fn merged(patch: &str) -> Merged {
    merge(&Module::parse(PROGRAM).unwrap(), patch).unwrap()
}

#[test]
fn a_function_is_replaced_in_place() {
    let result = merged("def mean(rows):\n    return sum(rows) / len(rows) if rows else 0  # guard\n");
    assert_eq!(result.changed, ["mean"]);
    let expected = PROGRAM.replace(
        "    return sum(rows) / len(rows)\n",
        "    return sum(rows) / len(rows) if rows else 0  # guard\n",
    );
    assert_eq!(result.source, expected);
}

#[test]
fn a_class_with_some_methods_replaces_those() {
    let result = merged(
        "class Table:\n    def size(self):\n        return 0\n\n    def first(self):\n        return self.rows[0]\n",
    );
    assert_eq!(result.changed, ["Table.first", "Table.size"]);
    let expected = PROGRAM.replace(
        "        return len(self.rows)  # rows\n",
        "        return 0\n\n    def first(self):\n        return self.rows[0]\n",
    );
    assert_eq!(result.source, expected);
}

#[test]
fn a_class_with_every_member_replaces_the_class() {
    let result = merged(
        "class Table:\n    kind = 'x'\n    def __init__(self, rows):\n        self.r = rows\n    def size(self):\n        return 1\n",
    );
    assert_eq!(result.changed, ["Table", "Table.__init__", "Table.size"]);
    assert!(!result.source.contains("\"\"\"Rows.\"\"\""));
}

#[test]
fn bases_of_a_partial_class_are_taken_over() {
    let result = merged("class Table(list):\n    def size(self):\n        return 2\n");
    assert!(
        result
            .source
            .contains("class Table(list):\n    \"\"\"Rows.\"\"\""),
        "{}",
        result.source
    );
    assert_eq!(result.changed, ["Table", "Table.size"]);
}

#[test]
fn imports_are_added_once_and_after_the_others() {
    let result = merged(
        "from __future__ import annotations\nimport csv\nimport math\nfrom pathlib import Path, PurePath\n\ndef mean(rows):\n    return math.fsum(rows)\n",
    );
    assert!(
        result
            .source
            .contains("from pathlib import Path\nimport math\nfrom pathlib import PurePath\n\nLIMIT"),
        "{}",
        result.source
    );
    assert_eq!(result.changed, ["<imports>", "mean"]);
}

#[test]
fn a_future_import_comes_first() {
    let module = Module::parse("#!/usr/bin/env python3\nimport csv\n\ndef f():\n    return 1\n").unwrap();
    let result = merge(&module, "from __future__ import annotations\n").unwrap();
    assert_eq!(
        result.source,
        "#!/usr/bin/env python3\nfrom __future__ import annotations\nimport csv\n\ndef f():\n    return 1\n"
    );
}

#[test]
fn new_functions_stand_before_the_main_guard() {
    let result =
        merged("def total(rows):\n    return sum(rows)\n\ndef mean(rows):\n    return total(rows)\n");
    assert!(
        result
            .source
            .contains("def total(rows):\n    return sum(rows)\n\n\n# Starts.\nif __name__"),
        "{}",
        result.source
    );
}

#[test]
fn a_new_decorator_stands_before_what_it_decorates() {
    let result = merged("def retry(f):\n    return f\n\n@retry\ndef read(path):\n    return []\n");
    assert!(
        result
            .source
            .contains("def retry(f):\n    return f\n\n\n# Reads.\n@retry\ndef read(path):"),
        "{}",
        result.source
    );
}

#[rstest]
#[case("LIMIT = 20\n", "LIMIT = 20\nOUT", &["LIMIT"])]
#[case("WIDTH = 3\n", "WIDTH = 3\n\n\n# Reads.", &["WIDTH"])]
#[case("DEFAULT = Table([])\n", "DEFAULT = Table([])\n\n\ndef mean", &["DEFAULT"])]
fn constants_are_replaced_or_added_where_they_can_be_computed(
    #[case] patch: &str,
    #[case] part: &str,
    #[case] changed: &[&str],
) {
    let result = merged(patch);
    assert!(result.source.contains(part), "{}", result.source);
    assert_eq!(result.changed, changed);
}

#[test]
fn the_main_guard_is_replaced() {
    let result = merged("if __name__ == '__main__':\n    print(1)\n");
    assert_eq!(result.changed, ["<main>"]);
    assert!(
        result
            .source
            .ends_with("# Starts.\nif __name__ == '__main__':\n    print(1)\n")
    );
}

#[test]
fn a_whole_file_is_taken_as_it_is() {
    let patch = "import csv\ndef read(p):\n    return []\nclass Table:\n    pass\ndef mean(r):\n    return 0\nif __name__ == '__main__':\n    mean([])\n";
    assert_eq!(merged(patch).source, patch);
}

#[test]
fn a_file_that_leans_on_old_constants_is_merged() {
    let patch = "def read(p):\n    return csv.reader(OUT)\nclass Table:\n    pass\ndef mean(r):\n    return 0\nif __name__ == '__main__':\n    mean([])\n";
    assert!(merged(patch).source.contains("OUT = Path"));
}

#[test]
fn text_of_a_method_is_indented_anew_but_its_strings_are_not() {
    let module =
        Module::parse("class A:\n  def f(self):\n    return 1\n  def g(self):\n    return 2\n").unwrap();
    let result = merge(
        &module,
        "class A:\n    def f(self):\n        x = '''\n    kept'''\n        return x\n",
    )
    .unwrap();
    assert_eq!(
        result.source,
        "class A:\n  def f(self):\n      x = '''\n    kept'''\n      return x\n  def g(self):\n    return 2\n"
    );
}

#[test]
fn a_patch_that_is_no_python_is_refused() {
    let module = Module::parse(PROGRAM).unwrap();
    assert!(matches!(
        merge(&module, "def mean(:\n"),
        Err(MergeFault::Patch(_))
    ));
    assert_eq!(merge(&module, "\n# nothing\n"), Err(MergeFault::Empty));
}

#[rstest]
#[case("def f():\n    return 1\n", "def f():  # c\n\n    return (1)\n", &[])]
#[case("def f():\n    return 1\n", "def f():\n    return 2\n", &["f"])]
#[case("def f():\n    'a'\n    return 1\n", "def f():\n    'b'\n    return 1\n", &["f"])]
#[case("import a\n", "import a\nx = 1\n", &["x"])]
#[case("class A(B):\n    x = 1\n", "class A(C):\n    x = 1\n", &["A"])]
#[case("def f(): ...\n", "", &["f"])]
fn changes_are_those_of_the_tree(#[case] before: &str, #[case] after: &str, #[case] names: &[&str]) {
    let (before, after) = (Module::parse(before).unwrap(), Module::parse(after).unwrap());
    let changed: Vec<_> = changed_names(&before, &after).into_iter().collect();
    assert_eq!(changed, names);
    assert_eq!(tree_hash(&before) == tree_hash(&after), names.is_empty());
}

#[test]
fn a_tree_hash_is_hex_of_sha256() {
    let hash = tree_hash(&Module::parse("x = 1\n").unwrap());
    assert_eq!(hash.len(), 64);
    assert!(hash.chars().all(|c| c.is_ascii_hexdigit()));
}
