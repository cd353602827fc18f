//! Names of a task that nobody has named: from its prompt, and from the files that are given.

use std::collections::BTreeSet;

/// Longest name that is made of a prompt.
const LONGEST_NAME: usize = 40;
/// The name of a task whose prompt has no letter or digit that a name may have.
const NO_NAME: &str = "task";

/// A DNS label made of the first words of a prompt.
pub(super) fn task_name(prompt: &str) -> String {
    let mut name = String::new();
    for word in prompt.split(|character: char| !character.is_alphanumeric()) {
        let letters = word.chars().flat_map(char::to_lowercase).flat_map(plain);
        let word: String = letters.take(LONGEST_NAME).collect();
        if word.is_empty() {
            continue;
        }
        if name.is_empty() {
            name = word;
        } else if name.len() + 1 + word.len() <= LONGEST_NAME {
            name.push('-');
            name.push_str(&word);
        } else {
            break;
        }
    }
    if name.is_empty() { NO_NAME.to_owned() } else { name }
}

/// A letter or digit as names have it: of the accented ones the plain letter, of others nothing.
fn plain(character: char) -> std::str::Chars<'static> {
    const PLAIN: [(&str, &str); 18] = [
        ("äæ", "ae"),
        ("öøœ", "oe"),
        ("ü", "ue"),
        ("ß", "ss"),
        ("áàâãåą", "a"),
        ("çćč", "c"),
        ("ď", "d"),
        ("éèêëęě", "e"),
        ("íìîï", "i"),
        ("ł", "l"),
        ("ñńň", "n"),
        ("ř", "r"),
        ("śš", "s"),
        ("ť", "t"),
        ("óòôõ", "o"),
        ("úùûů", "u"),
        ("ýÿ", "y"),
        ("źżž", "z"),
    ];
    const OWN: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    if let Some(place) = OWN.find(character) {
        return OWN[place..=place].chars();
    }
    let found = PLAIN.iter().find(|(accented, _)| accented.contains(character));
    found.map_or("", |(_, plain)| *plain).chars()
}

/// The name of the ConfigMap that holds what is called `part` of the task.
pub(super) fn config_map(task: &str, part: &str, taken: &mut BTreeSet<String>) -> String {
    let part = part.to_ascii_lowercase().replace('_', "-");
    let part = part.trim_matches('-');
    free(&format!("{task}-{part}"), "-", taken)
}

/// The name itself, or the first of `name_2`, `name_3`, ... that is free; `divider` stands before the number. Upper and lower case are
/// one, as on some file systems. It is taken from then on.
pub(super) fn free(name: &str, divider: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}{divider}{number}"));
    let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
    candidates
        .find(|name| taken.insert(name.to_ascii_lowercase()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("per species write count", "per-species-write-count")]
    #[case("  Total: $5 & \"more\"\n{{ x }}", "total-5-more-x")]
    #[case("Zähle Wörter", "zaehle-woerter")]
    #[case("Été à Łódź", "ete-a-lodz")]
    #[case("数を数える", "task")]
    #[case("", "task")]
    #[case(
        "count the rows of each of the forty-two files",
        "count-the-rows-of-each-of-the-forty-two"
    )]
    fn a_name_is_made_of_the_first_words(#[case] prompt: &str, #[case] name: &str) {
        assert_eq!(task_name(prompt), name);
        assert!(task_name(&prompt.repeat(50)).len() <= LONGEST_NAME);
    }

    #[test]
    fn a_word_without_an_end_is_cut() {
        assert_eq!(task_name(&"a".repeat(1_000)).len(), LONGEST_NAME);
    }

    #[test]
    fn config_maps_of_names_that_differ_in_case_have_names_of_their_own() {
        let mut taken = BTreeSet::new();
        assert_eq!(config_map("t", "my_birds_", &mut taken), "t-my-birds");
        assert_eq!(config_map("t", "My_Birds", &mut taken), "t-my-birds-2");
    }
}
