//! Columns that are unique and records equal to an earlier one: hashes of all values and records, kept while memory allows.

use crate::column::{KeyCandidate, Uniqueness, mix};

/// Hashes kept at most, over all columns and records: 24 MiB.
const MOST_HASHES: usize = 3 * 1024 * 1024;

/// Hashes of everything that may be unique.
pub(crate) struct KeyHashes {
    most: usize,
    columns: Vec<Log>,
    records: Log,
    /// Hashes of the current record's values by column; 0 where there is none.
    current: Vec<u64>,
    ended: u64,
    retained: usize,
}

/// Hashes of values of which none was seen twice.
#[derive(Default)]
struct Log {
    hashes: Vec<u64>,
    is_lost: bool,
}

/// Findings from the hashes.
pub(crate) struct KeyFindings {
    /// By column, whether every record has a value and no two are equal.
    pub unique: Vec<bool>,
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

impl Default for KeyHashes {
    fn default() -> Self {
        Self::with_limit(MOST_HASHES)
    }
}

impl KeyHashes {
    /// Retains at most `most` hashes.
    fn with_limit(most: usize) -> Self {
        Self {
            most,
            columns: Vec::new(),
            records: Log::default(),
            current: Vec::new(),
            ended: 0,
            retained: 0,
        }
    }

    /// Takes in a value of the current record by its hash, 0 where it is missing.
    pub(crate) fn push(&mut self, column: usize, hash: u64, state: Uniqueness) {
        // JSON may bring a column that no record before had.
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Log::default);
            self.current.resize(column + 1, 0);
        }
        self.current[column] = hash;
        let log = &mut self.columns[column];
        if log.is_lost {
            return;
        }
        // One repetition is enough to rule a key out, and its hashes are memory for others.
        if !state.may_be_unique {
            self.retained -= log.forget();
            return;
        }
        log.hashes.push(hash);
        self.retained += 1;
        if self.retained >= self.most {
            // A rise proves it without hashes.
            if state.is_proven {
                self.retained -= self.columns[column].forget();
            } else {
                self.make_room();
            }
        }
    }

    /// Ends the current record. Equal records have equal hashes; without one it is that of its values, and of no use
    /// where `None` is given.
    pub(crate) fn end_record(&mut self, hash: RecordHash) {
        self.ended += 1;
        let hash = match hash {
            RecordHash::OfValues => Some(
                (0..)
                    .zip(&self.current)
                    // Mixed by column, so that equal values in other columns give another sum.
                    .fold(0, |sum: u64, (column, hash)| sum.wrapping_add(mix(*hash, column))),
            ),
            RecordHash::Of(hash) => Some(hash),
            RecordHash::Unknown => None,
        };
        match hash {
            Some(hash) if !self.records.is_lost => {
                self.records.hashes.push(hash);
                self.retained += 1;
            }
            Some(_) => {}
            None => self.retained -= self.records.forget(),
        }
        self.current.fill(0);
        if self.retained >= self.most {
            self.make_room();
        }
    }

    /// Gives up what repeats or can be done without, and everything where that does not help.
    fn make_room(&mut self) {
        for log in &mut self.columns {
            log.hashes.sort_unstable();
            if log.hashes.windows(2).any(|pair| pair[0] == pair[1]) {
                self.retained -= log.forget();
            }
        }
        // In this order: records only show duplicates, columns may be keys.
        if self.retained * 4 >= self.most * 3 {
            self.retained -= self.records.forget();
        }
        if self.retained * 4 >= self.most * 3 {
            for log in &mut self.columns {
                self.retained -= log.forget();
            }
        }
    }

    /// Returns the findings from the hashes of all records.
    pub(crate) fn finish(self, candidates: &[KeyCandidate]) -> KeyFindings {
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
        // A column without repetitions shows that no record repeats.
        let duplicates = if unique.contains(&true) {
            Some(0)
        } else {
            self.records.repetitions()
        };
        KeyFindings { unique, duplicates }
    }
}

/// Hash that distinguishes a record from others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordHash {
    /// Its values.
    OfValues,
    /// This, because its values are not all taken in.
    Of(u64),
    /// Nothing: it was not read whole.
    Unknown,
}

#[cfg(test)]
mod tests;
