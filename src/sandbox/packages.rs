//! What pip or uv said, as a failure with a name: the package that cannot be had, or an index that does not answer.

use std::sync::LazyLock;

use regex::Regex;

use super::error::{PackageProblem, PackageProblemKind, SandboxError};
use super::installation::replaced_interpreter;

/// How much of an installer's output an error carries, bytes.
// Enough for pip's last paragraphs; the whole becomes part of a prompt and of a status, which has 32 KiB.
const DETAIL_BYTES: usize = 2048;

/// Signs of a network or index that fails, in lower case. Searched for first: pip goes on to say that it found no version.
const UNREACHABLE: [&str; 14] = [
    "newconnectionerror",
    "connecttimeouterror",
    "readtimeouterror",
    "proxyerror",
    "sslerror",
    "certificate verify failed",
    "temporary failure in name resolution",
    "connection refused",
    "connection reset",
    "remotedisconnected",
    "dns error",
    "error sending request",
    "failed to fetch",
    "server error",
];

/// Refuse requirements that are no names on the index: an address or a path would bring code that runs while it is installed.
pub(crate) fn reject_locations(requirements: &[String]) -> Result<(), SandboxError> {
    let is_name = |requirement: &String| {
        let (name, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
        // pip takes an option, a path or `name @ https://...` for a requirement too. What begins with a letter or digit is no option, and
        // without these characters it is neither path nor address.
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
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

/// What an installer's output means.
pub(crate) fn classify(output: &str) -> SandboxError {
    // First: an environment with a replaced interpreter must not be reported as anything that a model could work on.
    if let Some(denied) = replaced_interpreter(output) {
        return denied;
    }
    let lower = output.to_lowercase();
    // A full disk comes out as a failure of the package that was just unpacked, so it must be found before any rule on packages.
    if lower.contains("no space left on device") {
        return SandboxError::DiskFull("installing packages".into());
    }
    // An index that does not answer ends in "no matching distribution" too, and a model would give up a package that exists.
    if let Some(line) = output
        .lines()
        .find(|line| UNREACHABLE.iter().any(|sign| line.to_lowercase().contains(sign)))
    {
        return SandboxError::IndexUnreachable(without_credentials(&in_words(line.trim())));
    }
    // uv wraps its sentences; a rule must see them whole.
    let text = output.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(refused) = other_content(&text) {
        return refused;
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

/// An archive that is not the one of the lock, or not the one that the index itself announces.
fn other_content(text: &str) -> Option<SandboxError> {
    let found = OTHER_CONTENT.iter().find_map(|rule| rule.captures(text))?;
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let (expected, got) = (part("expected"), part("got"));
    // The address ends in the digest that the index announces (`#sha256=...`). Where that is the expected one, the index contradicts
    // itself; else the lock and the index differ.
    let announced = part("address").ends_with(&format!("={expected}"));
    let (whose, remedy) = if announced {
        (
            "the package index itself announces",
            "have whoever runs the package index look into it: nothing was installed",
        )
    } else {
        (
            "was installed before",
            "somebody may have exchanged it, so nothing was installed: have whoever runs the package index look into it; with \
             spec.cache Override the versions and files that it has now are taken",
        )
    };
    Some(SandboxError::Refused {
        object: format!("pip package {}", part("package")),
        reason: format!(
            "the package index serves another file than {whose}: its SHA-256 is {got}, and not {expected}"
        ),
        remedy: remedy.to_owned(),
    })
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
            // pip joins several names with commas and "and".
            Conflict => names
                .split([',', ' '])
                .filter(|name| !name.is_empty() && *name != "and")
                .collect(),
            NotFound | NoSuchVersion | InvalidName | Other => vec![names],
        };
        let mut names: Vec<String> = names.into_iter().map(distribution).collect();
        names.sort();
        names.dedup();
        return (*kind, names);
    }
    (Other, vec![])
}

/// How pip and uv report an archive with another content than was asked for, in one line.
#[expect(
    clippy::expect_used,
    reason = "the patterns are constants; a test compiles each of them"
)]
static OTHER_CONTENT: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"DO NOT MATCH THE HASHES.*? (?P<package>\S+) from (?P<address>[^\s:]+:\S+?):? (?:\(from [^)]*\)+: )?Expected sha256 (?P<expected>[0-9a-f]{64}) .*?Got (?P<got>[0-9a-f]{64})",
        r"Hash mismatch for `(?P<package>[^`]+)`.*?Expected: sha256:(?P<expected>[0-9a-f]{64}) .*?Computed: sha256:(?P<got>[0-9a-f]{64})",
    ]
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
});

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants; a test compiles each of them"
)]
static RULES: LazyLock<Vec<(Regex, PackageProblemKind)>> = LazyLock::new(|| {
    use PackageProblemKind::{Conflict, InvalidName, NoSuchVersion, NotFound};
    [
        (r"Invalid requirement: '([^']+)'", InvalidName),
        (r"Failed to parse: `([^`]+)`", InvalidName),
        (
            r"Cannot install (.+?) because these package versions have conflicting dependencies",
            Conflict,
        ),
        (
            // "none" is no version at all: the name is wrong. The next rule has the same words with a list of versions.
            r"satisfies the requirement (\S+) \(from versions: none\)",
            NotFound,
        ),
        (r"satisfies the requirement (\S+) \(from", NoSuchVersion),
        (r"No matching distribution found for (\S+)", NotFound),
        (r"Package '([^']+)' requires a different Python", NoSuchVersion),
        (
            r"Because (\S+) was not found in the (?:package registry|provided package locations)",
            NotFound,
        ),
        (r"(?:Because|and) (\S+) has no (?:usable )?wheels", NotFound),
        (r"Because there (?:is|are) no versions? of (\S+)", NoSuchVersion),
        (
            r"Because (?:only )?(\S+) .*your requirements are unsatisfiable",
            Conflict,
        ),
    ]
    .map(|(pattern, kind)| (Regex::new(pattern).expect("a valid pattern"), kind))
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

/// A line of pip without what it prints of its own objects.
fn in_words(line: &str) -> String {
    #[expect(clippy::expect_used, reason = "the pattern is a constant; a test compiles it")]
    static OBJECT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^WARNING: |Retrying \(Retry\([^)]*\)\) after |<[^<>]* object at 0x[0-9a-f]+>:? ?")
            .expect("a valid pattern")
    });
    OBJECT.replace_all(line, "").into_owned()
}

/// An index address may carry a user and a password.
pub(crate) fn without_credentials(text: &str) -> String {
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
        "ERROR: Could not find a version that satisfies the requirement no-such-thing (from versions: none)\nERROR: No matching distribution found for no-such-thing",
        NotFound, &["no-such-thing"]
    )]
    #[case::version(
        "ERROR: Could not find a version that satisfies the requirement pandas==99 (from versions: 2.2.0, 2.3.1)\nERROR: No matching distribution found for pandas==99",
        NoSuchVersion, &["pandas"]
    )]
    #[case::conflict(
        "ERROR: Cannot install numpy<2 and pandas==3.0 because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible: for help visit",
        Conflict, &["numpy", "pandas"]
    )]
    #[case::three_in_conflict(
        "ERROR: Cannot install a==1, b==2 and c[x]==3 because these package versions have conflicting dependencies.",
        Conflict, &["a", "b", "c"]
    )]
    #[case::invalid("ERROR: Invalid requirement: 'open cv'", InvalidName, &["open cv"])]
    #[case::other_python(
        "ERROR: Package 'foo' requires a different Python: 3.11.2 not in '>=3.12'",
        NoSuchVersion, &["foo"]
    )]
    #[case::uv_unknown(
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because no-such-thing was not found in the package\n      registry and you require no-such-thing, we can conclude that your requirements are unsatisfiable.",
        NotFound, &["no-such-thing"]
    )]
    #[case::uv_version(
        "  ╰─▶ Because there is no version of pandas==99 and you require pandas==99, we can conclude that your\n      requirements are unsatisfiable.",
        NoSuchVersion, &["pandas"]
    )]
    #[case::uv_conflict(
        "  ╰─▶ Because pandas==3.0 depends on numpy>=2 and you require numpy<2, we can conclude that your requirements are unsatisfiable.",
        Conflict, &["pandas"]
    )]
    #[case::uv_no_wheel(
        "  ╰─▶ Because foo==1.0 has no wheels and building from source is disabled for foo, we can conclude",
        NotFound, &["foo"]
    )]
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

    fn pip_says(wanted: &str, address: &str) -> String {
        format!(
            "Collecting tiny\n  Downloading http://u:pw@index/files/tiny-1.0-py3-none-any.whl (794 bytes)\nERROR: THESE PACKAGES DO NOT \
             MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, please update the hashes. Otherwise, \
             examine the package contents carefully; someone may have tampered with them.\n    {wanted} from {address}:\n        \
             Expected sha256 {RECORDED}\n             Got        {SERVED}\n"
        )
    }

    #[rstest]
    #[case::pip(&pip_says("tiny==1.0", "http://index:80/tiny-1.0-py3-none-any.whl (from -r /build/requirements.txt (line 1))"), "was installed before")]
    #[case::pip_with_an_index_that_announces_it(
        &pip_says("tiny==1.0", &format!("http://index:80/tiny-1.0-py3-none-any.whl#sha256={SERVED} (from -r x.txt (line 1))")),
        "was installed before"
    )]
    #[case::pip_where_an_index_contradicts_itself(
        &pip_says("tiny==1.0", &format!("http://index:80/tiny-1.0-py3-none-any.whl#sha256={RECORDED}")),
        "itself announces"
    )]
    #[case::uv(
        &format!("error: Failed to download `tiny==1.0`\n  cause: Hash mismatch for `tiny==1.0`\n\n  Expected:\n    sha256:{RECORDED}\n\n  Computed:\n    sha256:{SERVED}\n"),
        "was installed before"
    )]
    fn an_archive_with_another_content_is_a_matter_for_a_person(#[case] output: &str, #[case] whose: &str) {
        let error = classify(output);
        let said = error.to_string();
        assert!(
            matches!(&error, SandboxError::Refused { object, .. } if object == "pip package tiny==1.0"),
            "{said}"
        );
        for part in [whose, RECORDED, SERVED] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("pw@"), "{said}");
    }

    #[test]
    fn what_was_installed_before_and_is_gone_is_no_models_matter() {
        let gone = classify("ERROR: No matching distribution found for tiny==1.0");
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
            "-r",
            "a/b",
        ] {
            assert!(reject_locations(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[rstest]
    #[case::refused(
        "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/pandas/\nERROR: Could not find a version that satisfies the requirement pandas (from versions: none)"
    )]
    #[case::server(
        "ERROR: HTTP error 503 while getting https://index\nERROR: 503 Server Error: busy for url"
    )]
    #[case::uv("error: Failed to fetch: `https://pypi.org/simple/pandas/`\n  Caused by: dns error")]
    fn an_index_that_does_not_answer_is_nobodys_fault(#[case] output: &str) {
        assert!(matches!(classify(output), SandboxError::IndexUnreachable(_)));
    }

    #[test]
    fn what_pip_prints_of_its_objects_is_left_out() {
        let output = "WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken by 'NewConnectionError(\
                      '<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f21c8d2b510>: Failed to establish a new \
                      connection: [Errno 111] Connection refused')': /simple/pytest/";
        let SandboxError::IndexUnreachable(said) = classify(output) else {
            panic!("not found");
        };
        assert_eq!(
            said,
            "connection broken by 'NewConnectionError('Failed to establish a new connection: [Errno 111] Connection refused')': \
             /simple/pytest/"
        );
    }

    #[test]
    fn a_full_disk_is_named_as_the_cause() {
        let output =
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
        assert!(matches!(classify(output), SandboxError::DiskFull(_)));
    }

    #[test]
    fn the_password_of_an_index_is_not_repeated() {
        let message = classify("SSLError at https://user:hunter2@index.example.com/simple/").to_string();
        assert!(message.contains("https://***@index.example.com"), "{message}");
        assert!(!message.contains("hunter2"));
    }
}
