//! Columns on which samples may be joined: names and values that go together.
//!
//! Values are compared by their hashes, all of them where they are few, else those of the smallest hashes. Small numbers
//! lie in every column, so that an overlap alone is no evidence.

use super::column::distinct::{DistinctCount, ValueHashes};
use super::profile::{ColumnProfile, ColumnType, SampleProfile, TableProfile};
pub use super::profile::{JoinProfile, JoinSide};

/// Most joins that are reported.
const MOST_JOINS: usize = 12;
/// Columns of a table that are compared.
const COMPARED_COLUMNS: usize = 64;
/// Distinct values from which an overlap is evidence by itself.
const SUFFICIENT_VALUES: u64 = 10;
/// Numbers from which on they are no counts or row numbers.
const LARGE_NUMBER: f64 = 1_000.0;
/// Hashes that must be comparable for an estimate where the names agree, and where they do not.
const FEWEST_SHARED: [usize; 2] = [5, 30];
/// Names that say nothing of what they name.
const PLAIN_NAMES: [&str; 16] = [
    "id", "key", "nr", "no", "num", "number", "index", "name", "code", "value", "type", "status", "date",
    "time", "count", "row",
];

/// Words at the end of a name that say that it identifies something.
const IDENTIFIERS: [&str; 10] = [
    "id", "key", "nr", "no", "num", "number", "index", "code", "pk", "uid",
];

/// A column with what it is compared by.
struct Candidate<'a> {
    sample: &'a str,
    sheet: Option<&'a str>,
    column: &'a ColumnProfile,
    hashes: &'a ValueHashes,
    words: Vec<String>,
    owner: Vec<String>,
}

/// Overlap of two columns.
struct Overlap {
    left: f64,
    right: f64,
    is_estimated: bool,
}

/// Columns on which different tables may be joined, the surest first. The profiles must come from this process: hashes of
/// values are never written.
#[must_use]
pub fn joins(profiles: &[SampleProfile]) -> Vec<JoinProfile> {
    let mut tables: Vec<Vec<Candidate<'_>>> = Vec::new();
    for profile in profiles {
        let has_several = profile.tables().count() > 1;
        for table in profile.tables() {
            let sheet = table.sheet().filter(|_| has_several);
            tables.push(candidates(profile, table, sheet));
        }
    }
    let mut found = Vec::new();
    for (position, first) in tables.iter().enumerate() {
        for second in &tables[position + 1..] {
            for one in first {
                found.extend(second.iter().filter_map(|other| join(one, other)));
            }
        }
    }
    keep_surest(found)
}

fn candidates<'a>(
    profile: &'a SampleProfile,
    table: &'a TableProfile,
    sheet: Option<&'a str>,
) -> Vec<Candidate<'a>> {
    let may_join = |column: &&ColumnProfile| {
        !column.name.is_empty()
            && !matches!(
                column.type_,
                ColumnType::Float | ColumnType::Bool | ColumnType::Empty
            )
            && column.distinct.count() > 1
    };
    let candidate = |column: &'a ColumnProfile| Candidate {
        sample: &profile.name,
        sheet,
        column,
        hashes: &column.value_hashes,
        words: words(&column.name),
        owner: words(&profile.name),
    };
    let columns = table.columns.iter().filter(may_join);
    columns.take(COMPARED_COLUMNS).map(candidate).collect()
}

/// The words of a name, in lower case and singular: `CustomerIDs` and `customer_id` are the same.
fn words(name: &str) -> Vec<String> {
    let last = name
        .rsplit(['.', ']'])
        .find(|part| !part.is_empty())
        .unwrap_or(name);
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in last.chars() {
        let starts = character.is_uppercase() && before.is_lowercase();
        if (starts || !character.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if word.len() > 2 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
            word.pop();
        }
    }
    words
}

/// Reports whether a name is that of numbers which identify something (`order_id`, `Probe Nr.`), so that their mean says nothing.
pub(super) fn names_identifier(name: &str) -> bool {
    let words = words(name);
    words
        .last()
        .is_some_and(|word| IDENTIFIERS.contains(&word.as_str()))
}

/// Reports whether the names of two columns say the same: equal and no plain word, or one is the other with its sample's name before it
/// (`customer_id` and `id` of `customers`).
fn has_same_name(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let is_plain = |words: &[String]| matches!(words, [word] if PLAIN_NAMES.contains(&word.as_str()));
    let qualifies = |one: &Candidate<'_>, other: &Candidate<'_>| {
        let mut full = other.owner.clone();
        full.extend(other.words.iter().cloned());
        one.words == full || (is_plain(&other.words) && one.words == other.owner)
    };
    (one.words == other.words && !is_plain(&one.words)) || qualifies(one, other) || qualifies(other, one)
}

fn join(one: &Candidate<'_>, other: &Candidate<'_>) -> Option<JoinProfile> {
    if one.column.type_ != other.column.type_ {
        return None;
    }
    let same_name = has_same_name(one, other);
    let may_be_evident = (same_name && (one.column.is_unique || other.column.is_unique))
        || is_distinctive(one.column, other.column.is_unique)
        || is_distinctive(other.column, one.column.is_unique);
    if !may_be_evident {
        return None;
    }
    let fewest = FEWEST_SHARED[usize::from(!same_name)];
    let overlap = overlap(one.hashes, other.hashes, fewest)?;
    // The column that refers holds values of the other; of two equal ones it is the one that repeats them.
    let rank = |candidate: &Candidate<'_>, share: f64| (candidate.column.is_unique, -share);
    let is_turned = rank(one, overlap.left) > rank(other, overlap.right);
    let (left, right, share, back) = if is_turned {
        (other, one, overlap.right, overlap.left)
    } else {
        (one, other, overlap.left, overlap.right)
    };
    let distinct = left.column.distinct.count();
    let is_key = right.column.is_unique;
    let is_evident = if same_name && is_key {
        share >= 0.5
    } else {
        distinct >= SUFFICIENT_VALUES && share >= 0.8 && is_distinctive(left.column, is_key)
    };
    let side = |candidate: &Candidate<'_>, share: f64| {
        let distinct = candidate.column.distinct.count();
        JoinSide {
            sample: candidate.sample.to_owned(),
            sheet: candidate.sheet.map(str::to_owned),
            column: candidate.column.name.clone(),
            distinct,
            found: part_of(distinct, share),
            is_unique: candidate.column.is_unique,
        }
    };
    is_evident.then(|| JoinProfile {
        left: side(left, share),
        right: side(right, back),
        is_estimated: overlap.is_estimated,
    })
}

/// Reports whether values are such that two columns do not share them by chance: texts, or large numbers that refer to a key and are none
/// themselves.
fn is_distinctive(column: &ColumnProfile, is_key: bool) -> bool {
    match column.type_ {
        ColumnType::Text => true,
        ColumnType::Int => {
            let smallest = column
                .numbers
                .as_ref()
                .and_then(|numbers| numbers.min.parse::<f64>().ok());
            is_key && !column.is_unique && smallest.is_some_and(|smallest| smallest >= LARGE_NUMBER)
        }
        _ => false,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count, rounded"
)]
fn part_of(count: u64, share: f64) -> u64 {
    (count as f64 * share).round() as u64
}

/// Returns the share of each column that lies in the other; `None` where nothing does, or too few hashes can be compared.
fn overlap(one: &ValueHashes, other: &ValueHashes, fewest: usize) -> Option<Overlap> {
    let reach = one.reach().min(other.reach());
    let is_estimated = !one.is_whole() || !other.is_whole();
    let (mine, others) = (one.up_to(reach), other.up_to(reach));
    if is_estimated && mine.len().min(others.len()) < fewest {
        return None;
    }
    let shared = mine
        .iter()
        .filter(|hash| others.binary_search(hash).is_ok())
        .count();
    (shared > 0).then(|| Overlap {
        left: shared as f64 / mine.len() as f64,
        right: shared as f64 / others.len() as f64,
        is_estimated,
    })
}

/// Of joins of one column the ones to a key; among the others, the ones in which most is found.
fn keep_surest(mut found: Vec<JoinProfile>) -> Vec<JoinProfile> {
    let is_same = |one: &JoinSide, other: &JoinSide| {
        (&one.sample, &one.sheet, &one.column) == (&other.sample, &other.sheet, &other.column)
    };
    let keyed: Vec<JoinProfile> = found
        .iter()
        .filter(|join| join.right.is_unique)
        .cloned()
        .collect();
    let refers = |side: &JoinSide| {
        keyed
            .iter()
            .any(|join| is_same(&join.left, side) || is_same(&join.right, side))
    };
    found.retain(|join| join.right.is_unique || !(refers(&join.left) && refers(&join.right)));
    // Stable: equally sure ones stay in the order of samples and columns.
    found.sort_by_key(|join| {
        let lost = join.left.distinct - join.left.found.min(join.left.distinct);
        (!join.right.is_unique, lost * 1_000 / join.left.distinct.max(1))
    });
    found.truncate(MOST_JOINS);
    found
}

impl DistinctCount {
    /// Returns the number of values, counted or estimated.
    #[must_use]
    pub const fn count(self) -> u64 {
        match self {
            Self::Exact(count) | Self::About(count) => count,
        }
    }
}

#[cfg(test)]
mod tests;
