//! How the values of options are read.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use codegen_api::duration;

/// When colours are used.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// `NAME=PATH`. A leading `@` is no part of the path: the option that gives values too needs it.
pub(super) fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').unwrap_or_default();
    let path = path.strip_prefix('@').unwrap_or(path);
    match path {
        "-" => Err("standard input is not read here: save it to a file and give its path".to_owned()),
        _ if name.is_empty() || path.is_empty() => {
            Err("write name=path, for example measurements=./today.csv".to_owned())
        }
        _ => Ok((name.to_owned(), path.into())),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("no call is answered in no time: write 30s or 5m".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn http_address(text: &str) -> Result<String, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(
            "write an address that begins with http:// or https://, for example http://127.0.0.1:8080/v1"
                .to_owned(),
        ),
    }
}

/// The name of a question, where it is one that is named: `codemoderun/NAME` or `cmr/NAME`, as kubectl takes it.
pub fn question_name(text: &str) -> Option<&str> {
    let (type_, name) = text.split_once('/')?;
    let type_ = type_.to_lowercase();
    let is_question = matches!(
        type_.split('.').next().unwrap_or_default(),
        "codemoderun" | "codemoderuns" | "cmr"
    );
    (is_question && !name.is_empty() && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_its_kind_and_anything_else_is_none() {
        for text in [
            "codemoderun/ask",
            "cmr/ask",
            "CodeModeRuns.codegen-operator.dev/ask",
        ] {
            assert_eq!(question_name(text), Some("ask"), "{text}");
        }
        for text in [
            "ask",
            "./cmr/ask",
            "cmr/",
            "cmr/a/b",
            "codegentask/ask",
            "codegen-out/ask",
        ] {
            assert_eq!(question_name(text), None, "{text}");
        }
    }

    #[test]
    fn a_sample_is_a_name_and_a_path_that_may_hold_an_equals_sign() {
        assert_eq!(
            name_and_path("a=b=c").unwrap(),
            ("a".to_owned(), PathBuf::from("b=c"))
        );
        assert!(name_and_path("a=").is_err());
        assert!(name_and_path("a=@").is_err());
        assert!(name_and_path("=b").is_err());
        assert!(name_and_path("a").is_err());
    }

    #[test]
    fn a_path_may_begin_as_where_values_are_taken_too() {
        assert_eq!(
            name_and_path("a=@b.csv").unwrap(),
            ("a".to_owned(), PathBuf::from("b.csv"))
        );
        assert_eq!(
            name_and_path("a=./@b.csv").unwrap(),
            ("a".to_owned(), PathBuf::from("./@b.csv"))
        );
        assert!(name_and_path("a=@-").unwrap_err().contains("standard input"));
    }

    #[test]
    fn an_address_loses_its_last_slash() {
        assert_eq!(
            http_address("http://127.0.0.1:1/v1/").unwrap(),
            "http://127.0.0.1:1/v1"
        );
        assert!(http_address("127.0.0.1:1").is_err());
        assert!(http_address("file:///etc").is_err());
    }
}
