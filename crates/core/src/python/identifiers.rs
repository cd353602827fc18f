//! The identifiers that stand in a file.

use std::collections::BTreeSet;

use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;

use super::Module;
use codegen_code_mode::python::parse;

/// Every name that code uses, defines or imports; words of texts and comments are none.
#[must_use]
pub fn identifiers(module: &Module) -> BTreeSet<&str> {
    let Ok(parsed) = parse(module.source()) else {
        return BTreeSet::new();
    };
    parsed
        .tokens()
        .iter()
        .filter(|token| token.kind() == TokenKind::Name)
        .map(|token| &module.source()[token.range()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_words_of_texts_are_not() {
        let source = "import pandas.errors\n\nclass Odd(Exception):\n    '''secret'''\n\ndef f(x):\n    return x.y['north']  # hidden\n";
        let module = Module::parse(source).unwrap();
        let found: Vec<_> = identifiers(&module).into_iter().collect();
        assert_eq!(found, ["Exception", "Odd", "errors", "f", "pandas", "x", "y"]);
    }
}
