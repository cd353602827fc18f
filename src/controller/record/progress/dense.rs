//! A progress in little room: what the status says anyway is left out, empty fields too, and digests are written in base64.
//!
//! What was written otherwise, as before version 3, is read as it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde_json::{Map, Value};

use codegen_api::status::ArtifactRef;
use codegen_core::digest::hex;
use codegen_core::progress::Document;

/// Pointers to fields of a progress that the status says too: in the progress, and in the status. Times lose their fractions of a second.
const SAID: [(&str, &str); 21] = [
    ("/adoptedFrom", "/adoptedFrom"),
    ("/approvals", "/approvals"),
    ("/retries", "/retries"),
    ("/retryRefused", "/retryRefused"),
    ("/run", "/run"),
    ("/plan", "/plan"),
    ("/samples", "/samples"),
    ("/constraints", "/constraints"),
    ("/attempt", "/attempt"),
    ("/attempts", "/attempts"),
    ("/rehearsal", "/rehearsal"),
    ("/exitCode", "/exitCode"),
    ("/lastError", "/lastError"),
    ("/startedAt", "/startedAt"),
    ("/completedAt", "/completedAt"),
    ("/spent/tokens/input", "/tokens/input"),
    ("/spent/tokens/output", "/tokens/output"),
    ("/spent/modelCalls", "/modelCalls"),
    ("/spent/lostCalls", "/lostCalls"),
    ("/spent/lostTokens", "/tokens/lost"),
    ("/spent/builds", "/builds"),
];

/// Digests that are no document's.
// 64 hexadecimal digits are 44 characters in base64.
const DIGESTS: [&str; 4] = [
    "/memory/solutionTree",
    "/memory/testsTree",
    "/build/lock/environment",
    "/intent/requestHash",
];

/// Documents, and the artifact that a result makes of each.
const DOCUMENTS: [(&str, &str); 9] = [
    ("/documents/context", "data-context"),
    ("/documents/profiles", ""),
    ("/documents/checks", "constraints"),
    ("/documents/cases", "cases"),
    ("/documents/solution", "solution"),
    ("/documents/tests", "tests"),
    ("/documents/run", ""),
    ("/documents/diagnosis", ""),
    ("/build/lock/document", "packages"),
];

/// Folder of documents.
const FOLDER: &str = "documents/";

/// The image that was built last.
const BUILT: &str = "/build/built";
/// Its reference, which stands in the status.
const IMAGE: &str = "image";
/// Its packages with their versions, which stand in the status unless they were never listed.
const RESOLVED: &str = "resolved";

/// Leaves out of `progress` what `artifacts` and the other fields of its status say, and writes the rest shorter.
pub fn shorten(progress: &mut Map<String, Value>, artifacts: &[ArtifactRef]) {
    let mut whole = Value::Object(std::mem::take(progress));
    for (own, _) in SAID {
        take(&mut whole, own);
    }
    if let Some(Value::Object(built)) = whole.pointer_mut(BUILT) {
        built.remove(IMAGE);
        if built.get(RESOLVED).is_some_and(|resolved| !is_empty(resolved)) {
            built.remove(RESOLVED);
        }
    }
    for (own, artifact) in DOCUMENTS {
        let Some(place) = whole.pointer_mut(own) else {
            continue;
        };
        if let Some(short) = short_document(place, said_by(artifacts, artifact)) {
            *place = short.into();
        }
    }
    for place in DIGESTS {
        let Some(Value::String(digest)) = whole.pointer_mut(place) else {
            continue;
        };
        if let Some(short) = to_base64(digest) {
            *digest = short;
        }
    }
    // An image whose packages were never listed has an empty list.
    let is_unknown = whole
        .pointer(BUILT)
        .and_then(|built| built.get(RESOLVED))
        .is_some();
    drop_empty(&mut whole);
    if is_unknown && let Some(Value::Object(built)) = whole.pointer_mut(BUILT) {
        built.insert(RESOLVED.to_owned(), Value::Array(Vec::new()));
    }
    if let Value::Object(rest) = whole {
        *progress = rest;
    }
}

/// The progress that [`shorten`] was given, with what `said`, its status as JSON, says of it.
pub fn lengthen(progress: &mut Map<String, Value>, artifacts: &[ArtifactRef], said: &Value) {
    let mut whole = Value::Object(std::mem::take(progress));
    if let Some(Value::Object(built)) = whole.pointer_mut(BUILT) {
        for (own, there) in [(IMAGE, "/image"), (RESOLVED, "/packages")] {
            let said = said.pointer(there).cloned();
            built.entry(own).or_insert_with(|| said.unwrap_or_default());
        }
    }
    for (own, there) in SAID {
        if let Some(said) = said.pointer(there) {
            put(&mut whole, own, said.clone());
        }
    }
    for (own, artifact) in DOCUMENTS {
        let Some(place) = whole.pointer_mut(own) else {
            continue;
        };
        if let Some(document) = long_document(place, said_by(artifacts, artifact)) {
            // Plain data with string keys: writing it to memory cannot fail.
            *place = serde_json::to_value(document).unwrap_or_default();
        }
    }
    for place in DIGESTS {
        let Some(Value::String(digest)) = whole.pointer_mut(place) else {
            continue;
        };
        if let Some(long) = to_hex(digest) {
            *digest = long;
        }
    }
    if let Value::Object(whole) = whole {
        *progress = whole;
    }
}

/// Left out, for they are what a missing field means.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn drop_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(drop_empty);
        fields.retain(|_, value| !is_empty(value));
    }
}

/// Removes what is at `pointer`.
fn take(value: &mut Value, pointer: &str) {
    if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(fields)) = value.pointer_mut(parent)
    {
        fields.remove(key);
    }
}

/// Puts `said` at `pointer`.
fn put(value: &mut Value, pointer: &str, said: Value) {
    let mut place = value;
    for key in pointer.split('/').skip(1) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key];
    }
    *place = said;
}

fn said_by<'a>(artifacts: &'a [ArtifactRef], name: &str) -> Option<&'a ArtifactRef> {
    artifacts.iter().find(|artifact| artifact.name == name)
}

/// A document as its name, size and digest, or as its name where `artifact` says the others.
fn short_document(document: &Value, artifact: Option<&ArtifactRef>) -> Option<String> {
    let document: Document = serde_json::from_value(document.clone()).ok()?;
    let name = document.name.strip_prefix(FOLDER)?;
    let is_said = artifact.is_some_and(|artifact| {
        artifact.sha256 == document.sha256 && u64::try_from(artifact.bytes) == Ok(document.bytes)
    });
    if is_said {
        return Some(name.to_owned());
    }
    Some(format!(
        "{name} {} {}",
        document.bytes,
        to_base64(&document.sha256)?
    ))
}

fn long_document(short: &Value, artifact: Option<&ArtifactRef>) -> Option<Document> {
    let mut parts = short.as_str()?.split(' ');
    let name = format!("{FOLDER}{}", parts.next()?);
    let (bytes, sha256) = match (parts.next(), parts.next(), artifact) {
        (Some(bytes), Some(digest), _) => (bytes.parse().ok()?, to_hex(digest)?),
        (_, _, Some(artifact)) => (u64::try_from(artifact.bytes).ok()?, artifact.sha256.clone()),
        _ => return None,
    };
    Some(Document { name, sha256, bytes })
}

/// A digest in base64; `None` for what is none.
fn to_base64(digest: &str) -> Option<String> {
    let pairs = digest.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    // Only what comes back as it was.
    let bytes = bytes.filter(|bytes| bytes.len() == 32 && hex(bytes) == digest)?;
    Some(BASE64.encode(bytes))
}

/// A digest in hexadecimal digits; `None` for what is none in base64.
fn to_hex(digest: &str) -> Option<String> {
    let bytes = BASE64.decode(digest).ok()?;
    (bytes.len() == 32).then(|| hex(&bytes))
}
