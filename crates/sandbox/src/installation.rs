//! Installer of packages, here and in a build: one uv, by its digest. Text only.

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::error::SandboxError;

pub mod judge;

/// Makes an environment and installs into it, for the interpreter that it is started with.
pub(super) const INSTALL: (&str, &str) = ("install.py", include_str!("installation/install.py"));
/// Reads what pip is configured with, as uv takes it.
pub(super) const SETTINGS: (&str, &str) = ("settings.py", include_str!("installation/settings.py"));

/// The uv that installs, wherever it comes from.
pub(super) const UV_VERSION: &str = "0.13.9";

/// Instructions for [`INSTALL`].
#[derive(Serialize, Clone, Debug)]
pub(super) struct Installation<'a> {
    /// The program.
    pub uv: &'a str,
    /// The folder of the environment.
    pub environment: &'a str,
    /// A folder for files of the installation, which no package writes to.
    pub work: &'a str,
    /// Folder in which uv stores archives.
    pub cache: &'a str,
    /// Path at which a link to the interpreter is left.
    pub link: Option<&'a str>,
    /// Names with versions, where nothing is recorded.
    pub requirements: &'a [String],
    /// The requirements file to install as it is.
    pub locked: Option<&'a str>,
    /// Days that a release must have been on its index.
    pub days: u32,
    /// Settings of pip, where they were read before.
    pub settings: Option<&'a PipSettings>,
}

/// Configuration of pip, as [`SETTINGS`] prints it.
#[derive(Serialize, serde::Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct PipSettings {
    /// Options of uv.
    pub options: Vec<String>,
    /// Variables of uv.
    pub env: std::collections::BTreeMap<String, String>,
    /// Files and folders that it reads.
    pub files: Vec<String>,
    /// Settings that uv has nothing like.
    pub left_out: Vec<String>,
}

/// The error where an installed package does what none may; `package` is one of its own words.
pub fn denied(package: &str, why: &str) -> SandboxError {
    SandboxError::PackageDenied(format!(
        "pip package {package} {why}: nothing of what was installed is used. Take it out of image.basePackages, or say in the prompt what \
         to use in its place; and tell whoever runs the package index, for an honest package does not do that."
    ))
}

/// The error where uv refuses a wheel for what it brings.
pub(super) fn refused_wheel(text: &str) -> Option<SandboxError> {
    let found = REFUSED.iter().find_map(|rule| rule.captures(text))?;
    let why = found["why"].trim_end_matches('.');
    // A hint stands below the reason.
    let why = why.split(" hint: ").next().unwrap_or(why);
    Some(denied(&found["package"], &format!("is refused by uv ({why})")))
}

/// Words of uv about wheels that no honest builder writes.
#[expect(clippy::expect_used, reason = "the patterns are constants; a test uses them")]
static REFUSED: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        r"Failed to install: \S+ \((?P<package>[^)]+)\) cause: (?P<why>(?:The wheel is invalid|Scripts must not use|failed to rename file|No such file or directory \(os error 2\) at path).*)",
        r"Failed to download `(?P<package>[^`]+)` cause: Failed to extract archive: .*?cause: (?P<why>Archive contains.*|.*Is a directory.*)",
        r"Failed to download `(?P<package>[^`]+)` cause: (?P<why>The wheel is invalid.*)",
        r"hint: (?P<why>The structure of `(?P<package>[^`]+)` \([^)]*\) was invalid.*)",
        r"hint: (?P<why>Metadata for `(?P<package>[^`]+)` \([^)]*\) could not be parsed.*)",
    ]
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
});

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::script(
        "error: Failed to install: guest-1.0-py3-none-any.whl (guest==1.0) cause: The wheel is invalid: Script path must resolve to a file \
         within the scripts directory: ../escaped",
        "pip package guest==1.0 is refused by uv (The wheel is invalid: Script path"
    )]
    #[case::interpreter(
        "error: Failed to install: guest-1.0-py3-none-any.whl (guest==1.0) cause: Scripts must not use the reserved name `python`, got: `python`",
        "pip package guest==1.0 is refused by uv (Scripts must not use"
    )]
    #[case::name(
        "error: Failed to download `guest==1.0` cause: Failed to extract archive: /x/guest-1.0-py3-none-any.whl cause: Archive contains \
         unacceptable filename: a?b",
        "pip package guest==1.0 is refused by uv (Archive contains"
    )]
    #[case::metadata(
        "error: No solution found cause: Because guest is broken, your requirements are unsatisfiable. hint: Metadata for `guest` (v1.0) \
         could not be parsed: Not a valid package or extra name",
        "pip package guest is refused by uv (Metadata for"
    )]
    fn a_wheel_that_uv_refuses_is_named(#[case] said: &str, #[case] expected: &str) {
        let Some(SandboxError::PackageDenied(text)) = refused_wheel(said) else {
            panic!("not named");
        };
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn a_full_disk_is_no_fault_of_a_package() {
        let said = "Failed to install: a.whl (a==1) cause: failed to copy file: No space left on device (os error 28)";
        assert!(refused_wheel(said).is_none());
    }

    /// Returns the output of the script for somebody with this file of pip and these variables.
    fn settings(file: &str, variables: &[(&str, &str)], days: &str) -> PipSettings {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".config/pip");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pip.conf"), file).unwrap();
        let ended = std::process::Command::new("/usr/bin/python3")
            .args(["-I", "-S", "-B", "-c", SETTINGS.1, days])
            .env_clear()
            .env("HOME", home.path())
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        serde_json::from_slice(&ended.stdout).unwrap()
    }

    const OF_A_COMPANY: &str = "[global]\nindex-url = https://me:secret@index.example/simple\ncert = /usr/share/ca.pem\nkeyring-provider = subprocess\n\
                                [install]\nextra-index-url =\n    https://a.example/simple\n    https://b.example/simple\nfind-links = /usr/share\n";

    #[test]
    fn what_pip_is_configured_with_is_what_uv_is_given() {
        let variables = [
            ("PIP_TRUSTED_HOST", "a.example b.example"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("PIP_PRE", "1"),
        ];
        let found = settings(OF_A_COMPANY, &variables, "0");
        let env = |name: &str| found.env.get(name).map(String::as_str);
        assert_eq!(
            env("UV_DEFAULT_INDEX"),
            Some("https://me:secret@index.example/simple")
        );
        assert_eq!(
            env("UV_INDEX"),
            Some("https://a.example/simple https://b.example/simple")
        );
        assert_eq!(
            (env("SSL_CERT_FILE"), env("HTTPS_PROXY")),
            (Some("/usr/share/ca.pem"), Some("http://proxy:3128"))
        );
        let hosts = [
            "--allow-insecure-host",
            "a.example",
            "--allow-insecure-host",
            "b.example",
            "--prerelease",
            "allow",
        ];
        assert_eq!(
            found.options,
            [&["--find-links", "/usr/share"][..], &hosts].concat()
        );
        assert_eq!(found.left_out, ["keyring-provider"]);
        assert_eq!(found.files, ["/usr/share", "/usr/share/ca.pem"]);
    }

    #[test]
    fn a_variable_goes_before_a_file_and_no_file_counts_where_pip_is_isolated() {
        let own = ("PIP_INDEX_URL", "https://other.example/simple");
        let found = settings(OF_A_COMPANY, &[own], "0");
        assert_eq!(found.env["UV_DEFAULT_INDEX"], own.1);
        let found = settings(OF_A_COMPANY, &[("PIP_CONFIG_FILE", "/dev/null")], "0");
        assert_eq!(
            (found.env.get("UV_DEFAULT_INDEX"), found.left_out.len()),
            (None, 0)
        );
    }

    #[test]
    fn links_without_dates_are_left_out_where_ages_count() {
        let found = settings(OF_A_COMPANY, &[], "7");
        assert!(found.options.is_empty(), "{found:?}");
        assert!(
            found.left_out[0].starts_with("find-links /usr/share, "),
            "{found:?}"
        );
    }
}
