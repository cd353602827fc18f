//! A value that must not be shown.

use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};

/// An API key or a secret header value: neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `value`; white space around it (a file's last line break) is dropped.
    #[must_use]
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value, for the request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The value as the request header `name`, or what is wrong with one of the two.
    pub fn header(&self, name: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "its name is not a header name")?;
        let mut value = HeaderValue::from_str(&self.0)
            .map_err(|_| "its value has a line break or another control character")?;
        // Debug output of the client leaves out what is marked so.
        value.set_sensitive(true);
        Ok((name, value))
    }

    /// Yields what a server may repeat of the value of a header: all of it, and of `Bearer abc` the token alone.
    pub fn echoes(&self) -> impl Iterator<Item = &str> {
        let token = self.0.split_once(' ').map(|(_, token)| token);
        std::iter::once(self.0.as_str()).chain(token)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_display_shows_the_value() {
        let secret = Secret::new("sk-hunter2\n");
        assert_eq!(format!("{secret} {secret:?}"), "[redacted] [redacted]");
        assert_eq!(secret.expose(), "sk-hunter2");
    }
}
