//! The question at a terminal, and what is shown before it.

use std::io::{self, BufRead as _, Write as _};

use crate::cli::text::spelled_out;
use crate::local::approval::GateAnswer;
use crate::local::commands::Consent;
use codegen_api::approval::AnyGate;

/// Asks at the terminal of a local run.
pub(in crate::cli) fn ask(gate: AnyGate, whole: &str) -> GateAnswer {
    if !whole.is_empty() {
        // A closed stderr must not end a run.
        let _ = io::stderr().lock().write_all(shown(whole).as_bytes());
    }
    let no = match gate {
        AnyGate::ToolCall => "is a PermissionError of the program",
        AnyGate::Plan | AnyGate::Packages | AnyGate::Image | AnyGate::Result => "ends the task",
    };
    let question = format!("Approve of this at the gate {gate}? [y]es, [n]o {no}, anything else: later: ");
    let answer = answer(&question);
    if is_yes(&answer) {
        return GateAnswer::Approve;
    }
    match answer.as_str() {
        "n" | "no" => GateAnswer::Reject,
        _ => GateAnswer::Later,
    }
}

/// Asks whether something is allowed that others wrote.
pub(in crate::cli) fn is_allowed(consent: &Consent) -> bool {
    let question = match consent {
        Consent::Start(command) => format!("Start `{command}` on this machine? [y/N] "),
        Consent::SendKey { variable, address } => {
            format!("Send the key of {variable} to {address}? [y/N] ")
        }
    };
    if let Some(caution) = caution(&question) {
        let _ = writeln!(io::stderr().lock(), "! {}", caution.replace("above", "below"));
    }
    is_yes(&answer(&spelled_out(&question).replace('\n', "\\n")))
}

/// Asks whether records are gone by that were made elsewhere.
pub(in crate::cli) fn may_trust(folder: &str) -> bool {
    is_yes(&answer(&format!(
        "The records in {} were made elsewhere: they decide what runs, and what counts as tested. Go by them this time? [y/N] ",
        spelled_out(folder).replace('\n', "\\n")
    )))
}

/// Returns what a terminal shows of a text that others wrote.
fn shown(whole: &str) -> String {
    let mut shown = format!("\n{}\n\n", spelled_out(whole.trim_end()));
    if let Some(caution) = caution(whole) {
        shown.extend(["! ", caution, "\n\n"]);
    }
    shown
}

/// Returns what somebody must know before they approve of a text that a terminal would not show as it is.
pub(super) fn caution(whole: &str) -> Option<&'static str> {
    let says_more = spelled_out(whole) != whole;
    says_more.then_some(
        "it holds characters that a terminal obeys or hides, spelled out above as \\u{...}: look at them before you approve",
    )
}

pub(in crate::cli) fn answer(question: &str) -> String {
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    drop(stderr);
    let mut line = String::new();
    // Nothing to read is no answer.
    let _ = io::stdin().lock().read_line(&mut line);
    line.trim().to_lowercase()
}

pub(in crate::cli) fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_characters_that_a_terminal_obeys_is_shown_with_a_caution() {
        assert!(caution("evil()  #\u{1b}[2K  # counts").is_some());
        assert!(caution("a = 1  # \u{202e}").is_some());
        assert!(caution("a = \"na\u{ef}ve\"\n\tb = 2\n").is_none());
    }

    /// Returns what a terminal has on its screen once it was sent a text.
    fn on_a_screen(text: &str) -> String {
        let mut terminal = vt100::Parser::new(24, 200, 0);
        terminal.process(text.replace('\n', "\r\n").as_bytes());
        terminal.screen().contents()
    }

    /// Returns what stands in a line from left to right, where a terminal turns text as Unicode has it.
    fn from_left_to_right(line: &str) -> String {
        let order = unicode_bidi::BidiInfo::new(line, None);
        let whole = &order.paragraphs[0];
        order.reorder_line(whole, whole.range.clone()).into_owned()
    }

    #[test]
    fn a_program_that_a_terminal_shows_as_another_one_is_shown_as_it_is() {
        let erased = "total = 0\nsend(key)\u{1b}[2K\u{1b}[Gtotal += 1\n";
        let seen = on_a_screen(erased);
        assert!(seen.contains("total += 1") && !seen.contains("send"), "{seen}");
        let seen = on_a_screen(&shown(erased));
        assert!(
            seen.contains("send(key)\\u{1b}[2K") && seen.contains("! it holds"),
            "{seen}"
        );

        // A string that ends where nobody sees it end: the condition always holds.
        let turned = "if user != \"none\u{202e}\u{2066}\":  # asked\u{2069}\u{2066}\" and user != \"guest\u{2069}\u{202c}";
        let seen = from_left_to_right(turned).replace(is_spelled_out, "");
        assert_eq!(seen, "if user != \"none\" and user != \"guest\":  # asked");
        let seen = on_a_screen(&shown(turned));
        let line = seen.lines().nth(1).unwrap();
        assert_eq!(from_left_to_right(line), line);
        assert!(line.contains("none\\u{202e}\\u{2066}\":  # asked"), "{line}");

        let honest = "total = 0\n\ttotal += 1  # na\u{ef}ve\n";
        let seen = on_a_screen(&shown(honest));
        assert!(
            seen.contains("total += 1  # na\u{ef}ve") && !seen.contains('!'),
            "{seen}"
        );
    }

    fn is_spelled_out(character: char) -> bool {
        let alone = character.to_string();
        spelled_out(&alone) != alone
    }
}
