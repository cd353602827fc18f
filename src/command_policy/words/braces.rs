//! `{a,b}` and `{1..3}`.

use super::Unit;
use crate::denial::Denial;

/// Words that braces become, at most.
const MOST_WORDS: usize = 256;
/// Braces of one word. Each is followed to its end.
const MOST_BRACES: usize = 64;
/// Characters and parts of all of them.
const MOST_UNITS: usize = 64 * 1024;

/// The words of a word with braces, in order.
pub(super) fn expand(word: Vec<Unit>) -> Result<Vec<Vec<Unit>>, Denial> {
    if word.iter().filter(|unit| **unit == Unit::Bare('{')).count() > MOST_BRACES {
        return Err(Denial::syntax(format!(
            "a word has more than {MOST_BRACES} braces: quote it where they are meant as they stand"
        )));
    }
    let mut done = Vec::new();
    // Each with the place from which braces are still to be expanded.
    let mut pending = vec![(word, 0)];
    while let Some((word, from)) = pending.pop() {
        let Some((start, end, choices)) = first(&word, from) else {
            done.push(word);
            continue;
        };
        if word.contains(&Unit::Bare('~')) {
            return Err(Denial::syntax("~ beside braces is not settled: write the paths"));
        }
        for choice in choices.into_iter().rev() {
            let expanded = [&word[..start], &choice, &word[end + 1..]].concat();
            pending.push((expanded, start));
        }
        let units: usize = pending.iter().map(|(word, _)| word.len()).sum();
        if pending.len() + done.len() > MOST_WORDS || units > MOST_UNITS {
            return Err(Denial::syntax(format!(
                "braces become more than {MOST_WORDS} words: use fewer, or a small Python file"
            )));
        }
    }
    Ok(done)
}

/// The first braces that are expanded: where they begin and end, and what stands for them.
fn first(word: &[Unit], from: usize) -> Option<(usize, usize, Vec<Vec<Unit>>)> {
    (from..word.len()).find_map(|start| {
        if word[start] != Unit::Bare('{') {
            return None;
        }
        let (end, commas) = closed(word, start)?;
        let inner = &word[start + 1..end];
        if commas.is_empty() {
            return Some((start, end, sequence(inner)?));
        }
        let mut choices = Vec::new();
        let mut begin = start + 1;
        for comma in commas.into_iter().chain([end]) {
            choices.push(word[begin..comma].to_vec());
            begin = comma + 1;
        }
        Some((start, end, choices))
    })
}

/// Where braces end, and the commas between their choices.
fn closed(word: &[Unit], start: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (index, unit) in word.iter().enumerate().skip(start) {
        match unit {
            Unit::Bare('{') => depth += 1,
            Unit::Bare('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((index, commas));
                }
            }
            Unit::Bare(',') if depth == 1 => commas.push(index),
            _ => {}
        }
    }
    None
}

/// `1..3`, `a..e`, `01..10..2`.
fn sequence(inner: &[Unit]) -> Option<Vec<Vec<Unit>>> {
    let text: Option<String> = inner
        .iter()
        .map(|unit| if let Unit::Bare(c) = unit { Some(*c) } else { None })
        .collect();
    let text = text?;
    let mut ends = text.split("..");
    let (first, last, step) = (ends.next()?, ends.next()?, ends.next());
    if ends.next().is_some() || text.len() > 40 {
        return None;
    }
    let step = step
        .map_or(Some(1), |step| step.parse::<i64>().ok())?
        .unsigned_abs()
        .max(1);
    let single = |text: &str| {
        let mut characters = text.chars();
        let c = characters.next().filter(char::is_ascii_alphabetic);
        c.filter(|_| characters.next().is_none())
    };
    let words: Vec<String> = if let (Some(first), Some(last)) = (single(first), single(last)) {
        // What lies between capitals and small letters would mean something else.
        if first.is_ascii_uppercase() != last.is_ascii_uppercase() {
            return None;
        }
        let characters = numbers(i64::from(u32::from(first)), i64::from(u32::from(last)), step);
        let characters = characters.filter_map(|code| u32::try_from(code).ok().and_then(char::from_u32));
        characters.map(String::from).collect()
    } else {
        let is_padded = |text: &str| {
            let digits = text.trim_start_matches(['-', '+']);
            digits.len() > 1 && digits.starts_with('0')
        };
        let width = if is_padded(first) || is_padded(last) {
            first.len().max(last.len())
        } else {
            0
        };
        let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
        numbers(first, last, step)
            .map(|number| format!("{number:0width$}"))
            .collect()
    };
    Some(
        words
            .into_iter()
            .map(|word| word.chars().map(Unit::Quoted).collect())
            .collect(),
    )
}

/// From one number to another, one more than there may be at most.
fn numbers(first: i64, last: i64, step: u64) -> impl Iterator<Item = i64> {
    let next = move |number: &i64| {
        let next = if first <= last {
            number.checked_add_unsigned(step)
        } else {
            number.checked_sub_unsigned(step)
        };
        next.filter(|next| {
            if first <= last {
                *next <= last
            } else {
                *next >= last
            }
        })
    };
    std::iter::successors(Some(first), next).take(MOST_WORDS + 1)
}
