//! The operators: what may be changed in one function.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Number, Operator, Stmt};
use ruff_text_size::{Ranged, TextLen, TextRange, TextSize};

use super::Module;
use crate::pipeline::python::syntax::{dotted, is_main_guard};

/// Longest piece of source that a description quotes, characters.
const QUOTED: usize = 60;

/// Calls that no result depends on, by their last name.
const WITHOUT_RESULT: &[&str] = &[
    "print",
    "debug",
    "info",
    "warn",
    "warning",
    "error",
    "exception",
    "critical",
    "log",
    "write_line",
    "basicConfig",
    "filterwarnings",
    "simplefilter",
    "flush",
    "close",
    "seed",
    "sleep",
    "mkdir",
    "makedirs",
    "collect",
    "reconfigure",
    "setLevel",
    "addHandler",
    "setlocale",
    "__init__",
    "join_thread",
    "shutdown",
];

/// A kind of change, in order of worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Another value is returned.
    Return,
    /// A condition is turned.
    Condition,
    /// A comparison is another one.
    Comparison,
    /// An operator of arithmetic is another one.
    Arithmetic,
    /// A call is left out.
    Call,
    /// A constant is another one.
    Constant,
}

/// One change.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) kind: Kind,
    pub(super) range: TextRange,
    pub(super) replacement: String,
    /// In words.
    pub(super) what: String,
    /// Whether it lies where few calls come by: in a handler of an error.
    pub(super) is_rare: bool,
}

/// Every change of a function, by kind in order of the source.
pub(super) fn of(module: &Module, function: &ast::StmtFunctionDef) -> Vec<Change> {
    let mut finder = Finder {
        module,
        returns: function.returns.as_deref(),
        found: Vec::new(),
        turned: BTreeSet::new(),
        in_handler: false,
        in_while: false,
    };
    finder.visit_body(&function.body);
    finder.found
}

struct Finder<'a> {
    module: &'a Module,
    /// Annotation of what the function returns.
    returns: Option<&'a Expr>,
    found: Vec<Change>,
    /// Expressions that are turned already: another comparison there would be the same change.
    turned: BTreeSet<(TextSize, TextSize)>,
    in_handler: bool,
    /// In a loop that ends by a condition: a change there may let it run for ever.
    in_while: bool,
}

impl<'a> Finder<'a> {
    fn push(&mut self, kind: Kind, range: TextRange, replacement: &str, what: String) {
        // A change to the same text is none, and would count as one that survived.
        if self.module.source().get(range.to_std_range()) == Some(replacement) {
            return;
        }
        self.found.push(Change {
            kind,
            range,
            replacement: replacement.to_owned(),
            what,
            is_rare: self.in_handler,
        });
    }

    fn quoted(&self, node: &impl Ranged) -> String {
        shortened(self.module.text(node))
    }

    /// `text` as its opposite.
    fn turned(&mut self, expr: &Expr) -> String {
        self.turned.insert((expr.start(), expr.end()));
        format!("not ({})", self.module.text(expr))
    }

    fn turn(&mut self, test: &Expr) {
        if test.is_boolean_literal_expr()
            // Turned, these would change nothing that a test may ask for, or everything.
            || mentions(test, &["__name__", "TYPE_CHECKING", "debug", "verbose", "quiet"])
        {
            return;
        }
        let what = format!("the condition `{}` is turned to its opposite", self.quoted(test));
        let replacement = self.turned(test);
        self.push(Kind::Condition, test.range(), &replacement, what);
    }

    fn give(&mut self, value: &Expr, verb: &str) {
        let is_fixed = |name: &ast::ExprName| matches!(name.id.as_str(), "self" | "cls" | "NotImplemented");
        // A method that returns itself is a fluent one; `None` says that there is no result.
        if value.is_none_literal_expr() || value.as_name_expr().is_some_and(is_fixed) {
            return;
        }
        let replacement = self.instead_of(value);
        let instead = if replacement.starts_with("type(") {
            "an empty value of its type".to_owned()
        } else {
            format!("`{}`", shortened(&replacement))
        };
        let what = format!("{instead} is {verb} instead of `{}`", self.quoted(value));
        self.push(Kind::Return, value.range(), &replacement, what);
    }

    /// Another value of the same type: where the text does not show the type, whatever is empty of it. `None` would be noticed by
    /// tests that only ask whether there is anything.
    fn instead_of(&mut self, value: &Expr) -> String {
        let text = self.module.text(value);
        match value {
            Expr::BooleanLiteral(literal) => return python_bool(!literal.value).to_owned(),
            // One more is of the same type and plainly another value.
            Expr::NumberLiteral(_) => return format!("{text} + 1"),
            Expr::StringLiteral(_) | Expr::FString(_) => return "\"mutant\"".to_owned(),
            Expr::List(list) if list.elts.is_empty() => return "[None]".to_owned(),
            Expr::Dict(dict) if dict.items.is_empty() => return "{None: None}".to_owned(),
            Expr::List(_) | Expr::ListComp(_) => return "[]".to_owned(),
            Expr::Dict(_) | Expr::DictComp(_) => return "{}".to_owned(),
            Expr::Set(_) | Expr::SetComp(_) => return "set()".to_owned(),
            Expr::Tuple(_) => return "()".to_owned(),
            Expr::Compare(_) => return self.turned(value),
            Expr::UnaryOp(unary) if unary.op == ast::UnaryOp::Not => return self.turned(value),
            _ => {}
        }
        let annotated = self.returns.map(|returns| match returns {
            Expr::Subscript(subscript) => subscript.value.as_ref(),
            other => other,
        });
        let name = annotated.and_then(dotted).unwrap_or_default();
        match name.rsplit('.').next().unwrap_or_default() {
            "bool" => self.turned(value),
            "int" => "-7919".to_owned(),
            "float" => "-7919.5".to_owned(),
            "str" => "\"mutant\"".to_owned(),
            "list" | "List" => "[]".to_owned(),
            "dict" | "Dict" => "{}".to_owned(),
            "set" | "Set" => "set()".to_owned(),
            // At run time, since the text does not show the type.
            _ => format!("type({text})()"),
        }
    }

    /// The operator between two operands, where nothing else than brackets stands there.
    fn between(&self, left: &Expr, right: &Expr, operator: &str) -> Option<TextRange> {
        let gap = TextRange::new(left.end(), right.start());
        let text = self.module.source().get(gap.to_std_range())?;
        let at = text.find(operator)?;
        // Anything but blanks and brackets there may be a comment or a part of an operand, and replacing it would not be this operator.
        let (before, after) = (text.get(..at)?, text.get(at + operator.len()..)?);
        let is_plain = |text: &str| {
            text.chars()
                .all(|c| c.is_whitespace() || matches!(c, '(' | ')' | '\\'))
        };
        let start = left.end() + TextSize::try_from(at).ok()?;
        (is_plain(before) && is_plain(after)).then(|| TextRange::at(start, operator.text_len()))
    }

    fn exchange(&mut self, kind: Kind, whole: &Expr, operands: (&Expr, &Expr), operators: (&str, &str)) {
        let (old, new) = operators;
        if let Some(range) = self.between(operands.0, operands.1, old) {
            let what = format!("`{new}` stands for `{old}` in `{}`", self.quoted(whole));
            self.push(kind, range, new, what);
        }
    }

    fn compare(&mut self, whole: &Expr, compare: &ast::ExprCompare) {
        let ([operator], [right]) = (compare.ops.as_ref(), compare.comparators.as_ref()) else {
            return;
        };
        let (old, new, is_opposite) = match operator {
            CmpOp::Lt => ("<", "<=", false),
            CmpOp::LtE => ("<=", "<", false),
            CmpOp::Gt => (">", ">=", false),
            CmpOp::GtE => (">=", ">", false),
            CmpOp::Eq => ("==", "!=", true),
            CmpOp::NotEq => ("!=", "==", true),
            CmpOp::Is => ("is", "is not", true),
            CmpOp::IsNot => ("is not", "is", true),
            CmpOp::In => ("in", "not in", true),
            CmpOp::NotIn => ("not in", "in", true),
        };
        if !(is_opposite && self.turned.contains(&(whole.start(), whole.end()))) {
            self.exchange(Kind::Comparison, whole, (&compare.left, right), (old, new));
        }
    }

    fn leave_out(&mut self, call: &ast::ExprCall, whole: &Expr) {
        if self.in_while {
            return;
        }
        let what = format!("the call `{}` is left out", self.quoted(whole));
        // A statement must stay where the call was.
        self.push(Kind::Call, call.range(), "None", what);
    }

    fn constant(&mut self, whole: &Expr) {
        if self.in_while {
            return;
        }
        let replacement = match whole {
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(_) | Number::Float(_) => format!("({} + 1)", self.module.text(whole)),
                Number::Complex { .. } => return,
            },
            Expr::BooleanLiteral(literal) => python_bool(!literal.value).to_owned(),
            _ => return,
        };
        let what = format!("`{replacement}` stands for `{}`", self.quoted(whole));
        self.push(Kind::Constant, whole.range(), &replacement, what);
    }

    fn within(&mut self, flag: fn(&mut Self) -> &mut bool, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(flag(self), true);
        walk(self);
        *flag(self) = before;
    }

    fn visit_try(&mut self, attempt: &'a ast::StmtTry) {
        self.visit_body(&attempt.body);
        self.within(
            |finder| &mut finder.in_handler,
            |finder| {
                for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    finder.visit_body(&handler.body);
                }
            },
        );
        self.visit_body(&attempt.orelse);
        self.visit_body(&attempt.finalbody);
    }

    fn visit_augmented(&mut self, assign: &'a ast::StmtAugAssign) {
        if let Some((old, new)) = opposite(assign.op, &assign.target, &assign.value)
            && !self.in_while
            && let Some(range) = self.between(&assign.target, &assign.value, &format!("{old}="))
        {
            let what = format!("`{new}=` stands for `{old}=` in `{}`", self.quoted(assign));
            self.push(Kind::Arithmetic, range, &format!("{new}="), what);
        }
        self.visit_expr(&assign.value);
    }
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Return(returned) => {
                if let Some(value) = &returned.value {
                    self.give(value, "returned");
                    // A constant is replaced by that already.
                    if !matches!(value.as_ref(), Expr::NumberLiteral(_) | Expr::BooleanLiteral(_)) {
                        self.visit_expr(value);
                    }
                }
            }
            Stmt::If(_) if is_main_guard(stmt) => {}
            Stmt::If(branch) => {
                if !only_says(&branch.body) || !branch.elif_else_clauses.is_empty() {
                    self.turn(&branch.test);
                }
                for clause in &branch.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        self.turn(test);
                    }
                }
                visitor::walk_stmt(self, stmt);
            }
            Stmt::While(repeat) => {
                self.within(
                    |finder| &mut finder.in_while,
                    |finder| finder.visit_body(&repeat.body),
                );
            }
            Stmt::Expr(expr) => match expr.value.as_ref() {
                Expr::Call(call) if is_without_result(call) => {}
                Expr::Call(call) => {
                    self.leave_out(call, &expr.value);
                    self.visit_expr(&expr.value);
                }
                value if ast::helpers::is_constant(value) => {}
                value => self.visit_expr(value),
            },
            Stmt::Try(attempt) => self.visit_try(attempt),
            Stmt::AugAssign(assign) => self.visit_augmented(assign),
            Stmt::Assign(assign) => self.visit_expr(&assign.value),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            Stmt::FunctionDef(function) => {
                let outer = std::mem::replace(&mut self.returns, function.returns.as_deref());
                self.visit_body(&function.body);
                self.returns = outer;
            }
            Stmt::ClassDef(class) => self.visit_body(&class.body),
            Stmt::For(_) | Stmt::With(_) | Stmt::Match(_) => visitor::walk_stmt(self, stmt),
            // What is raised is words, and an assertion is the program's own doubt.
            _ => {}
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Compare(compare) => self.compare(expr, compare),
            Expr::BinOp(operation) => {
                if let Some(operators) = opposite(operation.op, &operation.left, &operation.right)
                    && !self.in_while
                {
                    self.exchange(
                        Kind::Arithmetic,
                        expr,
                        (&operation.left, &operation.right),
                        operators,
                    );
                }
            }
            Expr::If(choice) => self.turn(&choice.test),
            Expr::Yield(given) => {
                if let Some(value) = &given.value {
                    self.give(value, "yielded");
                }
            }
            Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) => self.constant(expr),
            Expr::Call(call) if is_without_result(call) => return,
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        for test in &comprehension.ifs {
            self.turn(test);
        }
        visitor::walk_comprehension(self, comprehension);
    }
}

/// The operator that takes another's place. Texts, lists and paths know one of the two alone: that would be noticed by any test.
fn opposite(operator: Operator, left: &Expr, right: &Expr) -> Option<(&'static str, &'static str)> {
    let is_no_number = |expr: &Expr| {
        matches!(
            expr,
            Expr::StringLiteral(_)
                | Expr::FString(_)
                | Expr::BytesLiteral(_)
                | Expr::List(_)
                | Expr::Tuple(_)
        )
    };
    if is_no_number(left) || is_no_number(right) {
        return None;
    }
    match operator {
        Operator::Add => Some(("+", "-")),
        Operator::Sub => Some(("-", "+")),
        Operator::Mult => Some(("*", "/")),
        Operator::Div => Some(("/", "*")),
        Operator::FloorDiv => Some(("//", "*")),
        Operator::Mod => Some(("%", "*")),
        Operator::Pow => Some(("**", "*")),
        _ => None,
    }
}

fn is_without_result(call: &ast::ExprCall) -> bool {
    let name = match call.func.as_ref() {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    WITHOUT_RESULT.contains(&name)
}

/// Whether a branch does nothing but say something.
fn only_says(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| {
        let Stmt::Expr(expr) = stmt else {
            return stmt.is_pass_stmt();
        };
        expr.value.as_call_expr().is_some_and(is_without_result)
    })
}

/// Whether an expression is one of these names, or an attribute of that name.
fn mentions(expr: &Expr, names: &[&str]) -> bool {
    let path = match expr {
        Expr::Compare(compare) => dotted(&compare.left),
        other => dotted(other),
    };
    path.is_some_and(|path| path.rsplit('.').next().is_some_and(|last| names.contains(&last)))
}

/// On one line, and not long.
fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= QUOTED {
        return text;
    }
    text.chars().take(QUOTED - 3).chain("...".chars()).collect()
}

const fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
