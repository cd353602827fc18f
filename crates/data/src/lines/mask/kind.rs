//! Kinds of variable parts, and the texts that are of one.

use std::net::Ipv4Addr;

/// Kinds of variable parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum VariableKind {
    /// A timestamp.
    Time,
    /// A whole number.
    Int,
    /// A number with decimals.
    Float,
    /// Hexadecimal digits.
    Hex,
    /// A UUID.
    Uuid,
    /// An address of IPv4 or IPv6.
    Ip,
    /// An e-mail address.
    Email,
    /// A URL.
    Url,
    /// An absolute path.
    Path,
    /// A quoted text.
    Text,
    /// The request line of HTTP.
    Request,
    /// Letters and digits mixed.
    Id,
    /// Text after the last part that is masked by itself.
    Rest,
}

impl VariableKind {
    /// Returns the kind as a pattern shows it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Time => "<time>",
            Self::Int => "<int>",
            Self::Float => "<float>",
            Self::Hex => "<hex>",
            Self::Uuid => "<uuid>",
            Self::Ip => "<ip>",
            Self::Email => "<email>",
            Self::Url => "<url>",
            Self::Path => "<path>",
            Self::Text => "<text>",
            Self::Request => "<method> <path> <protocol>",
            Self::Id => "<id>",
            Self::Rest => "<rest>",
        }
    }
}

/// The kind of number that a text without sign is or starts with, and the unit after it.
pub(super) fn number(text: &str) -> Option<(VariableKind, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 {
        return None;
    }
    let decimals = text[whole..].strip_prefix('.').map_or(0, digits);
    let (kind, end) = if decimals > 0 {
        (VariableKind::Float, whole + 1 + decimals)
    } else {
        (VariableKind::Int, whole)
    };
    let unit = &text[end..];
    let is_unit = unit.len() <= 5
        && unit
            .chars()
            .all(|character| character.is_alphabetic() || character == '%');
    (is_unit && !(unit.len() == 1 && unit.starts_with('x'))).then_some((kind, unit))
}

/// The kind of a word with digits that is written in a way of its own.
pub(super) fn special(text: &str) -> Option<VariableKind> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.parse::<Ipv4Addr>().is_ok() {
        return Some(VariableKind::Ip);
    }
    if is_email(text) {
        return Some(VariableKind::Email);
    }
    if text
        .strip_prefix("0x")
        .is_some_and(|digits| !digits.is_empty() && is_hex(digits))
    {
        return Some(VariableKind::Hex);
    }
    let bytes = text.as_bytes();
    if bytes.len() == 36 && [8, 13, 18, 23].iter().all(|place| bytes[*place] == b'-') {
        let is_uuid = text.split('-').all(is_hex);
        return is_uuid.then_some(VariableKind::Uuid);
    }
    (bytes.len() >= 8 && is_hex(text)).then_some(VariableKind::Hex)
}

/// Reports whether a word is an address of mail.
pub(super) fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && !host.contains(['@', '/']) && host.trim_matches('.').contains('.')
    })
}

/// Reports whether a quoted text is the request line of HTTP.
pub(super) fn is_request(text: &str) -> bool {
    let mut words = text.split(' ');
    let method = words.next().unwrap_or_default();
    (3..=7).contains(&method.len())
        && method.bytes().all(|byte| byte.is_ascii_uppercase())
        && words.next().is_some_and(|target| !target.is_empty())
        && words.next().is_some_and(|protocol| protocol.starts_with("HTTP/"))
        && words.next().is_none()
}
