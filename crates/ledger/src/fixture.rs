//! A state that the tests of stores save.

use codegen_core::progress::State;
use serde::{Deserialize, Serialize};

/// A state with a text in it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    version: u32,
    text: String,
}

impl State for Saved {
    const VERSION: u32 = 1;
}

/// The state that says this.
pub fn saved(text: &str) -> Saved {
    Saved {
        version: Saved::VERSION,
        text: text.to_owned(),
    }
}
