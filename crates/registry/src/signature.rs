//! Signatures of environments: Ed25519 over repository, tag and manifest, in an annotation of the manifest itself, so that whoever reads it has
//! both in one request. Pure.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde_json::{Map, Value};

use super::layout::as_oci;
use codegen_core::digest::sha256_hex;

/// Annotation with the signature, in base64.
const SIGNATURE: &str = "dev.codegen-operator.signature";
/// Purpose that a signature is for, so that none is taken for one of something else.
const PURPOSE: &str = "codegen-operator environment 1";
/// Bytes before the 32 bytes of a public key in its DER form.
const PUBLIC_KEY: [u8; 12] = [48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0];
const PEM_COLUMNS: usize = 64;

/// Reason for which keys cannot be used. No message quotes one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SigningKeyError {
    /// An entry is no key.
    #[error("`{0}` is no Ed25519 key in PEM: make one with `openssl genpkey -algorithm ed25519`")]
    Key(String),
    /// The last entry is no private key.
    #[error("`{0}` is the last entry, which signs, and is a public key: give it a private one")]
    Public(String),
    /// There is no entry.
    #[error("it has no key")]
    None,
    /// No key can be made.
    #[error("this machine gives no random numbers")]
    Random,
}

/// The keys of an operator: one signs, all are accepted.
pub struct SigningKeys {
    signs: Ed25519KeyPair,
    accepted: Vec<Vec<u8>>,
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} keys", self.accepted.len())
    }
}

enum Key {
    Private(Ed25519KeyPair),
    Public(Vec<u8>),
}

impl SigningKeys {
    /// The keys in these entries. The last one signs: `10.pem` is after `9.pem`.
    pub fn of_entries(entries: &BTreeMap<String, Vec<u8>>) -> Result<Self, SigningKeyError> {
        let mut sorted: Vec<(&String, &Vec<u8>)> = entries.iter().collect();
        // By length first, so `10.pem` is after `9.pem` without leading zeros.
        sorted.sort_by_key(|(name, _)| (name.len(), *name));
        let (mut signs, mut accepted) = (Err(SigningKeyError::None), Vec::new());
        for (name, pem) in sorted {
            let key = key(pem).ok_or_else(|| SigningKeyError::Key(name.clone()))?;
            signs = match key {
                Key::Private(pair) => {
                    accepted.push(pair.public_key().as_ref().to_vec());
                    Ok(pair)
                }
                Key::Public(bytes) => {
                    accepted.push(bytes);
                    Err(SigningKeyError::Public(name.clone()))
                }
            };
        }
        Ok(Self {
            signs: signs?,
            accepted,
        })
    }

    /// A new private key, PEM.
    pub fn generate() -> Result<String, SigningKeyError> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let encoded = STANDARD.encode(made.map_err(|_| SigningKeyError::Random)?);
        let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for (place, letter) in encoded.chars().enumerate() {
            if place > 0 && place % PEM_COLUMNS == 0 {
                pem.push('\n');
            }
            pem.push(letter);
        }
        pem.push_str("\n-----END PRIVATE KEY-----\n");
        Ok(pem)
    }

    /// The manifest with a signature for this place; `None` where it is none of an image.
    #[must_use]
    pub fn sign(&self, manifest: &[u8], repository: &str, tag: &str) -> Option<Vec<u8>> {
        let mut manifest: Map<String, Value> = serde_json::from_slice(manifest).ok()?;
        // A signature is over OCI's form: Docker's manifests have no annotations to hold it.
        as_oci(&mut manifest);
        let annotations = manifest.entry("annotations").or_insert(Value::Null);
        if annotations.is_null() {
            *annotations = Value::Object(Map::new());
        }
        // A manifest that was signed before is signed without the old signature, which the check leaves out too.
        annotations.as_object_mut()?.shift_remove(SIGNATURE);
        let mut manifest = Value::Object(manifest);
        let signature = self.signs.sign(&message(&manifest, repository, tag));
        manifest["annotations"][SIGNATURE] = STANDARD.encode(signature).into();
        Some(manifest.to_string().into_bytes())
    }

    /// Reports whether one of these keys signed the manifest for this place, and nobody changed a byte of it since.
    pub(super) fn verify(&self, manifest: &[u8], repository: &str, tag: &str) -> bool {
        let Ok(mut read) = serde_json::from_slice::<Value>(manifest) else {
            return false;
        };
        // What other parsers may read differently (a name twice) is never written by us.
        if read.to_string().as_bytes() != manifest {
            return false;
        }
        let annotations = read["annotations"].as_object_mut();
        let signature = annotations.and_then(|all| all.shift_remove(SIGNATURE));
        let signature = signature.as_ref().and_then(Value::as_str);
        let Some(signature) = signature.and_then(|text| STANDARD.decode(text).ok()) else {
            return false;
        };
        let message = message(&read, repository, tag);
        let is_by = |key: &Vec<u8>| UnparsedPublicKey::new(&ED25519, key).verify(&message, &signature);
        self.accepted.iter().any(|key| is_by(key).is_ok())
    }
}

fn key(pem: &[u8]) -> Option<Key> {
    if let Ok(private) = PrivatePkcs8KeyDer::from_pem_slice(pem) {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(private.secret_pkcs8_der());
        return pair.ok().map(Key::Private);
    }
    let public = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    let bytes = public.strip_prefix(PUBLIC_KEY.as_slice())?;
    (bytes.len() == 32).then(|| Key::Public(bytes.to_vec()))
}

fn message(manifest: &Value, repository: &str, tag: &str) -> Vec<u8> {
    let digest = sha256_hex(manifest.to_string().as_bytes());
    // Each part ends at a line feed, and none can contain one.
    [PURPOSE, repository, tag, &digest].join("\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: (&str, &str) = ("registry.example/team", "codegen-env-1");
    const MANIFEST: &[u8] =
        br#"{"schemaVersion":2, "layers": [{"size": 1}], "annotations": {"a": "b"}, "config": {}}"#;
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
    /// As `openssl genpkey -algorithm ed25519` writes one.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";

    fn keys(entries: &[(&str, &str)]) -> Result<SigningKeys, SigningKeyError> {
        let entries = entries
            .iter()
            .map(|(name, pem)| ((*name).to_owned(), pem.as_bytes().to_vec()));
        SigningKeys::of_entries(&entries.collect())
    }

    fn own() -> SigningKeys {
        keys(&[("1.pem", &SigningKeys::generate().unwrap())]).unwrap()
    }

    #[test]
    fn a_signature_of_the_operator_is_valid_at_its_place_alone() {
        let own = own();
        let signed = own.sign(MANIFEST, PLACE.0, PLACE.1).unwrap();
        assert!(own.verify(&signed, PLACE.0, PLACE.1));
        assert!(!own.verify(&signed, PLACE.0, "codegen-env-2"));
        assert!(!own.verify(&signed, "registry.example/other", PLACE.1));
        assert!(!own.verify(MANIFEST, PLACE.0, PLACE.1));
        let other = keys(&[("1.pem", PRIVATE)]).unwrap();
        assert!(!other.verify(&signed, PLACE.0, PLACE.1));
    }

    #[test]
    fn no_byte_of_a_signed_manifest_can_be_changed() {
        let own = own();
        let signed = own.sign(MANIFEST, PLACE.0, PLACE.1).unwrap();
        for place in 0..signed.len() {
            let mut changed = signed.clone();
            changed[place] ^= 1;
            assert!(!own.verify(&changed, PLACE.0, PLACE.1), "{place}");
        }
        let text = String::from_utf8(signed).unwrap();
        let twice = text.replacen("\"layers\":", "\"layers\":[{\"size\":2}],\"layers\":", 1);
        assert_ne!(twice, text);
        assert!(!own.verify(twice.as_bytes(), PLACE.0, PLACE.1));
        let spaced = text.replacen(':', ": ", 1);
        assert!(!own.verify(spaced.as_bytes(), PLACE.0, PLACE.1));
    }

    #[test]
    fn equal_manifests_have_equal_signatures_and_signing_again_changes_nothing() {
        let own = own();
        let once = own.sign(MANIFEST, PLACE.0, PLACE.1).unwrap();
        assert_eq!(own.sign(MANIFEST, PLACE.0, PLACE.1).unwrap(), once);
        assert_eq!(own.sign(&once, PLACE.0, PLACE.1).unwrap(), once);
    }

    #[test]
    fn the_last_key_signs_and_those_before_are_accepted() {
        let (old, new) = (SigningKeys::generate().unwrap(), SigningKeys::generate().unwrap());
        let before = keys(&[("9.pem", &old)]).unwrap();
        let after = keys(&[("10.pem", &new), ("9.pem", &old)]).unwrap();
        let signed = before.sign(MANIFEST, PLACE.0, PLACE.1).unwrap();
        assert!(after.verify(&signed, PLACE.0, PLACE.1));
        let signed = after.sign(MANIFEST, PLACE.0, PLACE.1).unwrap();
        assert!(!before.verify(&signed, PLACE.0, PLACE.1));
        assert!(
            keys(&[("1.pem", &new)])
                .unwrap()
                .verify(&signed, PLACE.0, PLACE.1)
        );
    }

    #[test]
    fn keys_are_those_that_openssl_writes_and_of_an_old_one_the_public_half_is_enough() {
        assert!(keys(&[("1.pem", PUBLIC), ("2.pem", PRIVATE)]).is_ok());
        let told = |entries: &[(&str, &str)]| keys(entries).unwrap_err();
        assert_eq!(told(&[]), SigningKeyError::None);
        assert_eq!(
            told(&[("1.pem", PRIVATE), ("2.pem", PUBLIC)]),
            SigningKeyError::Public("2.pem".into())
        );
        assert_eq!(
            told(&[("1.pem", "hunter2")]),
            SigningKeyError::Key("1.pem".into())
        );
    }

    #[test]
    fn what_is_no_manifest_is_not_signed() {
        assert_eq!(own().sign(b"[]", PLACE.0, PLACE.1), None);
        assert_eq!(own().sign(br#"{"annotations": 1}"#, PLACE.0, PLACE.1), None);
    }
}
