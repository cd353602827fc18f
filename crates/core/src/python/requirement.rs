//! pip requirements and apt names that may be installed: a name, extras, versions; nothing else.

use std::collections::BTreeSet;
use std::fmt;

/// A pip requirement in normal form (`psycopg[binary]<4,>=3`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// Name by PEP 503.
    pub name: String,
    extras: BTreeSet<String>,
    versions: BTreeSet<String>,
}

/// Reason why a text is no requirement that may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementFault {
    /// Nothing was given.
    #[error("it is empty")]
    Empty,
    /// It starts with a dash.
    #[error("options of pip are not allowed; give a package name")]
    Option,
    /// It is an address.
    #[error("addresses are not allowed; give a package name")]
    Url,
    /// It is a path or an archive.
    #[error("paths and archives are not allowed; give a package name")]
    Path,
    /// It has an environment marker.
    #[error("environment markers are not allowed; give the name and versions alone")]
    Marker,
    /// Name or extras are not as PEP 508 writes them.
    #[error("it is not a package name; a name has letters, digits, dots, dashes and underscores")]
    Name,
    /// The version part is not as PEP 440 writes it.
    #[error("its version part is not understood; write it like `<3,>=2.1`")]
    Version,
    /// Not the name of a Debian package.
    #[error(
        "it is not the name of a Debian package; such a name has lower-case letters, digits, `+`, `-` and `.`"
    )]
    System,
}

impl Requirement {
    /// Reads a name with optional extras and version specifiers.
    pub fn parse(given: &str) -> Result<Self, RequirementFault> {
        let text = given.trim();
        refuse_other_forms(text)?;
        let name_end = text.find(|c: char| !is_name_char(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(name_end);
        if !is_name(name) {
            return Err(RequirementFault::Name);
        }
        let rest = rest.trim_start();
        let (extras, versions) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').ok_or(RequirementFault::Name)?,
            None => ("", rest),
        };
        let extras: BTreeSet<_> = extras
            .split(',')
            .map(str::trim)
            .filter(|extra| !extra.is_empty())
            .collect();
        if !extras.iter().all(|extra| is_name(extra)) {
            return Err(RequirementFault::Name);
        }
        let versions = match versions.trim() {
            "" => BTreeSet::new(),
            list => list.split(',').map(specifier).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            name: normalized(name),
            extras: extras.into_iter().map(normalized).collect(),
            versions,
        })
    }

    /// Its version specifiers, as PEP 440 writes them (`<3,>=2.1`); empty for any version.
    #[must_use]
    pub fn versions(&self) -> String {
        let all: Vec<&str> = self.versions.iter().map(String::as_str).collect();
        all.join(",")
    }

    /// Takes over what another requirement on the same package asks for.
    pub(super) fn merge(&mut self, other: Self) {
        self.extras.extend(other.extras);
        self.versions.extend(other.versions);
    }

    /// The same extras and versions under another name.
    pub(super) fn renamed(mut self, target: Self) -> Self {
        self.name = target.name;
        self.extras.extend(target.extras);
        self
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.extras.is_empty() {
            write!(
                f,
                "[{}]",
                self.extras
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(",")
            )?;
        }
        f.write_str(
            &self
                .versions
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(","),
        )
    }
}

/// A name by PEP 503: lower case, runs of `-`, `_` and `.` as one dash.
#[must_use]
pub fn normalized(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    lower
        .split(['-', '_', '.'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Checks the name of a Debian package.
pub fn system_package(given: &str) -> Result<&str, RequirementFault> {
    let name = given.trim();
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    // apt reads a dash or a single plus at the end as a command to remove or install.
    let ends_well = name.ends_with("++") || !name.ends_with(['+', '-', '.']);
    if name.len() >= 2 && starts_well && ends_well && name.chars().all(is_valid) {
        Ok(name)
    } else {
        Err(RequirementFault::System)
    }
}

fn refuse_other_forms(text: &str) -> Result<(), RequirementFault> {
    if text.is_empty() {
        Err(RequirementFault::Empty)
    } else if text.starts_with('-') || text.contains(" -") {
        Err(RequirementFault::Option)
    } else if text.contains("://") || text.contains('@') || text.starts_with("git+") {
        Err(RequirementFault::Url)
    } else if text.contains(['/', '\\']) || text.starts_with(['.', '~']) || is_archive(text) {
        Err(RequirementFault::Path)
    } else if text.contains(';') {
        Err(RequirementFault::Marker)
    } else {
        Ok(())
    }
}

fn is_archive(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2"]
        .iter()
        .any(|ending| lower.ends_with(ending))
}

const fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_name(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    name.len() <= 100 && name.starts_with(ends) && name.ends_with(ends) && name.chars().all(is_name_char)
}

fn specifier(text: &str) -> Result<String, RequirementFault> {
    const OPERATORS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];
    let text = text.trim();
    let operator = OPERATORS
        .into_iter()
        .find(|operator| text.starts_with(operator))
        .ok_or(RequirementFault::Version)?;
    let version = text[operator.len()..].trim();
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '*' | '+' | '!' | '-' | '_');
    if version.is_empty() || version.len() > 64 || !version.chars().all(is_valid) {
        return Err(RequirementFault::Version);
    }
    Ok(format!("{operator}{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("pandas", "pandas")]
    #[case(" PyYAML ", "pyyaml")]
    #[case("ruamel.yaml", "ruamel-yaml")]
    #[case("typing__extensions", "typing-extensions")]
    #[case("requests < 3, >= 2.1", "requests<3,>=2.1")]
    #[case("psycopg[binary,pool]~=3.1", "psycopg[binary,pool]~=3.1")]
    #[case("torch==2.1.0+cpu", "torch==2.1.0+cpu")]
    #[case("django==4.*", "django==4.*")]
    fn plain_requirements_are_read(#[case] given: &str, #[case] normal: &str) {
        assert_eq!(Requirement::parse(given).unwrap().to_string(), normal);
    }

    #[rstest]
    #[case("", RequirementFault::Empty)]
    #[case("--index-url https://evil.example", RequirementFault::Option)]
    #[case("-e .", RequirementFault::Option)]
    #[case("pandas --pre", RequirementFault::Option)]
    #[case("https://evil.example/a.whl", RequirementFault::Url)]
    #[case("a @ file:///tmp/a", RequirementFault::Url)]
    #[case("git+ssh:x", RequirementFault::Url)]
    #[case("./a", RequirementFault::Path)]
    #[case("a.whl", RequirementFault::Path)]
    #[case("..", RequirementFault::Path)]
    #[case("pandas; python_version < '3.12'", RequirementFault::Marker)]
    #[case("two words", RequirementFault::Version)]
    #[case("a$(id)", RequirementFault::Version)]
    #[case("$(id)", RequirementFault::Name)]
    #[case("pandas>=", RequirementFault::Version)]
    #[case("pandas>=2 3", RequirementFault::Version)]
    #[case("pandas (>=2)", RequirementFault::Version)]
    #[case("pandas[a", RequirementFault::Name)]
    #[case("pandas\nnumpy", RequirementFault::Version)]
    fn anything_else_is_refused(#[case] given: &str, #[case] fault: RequirementFault) {
        assert_eq!(Requirement::parse(given), Err(fault));
    }

    #[rstest]
    #[case("libpq5", true)]
    #[case("g++", true)]
    #[case("libstdc++6", true)]
    #[case("python3.12", true)]
    #[case("libpq5=1.2", false)]
    #[case("--force", false)]
    #[case("A", false)]
    #[case("a b", false)]
    #[case("./a.deb", false)]
    #[case("libpq5-", false)]
    fn debian_names_are_checked(#[case] given: &str, #[case] valid: bool) {
        assert_eq!(system_package(given).is_ok(), valid);
    }
}
