//! Errors in one line.

/// An error with everything that caused it, outermost first, divided by colons. A cause that an error quotes already is not
/// said twice.
#[must_use]
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |error| error.source());
    let told = all
        .filter(|error| !repeats_its_cause(*error))
        .map(ToString::to_string);
    told.reduce(|text, cause| {
        if text.ends_with(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
    .unwrap_or_default()
}

/// Reports whether an error is the API server's answer with its fields: what it says stands in its cause.
// kube prints the whole status object there, and the message once more as its cause.
fn repeats_its_cause(error: &(dyn std::error::Error + 'static)) -> bool {
    let boxed = error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    matches!(boxed.or_else(|| error.downcast_ref()), Some(kube::Error::Api(_)))
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

    #[derive(Debug, thiserror::Error)]
    #[error("failed to create the Secret a/b")]
    struct Remote(#[source] Box<kube::Error>);

    #[test]
    fn an_error_of_the_api_server_is_shown_in_its_own_words_alone() {
        let status =
            kube::core::Status::failure("secrets \"b\" is forbidden: exceeded quota: full", "Forbidden");
        let error = kube::Error::Api(status.with_code(403).boxed());
        let told = "secrets \"b\" is forbidden: exceeded quota: full: Forbidden";
        assert_eq!(
            with_causes(&Remote(Box::new(error))),
            format!("failed to create the Secret a/b: {told}")
        );
    }
}
