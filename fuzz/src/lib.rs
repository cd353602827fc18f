//! What every target checks, whatever the bytes.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Once;

use codegen_data::context::{estimate_tokens, render};
use codegen_data::describe::{Options, describe_source};
use codegen_data::exposure::{Exposure, Exposed, ExposedJoins};
use codegen_data::profile::SampleProfile;
use codegen_data::schema::infer;
use codegen_data::schema::pandera::to_pandera;
use codegen_data::source::Source;

/// A target whose parsers may catch panics of the crates below them: only one that nobody catches is a fault.
#[macro_export]
macro_rules! target {
    (|$bytes:ident| $body:expr) => {
        libfuzzer_sys::fuzz_target!(|$bytes: &[u8]| $crate::surviving(|| $body));
    };
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a target; a panic that comes out of it ends the process with its message.
pub fn surviving(run: impl FnOnce()) {
    // The fuzzer's own hook ends the process before anybody can catch.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            LAST_PANIC.with_borrow_mut(|last| *last = panic.to_string());
        }));
    });
    if panic::catch_unwind(AssertUnwindSafe(run)).is_err() {
        LAST_PANIC.with_borrow(|last| eprintln!("{last}"));
        process::abort();
    }
}

/// Budgets to which a context is cut.
pub const BUDGETS: [u64; 3] = [60, 700, 6_000];

/// Describes bytes twice; the profiles are equal and survive serialisation. `None` where they are refused.
pub fn described(bytes: &[u8], file_name: &str) -> Option<SampleProfile> {
    let source = Source::bytes(bytes);
    let describe = || describe_source(&source, "sample", file_name, &Options::default());
    let profile = match describe() {
        Ok(profile) => profile,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let text = serde_json::to_string(&profile).expect("a profile is plain data");
    let again = serde_json::to_string(&describe().expect("equal bytes are read again")).expect("plain data");
    assert_eq!(text, again, "equal bytes give equal profiles");
    let read: SampleProfile = serde_json::from_str(&text).expect("a profile is read as it was written");
    assert_eq!(serde_json::to_string(&read).expect("plain data"), text);
    assert_eq!(profile.bytes, bytes.len() as u64);
    Some(profile)
}

/// Everything that is printed of a profile keeps its bounds.
pub fn printed(profile: &SampleProfile) {
    for level in Exposure::ALL {
        let samples = [Exposed::new(profile.clone(), level)];
        for budget in BUDGETS {
            let print = || render(&samples, &ExposedJoins::default(), budget, 20);
            let context = print();
            assert!(
                estimate_tokens(&context.text) <= budget,
                "{budget} tokens allowed\n{}",
                context.text
            );
            assert_eq!(context, print());
        }
    }
    for remark in &profile.remarks {
        assert!(!remark.is_empty() && !remark.contains('\n'), "{remark:?}");
    }
    let schemas: Vec<_> = infer(profile).into_iter().collect();
    let code = to_pandera(&schemas, &[]);
    assert_eq!(code, to_pandera(&schemas, &[]));
}

/// Describes bytes and prints what was found.
pub fn whole(bytes: &[u8], file_name: &str) {
    if let Some(profile) = described(bytes, file_name) {
        printed(&profile);
    }
}
