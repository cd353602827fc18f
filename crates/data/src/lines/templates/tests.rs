//! Patterns of logs, and what becomes of many of them.

use super::*;

fn templates(lines: impl IntoIterator<Item = String>) -> Vec<(String, u64)> {
    let mut templates = Templates::default();
    let mut masked = Masked::default();
    for (number, line) in (1..).zip(lines) {
        masked.mask(&line);
        templates.push(&masked, number, || line.clone());
    }
    let (templates, other) = templates.finish();
    let mut found: Vec<_> = templates
        .into_iter()
        .map(|template| (template.pattern(), template.lines))
        .collect();
    if other > 0 {
        found.push(("other".to_owned(), other));
    }
    found
}

fn pattern(text: &str, lines: u64) -> (String, u64) {
    (text.to_owned(), lines)
}

/// A name without digits for each number.
fn name(mut number: u32) -> String {
    let mut name = String::new();
    loop {
        name.insert(0, char::from(b'a' + u8::try_from(number % 26).unwrap()));
        number /= 26;
        if number == 0 {
            return name;
        }
    }
}

#[test]
fn few_alternatives_are_listed() {
    let lines = [
        "service web started ok",
        "service web stopped ok",
        "service web failed ok",
    ];
    assert_eq!(
        templates(lines.map(str::to_owned)),
        [pattern("service web <failed|started|stopped> ok", 3)]
    );
}

#[test]
fn messages_of_equal_length_stay_apart() {
    let lines = ["user logged in twice", "disk is almost full"];
    assert_eq!(templates(lines.map(str::to_owned)).len(), 2);
}

#[test]
fn many_names_in_one_place_are_one_pattern() {
    let lines = (0..3_000).map(|number| format!("user {} logged in", name(number)));
    assert_eq!(templates(lines), [pattern("user <word> logged in", 3_000)]);
    let words = (0..500).map(name);
    assert_eq!(templates(words), [pattern("<word>", 500)]);
}

#[test]
fn one_variable_place_leaves_other_messages_apart() {
    let users = (0..300).map(|number| format!("user {} logged in", name(number)));
    let disks = (0..300).map(|number| format!("disk {} is full", name(number)));
    assert_eq!(
        templates(users.chain(disks)),
        [
            pattern("user <word> logged in", 300),
            pattern("disk <word> is full", 300)
        ]
    );
}

#[test]
fn numbers_of_both_kinds_are_numbers_and_a_dash_makes_them_values() {
    let lines = ["a took 1 of 3", "a took 1.5 of 3"];
    assert_eq!(
        templates(lines.map(str::to_owned)),
        [pattern("a took <number> of <int>", 2)]
    );
    let lines = ["a took 1 of 3", "a took - of 3"];
    assert_eq!(
        templates(lines.map(str::to_owned)),
        [pattern("a took <value> of <int>", 2)]
    );
}

#[test]
fn the_order_of_lines_plays_no_part() {
    let line = |number: u32| {
        format!(
            "{} {} from {}",
            ["get", "put"][number as usize % 2],
            name(number % 40),
            name(number % 7)
        )
    };
    let forward = templates((0..900).map(line));
    let mut backward = templates((0..900).rev().map(line));
    backward.sort();
    let mut sorted = forward.clone();
    sorted.sort();
    assert_eq!(sorted, backward);
}

#[test]
fn every_line_is_counted_however_many_patterns_there_are() {
    let line = |number: u32| {
        let words: Vec<_> = (0..=number % 60)
            .map(|word| name(number * 7_919 + word * 31))
            .collect();
        words.join(["-> ", " : ", "; ", " (", " [", " ="][number as usize / 60 % 6])
    };
    let found = templates((0..6_000).map(line));
    assert_eq!(found.iter().map(|(_, lines)| lines).sum::<u64>(), 6_000);
    assert!(found.len() <= MOST_TEMPLATES + 1, "{}", found.len());
}
