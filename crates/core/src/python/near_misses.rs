//! Near misses of a program: what it would be with one mistake that is easily made. Cases that pass them as well do not see the mistake.
//!
//! Each is the program with one place changed, and words for what a case must have to tell the two apart. Some change nothing that a run
//! could show; how many may survive is for whoever counts them.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};
use strum::Display;

use super::Module;
use super::syntax::literal;

/// Near misses of which it can be said whether few or many survive.
const LEAST: usize = 3;
/// Of near misses this share must be told apart, else further cases are asked for: calibrated on the examples.
const ENOUGH: (usize, usize) = (2, 3);
/// Below this share the cases prove little.
const LITTLE: (usize, usize) = (2, 5);
/// Most near misses of one program.
const MOST: usize = 10;
/// A line that changes a program's text and syntax tree, and nothing that it does.
const SAME: &str = "\n\npass\n";
/// Most of them with the same mistake.
const MOST_OF_A_KIND: usize = 2;

/// A mistake that is easily made; in words what a case must have to show it.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Display, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub enum Mistake {
    /// `split(" ")` in the place of `split()`.
    #[strum(to_string = "runs of white space within a line")]
    SingleSpaces,
    /// `<` in the place of `<=`.
    #[strum(to_string = "a value that is exactly on a boundary")]
    Boundary,
    /// Rows as they come.
    #[strum(to_string = "rows that do not come in the order of the result")]
    Unsorted,
    /// Rows with equal keys in another order.
    #[strum(to_string = "ties, coming in an order that is not the order of the result")]
    Ties,
    /// The least in the place of the greatest.
    #[strum(to_string = "values of which the least is not the greatest")]
    Extreme,
    /// Duplicates kept.
    #[strum(to_string = "duplicates")]
    Duplicates,
    /// Halves rounded up.
    #[strum(to_string = "a value that is exactly half-way between two rounded ones")]
    Halves,
    /// Rows that are not left out.
    #[strum(to_string = "rows that a condition leaves out, with values that would change the result")]
    Unfiltered,
    /// Missing or empty data, treated as any other.
    #[strum(to_string = "rows that are missing, odd or empty and are skipped")]
    Unskipped,
    /// Letters as they are.
    #[strum(to_string = "the same word in letters of another case")]
    Capitals,
    /// Space around values.
    #[strum(to_string = "values with space around them")]
    Untrimmed,
    /// Only the first row.
    #[strum(to_string = "more than one row or element that counts")]
    FirstOnly,
    /// All but the last row.
    #[strum(to_string = "a last row or element that changes the result")]
    WithoutLast,
    /// Text that is read or written as ASCII.
    #[strum(to_string = "text beyond ASCII")]
    Ascii,
    /// Another value for what is not there.
    #[strum(to_string = "keys or values that are not there")]
    Absent,
    /// One condition in the place of two, or two in the place of one.
    #[strum(to_string = "rows that meet one of two conditions and not the other")]
    Conditions,
}

/// A program with one mistake more, or with another text that does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The mistake; `None` of the one that does the same: a program that is wrong then knows its own text, and would tell any near miss.
    pub mistake: Option<Mistake>,
    /// The whole file.
    pub source: String,
}

/// Near misses of a program that passed, and how many of them the cases reject.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct NearMissCounts {
    /// Near misses that were run on the cases.
    pub total: usize,
    /// Those that some case rejects.
    pub rejected: usize,
    /// Mistakes of the others.
    pub survivors: BTreeSet<Mistake>,
    /// Mistakes of those that the plan's cases pass, examples left aside: all that a model learns, since examples are hidden from it.
    pub passed_by_plan: BTreeSet<Mistake>,
}

impl NearMissCounts {
    /// Reports whether too many survive, so that further cases are asked for.
    #[must_use]
    pub const fn needs_more_cases(&self) -> bool {
        self.is_below(ENOUGH)
    }

    /// Reports whether so many survive that the cases prove little.
    #[must_use]
    pub const fn is_weak(&self) -> bool {
        self.is_below(LITTLE)
    }

    const fn is_below(&self, (part, of): (usize, usize)) -> bool {
        self.total >= LEAST && self.rejected * of < self.total * part
    }

    /// Lists in words what neither cases nor examples have.
    #[must_use]
    pub fn unseen(&self) -> Vec<String> {
        self.survivors.iter().map(Mistake::to_string).collect()
    }

    /// Lists what the plan's cases do not have, in words that say nothing of examples.
    #[must_use]
    pub fn unseen_by_plan(&self) -> Vec<String> {
        self.passed_by_plan.iter().map(Mistake::to_string).collect()
    }
}

/// Near misses of a program, at most ten, of as many kinds as there are places for, behind the one that does the same.
#[must_use]
pub fn near_misses(module: &Module) -> Vec<NearMiss> {
    let mut places = Places {
        module,
        found: BTreeMap::new(),
    };
    places.visit_body(module.body());
    let found: Vec<(Mistake, Vec<Edit>)> = places.found.into_iter().collect();
    if found.is_empty() {
        return Vec::new();
    }
    // First one of each kind, so that no kind takes the place of another.
    let rounds = (0..MOST_OF_A_KIND).flat_map(|round| {
        found
            .iter()
            .filter_map(move |(mistake, edits)| Some((*mistake, edits.get(round)?)))
    });
    let changed = rounds.map(|(mistake, edit)| NearMiss {
        mistake: Some(mistake),
        source: edit.apply(module.source()),
    });
    let same = NearMiss {
        mistake: None,
        source: format!("{}{SAME}", module.source()),
    };
    std::iter::once(same)
        .chain(changed)
        .filter(|miss| Module::parse(&miss.source).is_ok())
        .take(MOST + 1)
        .collect()
}

/// Pieces of a text, each with what stands there instead. They do not overlap.
struct Edit(Vec<(TextRange, String)>);

impl Edit {
    fn at(range: TextRange, text: impl Into<String>) -> Self {
        Self(vec![(range, text.into())])
    }

    /// Text before and after a node.
    fn enclose(node: &impl Ranged, before: &str, after: &str) -> Self {
        Self(vec![
            (TextRange::empty(node.start()), before.to_owned()),
            (TextRange::empty(node.end()), after.to_owned()),
        ])
    }

    fn apply(&self, source: &str) -> String {
        let mut changed = source.to_owned();
        let mut pieces: Vec<_> = self.0.iter().collect();
        pieces.sort_by_key(|(range, _)| std::cmp::Reverse((range.start(), range.end())));
        for (range, text) in pieces {
            changed.replace_range(range.to_std_range(), text);
        }
        changed
    }
}

/// Places of a program where a mistake is easily made.
struct Places<'a> {
    module: &'a Module,
    found: BTreeMap<Mistake, Vec<Edit>>,
}

impl<'a> Visitor<'a> for Places<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For(each) => {
                self.elements(&each.iter);
                self.chosen(&each.body);
            }
            Stmt::If(branch) if branch.elif_else_clauses.is_empty() && skips(&branch.body) => {
                self.add(Mistake::Unskipped, Edit::at(branch.test.range(), "False"));
            }
            // A condition that is changed there may never end.
            Stmt::While(repeated) => return self.visit_body(&repeated.body),
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Compare(compare) => self.compare(compare),
            Expr::BoolOp(both) => self.conditions(both),
            Expr::Name(name) => self.rounding(name.id.as_str(), expr),
            Expr::Attribute(of_module) => self.rounding(of_module.attr.as_str(), expr),
            Expr::StringLiteral(_) => {
                let name = literal(expr).unwrap_or_default().to_ascii_lowercase();
                if matches!(name.as_str(), "utf-8" | "utf8" | "utf-8-sig") {
                    self.add(Mistake::Ascii, Edit::at(expr.range(), "'ascii'"));
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        if let (Some(first), Some(last)) = (comprehension.ifs.first(), comprehension.ifs.last()) {
            let all = TextRange::new(first.start(), last.end());
            self.add(Mistake::Unfiltered, Edit::at(all, "True"));
        }
        visitor::walk_comprehension(self, comprehension);
    }
}

impl Places<'_> {
    fn add(&mut self, mistake: Mistake, edit: Edit) {
        self.found.entry(mistake).or_default().push(edit);
    }

    /// The elements of a loop: the first alone, and all but the last.
    fn elements(&mut self, iterated: &Expr) {
        for (mistake, slice) in [(Mistake::FirstOnly, "))[:1]"), (Mistake::WithoutLast, "))[:-1]")] {
            self.add(mistake, Edit::enclose(iterated, "list((", slice));
        }
    }

    /// Does with all elements of a loop what is done with some of them alone.
    fn chosen(&mut self, body: &[Stmt]) {
        for stmt in body {
            if let Stmt::If(branch) = stmt
                && branch.elif_else_clauses.is_empty()
                && !leaves(&branch.body)
            {
                self.add(Mistake::Unfiltered, Edit::at(branch.test.range(), "True"));
            }
        }
    }

    /// Rounds halves of decimal numbers otherwise.
    fn rounding(&mut self, name: &str, expr: &Expr) {
        let other = match name {
            "ROUND_HALF_UP" => "'ROUND_HALF_EVEN'",
            "ROUND_HALF_EVEN" => "'ROUND_HALF_UP'",
            _ => return,
        };
        self.add(Mistake::Halves, Edit::at(expr.range(), other));
    }

    fn call(&mut self, call: &ast::ExprCall) {
        let arguments = &call.arguments;
        match call.func.as_ref() {
            Expr::Name(name) => self.function(call, name.id.as_str(), name.range()),
            Expr::Attribute(method) => match method.attr.as_str() {
                "split" if arguments.is_empty() => {
                    let inside = TextRange::empty(arguments.end() - TextSize::from(1));
                    self.add(Mistake::SingleSpaces, Edit::at(inside, "' '"));
                }
                "lower" | "upper" | "casefold" if arguments.is_empty() => {
                    self.without(Mistake::Capitals, call, &method.value);
                }
                "strip" | "lstrip" | "rstrip" if arguments.is_empty() => {
                    self.without(Mistake::Untrimmed, call, &method.value);
                }
                "sort_values" | "sort_index" => self.without(Mistake::Unsorted, call, &method.value),
                "sort" => {
                    self.without(Mistake::Unsorted, call, &method.value);
                    let before = format!("({}.reverse(), ", self.module.text(method.value.as_ref()));
                    self.ties(call, Edit::enclose(call, &before, ")"));
                }
                "drop_duplicates" | "unique" => self.without(Mistake::Duplicates, call, &method.value),
                "dropna" => self.without(Mistake::Unskipped, call, &method.value),
                "get" if arguments.args.len() == 2 => {
                    if let Some(default) = arguments.args.get(1) {
                        let other = if self.module.text(default) == "1" {
                            "2"
                        } else {
                            "1"
                        };
                        self.add(Mistake::Absent, Edit::at(default.range(), other));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// A function of the language by its name.
    fn function(&mut self, call: &ast::ExprCall, name: &str, range: TextRange) {
        let Some(first) = call.arguments.args.first() else {
            return;
        };
        match name {
            "sorted" => {
                let plain = format!("list({})", self.module.text(first));
                self.add(Mistake::Unsorted, Edit::at(call.range(), plain));
                self.ties(call, Edit::enclose(first, "list(", ")[::-1]"));
            }
            "min" => self.add(Mistake::Extreme, Edit::at(range, "max")),
            "max" => self.add(Mistake::Extreme, Edit::at(range, "min")),
            "set" => self.add(Mistake::Duplicates, Edit::at(range, "list")),
            // Far less than anything that is shown, and more than what numbers lose.
            "round" => self.add(Mistake::Halves, Edit::enclose(first, "(", ") + 1e-9")),
            _ => {}
        }
    }

    /// Rows with equal keys: of a key with several parts only the first one, else the rows `backwards`, which changes nothing where a
    /// second part tells them apart.
    fn ties(&mut self, call: &ast::ExprCall, backwards: Edit) {
        let Some(key) = call.arguments.find_keyword("key") else {
            return;
        };
        let edit = match &key.value {
            Expr::Lambda(lambda) => match lambda.body.as_ref() {
                Expr::Tuple(parts) if parts.elts.len() > 1 => {
                    let first = parts.elts.first().map_or("", |first| self.module.text(first));
                    Edit::at(parts.range(), format!("({first},)"))
                }
                _ => backwards,
            },
            _ => backwards,
        };
        self.add(Mistake::Ties, edit);
    }

    /// A call of a method left out.
    fn without(&mut self, mistake: Mistake, call: &ast::ExprCall, receiver: &Expr) {
        let plain = self.module.text(receiver).to_owned();
        self.add(mistake, Edit::at(call.range(), plain));
    }

    fn compare(&mut self, compare: &ast::ExprCompare) {
        let ([operator], [right]) = (compare.ops.as_ref(), compare.comparators.as_ref()) else {
            return;
        };
        let (is, other) = match operator {
            CmpOp::Lt => ("<", "<="),
            CmpOp::LtE => ("<=", "<"),
            CmpOp::Gt => (">", ">="),
            CmpOp::GtE => (">=", ">"),
            _ => return,
        };
        let between = TextRange::new(compare.left.end(), right.start());
        let text = &self.module.source()[between];
        // Beside a comment the sign might be in it.
        if text.matches(is).count() == 1 && !text.contains('#') {
            let changed = text.replace(is, other);
            self.add(Mistake::Boundary, Edit::at(between, changed));
        }
    }

    fn conditions(&mut self, both: &ast::ExprBoolOp) {
        let [first, second, ..] = both.values.as_slice() else {
            return;
        };
        let (is, other) = match both.op {
            ast::BoolOp::And => ("and", "or"),
            ast::BoolOp::Or => ("or", "and"),
        };
        let between = TextRange::new(first.end(), second.start());
        let text = &self.module.source()[between];
        if text.matches(is).count() == 1 && !text.contains('#') && both.values.len() == 2 {
            let changed = text.replace(is, other);
            self.add(Mistake::Conditions, Edit::at(between, changed));
        }
    }
}

/// Reports whether a branch leaves a row or a whole call out.
fn skips(body: &[Stmt]) -> bool {
    matches!(body, [Stmt::Continue(_) | Stmt::Return(_)])
}

/// True of a branch that ends what is done with an element.
fn leaves(body: &[Stmt]) -> bool {
    matches!(
        body.last(),
        Some(Stmt::Continue(_) | Stmt::Break(_) | Stmt::Return(_) | Stmt::Raise(_))
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn of(source: &str) -> Vec<(Mistake, String)> {
        let misses = near_misses(&Module::parse(source).unwrap());
        misses
            .into_iter()
            .filter_map(|miss| Some((miss.mistake?, miss.source)))
            .collect()
    }

    #[rstest]
    #[case::split(Mistake::SingleSpaces, "a.split()\n", "a.split(' ')\n")]
    #[case::boundary(Mistake::Boundary, "b = a <= 3\n", "b = a < 3\n")]
    #[case::sorted(Mistake::Unsorted, "b = sorted(a, reverse=True)\n", "b = list(a)\n")]
    #[case::ties(
        Mistake::Ties,
        "b = sorted(a.items(), key=c)\n",
        "b = sorted(list(a.items())[::-1], key=c)\n"
    )]
    #[case::a_second_part_of_the_key(
        Mistake::Ties,
        "b = sorted(a, key=lambda c: (-c[1], c[0]))\n",
        "b = sorted(a, key=lambda c: (-c[1],))\n"
    )]
    #[case::in_place(Mistake::Unsorted, "a.sort()\n", "a\n")]
    #[case::ties_in_place(Mistake::Ties, "a.b.sort(key=c)\n", "(a.b.reverse(), a.b.sort(key=c))\n")]
    #[case::decimals(
        Mistake::Halves,
        "a.quantize(b, ROUND_HALF_UP)\n",
        "a.quantize(b, 'ROUND_HALF_EVEN')\n"
    )]
    #[case::decimals_of_a_module(
        Mistake::Halves,
        "a.quantize(b, rounding=decimal.ROUND_HALF_EVEN)\n",
        "a.quantize(b, rounding='ROUND_HALF_UP')\n"
    )]
    #[case::some_elements(
        Mistake::Unfiltered,
        "for x in a:\n    if x > 1:\n        b(x)\n",
        "for x in a:\n    if True:\n        b(x)\n"
    )]
    #[case::frame(Mistake::Unsorted, "b = a.sort_values('x').head()\n", "b = a.head()\n")]
    #[case::greatest(Mistake::Extreme, "b = max(a)\n", "b = min(a)\n")]
    #[case::set(Mistake::Duplicates, "b = len(set(a))\n", "b = len(list(a))\n")]
    #[case::halves(Mistake::Halves, "b = round(a / 2, 1)\n", "b = round((a / 2) + 1e-9, 1)\n")]
    #[case::filter(
        Mistake::Unfiltered,
        "b = [x for x in a if x if x > 1]\n",
        "b = [x for x in a if True]\n"
    )]
    #[case::skipped(
        Mistake::Unskipped,
        "for x in a:\n    if not x:\n        continue\n",
        "for x in a:\n    if False:\n        continue\n"
    )]
    #[case::letters(Mistake::Capitals, "b = a.lower()\n", "b = a\n")]
    #[case::space(Mistake::Untrimmed, "b = a[0].strip()\n", "b = a[0]\n")]
    #[case::first(
        Mistake::FirstOnly,
        "for x in a:\n    b(x)\n",
        "for x in list((a))[:1]:\n    b(x)\n"
    )]
    #[case::last(
        Mistake::WithoutLast,
        "for x in a:\n    b(x)\n",
        "for x in list((a))[:-1]:\n    b(x)\n"
    )]
    #[case::encoding(
        Mistake::Ascii,
        "b = open(a, encoding='UTF-8')\n",
        "b = open(a, encoding='ascii')\n"
    )]
    #[case::absent(Mistake::Absent, "b = a.get(c, 0)\n", "b = a.get(c, 1)\n")]
    #[case::conditions(Mistake::Conditions, "b = a and c\n", "b = a or c\n")]
    fn one_place_is_changed(#[case] mistake: Mistake, #[case] source: &str, #[case] expected: &str) {
        let found = of(source);
        assert!(found.contains(&(mistake, expected.to_owned())), "{found:?}");
    }

    #[rstest]
    #[case::nothing_to_mistake("print(1)\n")]
    #[case::a_condition_without_which_a_loop_may_not_end("while a < 3:\n    a += 1\n")]
    #[case::a_comment_with_the_sign("b = (a # a < b\n    < 3)\n")]
    fn a_program_is_left_alone_where_nothing_is_easily_mistaken(#[case] source: &str) {
        assert_eq!(of(source), []);
    }

    #[test]
    fn before_all_others_comes_another_text_that_does_the_same() {
        let misses = near_misses(&Module::parse("b = a <= 3\n").unwrap());
        assert_eq!((misses[0].mistake, misses.len()), (None, 2));
        assert_eq!(misses[0].source, "b = a <= 3\n\n\npass\n");
        assert_eq!(near_misses(&Module::parse("print(1)\n").unwrap()), []);
    }

    #[test]
    fn each_kind_has_its_place_before_any_has_a_second_one() {
        let source = "a.split()\n".repeat(20) + "b = c <= 3\nb = c <= 4\n";
        let kinds: Vec<Mistake> = of(&source).into_iter().map(|(mistake, _)| mistake).collect();
        let (spaces, boundary) = (Mistake::SingleSpaces, Mistake::Boundary);
        assert_eq!(kinds, [spaces, boundary, spaces, boundary]);
    }

    #[test]
    fn there_are_at_most_ten() {
        let source = "for x in sorted(set(a), key=max):\n    if x < 3 and y.get(x, 0):\n        continue\n    b.split()[0].strip().lower()\n"
            .repeat(3);
        assert_eq!(of(&source).len(), MOST);
    }

    #[rstest]
    #[case::too_few_to_say(0, 2, false, false)]
    #[case::none(0, 3, true, true)]
    #[case::a_third(2, 6, true, true)]
    #[case::two_fifths(2, 5, true, false)]
    #[case::more_than_half(5, 8, true, false)]
    #[case::two_thirds(6, 9, false, false)]
    #[case::all(8, 8, false, false)]
    fn a_share_decides_whether_cases_are_enough_and_whether_they_are_weak(
        #[case] rejected: usize,
        #[case] total: usize,
        #[case] needs_more: bool,
        #[case] is_weak: bool,
    ) {
        let counts = NearMissCounts {
            total,
            rejected,
            ..NearMissCounts::default()
        };
        assert_eq!(
            (counts.needs_more_cases(), counts.is_weak()),
            (needs_more, is_weak)
        );
    }
}
