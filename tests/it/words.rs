//! Names are in the words of the field. `CONTRIBUTING.md` lists those that are not, and what to say instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Words, each with one of these forms, and what to say instead.
struct Entry {
    forms: Vec<String>,
    instead: String,
}

/// A definition in a source file.
struct Item {
    file: String,
    line: usize,
    name: String,
}

/// Names that use such a word as an engineer of the field would, by the reason.
const ALLOWED: [(&str, &[&str]); 4] = [
    (
        "a file, a folder, a program or an object is written",
        &[
            "CodeWritten",
            "TestsWritten",
            "Written",
            "a_claim_that_cannot_be_written_says_what_to_do",
            "a_file_that_cannot_be_written_leaves_no_half_file",
            "a_folder_is_written_with_its_folders",
            "a_folder_that_cannot_be_written_is_named",
            "a_recording_that_cannot_be_written_is_refused_before_anything_is_paid_for",
            "a_status_that_nothing_makes_small_enough_is_not_written",
            "another_output_folder_is_made_and_written_to",
            "values_are_printed_bare_in_declared_order_and_folders_are_written",
            "what_could_not_be_written_is_buffered_in_order_until_it_is",
            "what_was_written_is_taken_and_what_differs_in_anything_is_not",
            "written_to",
        ],
    ),
    (
        "a heuristic by form looks like something",
        &[
            "looks_like_a_value",
            "looks_like_html",
            "whole_numbers_may_look_like_unix_time",
            "whole_numbers_that_are_all_dates_look_like_dates",
        ],
    ),
    (
        "letters of the alphabet",
        &[
            "letters_and_digits_go_and_what_separates_them_stays",
            "redacted_rows_are_the_same_rows_without_letters_and_digits",
        ],
    ),
    (
        "well-known is one word",
        &["every_well_known_service_is_an_origin", "well_known"],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The table of words in `CONTRIBUTING.md`.
fn glossary() -> Vec<Entry> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, table) = page.split_once("| in names not | but |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let entry = |row: &str| {
        let (not, but) = row.trim_matches('|').split_once('|').unwrap();
        let forms = not.split(',').map(|form| form.trim().replace(' ', "_"));
        Entry {
            forms: forms.collect(),
            instead: but.trim().to_owned(),
        }
    };
    rows.map(entry).collect()
}

/// `CamelCase`, `UPPER_CASE` and `snake_case` as `_words_of_a_name_`.
fn words(name: &str) -> String {
    static HUMP: LazyLock<Regex> = LazyLock::new(|| Regex::new("([a-z0-9])([A-Z])").unwrap());
    format!("_{}_", HUMP.replace_all(name, "${1}_$2").to_lowercase())
}

/// What to say instead of a word of the name, where there is one to say.
fn instead<'g>(glossary: &'g [Entry], name: &str) -> Option<&'g Entry> {
    let words = words(name);
    let has = |form: &String| words.contains(&format!("_{form}_"));
    glossary.iter().find(|entry| entry.forms.iter().any(has))
}

fn is_allowed(item: &Item) -> bool {
    let name = item.name.as_str();
    ALLOWED.iter().any(|(_, names)| names.contains(&name))
}

/// Names that the lines of a file define: items, and the fields and variants of types.
fn names(text: &str) -> Vec<(usize, &str)> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:[a-z()]+ )*(?:fn|struct|enum|trait|type|mod|const|static) ([A-Za-z_]\w*)")
            .unwrap()
    });
    static TYPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:struct|enum) .*\{$").unwrap());
    static FIELD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s+(?:pub(?:\([^)]*\))? )?([a-z_]\w*): ").unwrap());
    static VARIANT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s+([A-Z]\w*)(?:,| \{|\(| = )").unwrap());
    let mut names = Vec::new();
    // What ends the type whose fields or variants these are.
    let mut end: Option<String> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let found = match &end {
            Some(end) => FIELD
                .captures(line)
                .or_else(|| VARIANT.captures(line))
                .filter(|_| line != end),
            None => ITEM.captures(line),
        };
        names.extend(
            found
                .and_then(|found| found.get(1))
                .map(|name| (number, name.as_str())),
        );
        if end.as_deref() == Some(line) {
            end = None;
        } else if let Some(begun) = TYPE.captures(line).filter(|_| end.is_none()) {
            end = Some(format!("{}}}", &begun[1]));
        }
    }
    names
}

/// Each file, and each name that it defines.
fn items() -> Vec<Item> {
    let mut files = Vec::new();
    for folder in ["crates", "src", "tests", "benches", "fuzz"] {
        sources(&root().join(folder), &mut files);
    }
    let mut items = Vec::new();
    for path in files {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        let named = |line: usize, name: &str| Item {
            file: file.clone(),
            line,
            name: name.to_owned(),
        };
        items.push(named(0, path.file_stem().unwrap().to_str().unwrap()));
        let text = fs::read_to_string(&path).unwrap();
        items.extend(names(&text).into_iter().map(|(line, name)| named(line, name)));
    }
    items
}

#[test]
fn names_are_in_the_words_of_the_field() {
    let glossary = glossary();
    assert!(glossary.len() > 10, "the table of CONTRIBUTING.md was not read");
    let items = items();
    assert!(items.len() > 10_000, "{}", items.len());
    let private: Vec<String> = items
        .iter()
        .filter(|found| !is_allowed(found))
        .filter_map(|found| {
            let entry = instead(&glossary, &found.name)?;
            let Item { file, line, name } = found;
            Some(format!(
                "{file}:{line}: {name}: instead of {}: {}",
                entry.forms.join(", "),
                entry.instead
            ))
        })
        .collect();
    assert!(private.is_empty(), "{private:#?}");
}

#[test]
fn every_exception_is_in_use() {
    let glossary = glossary();
    let defined: BTreeSet<String> = items().into_iter().map(|found| found.name).collect();
    for (reason, names) in ALLOWED {
        for name in names {
            assert!(defined.contains(*name), "{reason}: {name} is gone");
            assert!(instead(&glossary, name).is_some(), "{reason}: {name} needs none");
        }
    }
}

/// Names that stand for a trait, and for what a manifest has under the same name.
const TWO_TYPES: [&str; 2] = ["Model", "Sandbox"];

/// Words that say nothing without the file that a type is in.
const NOT_ALONE: [&str; 9] = [
    "Beside", "Ended", "Failed", "Fault", "Found", "Given", "Of", "Seen", "Shown",
];

/// Most doc comments of a hundred that begin with a question word.
const MOST_QUESTIONS: usize = 3;

/// The sources without those of tests, by path.
fn production() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    for folder in ["crates", "src"] {
        sources(&root().join(folder), &mut files);
    }
    let named = files.into_iter().map(|path| {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        (file, fs::read_to_string(&path).unwrap())
    });
    named.filter(|(file, _)| !file.contains("tests")).collect()
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let doc = Regex::new(r"^\s*//[/!] ?(.*)").unwrap();
    let question =
        Regex::new(r"^(What|Whether|Where|How|Who|Which|Why|When|Whose|Whoever|Whatever)\b").unwrap();
    let (mut all, mut questions) = (0, Vec::new());
    for (file, text) in production() {
        let mut is_inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            let words = doc.captures(line).map(|found| found.get(1).unwrap().as_str());
            if let Some(first) = words.filter(|words| !is_inside && !words.is_empty()) {
                all += 1;
                if question.is_match(first) {
                    questions.push(format!("{file}:{number}: {first}"));
                }
            }
            is_inside = words.is_some();
        }
    }
    assert!(all > 5_000, "{all}");
    assert!(
        questions.len() * 100 <= all * MOST_QUESTIONS,
        "{} of {all}: {questions:#?}",
        questions.len()
    );
}

#[test]
fn a_type_name_is_understood_alone_and_stands_for_one_type() {
    let defined = Regex::new(r"(?m)^\s*pub(?:\([a-z ]+\))? (?:struct|enum|trait|type) (\w+)").unwrap();
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in production() {
        for found in defined.captures_iter(&text) {
            files.entry(found[1].to_owned()).or_default().push(file.clone());
        }
    }
    assert!(files.len() > 1_000, "{}", files.len());
    let wrong: Vec<(&String, &Vec<String>)> = files
        .iter()
        .filter(|(name, files)| {
            let is_shared = files.len() > 1 && !TWO_TYPES.contains(&name.as_str());
            is_shared || NOT_ALONE.contains(&name.as_str())
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn items_fields_and_variants_are_names_and_values_are_not() {
    let text = "pub struct Held<'a> {\n    /// Told: not a name.\n    pub(super) told: &'a str,\n}\n\nenum Until {\n    Mended,\n    \
                Known { kept: u8 },\n    Written {\n        around: u8,\n    },\n}\n\nfn pinned(letters: u8) -> Held {\n    Held {\n        \
                told: letters,\n    }\n}\n";
    let names: Vec<&str> = names(text).into_iter().map(|(_, name)| name).collect();
    let expected = [
        "Held", "told", "Until", "Mended", "Known", "Written", "around", "pinned",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_word_is_found_in_every_case_and_only_as_a_whole() {
    let glossary = glossary();
    for name in ["what_was_told", "PinnedTask", "LOOK_AGAIN", "hand_in", "kept"] {
        assert!(instead(&glossary, name).is_some(), "{name}");
    }
    for name in ["unknown", "Lookup", "overwritten", "handle_input", "retold"] {
        assert!(instead(&glossary, name).is_none(), "{name}");
    }
}
