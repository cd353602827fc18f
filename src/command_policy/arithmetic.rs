//! `$((...))`: numbers, variables and operators, without assignments and elements of arrays.

use brush_parser::arithmetic;
use brush_parser::ast::{ArithmeticExpr, ArithmeticTarget, UnaryAssignmentOperator};

use crate::denial::Denial;
use crate::scope::{Content, Scope};
use crate::script::Expression;

/// Longest expression, in bytes.
const LONGEST: usize = 256;
/// Parentheses within each other.
const MOST_PARENTHESES: usize = 5;

/// Whether a character may stand in an expression. Brackets would be elements of arrays, whose index runs commands.
fn is_of_expression(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_ \t+-*/%<>=!&|?:,~^()${}".contains(c)
}

/// How long `((...))` is, at the start of a text: its first two parentheses are closed by the last two, side by side.
pub(crate) fn length(text: &str) -> Result<usize, Denial> {
    let mut open = 0_usize;
    for (index, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Ok(index + 1);
        }
        let is_early = c == ')' && open == 1 && !text[index + 1..].starts_with(')');
        if is_early || !is_of_expression(c) || index > LONGEST || open > MOST_PARENTHESES {
            break;
        }
    }
    Err(refused(
        "has more than numbers, names and operators (commands are $( (...) ))",
    ))
}

/// Reads an expression.
pub(crate) fn parse(text: &str, scope: &Scope) -> Result<Expression, Denial> {
    if text.len() > LONGEST || !text.chars().all(is_of_expression) {
        return Err(refused("has more than numbers, names and operators"));
    }
    let plain = without_signs(text).ok_or_else(|| refused("has a $ that is not before a name of its own"))?;
    if plain.trim().is_empty() {
        return Err(refused("is empty"));
    }
    let parsed = arithmetic::parse(&plain).map_err(|_| refused("is not one that bash would read"))?;
    settle(&parsed, scope)
}

/// An expression with `n` for `$n` and `${n}`, which are the same of a number.
fn without_signs(text: &str) -> Option<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if matches!(c, '{' | '}') {
            return None;
        }
        if c != '$' {
            plain.push(c);
            continue;
        }
        let is_braced = rest.starts_with('{');
        rest = rest.strip_prefix('{').unwrap_or(rest);
        let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (name, mut after) = rest.split_at(length);
        if is_braced {
            after = after.strip_prefix('}')?;
        }
        let joins = plain.ends_with(is_of_name) || after.starts_with(|c| is_of_name(c) || c == '$');
        if joins || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        plain.push_str(name);
        rest = after;
    }
    Some(plain)
}

fn settle(expression: &ArithmeticExpr, scope: &Scope) -> Result<Expression, Denial> {
    let operation = |operator: String, operands: &[&ArithmeticExpr]| {
        let operands: Result<_, _> = operands.iter().map(|operand| settle(operand, scope)).collect();
        Ok(Expression::Operation(operator, operands?))
    };
    match expression {
        ArithmeticExpr::Literal(number) => Ok(Expression::Number(*number)),
        ArithmeticExpr::Reference(ArithmeticTarget::Variable(name)) => variable(name, scope),
        ArithmeticExpr::UnaryOp(operator, operand) => operation(operator.to_string(), &[operand]),
        ArithmeticExpr::BinaryOp(operator, left, right) => operation(operator.to_string(), &[left, right]),
        ArithmeticExpr::Conditional(condition, first, second) => {
            operation("?".to_owned(), &[condition, first, second])
        }
        ArithmeticExpr::UnaryAssignment(operator, ArithmeticTarget::Variable(name)) => {
            let sign = match operator {
                UnaryAssignmentOperator::PrefixIncrement | UnaryAssignmentOperator::PostfixIncrement => '+',
                UnaryAssignmentOperator::PrefixDecrement | UnaryAssignmentOperator::PostfixDecrement => '-',
            };
            Err(refused(&format!("assigns: write {name}=$(({name} {sign} 1))")))
        }
        _ => Err(refused(
            "assigns, or has an element of an array: write NAME=$((...))",
        )),
    }
}

fn variable(name: &str, scope: &Scope) -> Result<Expression, Denial> {
    match scope.variables.get(name) {
        Some(Content::Text(text)) if text.is_empty() => Ok(Expression::Number(0)),
        Some(Content::Text(text)) => {
            let number = text
                .parse()
                .ok()
                .filter(|number: &i64| number.to_string() == *text);
            number
                .map(Expression::Number)
                .ok_or_else(|| refused(&format!("has {name}, which is no whole number")))
        }
        Some(Content::Path(_) | Content::Any) => Ok(Expression::Variable(name.to_owned())),
        None => Err(refused(&format!("has {name}, which this command does not set"))),
    }
}

fn refused(what: &str) -> Denial {
    Denial::syntax(format!(
        "the expression in $((...)) {what}: write numbers, operators and variables of this command (NAME=$(...) before), or python -c 'print(...)'"
    ))
}
