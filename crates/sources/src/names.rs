//! File names as the program sees them: plain, with the ending that libraries go by, and each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{ReadPlan, SourceError, WantedSource};
use codegen_core::python::Module;
use codegen_data::source::Compression;

/// Characters of a file's name that are taken for its sample's name; there is room for an ending.
const LONGEST_STEM: usize = 50;

pub(crate) fn last_segment(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A file name as the program may see it: what was found when it is one, else the name with what ending there is.
#[must_use]
pub fn usable(found: &str, name: &str) -> String {
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

/// Gives files whose found names meet the name of another one their own name instead.
pub(super) fn name_files(plan: &mut ReadPlan, explicit: &BTreeSet<String>) -> Result<(), SourceError> {
    let names: Vec<(String, String)> = plan
        .samples
        .iter()
        .chain(&plan.inputs)
        .map(|wanted| (wanted.name.clone(), wanted.file_name.clone()))
        .collect();
    let meets = |wanted: &WantedSource| {
        // Compared with plain names too: a file that is renamed below gets its own.
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

/// Names for samples that are files without a task: the file's name without its endings, as a manifest may write it.
/// A second file of that name gets a number.
#[must_use]
pub fn sample_names(paths: &[PathBuf]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |path: &PathBuf| {
        let stem = identifier(&last_segment(&path.to_string_lossy()));
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let mut free = std::iter::once(stem.clone()).chain(numbered);
        let name = free.find(|name| !taken.contains(name)).unwrap_or(stem.clone());
        taken.insert(name.clone());
        name
    };
    paths.iter().map(name).collect()
}

/// A letter, then letters, digits and underscores; no word that a program cannot have as an option.
fn identifier(file_name: &str) -> String {
    let plain = file_name.trim_start_matches('.');
    let plain = Compression::of_name(plain).map_or(plain, |(stem, _)| stem);
    let stem = plain.rsplit_once('.').map_or(plain, |(stem, _)| stem);
    let words: Vec<&str> = stem
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut name: String = words.join("_").chars().take(LONGEST_STEM).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, if name.is_empty() { "sample" } else { "sample_" });
    }
    // Names become options of the program, and `--help` is one already.
    let is_taken = name == "help" || Module::parse(&format!("{name} = 0")).is_err();
    if is_taken { format!("{name}_sample") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_named_after_its_file() {
        let paths = [
            "a/Orders 2026-01.csv.gz",
            "b/orders_2026_01.csv",
            "1st.csv",
            "class.csv",
            "help.txt",
            "\u{fc}ber-sicht.csv",
            "..csv",
            ".hidden.csv",
            "b/Orders 2026-01.tsv",
        ];
        let names = sample_names(&paths.map(PathBuf::from));
        let expected = [
            "Orders_2026_01",
            "orders_2026_01",
            "sample_1st",
            "class_sample",
            "help_sample",
            "ber_sicht",
            "csv",
            "hidden",
            "Orders_2026_01_2",
        ];
        assert_eq!(names, expected);
    }
}
