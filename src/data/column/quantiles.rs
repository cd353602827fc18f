//! Quartiles of a column of numbers: exact up to a bound, beyond it from a seeded uniform sample.

use serde::{Deserialize, Serialize};

/// Numbers kept of one column, at most.
pub const KEPT_NUMBERS: usize = 10_000;

/// The three quartiles; the middle one is the median.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Quartiles {
    /// A quarter of the values lie at or below it.
    pub lower: f64,
    /// Half of the values lie at or below it.
    pub median: f64,
    /// Three quarters of the values lie at or below it.
    pub upper: f64,
    /// Whether they come from all values; otherwise from a sample of 10,000 (less in wide tables).
    pub is_exact: bool,
}

/// A uniform sample of numbers (algorithm R), the same on every machine.
#[derive(Clone, Debug)]
pub struct Reservoir {
    limit: usize,
    seen: u64,
    kept: Vec<f64>,
    random: fastrand::Rng,
}

impl Reservoir {
    /// Keeps at most `limit` numbers.
    pub fn new(limit: usize, seed: u64) -> Self {
        Self {
            limit: limit.min(KEPT_NUMBERS),
            seen: 0,
            kept: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Takes in a number.
    pub fn push(&mut self, value: f64) {
        self.seen += 1;
        if self.kept.len() < self.limit {
            self.kept.push(value);
            return;
        }
        let slot = self.random.u64(..self.seen);
        if let Some(kept) = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.kept.get_mut(slot))
        {
            *kept = value;
        }
    }

    /// Quartiles of what was met, linearly interpolated; `None` when there was nothing.
    pub fn quartiles(mut self) -> Option<Quartiles> {
        if self.kept.is_empty() {
            return None;
        }
        self.kept.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let position = share * (self.kept.len() - 1) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a position below 10,000"
            )]
            let below = position.floor() as usize;
            let above = (below + 1).min(self.kept.len() - 1);
            let weight = position - below as f64;
            self.kept[below] * (1.0 - weight) + self.kept[above] * weight
        };
        let is_exact = self.seen == self.kept.len() as u64;
        Some(Quartiles {
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
            is_exact,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quartiles(values: impl Iterator<Item = u32>) -> Quartiles {
        let mut reservoir = Reservoir::new(KEPT_NUMBERS, 7);
        values.for_each(|value| reservoir.push(f64::from(value)));
        reservoir.quartiles().unwrap()
    }

    #[test]
    fn few_numbers_give_exact_quartiles() {
        let found = quartiles(1..=4);
        assert_eq!(
            found,
            Quartiles {
                lower: 1.75,
                median: 2.5,
                upper: 3.25,
                is_exact: true
            }
        );
    }

    #[test]
    fn many_numbers_give_quartiles_within_two_per_cent_and_say_so() {
        let found = quartiles(0..100_000);
        assert!(!found.is_exact);
        assert!((found.median - 50_000.0).abs() < 2_000.0, "{}", found.median);
        assert_eq!(found, quartiles(0..100_000));
    }

    #[test]
    fn nothing_has_no_quartiles() {
        assert_eq!(Reservoir::new(10, 0).quartiles(), None);
    }
}
