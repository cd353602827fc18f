//! The command policy of agents: which commands run, and as what.
//!
//! [`judge`] reads a whole command by the grammar of bash and answers with its class. What is [`Class::Safe`] comes with the
//! [`Script`] to execute: argument vectors, pipes, redirections, settled to literals and patterns, so that no shell has to read
//! the text again. Everything that cannot be settled before anything runs is denied with what to write instead.
//!
//! The sandbox is the boundary; the policy steers the model and explains. Nothing here does I/O.

#![warn(unreachable_pub)]

mod after;
mod arithmetic;
mod before;
mod denial;
mod effects;
mod examples;
mod judge;
mod options;
mod outline;
pub mod paths;
mod quiet;
mod rules;
mod scan;
mod scope;
pub mod script;
mod syntax;
mod walk;
mod words;

#[cfg(test)]
mod tests;

pub use after::AfterTests;
pub use judge::{Class, Judgement, judge};
pub use outline::Outline;
pub use rules::{Rules, RulesError};
pub use script::Script;
