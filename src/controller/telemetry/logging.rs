//! The operator's log: records with fields on stderr, text on a terminal and JSON otherwise.
//!
//! `RUST_LOG` says how much (`info` when it is not set). Nothing that a Secret holds is ever logged.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// Form of a log record.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

impl LogFormat {
    const fn is_json(self, is_terminal: bool) -> bool {
        match self {
            Self::Auto => !is_terminal,
            Self::Text => false,
            Self::Json => true,
        }
    }
}

/// Filter of the log where nobody says otherwise. The MCP client would quote its servers; what goes wrong there is in the error of a call.
const USUAL: &str = "info,rmcp=off";

/// Starts the log. `filter` as in `RUST_LOG`; what of it cannot be understood is an error.
pub fn init(format: LogFormat, filter: Option<&str>) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter.filter(|text| !text.trim().is_empty()).unwrap_or(USUAL))
        .map_err(|error| format!("RUST_LOG cannot be understood: {error}; write for example info"))?;
    let is_terminal = std::io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(is_terminal)
        .with_writer(std::io::stderr);
    // Fails only when there is a subscriber already, which is as good.
    let _ = if format.is_json(is_terminal) {
        log.json().flatten_event(true).with_current_span(false).try_init()
    } else {
        log.try_init()
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_json_unless_somebody_says_otherwise() {
        assert!(LogFormat::Auto.is_json(false));
        assert!(!LogFormat::Auto.is_json(true));
        assert!(LogFormat::Json.is_json(true));
        assert!(!LogFormat::Text.is_json(false));
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_refused() {
        let error = init(LogFormat::Text, Some("info,x=loud")).unwrap_err();
        assert!(error.contains("RUST_LOG"), "{error}");
    }
}
