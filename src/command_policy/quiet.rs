//! Calls of a parser that is not ours: what makes it panic is not understood, and says so to nobody but the caller.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in such a call.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `call` gives; `None` where it panics, of which nothing is printed.
pub(crate) fn without_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    silence_quiet_threads();
    let before = IS_QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    IS_QUIET.set(before);
    result.ok()
}

/// Panics of other threads, and of this one outside of such calls, are reported as they were.
fn silence_quiet_threads() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that ends has no such value any more.
            if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
                report(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{Class, Rules, judge};

    /// Runs a test of this file in a process of its own, and gives what it printed.
    fn printed_by(test: &str) -> String {
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--nocapture", "--exact", test])
            .output()
            .unwrap();
        let printed =
            String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
        assert!(printed.contains("1 passed"), "{printed}");
        printed
    }

    #[test]
    fn a_command_that_makes_the_parser_panic_is_denied_and_nothing_is_printed_of_it() {
        let printed = printed_by("quiet::tests::in_a_process_of_its_own_the_parser_panics");
        assert!(!printed.contains("panicked"), "{printed}");
    }

    #[test]
    #[ignore = "the test above runs it where it can see what is printed"]
    fn in_a_process_of_its_own_the_parser_panics() {
        let judged = judge("echo 99999999999>notes.txt", &Rules::shipped().unwrap());
        assert_eq!(judged.class, Class::Denied);
        assert!(
            judged.reason.contains("write it more simply"),
            "{}",
            judged.reason
        );
    }

    #[test]
    fn panics_of_everybody_else_are_reported_as_before() {
        let printed = printed_by("quiet::tests::in_a_process_of_its_own_somebody_else_panics");
        assert!(
            printed.contains("panicked") && printed.contains("somebody else"),
            "{printed}"
        );
        assert!(!printed.contains("the parser"), "{printed}");
    }

    #[test]
    #[ignore = "the test above runs it where it can see what is printed"]
    fn in_a_process_of_its_own_somebody_else_panics() {
        assert_eq!(without_panic(|| -> () { panic!("the parser") }), None);
        let other = std::thread::spawn(|| -> () { panic!("somebody else") });
        assert!(other.join().is_err());
    }
}
