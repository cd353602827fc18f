//! Why a command is denied.

/// The rule that denies a command, and the reason with what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) rule: String,
    pub(crate) reason: String,
}

impl Denial {
    pub(crate) fn new(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            reason: reason.into(),
        }
    }

    /// Of syntax whose meaning is not settled before it runs.
    pub(crate) fn syntax(reason: impl Into<String>) -> Self {
        Self::new("syntax", reason)
    }

    /// Of a path that a command may not write to.
    pub(crate) fn path(reason: impl Into<String>) -> Self {
        Self::new("paths", reason)
    }
}
