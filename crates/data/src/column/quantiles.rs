//! Quartiles of a column of numbers: exact up to a bound, beyond it from a seeded uniform sample.

use serde::{Deserialize, Serialize};

/// Numbers kept of one column, at most.
pub(crate) const RESERVOIR_SIZE: usize = 10_000;

/// Bins of a histogram.
pub(crate) const BINS: usize = 16;

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
    /// True where they come from all values; otherwise from a sample of 10,000 (less in wide tables).
    pub is_exact: bool,
}

/// A uniform sample of numbers (algorithm R), the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Reservoir {
    limit: usize,
    seen: u64,
    retained: Vec<f64>,
    random: fastrand::Rng,
}

impl Reservoir {
    /// Keeps at most `limit` numbers.
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self {
            limit: limit.min(RESERVOIR_SIZE),
            seen: 0,
            retained: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Takes in a number.
    pub(crate) fn push(&mut self, value: f64) {
        self.seen += 1;
        if self.retained.len() < self.limit {
            self.retained.push(value);
            return;
        }
        let slot = self.random.u64(..self.seen);
        if let Some(kept) = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.retained.get_mut(slot))
        {
            *kept = value;
        }
    }

    /// Reports whether every number that was met is kept.
    pub(crate) const fn is_exact(&self) -> bool {
        self.seen == self.retained.len() as u64
    }

    /// Counts the numbers in each of 16 equal bins from `min` to `max`; scaled up where not every number is kept.
    pub(crate) fn histogram(&self, min: f64, max: f64) -> Vec<u64> {
        let mut bins = vec![0u64; BINS];
        // Halves, because the difference of two large numbers may be infinite.
        let span = max / 2.0 - min / 2.0;
        for value in &self.retained {
            let share = if span > 0.0 {
                (value / 2.0 - min / 2.0) / span
            } else {
                0.0
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share from 0 to 1; the cast saturates"
            )]
            let bin = ((share * BINS as f64) as usize).min(BINS - 1);
            bins[bin] += 1;
        }
        let kept = u128::from(self.retained.len().max(1) as u64);
        for count in &mut bins {
            let scaled = (u128::from(*count) * u128::from(self.seen) + kept / 2) / kept;
            *count = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        bins
    }

    /// Quartiles of what was met, linearly interpolated; `None` when there was nothing.
    pub(crate) fn quartiles(mut self) -> Option<Quartiles> {
        if self.retained.is_empty() {
            return None;
        }
        self.retained.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let position = share * (self.retained.len() - 1) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a position below 10,000"
            )]
            let below = position.floor() as usize;
            let above = (below + 1).min(self.retained.len() - 1);
            let weight = position - below as f64;
            self.retained[below] * (1.0 - weight) + self.retained[above] * weight
        };
        let is_exact = self.is_exact();
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
        let mut reservoir = Reservoir::new(RESERVOIR_SIZE, 7);
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
    fn a_histogram_counts_every_number_once() {
        let mut reservoir = Reservoir::new(RESERVOIR_SIZE, 7);
        (0..=160).for_each(|value| reservoir.push(f64::from(value)));
        let bins = reservoir.histogram(0.0, 160.0);
        assert_eq!((bins[0], bins[15], bins.iter().sum::<u64>()), (10, 11, 161));
        let mut one = Reservoir::new(RESERVOIR_SIZE, 7);
        one.push(-1e308);
        one.push(1e308);
        assert_eq!(one.histogram(-1e308, 1e308).iter().sum::<u64>(), 2);
        assert_eq!(one.histogram(-1e308, 1e308)[15], 1);
    }

    #[test]
    fn nothing_has_no_quartiles() {
        assert_eq!(Reservoir::new(10, 0).quartiles(), None);
    }
}
