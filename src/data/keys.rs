//! Candidate keys and records equal to an earlier one: hashes of all values and records, kept while memory allows.

use crate::data::column::mix;

/// Hashes kept at most, over all columns and records: 24 MiB.
const MOST_HASHES: usize = 3 * 1024 * 1024;
/// Columns of which pairs are looked at.
const PAIRED_COLUMNS: usize = 12;
/// Records after which most pairs can be ruled out.
const PROBED_RECORDS: u64 = 1_000;
/// Repetitions that chance alone would give, from which a pair without any is told.
const EXPECTED_REPETITIONS: f64 = 4.0;
/// Pairs that are told.
const TOLD_PAIRS: usize = 3;

/// Hashes of everything that may be unique.
pub struct Keys {
    most: usize,
    columns: Vec<Log>,
    records: Log,
    pairs: Vec<Pair>,
    /// Hashes of the current record's values by column; 0 where there is none.
    current: Vec<u64>,
    ended: u64,
    kept: usize,
}

/// Hashes of values of which none was seen twice.
#[derive(Default)]
struct Log {
    hashes: Vec<u64>,
    is_lost: bool,
    is_decimal: bool,
}

struct Pair {
    columns: (usize, usize),
    log: Log,
}

/// What a column knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Uniqueness {
    /// Whether no value was seen twice and none is missing, as far as the column can tell.
    pub may_be_unique: bool,
    /// Whether it can tell for sure.
    pub is_proven: bool,
    /// Whether it has decimal numbers: measurements, which are no keys.
    pub is_decimal: bool,
}

/// What is known of a column when everything is read.
#[derive(Clone, Copy, Debug)]
pub struct KeyCandidate {
    /// Whether the column itself knows that every record has a value and no two are equal.
    pub is_unique: bool,
    /// Whether every record has exactly one value.
    pub is_whole: bool,
    /// Whether it may be part of a key of two columns: no decimal numbers.
    pub is_discrete: bool,
    /// Distinct values.
    pub distinct: u64,
}

/// What the hashes tell.
pub struct Found {
    /// By column, whether every record has a value and no two are equal.
    pub unique: Vec<bool>,
    /// Pairs of columns that are unique together.
    pub pairs: Vec<(usize, usize)>,
    /// Records equal to an earlier one.
    pub duplicates: Option<u64>,
}

impl Log {
    fn forget(&mut self) -> usize {
        self.is_lost = true;
        std::mem::take(&mut self.hashes).len()
    }

    /// Records equal to an earlier one; `None` where not every hash was kept.
    fn repetitions(mut self) -> Option<u64> {
        if self.is_lost {
            return None;
        }
        self.hashes.sort_unstable();
        let all = self.hashes.len();
        self.hashes.dedup();
        Some((all - self.hashes.len()) as u64)
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::keeping(MOST_HASHES)
    }
}

impl Keys {
    /// Keeps at most `most` hashes.
    fn keeping(most: usize) -> Self {
        Self {
            most,
            columns: Vec::new(),
            records: Log::default(),
            pairs: Vec::new(),
            current: Vec::new(),
            ended: 0,
            kept: 0,
        }
    }

    /// Takes in a value of the current record by its hash, 0 where it is missing.
    pub fn push(&mut self, column: usize, hash: u64, state: Uniqueness) {
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Log::default);
            self.current.resize(column + 1, 0);
        }
        self.current[column] = hash;
        let log = &mut self.columns[column];
        if log.is_lost {
            return;
        }
        log.is_decimal |= state.is_decimal;
        if !state.may_be_unique {
            self.kept -= log.forget();
            return;
        }
        log.hashes.push(hash);
        self.kept += 1;
        if self.kept >= self.most {
            if state.is_proven {
                self.kept -= self.columns[column].forget();
            } else {
                self.make_room();
            }
        }
    }

    /// Ends the current record. Equal records have equal hashes; without one it is that of its values, and of no use
    /// where `None` is told.
    pub fn end_record(&mut self, hash: RecordHash) {
        self.ended += 1;
        let hash = match hash {
            RecordHash::OfValues => Some(
                (0..)
                    .zip(&self.current)
                    .fold(0, |sum: u64, (column, hash)| sum.wrapping_add(mix(*hash, column))),
            ),
            RecordHash::Of(hash) => Some(hash),
            RecordHash::Unknown => None,
        };
        match hash {
            Some(hash) if !self.records.is_lost => {
                self.records.hashes.push(hash);
                self.kept += 1;
            }
            Some(_) => {}
            None => self.kept -= self.records.forget(),
        }
        self.end_pairs();
        self.current.fill(0);
        if self.kept >= self.most {
            self.make_room();
        }
    }

    fn end_pairs(&mut self) {
        if self.ended == 1 {
            let paired = self.current.len().min(PAIRED_COLUMNS);
            for first in 0..paired {
                for second in first + 1..paired {
                    let columns = (first, second);
                    self.pairs.push(Pair {
                        columns,
                        log: Log::default(),
                    });
                }
            }
        }
        self.pairs.retain(|pair| !pair.log.is_lost);
        for Pair { columns, log } in &mut self.pairs {
            let (first, second) = (self.current[columns.0], self.current[columns.1]);
            if first == 0 || second == 0 {
                self.kept -= log.forget();
            } else {
                log.hashes.push(mix(first, 1).wrapping_add(mix(second, 2)));
                self.kept += 1;
            }
        }
        self.pairs.retain(|pair| !pair.log.is_lost);
        if self.ended == PROBED_RECORDS {
            self.probe_pairs();
        }
    }

    /// Drops the pairs that repeat already, and all of them where a column alone is still unique.
    fn probe_pairs(&mut self) {
        let is_whole = |log: &Log| !log.is_lost && !log.is_decimal && log.hashes.len() as u64 == self.ended;
        let has_single = self.columns.iter().any(is_whole);
        for Pair { log, .. } in &mut self.pairs {
            log.hashes.sort_unstable();
            if has_single || log.hashes.windows(2).any(|pair| pair[0] == pair[1]) {
                self.kept -= log.forget();
            }
        }
        self.pairs.retain(|pair| !pair.log.is_lost);
        for pair in self.pairs.drain(self.pairs.len().min(TOLD_PAIRS)..) {
            self.kept -= pair.log.hashes.len();
        }
    }

    /// Gives up what repeats or can be done without, and everything where that does not help.
    fn make_room(&mut self) {
        let logs = self
            .columns
            .iter_mut()
            .chain(self.pairs.iter_mut().map(|pair| &mut pair.log));
        for log in logs {
            log.hashes.sort_unstable();
            if log.hashes.windows(2).any(|pair| pair[0] == pair[1]) {
                self.kept -= log.forget();
            }
        }
        if self.kept * 4 >= self.most * 3 {
            self.kept -= self.records.forget();
        }
        if self.kept * 4 >= self.most * 3 {
            let logs = self
                .columns
                .iter_mut()
                .chain(self.pairs.iter_mut().map(|pair| &mut pair.log));
            for log in logs {
                self.kept -= log.forget();
            }
        }
    }

    /// What the hashes of all records tell.
    pub fn finish(self, candidates: &[KeyCandidate]) -> Found {
        let records = self.ended;
        let is_unique = |log: Log| log.hashes.len() as u64 == records && log.repetitions() == Some(0);
        let mut logs: Vec<_> = self.columns.into_iter().map(Some).collect();
        logs.resize_with(candidates.len(), || None);
        let unique: Vec<_> = candidates
            .iter()
            .zip(logs)
            .map(|(candidate, log)| {
                candidate.is_unique || (candidate.is_whole && records > 1 && log.is_some_and(is_unique))
            })
            .collect();
        let has_key = candidates
            .iter()
            .zip(&unique)
            .any(|(candidate, is_unique)| *is_unique && candidate.is_discrete);
        let duplicates = if unique.contains(&true) {
            Some(0)
        } else {
            self.records.repetitions()
        };
        let mut pairs = Vec::new();
        for Pair { columns, log } in self.pairs {
            let (first, second) = (candidates[columns.0], candidates[columns.1]);
            // Where chance would hardly repeat a pair, that none is repeated says nothing.
            let chances = first.distinct as f64 * second.distinct as f64;
            let expected = (records as f64).powi(2) / (2.0 * chances.max(1.0));
            let is_telling = first.is_discrete
                && second.is_discrete
                && first.is_whole
                && second.is_whole
                && expected >= EXPECTED_REPETITIONS;
            if !has_key && is_telling && pairs.len() < TOLD_PAIRS && is_unique(log) {
                pairs.push(columns);
            }
        }
        Found {
            unique,
            pairs,
            duplicates,
        }
    }
}

/// What tells a record from others.
#[derive(Clone, Copy, Debug)]
pub enum RecordHash {
    /// Its values.
    OfValues,
    /// This, because its values are not all taken in.
    Of(u64),
    /// Nothing: it was not read whole.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::column::cell::Cell;
    use crate::data::rows::{Built, TableBuilder};

    fn table(columns: usize, rows: impl Iterator<Item = Vec<String>>) -> Built {
        let mut builder = TableBuilder::new(Some(','), false);
        for position in 0..columns {
            builder.add_column(format!("c{position}"));
        }
        for row in rows {
            for (position, value) in row.iter().enumerate() {
                builder.cell(position, Cell::of(value), value);
            }
            builder.end_record("");
        }
        builder.finish(0, None)
    }

    fn shuffled(number: u64) -> String {
        (number * 7_919 % 30_011).to_string()
    }

    #[test]
    fn many_values_in_any_order_are_unique_only_where_they_are() {
        let once = table(1, (0..30_011).map(|row| vec![shuffled(row)]));
        assert_eq!(
            (once.columns[0].is_unique, once.duplicate_records),
            (true, Some(0))
        );
        assert_eq!(once.keys, [["c0"]]);
        let twice = table(1, (0..=30_011).map(|row| vec![shuffled(row)]));
        assert_eq!(
            (twice.columns[0].is_unique, twice.duplicate_records),
            (false, Some(1))
        );
        assert_eq!(twice.keys, Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_rise_that_breaks_late_is_followed_by_a_true_claim() {
        let rows = |last: &str| {
            (0..30_000)
                .map(|row| vec![row.to_string()])
                .chain([vec![last.to_owned()]])
                .collect::<Vec<_>>()
        };
        assert!(table(1, rows("-1").into_iter()).columns[0].is_unique);
        let repeated = table(1, rows("5").into_iter());
        assert_eq!(
            (repeated.columns[0].is_unique, repeated.duplicate_records),
            (false, Some(1))
        );
    }

    #[test]
    fn two_columns_are_a_key_where_none_is_alone_and_chance_does_not_explain_it() {
        let crossed = |rows: u64| (0..rows).map(|row| vec![format!("s{}", row % 40), (row / 40).to_string()]);
        for rows in [400, 20_000] {
            assert_eq!(table(2, crossed(rows)).keys, [["c0", "c1"]], "{rows}");
        }
        let twice = table(2, crossed(20_000).chain(crossed(1)));
        assert_eq!((twice.keys.len(), twice.duplicate_records), (0, Some(1)));
        let by_chance = [["a", "1"], ["a", "2"], ["b", "1"], ["c", "3"]];
        let by_chance = by_chance.into_iter().map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(2, by_chance).keys.len(), 0);
    }

    #[test]
    fn beyond_the_bound_nothing_is_claimed_and_little_is_kept() {
        let state = |may_be_unique| Uniqueness {
            may_be_unique,
            is_proven: false,
            is_decimal: false,
        };
        for columns in 1..=3 {
            let mut keys = Keys::keeping(1_000);
            for record in 0..5_000u64 {
                for column in 0..columns {
                    keys.push(column, mix(record, 1) | 1, state(true));
                }
                keys.end_record(RecordHash::OfValues);
                let kept = keys.columns.iter().map(|log| log.hashes.len()).sum::<usize>()
                    + keys.records.hashes.len()
                    + keys.pairs.iter().map(|pair| pair.log.hashes.len()).sum::<usize>();
                assert_eq!(kept, keys.kept);
                assert!(kept <= 1_000 + columns + 1, "{kept}");
            }
            let candidate = KeyCandidate {
                is_unique: false,
                is_whole: true,
                is_discrete: true,
                distinct: 5_000,
            };
            let found = keys.finish(&vec![candidate; columns]);
            assert_eq!(
                (found.unique.contains(&true), found.pairs.len(), found.duplicates),
                (false, 0, None)
            );
        }
    }

    #[test]
    fn measurements_are_no_keys() {
        let rows = (0..30u32).map(|row| vec![format!("{row}.5"), (row % 5).to_string()]);
        let found = table(2, rows);
        assert!(found.columns[0].is_unique && found.keys.is_empty());
    }

    #[test]
    fn equal_records_are_counted_whatever_the_spelling_of_their_numbers() {
        let rows = [["1", ""], ["1.0", ""], ["1", "x"], ["1", ""]];
        let rows = rows.into_iter().map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(2, rows).duplicate_records, Some(2));
    }
}
