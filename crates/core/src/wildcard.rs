//! Names that are meant by a pattern in which `*` stands for any characters. Pure.

/// Reports whether `pattern` means `name`. Both are compared as they are.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let Some(end) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            // The first place that fits leaves the most for the parts that follow, so no other place needs to be tried.
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("docker.io/library/python", "docker.io/library/python", true)]
    #[case("docker.io/library/python", "docker.io/library/python3", false)]
    #[case("docker.io/*", "docker.io/library/python", true)]
    #[case("docker.io/*", "docker.io.example.com/library/python", false)]
    #[case("*", "", true)]
    #[case("", "docker.io/library/python", false)]
    #[case("*.example.com/*/base-*", "one.example.com/team/base-python", true)]
    #[case("*.example.com/*/base-*", "one.example.com/base-python", false)]
    #[case("a*a", "a", false)]
    fn a_star_stands_for_any_characters(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(matches(pattern, name), expected);
    }
}
