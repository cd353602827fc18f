//! File names as the program sees them: plain, with the ending that libraries look at, and each once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Plan, SourceError, Wanted};

pub(super) fn last_segment(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A file name as the program may see it: what was found when it is one, else the name with what ending there is.
pub(super) fn usable(found: &str, name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_usable = found.len() <= 253
        && found.bytes().all(plain)
        && found
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric());
    if is_usable {
        found.to_owned()
    } else {
        format!("{name}{}", ending(found))
    }
}

/// The ending of a file name with its dot, when it is a plain one.
fn ending(file_name: &str) -> String {
    match file_name.rsplit_once('.') {
        Some((_, end))
            if (1..=8).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(".{end}")
        }
        _ => String::new(),
    }
}

/// The ending that the content of an inline sample asks for.
pub(super) fn ending_of_text(text: &str) -> &'static str {
    let trimmed = text.trim_start();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    if trimmed.starts_with(['{', '[']) {
        let is_value = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        if serde_json::from_str::<serde_json::Value>(trimmed).is_ok() {
            return ".json";
        }
        return if is_value(first) { ".jsonl" } else { ".txt" };
    }
    let second = lines.next();
    let same = |separator: char| {
        let count = first.matches(separator).count();
        count > 0 && second.is_none_or(|line| line.matches(separator).count() == count)
    };
    match () {
        () if same('\t') => ".tsv",
        () if same(',') => ".csv",
        () => ".txt",
    }
}

/// Gives files whose found names meet the name of another one their own name instead.
pub(super) fn name_files(plan: &mut Plan, explicit: &BTreeSet<String>) -> Result<(), SourceError> {
    let names: Vec<(String, String)> = plan
        .samples
        .iter()
        .chain(&plan.inputs)
        .map(|wanted| (wanted.name.clone(), wanted.file_name.clone()))
        .collect();
    let meets = |wanted: &Wanted| {
        names.iter().any(|(name, file_name)| {
            *name != wanted.name && (*file_name == wanted.file_name || *name == wanted.file_name)
        })
    };
    for wanted in plan.samples.iter_mut().chain(&mut plan.inputs) {
        if !explicit.contains(&wanted.name) && meets(wanted) {
            wanted.file_name = format!("{}{}", wanted.name, ending(&wanted.file_name));
        }
    }
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for wanted in plan.samples.iter().chain(&plan.inputs) {
        if let Some(first) = seen.insert(&wanted.file_name, &wanted.name) {
            return Err(SourceError::SameFileName {
                first: first.to_owned(),
                second: wanted.name.clone(),
                file_name: wanted.file_name.clone(),
            });
        }
    }
    Ok(())
}
