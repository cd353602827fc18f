//! Rows in any order: which expected one is which of those that are there.

/// Most rows for which every pairing is tried; of more, each takes the first that fits.
const MOST_TRIED: usize = 256;

/// What is left when as many as possible have found a partner, the first on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unmatched {
    pub(super) wanted: Option<usize>,
    pub(super) actual: Option<usize>,
}

impl Unmatched {
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Pairs `wanted` items with `actual` ones, by their numbers. With a tolerance one item may fit several, so that the first that fits
/// may be the wrong one to take.
pub(super) fn unmatched(wanted: usize, actual: usize, is_same: impl Fn(usize, usize) -> bool) -> Unmatched {
    let mut pairs = Pairs {
        partner: vec![None; actual],
        is_same,
    };
    let is_tried = wanted.max(actual) <= MOST_TRIED;
    let mut left = Unmatched::default();
    for item in 0..wanted {
        let is_paired = if is_tried {
            pairs.pair(item, &mut vec![false; actual])
        } else {
            pairs.take_first(item)
        };
        if !is_paired && left.wanted.is_none() {
            left.wanted = Some(item);
        }
    }
    left.actual = pairs.partner.iter().position(Option::is_none);
    left
}

struct Pairs<F> {
    /// Of each item that is there, the expected one that has it.
    partner: Vec<Option<usize>>,
    is_same: F,
}

impl<F: Fn(usize, usize) -> bool> Pairs<F> {
    fn take_first(&mut self, item: usize) -> bool {
        let found = (0..self.partner.len())
            .find(|other| self.partner[*other].is_none() && (self.is_same)(item, *other));
        if let Some(other) = found {
            self.partner[other] = Some(item);
        }
        found.is_some()
    }

    /// Finds a partner, where need be by moving others to another one (an augmenting path); `seen` are those that were asked.
    fn pair(&mut self, item: usize, seen: &mut [bool]) -> bool {
        for other in 0..self.partner.len() {
            if seen[other] || !(self.is_same)(item, other) {
                continue;
            }
            seen[other] = true;
            if self.partner[other].is_none_or(|owner| self.pair(owner, seen)) {
                self.partner[other] = Some(item);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(wanted: &[i32], actual: &[i32], most: i32) -> Unmatched {
        unmatched(wanted.len(), actual.len(), |one, other| {
            (wanted[one] - actual[other]).abs() <= most
        })
    }

    #[test]
    fn every_item_finds_a_partner_where_there_is_a_way() {
        assert!(left(&[10, 11, 12], &[13, 11, 10], 1).is_none());
        assert!(left(&[10, 11], &[11, 9], 1).is_none());
    }

    #[test]
    fn what_has_no_partner_is_named() {
        let unmatched = |wanted, actual| Unmatched { wanted, actual };
        assert_eq!(left(&[10, 12], &[10, 20], 1), unmatched(Some(1), Some(1)));
        assert_eq!(left(&[10, 10], &[10], 0), unmatched(Some(1), None));
        assert_eq!(left(&[10], &[10, 10], 0), unmatched(None, Some(1)));
    }

    #[test]
    fn many_items_are_paired_too() {
        let wanted: Vec<i32> = (0..1000).collect();
        let actual: Vec<i32> = (0..1000).rev().collect();
        assert!(left(&wanted, &actual, 0).is_none());
    }
}
