//! Tags of images in registries: whose they are by their form, so that nobody takes a name of somebody else's before that is there.
//!
//! An environment's is [`ENVIRONMENT`] and the hash of its content, which anybody can compute. A published program's or a run's default is
//! `<namespace>.<name>`, and a namespace has no dot. What refers to an image has a tag of the image's digest.

/// Begins the tag of every environment, and no tag that people give.
pub const ENVIRONMENT: &str = "codegen-env-";
/// Begins the tag of what refers to an image, as the specification has it.
const REFERRERS: &str = "sha256-";
/// Hexadecimal digits of an environment's tag.
const DIGITS: usize = 32;

/// The tag of the environment with this content.
#[must_use]
pub fn of_environment(content_hash: &str) -> String {
    let digits = content_hash.get(..DIGITS).unwrap_or(content_hash);
    format!("{ENVIRONMENT}{digits}")
}

/// Returns the reason for which nobody in `namespace` may give the tag, where that is so.
#[must_use]
pub fn objection(tag: &str, namespace: &str) -> Option<String> {
    if tag.starts_with(ENVIRONMENT) {
        return Some(format!(
            "tags that begin with {ENVIRONMENT} are of environments, which the operator alone makes"
        ));
    }
    // Tools for signatures and lists of materials write tags of this form beside an image.
    if tag.starts_with(REFERRERS) {
        return Some(format!(
            "tags that begin with {REFERRERS} are of what refers to an image"
        ));
    }
    let (first, _) = tag.split_once('.')?;
    // A version has numbers before its first dot, so it cannot be taken for the default of a namespace that is not all digits.
    if first == namespace || is_version(tag) {
        return None;
    }
    Some(format!(
        "it reads like the default of a task in the namespace {first}: only a version such as v1.2 and tags that begin with {namespace}. have a dot"
    ))
}

/// The default of `name` in `namespace`. What reads like a version is an exception: everybody may give those.
#[must_use]
pub fn default_of(namespace: &str, name: &str) -> String {
    let whole = format!("{namespace}.{name}");
    if is_version(&whole) {
        format!("{namespace}..{name}")
    } else {
        whole
    }
}

/// `1.2`, `v1.2.3`, `2027.1-rc.1`: numbers first.
fn is_version(tag: &str) -> bool {
    let digits = tag.strip_prefix('v').unwrap_or(tag);
    let mut parts = digits.splitn(3, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let minor = minor.split(['-', '_']).next().unwrap_or_default();
    is_number(major) && is_number(minor)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("v1")]
    #[case("latest")]
    #[case("v1.2")]
    #[case("1.2.3-rc.1")]
    #[case("2027.11-night")]
    #[case("lab.penguins")]
    #[case("lab.penguins.outputs")]
    #[case("codegen-environment")]
    #[case("prod-env")]
    fn a_tag_of_ones_own_may_be_given(#[case] tag: &str) {
        assert_eq!(objection(tag, "lab"), None);
    }

    #[rstest]
    #[case("codegen-env-0123456789abcdef0123456789abcdef")]
    #[case("codegen-env-")]
    #[case("sha256-0123.sbom")]
    #[case("team.penguins")]
    #[case("team.penguins.outputs")]
    #[case("v1.penguins")]
    #[case("1..2")]
    #[case("v1..2")]
    #[case("labs.penguins")]
    #[case(".penguins")]
    fn a_tag_of_somebody_elses_may_not(#[case] tag: &str) {
        assert!(objection(tag, "lab").is_some());
    }

    #[rstest]
    #[case("team", "penguins")]
    #[case("1", "2")]
    #[case("v1", "2")]
    #[case("v1", "2.penguins")]
    #[case("1", "2-night")]
    fn no_default_of_another_namespace_can_be_given(#[case] namespace: &str, #[case] name: &str) {
        let tag = default_of(namespace, name);
        assert!(objection(&tag, "lab").is_some(), "{tag}");
        assert_eq!(objection(&tag, namespace), None, "{tag}");
    }

    #[test]
    fn a_tag_of_an_environment_is_no_tag_of_anybody() {
        let tag = of_environment(&"a".repeat(64));
        assert_eq!(tag.len(), ENVIRONMENT.len() + 32);
        assert!(objection(&tag, "lab").is_some());
    }
}
