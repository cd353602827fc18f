//! Failures of uv by name, read from its output: the package that cannot be had, or an index that does not answer.

use std::sync::LazyLock;

use regex::Regex;

use super::error::{PackageProblem, PackageProblemKind, SandboxError};
use super::installation::refused_wheel;

/// Size of the part of an installer's output that an error carries, bytes.
// Enough for uv's whole explanation; the whole becomes part of a prompt and of a status, which has 32 KiB.
const DETAIL_BYTES: usize = 2048;

/// Signs of a network or index that fails, in lower case. Searched for first: they stand in the same text as names of packages.
const UNREACHABLE: [&str; 7] = [
    "connection refused",
    "connection reset",
    "dns error",
    "error sending request",
    "failed to fetch",
    "http status server error",
    "temporary failure in name resolution",
];

/// Refuse requirements that are no names on the index: an address or a path would bring code that runs while it is installed.
pub(crate) fn reject_locations(requirements: &[String]) -> Result<(), SandboxError> {
    let is_name = |requirement: &String| {
        let (name, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
        // uv takes an option, a path or `name @ https://...` for a requirement too. What begins with a letter or digit is no option, and
        // without these characters it is neither path nor address.
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            // Each is a line of a file.
            && !requirement.contains(char::is_control)
            && !name.contains(['/', '\\', '@', ':'])
            && !marker.contains(['/', '\\', '@'])
    };
    let names: Vec<String> = requirements
        .iter()
        .filter(|requirement| !is_name(requirement))
        .cloned()
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let detail =
        "only names of distributions with versions are installed, no addresses, paths or options".to_owned();
    let kind = PackageProblemKind::InvalidName;
    Err(SandboxError::Packages(PackageProblem {
        manager: "pip",
        names,
        kind,
        detail,
        is_foreseen: true,
    }))
}

/// Classifies an installer's output.
#[must_use]
pub fn classify(output: &str) -> SandboxError {
    // A full disk comes out as a failure of the package that was just unpacked, so it must be found before any rule on packages.
    let lower = output.to_lowercase();
    if lower.contains("no space left on device") {
        return SandboxError::DiskFull("installing packages".into());
    }
    // uv wraps its sentences; a rule must see them whole.
    let text = output.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = refused_wheel(&text)
        .or_else(|| other_content(&text))
        .or_else(|| refused_by_index(&text));
    if let Some(refused) = found.or_else(|| too_young(&text)) {
        return refused;
    }
    if UNREACHABLE.iter().any(|sign| lower.contains(sign)) {
        let start = text.find("Failed to fetch").unwrap_or_default();
        let said = &text[start..];
        return SandboxError::IndexUnreachable(without_credentials(&said[..said.floor_char_boundary(400)]));
    }
    let (kind, names) = problem(&text);
    SandboxError::Packages(PackageProblem {
        manager: "pip",
        names,
        kind,
        detail: detail(output),
        is_foreseen: false,
    })
}

/// An archive that is not the one that was recorded, or that the index announced.
fn other_content(text: &str) -> Option<SandboxError> {
    let found = OTHER_CONTENT.captures(text)?;
    Some(SandboxError::Refused {
        object: format!("pip package {}", &found["package"]),
        reason: format!(
            "the package index serves another file than was installed before: its SHA-256 is {}, and not {}",
            &found["got"], &found["expected"]
        ),
        remedy: "somebody may have exchanged it, so nothing was installed: have whoever runs the package index look into it; with spec.cache \
                 Override the versions and files that it has now are taken"
            .to_owned(),
    })
}

/// An index that wants other credentials, or whose certificate nobody here trusts.
fn refused_by_index(text: &str) -> Option<SandboxError> {
    let (rule, remedy) = BY_INDEX.iter().find(|(rule, _)| rule.is_match(text))?;
    Some(SandboxError::Refused {
        object: "package index".to_owned(),
        reason: without_credentials(rule.find(text)?.as_str()),
        remedy: (*remedy).to_owned(),
    })
}

/// A package of which everything that will do is younger than a rule allows.
fn too_young(text: &str) -> Option<SandboxError> {
    let found = TOO_YOUNG.captures(text)?;
    Some(SandboxError::PackageDenied(format!(
        "pip package {}: every release that will do is younger than packages.minReleaseAgeDays allows ({}), or its index does not say when \
         it was made. Name an older one in image.basePackages, or wait, or change the rule; a task in a cluster goes on at the annotation \
         codegen-operator.dev/retry.",
        &found["package"], &found["why"]
    )))
}

/// The same, where a lock was to be installed: a model cannot change that an index has it no more.
pub(crate) fn classify_locked(error: SandboxError) -> SandboxError {
    let SandboxError::Packages(problem) = error else {
        return error;
    };
    let names = if problem.names.is_empty() {
        "packages".to_owned()
    } else {
        format!("pip package {}", problem.names.join(", "))
    };
    SandboxError::Refused {
        object: names,
        reason: format!(
            "the package index has no more what was installed before ({})",
            problem.kind.describe(problem.manager)
        ),
        remedy:
            "have it put back, or set spec.cache to Override, which takes the versions that the index has now"
                .to_owned(),
    }
}

fn problem(text: &str) -> (PackageProblemKind, Vec<String>) {
    use PackageProblemKind::{Conflict, InvalidName, NoSuchVersion, NotFound, Other};
    // The rules stand in order: an earlier one is the narrower one.
    for (rule, kind) in RULES.iter() {
        let Some(found) = rule.captures(text) else {
            continue;
        };
        let names = found.get(1).map_or("", |names| names.as_str());
        let names = match kind {
            // Every package that its explanation names excludes another one.
            Conflict => CONFLICTING
                .captures_iter(text)
                .filter_map(|one| Some(one.get(1)?.as_str()))
                .collect(),
            NotFound | NoSuchVersion | InvalidName | Other => vec![names],
        };
        let mut names: Vec<String> = names.into_iter().map(distribution).collect();
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();
        return (*kind, names);
    }
    (Other, vec![])
}

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants; tests use each of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

static OTHER_CONTENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"Hash mismatch for `(?P<package>[^`]+)`.*?Expected: sha256:(?P<expected>[0-9a-f]{64}) .*?Computed: sha256:(?P<got>[0-9a-f]{64})",
    )
});

static BY_INDEX: LazyLock<[(Regex, &str); 2]> = LazyLock::new(|| {
    [
        (
            r"An index (?:URL )?\([^)]*\) (?:could not be queried due to a lack of valid authentication credentials|returned a 403 Forbidden error)[^.]*",
            "give image.indexURL credentials that the package index takes",
        ),
        (
            r"Failed to fetch: .*invalid peer certificate: \S+",
            "set image.indexCABundle to the certificate authority of the package index",
        ),
    ]
    .map(|(text, remedy)| (pattern(text), remedy))
});

static TOO_YOUNG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"`(?P<package>[^`]+)` was filtered by `exclude-newer` to (?P<why>only include packages uploaded before \S+)\.",
    )
});

static CONFLICTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:because|depends on|you require|and) (?:only |all versions of )?([a-z0-9][\w.-]*)[=<>!~{\[]",
    )
});

static RULES: LazyLock<Vec<(Regex, PackageProblemKind)>> = LazyLock::new(|| {
    use PackageProblemKind::{Conflict, InvalidName, NoSuchVersion, NotFound};
    [
        (r"Couldn't parse requirement in ()", InvalidName),
        (r"Failed to parse: `([^`]+)`", InvalidName),
        (
            r"(?i)because (\S+) was not found in the (?:package registry|provided package locations)",
            NotFound,
        ),
        (r"(\S+) ha(?:s|ve) no (?:usable )?wheels", NotFound),
        (
            r"(?i)because there (?:is|are) no versions? of (\S+)",
            NoSuchVersion,
        ),
        (r"(?i)because only (\S+) (?:is|are) available", NoSuchVersion),
        (
            r"does not satisfy Python\S+ and (?:all versions of )?(\S+) depends? on Python",
            NoSuchVersion,
        ),
        (
            r"(?i)because .*your requirements()(?: and \S+)? are (?:unsatisfiable|incompatible)",
            Conflict,
        ),
    ]
    .map(|(text, kind)| (pattern(text), kind))
    .into()
});

/// The distribution's name, without version and extras.
fn distribution(requirement: &str) -> String {
    let end = requirement
        .find(['=', '<', '>', '!', '~', '[', ';'])
        .unwrap_or(requirement.len());
    requirement[..end].trim().to_owned()
}

fn detail(output: &str) -> String {
    let text = output.trim();
    // The end, since installers say last what failed.
    let start = text.ceil_char_boundary(text.len().saturating_sub(DETAIL_BYTES));
    without_credentials(&text[start..])
}

/// An index address may carry a user and a password.
pub fn without_credentials(text: &str) -> String {
    #[expect(clippy::expect_used, reason = "the pattern is a constant; a test compiles it")]
    static USER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(https?://)[^/\s@]+@").expect("a valid pattern"));
    USER.replace_all(text, "${1}***@").into_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::PackageProblemKind::{Conflict, InvalidName, NoSuchVersion, NotFound, Other};
    use super::*;

    #[rstest]
    #[case::unknown(
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because no-such-thing was not found in the package\n      registry and you require no-such-thing, we can conclude that your requirements are unsatisfiable.",
        NotFound, &["no-such-thing"]
    )]
    #[case::version(
        "  ╰─▶ Because there is no version of pandas==99 and you require pandas==99, we can conclude that your\n      requirements are unsatisfiable.",
        NoSuchVersion, &["pandas"]
    )]
    #[case::conflict(
        "  ╰─▶ Because pandas==3.0 depends on numpy>=2 and you require numpy<2, we can conclude that your requirements are unsatisfiable.",
        Conflict, &["numpy", "pandas"]
    )]
    #[case::no_wheel(
        "  ╰─▶ Because foo==1.0 has no wheels and building from source is disabled for foo, we can conclude",
        NotFound, &["foo"]
    )]
    #[case::no_wheel_at_all(
        "  cause: Because all versions of docopt have no usable wheels and you require docopt, we can conclude that your requirements are unsatisfiable.",
        NotFound, &["docopt"]
    )]
    #[case::a_longer_conflict(
        "  cause: Because requests==2.32.3 depends on urllib3>=1.21.1,<3 and you require requests==2.32.3, we can conclude that you require \
         urllib3>=1.21.1,<3.\n         And because you require urllib3<1.20, we can conclude that your requirements are unsatisfiable.",
        Conflict, &["requests", "urllib3"]
    )]
    #[case::a_version_that_is_too_new(
        "  cause: Because only tiny<=2.0 is available and you require tiny>3, we can conclude that your requirements are unsatisfiable.",
        NoSuchVersion, &["tiny"]
    )]
    #[case::invalid("error: Couldn't parse requirement in `-` at position 0\n  cause: Expected one of `@`, found `c`", InvalidName, &[])]
    #[case::anything_else("Segmentation fault", Other, &[])]
    fn the_package_at_fault_is_named(
        #[case] output: &str,
        #[case] kind: PackageProblemKind,
        #[case] names: &[&str],
    ) {
        let SandboxError::Packages(problem) = classify(output) else {
            panic!("not a package problem")
        };
        assert_eq!(
            (problem.kind, problem.names),
            (kind, names.iter().map(ToString::to_string).collect())
        );
    }

    const RECORDED: &str = "598043e764aa9416fb28e7e64fe7798a8751f9cb5535fdebdc1b03e6da688b11";
    const SERVED: &str = "d68fa60a1300f9ae4abf16e18f91deb073dbd719102750bc52434f5a8ea1c605";

    #[test]
    fn an_archive_with_another_content_is_a_matter_for_a_person() {
        let error = classify(&format!(
            "error: Failed to download `tiny==1.0`\n  cause: Hash mismatch for `tiny==1.0`\n\n  Expected:\n    sha256:{RECORDED}\n\n  \
             Computed:\n    sha256:{SERVED}\n"
        ));
        let said = error.to_string();
        assert!(
            matches!(&error, SandboxError::Refused { object, .. } if object == "pip package tiny==1.0"),
            "{said}"
        );
        for part in ["was installed before", RECORDED, SERVED] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn an_index_that_wants_credentials_and_a_release_that_is_too_young_are_named() {
        let index = "error: No solution found\n  cause: Because pytest was not found in the package registry and you require pytest.\n\nhint: \
                     An index URL (http://127.0.0.1:8771/simple) could not be queried due to a lack of valid authentication credentials (401 \
                     Unauthorized)";
        let said = classify(index).to_string();
        assert!(said.contains("give image.indexURL credentials"), "{said}");
        let young = "  cause: Because there are no versions of tiny and you require tiny, your requirements are unsatisfiable.\n\nhint: `tiny` was \
                     filtered by `exclude-newer` to only include packages uploaded before 2026-11-20T16:29:13Z. The latest version";
        let said = classify(young).to_string();
        assert!(
            said.starts_with("pip package tiny: ") && said.contains("2026-11-20T16:29:13Z"),
            "{said}"
        );
    }

    #[test]
    fn what_was_installed_before_and_is_gone_is_no_models_matter() {
        let gone = classify("Because there is no version of tiny==1.0 and you require tiny==1.0");
        let said = classify_locked(gone).to_string();
        assert!(
            said.starts_with("pip package tiny: the package index has no more"),
            "{said}"
        );
        assert!(said.contains("Override"), "{said}");
    }

    #[test]
    fn only_names_on_the_index_are_installed() {
        let good = [
            "pandas",
            "requests[socks]<3,>=2.31",
            "numpy ~= 2.0",
            "tomli; python_version < '3.11'",
        ];
        assert!(reject_locations(&good.map(String::from)).is_ok());
        for bad in [
            "git+https://example.com/x",
            "x @ https://example.com/x.whl",
            "./x",
            "../x",
            "a\n-r x",
            "-r",
            "a/b",
        ] {
            assert!(reject_locations(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[rstest]
    #[case::refused(
        "error: Failed to fetch: http://127.0.0.1:9/simple/tiny/\n  cause: error sending request\n  cause: Connection refused (os error 111)"
    )]
    #[case::server(
        "error: Failed to fetch: http://index/simple/tiny/\n  cause: HTTP status server error (503 Service Unavailable)"
    )]
    #[case::name("error: Failed to fetch: `https://pypi.org/simple/pandas/`\n  cause: dns error")]
    fn an_index_that_does_not_answer_is_nobodys_fault(#[case] output: &str) {
        let SandboxError::IndexUnreachable(said) = classify(output) else {
            panic!("{:?}", classify(output));
        };
        assert!(said.starts_with("Failed to fetch: "), "{said}");
    }

    #[test]
    fn a_full_disk_is_named_as_the_cause() {
        let output = "error: Failed to install: a.whl (a==1)\n  cause: failed to copy file: No space left on device (os error 28)";
        assert!(matches!(classify(output), SandboxError::DiskFull(_)));
    }

    #[test]
    fn the_password_of_an_index_is_not_repeated() {
        let message = classify("Failed to fetch: https://user:hunter2@index.example.com/simple/").to_string();
        assert!(message.contains("https://***@index.example.com"), "{message}");
        assert!(!message.contains("hunter2"));
    }
}
