//! Errors in one line.

/// An error with everything that caused it, outermost first, divided by colons. A cause that an error quotes already is not
/// said twice.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read a.csv")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn an_error_stands_before_what_caused_it() {
        let error = Outer(std::io::Error::other("disk on fire"));
        assert_eq!(with_causes(&error), "failed to read a.csv: disk on fire");
    }
}
