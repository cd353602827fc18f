//! Texts that others wrote, as they may be shown on a terminal.

/// Reports whether a terminal obeys the character in place of showing it: it moves the cursor, turns the direction of the text, or has no
/// width.
#[must_use]
pub fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The text as somebody else wrote it, with every character that a terminal would obey spelled out (`\u{1b}`), but for line breaks and tabs.
#[must_use]
pub fn spelled_out(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_obeyed(character) && !matches!(character, '\n' | '\t') {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
