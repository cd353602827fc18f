//! Records on a laptop are the user's where the user's key says so.
//!
//! Each record that a command writes to read it back later ends with a line of its own: an HMAC under a key that no folder of results holds, over
//! the record with its name and the revision that it is of. So none stands in for another, and a folder that was cloned or unpacked has
//! none. The records of a folder are read either way as a whole: as this user's, and then each of them verifies, or as somebody's, and then
//! nothing is believed of them and nothing is sealed.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use etcetera::BaseStrategy as _;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use thiserror::Error;

/// The beginning of every sealed message: the key seals nothing else.
const DOMAIN: &[u8] = b"codegen-operator record";
const KEY_BYTES: usize = 32;
/// The beginning of the last line of a record, after the line break before it: the line is a JSON string, so that a file of JSON stays a
/// row of JSON values.
const BEGIN: &str = "\n\"hmac-sha256:";
const END: &str = "\"\n";
/// Length of the 32 bytes in base64.
const TAG_CHARACTERS: usize = 44;

/// A key that cannot be had.
#[derive(Debug, Error)]
pub enum KeyError {
    /// There is no folder for it.
    #[error("the user has no home folder for the key of records: set XDG_STATE_HOME to a folder")]
    NoHome,
    /// Others may read it.
    #[error("{path} is open to others, who could make records as yours with it: chmod 600 it if nobody has read it, else remove it", path = .0.display())]
    Open(PathBuf),
    /// It is something else.
    #[error("{path} is no key of records: restore it from a backup, or remove it, and what was recorded before counts as made elsewhere", path = .0.display())]
    Damaged(PathBuf),
    /// The system refuses.
    #[error("cannot {action} the key of records, {path}: {source}; set XDG_STATE_HOME to a folder that your user may write to", path = path.display())]
    Io {
        /// `read` or `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// The key of a user's records.
#[derive(Clone)]
pub struct Key(Arc<hmac::Key>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The user's key; `None` where no command of this user has recorded anything on this machine.
    pub fn find() -> Result<Option<Self>, KeyError> {
        Self::find_at(&Self::path()?)
    }

    /// The same, made where it is missing, and whether it was made just now.
    pub fn find_or_create() -> Result<(Self, bool), KeyError> {
        let path = Self::path()?;
        match Self::find_at(&path)? {
            Some(key) => Ok((key, false)),
            None => Self::create_at(&path).map(|key| (key, true)),
        }
    }

    /// Its file, in the user's folder of state.
    pub fn path() -> Result<PathBuf, KeyError> {
        let folder = if cfg!(test) {
            // The tests of this crate make records, and none of them is the user's.
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("codegen-operator-test-state-{user}"))
        } else {
            let strategy = etcetera::choose_base_strategy().map_err(|_| KeyError::NoHome)?;
            strategy.state_dir().ok_or(KeyError::NoHome)?
        };
        Ok(folder.join("codegen-operator").join("records.key"))
    }

    fn find_at(path: &Path) -> Result<Option<Self>, KeyError> {
        let failed = |source| KeyError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        };
        let file = match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::Open(path.to_owned()));
        }
        let mut bytes = Vec::new();
        // One byte more shows that it is something else.
        let limit = KEY_BYTES as u64 + 1;
        file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() != KEY_BYTES {
            return Err(KeyError::Damaged(path.to_owned()));
        }
        Ok(Some(Self::of(&bytes)))
    }

    /// Creates it; of two commands that do so at once, both have the one that was first.
    fn create_at(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::Io {
            action: "create",
            path: path.to_owned(),
            source,
        };
        let mut bytes = [0; KEY_BYTES];
        let no_random = |_| failed(io::Error::other("the system has no random numbers"));
        SystemRandom::new().fill(&mut bytes).map_err(no_random)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let create = || -> io::Result<bool> {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut file = tempfile::Builder::new()
                .permissions(Permissions::from_mode(0o600))
                .tempfile_in(folder)?;
            file.write_all(&bytes)?;
            file.as_file().sync_all()?;
            match file.persist_noclobber(path) {
                Ok(_) => Ok(true),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error.error),
            }
        };
        if create().map_err(failed)? {
            return Ok(Self::of(&bytes));
        }
        Self::find_at(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    fn of(bytes: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }
}

/// Seals and opens the records of one folder.
#[derive(Clone, Debug)]
pub struct Seals {
    /// `None` where nothing is believed of them.
    key: Option<Key>,
    /// Name of the revision.
    scope: Arc<str>,
}

impl Seals {
    /// The seals of this user's records of a revision, by the name of its folder.
    #[must_use]
    pub fn new(key: &Key, scope: &str) -> Self {
        Self {
            key: Some(key.clone()),
            scope: scope.into(),
        }
    }

    /// The same with the key that the user has.
    pub fn of_user(scope: &str) -> Result<Self, KeyError> {
        Key::find_or_create().map(|(key, _)| Self::new(&key, scope))
    }

    /// The seals of records that somebody made: each is opened, and nothing is sealed.
    #[must_use]
    pub fn unverified() -> Self {
        Self {
            key: None,
            scope: "".into(),
        }
    }

    /// True where nothing is believed of the records.
    #[must_use]
    pub const fn is_unverified(&self) -> bool {
        self.key.is_none()
    }

    /// A record as it is written.
    #[must_use]
    pub fn seal(&self, name: &str, record: &[u8]) -> Vec<u8> {
        let tag = self.key.as_ref().map(|key| {
            let mut context = hmac::Context::with_key(&key.0);
            for part in self.parts(name, record) {
                context.update(part);
            }
            context.sign()
        });
        // As long as one that holds, and none.
        let tag = tag.as_ref().map_or(&[0; KEY_BYTES][..], |tag| tag.as_ref());
        [
            record,
            BEGIN.as_bytes(),
            STANDARD.encode(tag).as_bytes(),
            END.as_bytes(),
        ]
        .concat()
    }

    /// A record as it was before it was sealed under this name; `None` where it is none of this user's.
    #[must_use]
    pub fn open(&self, name: &str, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let tag = split(&sealed);
        let Some(key) = &self.key else {
            // What others have made may have no seal.
            let length = tag.map_or(sealed.len(), |(record, _)| record.len());
            sealed.truncate(length);
            return Some(sealed);
        };
        let (record, tag) = tag?;
        let message = self.parts(name, record).concat();
        hmac::verify(&key.0, &message, &tag).ok()?;
        let length = record.len();
        sealed.truncate(length);
        Some(sealed)
    }

    /// The message that is sealed. Neither a scope nor a name has a zero byte, so that no two of them read the same.
    fn parts<'a>(&'a self, name: &'a str, record: &'a [u8]) -> [&'a [u8]; 7] {
        [
            DOMAIN,
            b"\0",
            self.scope.as_bytes(),
            b"\0",
            name.as_bytes(),
            b"\0",
            record,
        ]
    }
}

/// A record, and what its last line has as its tag.
fn split(sealed: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let length = BEGIN.len() + TAG_CHARACTERS + END.len();
    let (record, line) = sealed.split_at_checked(sealed.len().checked_sub(length)?)?;
    let tag = line
        .strip_prefix(BEGIN.as_bytes())?
        .strip_suffix(END.as_bytes())?;
    Some((record, STANDARD.decode(tag).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seals(key: &Key) -> Seals {
        Seals::new(key, "0a1b")
    }

    #[test]
    fn a_record_opens_under_its_own_name_and_revision_by_the_key_that_sealed_it_and_not_otherwise() {
        let (key, other) = (Key::of(&[1; 32]), Key::of(&[2; 32]));
        for record in [&b"{\"n\": 1}"[..], b"", b"two\nlines\n"] {
            let sealed = seals(&key).seal("task.json", record);
            let open = |seals: &Seals, name: &str, sealed: &[u8]| seals.open(name, sealed.to_vec());
            assert_eq!(open(&seals(&key), "task.json", &sealed).as_deref(), Some(record));
            let mut changed = sealed.clone();
            changed[0] ^= 1;
            let refused = [
                open(&seals(&other), "task.json", &sealed),
                open(&Seals::new(&key, "0a1c"), "task.json", &sealed),
                open(&seals(&key), "question.json", &sealed),
                open(&seals(&key), "task.json", &changed),
                open(&seals(&key), "task.json", &sealed[..sealed.len() - 1]),
                open(&seals(&key), "task.json", record),
                open(
                    &seals(&key),
                    "task.json",
                    &Seals::unverified().seal("task.json", record),
                ),
                open(&Seals::new(&key, "0a1b\u{0}task"), ".json", &sealed),
            ];
            assert_eq!(refused, [const { None }; 8]);
            for theirs in [&sealed[..], record] {
                assert_eq!(open(&Seals::unverified(), "x", theirs).as_deref(), Some(record));
            }
        }
    }

    #[test]
    fn the_key_is_made_once_and_is_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state/codegen-operator/records.key");
        assert!(Key::find_at(&path).unwrap().is_none());
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let make = || scope.spawn(|| Key::create_at(&path).unwrap());
            let threads: Vec<_> = (0..8).map(|_| make()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let sealed = seals(&keys[0]).seal("a", b"x");
        for key in keys.iter().chain(&Key::find_at(&path).unwrap()) {
            assert!(seals(key).open("a", sealed.clone()).is_some());
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Key::find_at(&path), Err(KeyError::Open(_))));
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        for damaged in [&b""[..], &[1; 31], &[1; 33]] {
            fs::write(&path, damaged).unwrap();
            assert!(matches!(Key::find_at(&path), Err(KeyError::Damaged(_))));
        }
    }
}
