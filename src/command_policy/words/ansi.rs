//! `$'...'`.

use crate::denial::Denial;

/// The text between the quotes, with its escapes replaced.
pub(super) fn decode(text: &str) -> Result<String, Denial> {
    let mut decoded = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let Some(escape) = rest.next() else {
            decoded.push('\\');
            break;
        };
        let (most, radix, first) = match escape {
            'a' => (0, 0, Some(0x07)),
            'b' => (0, 0, Some(0x08)),
            'e' | 'E' => (0, 0, Some(0x1b)),
            'f' => (0, 0, Some(0x0c)),
            'n' => (0, 0, Some(0x0a)),
            'r' => (0, 0, Some(0x0d)),
            't' => (0, 0, Some(0x09)),
            'v' => (0, 0, Some(0x0b)),
            '\\' | '\'' | '"' | '?' => (0, 0, Some(u32::from(escape))),
            'x' => (2, 16, None),
            'u' => (4, 16, None),
            'U' => (8, 16, None),
            '0'..='7' => (2, 8, escape.to_digit(8)),
            _ => return Err(unsettled(escape)),
        };
        let mut code = first;
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            rest.next();
            code = Some(code.unwrap_or(0).saturating_mul(radix).saturating_add(digit));
        }
        let is_byte = matches!(escape, 'x' | '0'..='7');
        let code = code.filter(|code| *code != 0 && !(is_byte && *code > 0x7f));
        decoded.push(code.and_then(char::from_u32).ok_or_else(|| unsettled(escape))?);
    }
    Ok(decoded)
}

fn unsettled(escape: char) -> Denial {
    Denial::syntax(format!(
        "$'...' has an escape (\\{escape}) for what is no character: write the character, or a small Python file"
    ))
}
