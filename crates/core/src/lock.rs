//! Content of an environment, by version and hash: a requirements file that installs exactly that.
//!
//! ```text
//! # Python 3.12.4 on x86_64
//! numpy==2.3.1 --hash=sha256:0f3a...  # via pandas
//! pandas==2.3.1 --hash=sha256:91cd...
//! ```
//! Who wrote it was maybe untrusted: shapes and sizes are checked.

use std::fmt;

const HEAD: &str = "# Python ";
const ON: &str = " on ";
const HASH: &str = " --hash=sha256:";
const VIA: &str = "  # via ";

const MOST_PACKAGES: usize = 1000;
const LONGEST_PACKAGE: usize = 200;
const LONGEST_VERSION: usize = 40;
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;
/// Packages that are named as those that brought another one.
const MOST_BRINGERS: usize = 3;

/// Content of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The interpreter's version (`3.12.4`); empty where it is not known.
    pub python: String,
    /// The architecture that the archives are for (`x86_64`); empty where it is not known.
    pub architecture: String,
    /// Its distributions, sorted.
    pub packages: Vec<Locked>,
}

/// A distribution of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locked {
    /// Name and version (`pandas==2.3.1`).
    pub package: String,
    /// SHA-256 of the archive that it was installed from, lower-case hexadecimal; nothing where that is not known.
    pub sha256: Option<String>,
    /// Names of some that require it.
    pub via: Vec<String>,
}

impl Lock {
    /// Reads what [`Display`](fmt::Display) writes; nothing where it is not of that shape.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (python, architecture) = lines.next()?.strip_prefix(HEAD)?.split_once(ON)?;
        Self {
            python: python.to_owned(),
            architecture: architecture.to_owned(),
            packages: lines.map(Locked::parse).collect(),
        }
        .checked()
    }

    /// Sorted, where everything is of the shape and size that it should have.
    #[must_use]
    pub fn checked(mut self) -> Option<Self> {
        self.packages.sort_by_key(|locked| locked.package.to_lowercase());
        for locked in &mut self.packages {
            locked.via.truncate(MOST_BRINGERS);
        }
        // It stands in the head of a requirements file: nothing that ends a line gets through.
        let is_plain = |text: &str| {
            text.len() <= LONGEST_VERSION
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'_'))
        };
        let is_valid = is_plain(&self.python)
            && is_plain(&self.architecture)
            && self.packages.len() <= MOST_PACKAGES
            && self.packages.iter().all(Locked::is_valid);
        is_valid.then_some(self)
    }

    /// Name and version of each.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.packages
            .iter()
            .map(|locked| locked.package.clone())
            .collect()
    }

    /// Reports whether each has a digest, so that it can be installed by it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        // With `--require-hashes` pip refuses a file in which one line lacks a digest.
        !self.packages.is_empty() && self.packages.iter().all(|locked| locked.sha256.is_some())
    }

    /// Reports whether it was made with the same minor version (`3.12`) as this interpreter, and for this architecture: others want other
    /// archives.
    #[must_use]
    pub fn is_for(&self, python: &str, architecture: &str) -> bool {
        let minor = |version: &str| {
            let mut parts = version.split('.');
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        };
        self.architecture == architecture && minor(&self.python).is_some_and(|own| minor(python) == Some(own))
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}{}{ON}{}", self.python, self.architecture)?;
        self.packages
            .iter()
            .try_for_each(|locked| writeln!(f, "{locked}"))
    }
}

impl Locked {
    /// Reads a line; of what shape it is, [`Locked::is_valid`] says.
    fn parse(line: &str) -> Self {
        let (line, via) = line.split_once(VIA).unwrap_or((line, ""));
        let (package, sha256) = match line.split_once(HASH) {
            Some((package, digest)) => (package, Some(digest.to_owned())),
            None => (line, None),
        };
        Self {
            package: package.to_owned(),
            sha256,
            via: via
                .split(", ")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    fn is_valid(&self) -> bool {
        let is_hex = |digest: &String| {
            digest.len() == DIGITS
                && digest
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        is_word(&self.package)
            && self.package.split_once("==").is_some_and(|(name, version)| {
                name.starts_with(|first: char| first.is_ascii_alphanumeric()) && !version.is_empty()
            })
            && self.sha256.as_ref().is_none_or(is_hex)
            && self.via.iter().all(|name| is_word(name))
    }
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.package)?;
        if let Some(digest) = &self.sha256 {
            write!(f, "{HASH}{digest}")?;
        }
        if !self.via.is_empty() {
            write!(f, "{VIA}{}", self.via.join(", "))?;
        }
        Ok(())
    }
}

fn is_word(text: &str) -> bool {
    // A comma separates the names behind `# via`.
    text.len() <= LONGEST_PACKAGE && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DIGEST: &str = "598043e764aa9416fb28e7e64fe7798a8751f9cb5535fdebdc1b03e6da688b11";

    #[test]
    fn a_lock_round_trips_in_order() {
        let text = format!(
            "# Python 3.12.4 on x86_64\nsix==1.17.0 --hash=sha256:{DIGEST}  # via pandas, numpy\npandas==2.3.1 --hash=sha256:{DIGEST}\n"
        );
        let lock = Lock::parse(&text).unwrap();
        assert_eq!(lock.names(), ["pandas==2.3.1", "six==1.17.0"]);
        assert_eq!(lock.packages[1].via, ["pandas", "numpy"]);
        assert_eq!((lock.python.as_str(), lock.is_complete()), ("3.12.4", true));
        assert_eq!(Lock::parse(&lock.to_string()), Some(lock));
    }

    #[test]
    fn an_incomplete_lock_installs_nothing() {
        let text = format!("# Python 3.12.4 on x86_64\na==1 --hash=sha256:{DIGEST}\nb==1\n");
        assert!(!Lock::parse(&text).unwrap().is_complete());
        assert!(!Lock::parse("# Python 3.12.4 on x86_64\n").unwrap().is_complete());
    }

    #[rstest]
    #[case("3.12.4", "3.12.9", true)]
    #[case("3.12.4", "3.1.2", false)]
    #[case("3.12.4", "3.13.0", false)]
    #[case("", "", false)]
    fn archives_are_for_one_minor_version(#[case] own: &str, #[case] other: &str, #[case] fits: bool) {
        let lock = Lock {
            python: own.to_owned(),
            architecture: "x86_64".to_owned(),
            packages: Vec::new(),
        };
        assert_eq!(lock.is_for(other, "x86_64"), fits);
        assert!(!lock.is_for(other, "aarch64"));
    }

    #[rstest]
    #[case::no_architecture("# Python 3.12.4\n")]
    #[case::no_head("six==1.17.0\n")]
    #[case::terminal("# Python 3 on x86_64\nsix==\u{1b}[2J\n")]
    #[case::option("# Python 3 on x86_64\n--index-url==x\n")]
    #[case::no_version("# Python 3 on x86_64\nsix==\n")]
    #[case::address("# Python 3 on x86_64\nsix @ https://x\n")]
    #[case::version("# Python 3 <b> on x86_64\n")]
    #[case::digest("# Python 3 on x86_64\nsix==1 --hash=sha256:12\n")]
    #[case::two_digests("# Python 3 on x86_64\nsix==1 --hash=sha256:12 --hash=md5:12\n")]
    #[case::empty("")]
    fn what_is_not_as_it_should_be_says_nothing(#[case] text: &str) {
        assert_eq!(Lock::parse(text), None);
    }
}
