//! Items in any order: which expected one is which of those that are there.

use std::collections::HashMap;

/// Most comparisons: what a program writes must not keep anybody waiting.
const MOST_COMPARISONS: usize = 1_000_000;
/// Most pairs that are parted for one item.
const MOST_MOVED: usize = 256;

/// An item that finds no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmatched {
    /// An expected one.
    Wanted(usize),
    /// One of those that are there.
    Actual(usize),
}

/// Pairs `wanted` items with `actual` ones, as many as possible: with a tolerance one item may fit several. Items with the same `key` are
/// likely the same, and are compared first. `None` where each has a partner.
pub(super) fn unmatched<T>(
    wanted: &[T],
    actual: &[T],
    key: impl Fn(&T) -> String,
    is_same: impl Fn(&T, &T) -> bool,
) -> Option<Unmatched> {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in actual.iter().enumerate().rev() {
        by_key.entry(key(item)).or_default().push(index);
    }
    let mut pairs = Pairs {
        partner: vec![None; actual.len()],
        left: MOST_COMPARISONS,
        fits: |one, other| is_same(&wanted[one], &actual[other]),
    };
    let mut alone = Vec::new();
    for (one, item) in wanted.iter().enumerate() {
        let alike = by_key.get_mut(&key(item)).filter(|_| pairs.left > 0);
        let found = alike.and_then(|alike| {
            let place = alike.iter().rposition(|other| pairs.are_same(one, *other))?;
            Some(alike.remove(place))
        });
        match found {
            Some(other) => pairs.partner[other] = Some(one),
            None => alone.push(one),
        }
    }
    let is_left = |one: &usize| !pairs.pair(*one, &mut vec![false; actual.len()], MOST_MOVED);
    if let Some(one) = alone.into_iter().find(is_left) {
        return Some(Unmatched::Wanted(one));
    }
    let free = pairs.partner.iter().position(Option::is_none);
    free.map(Unmatched::Actual)
}

struct Pairs<F> {
    /// Of each item that is there, the expected one that has it.
    partner: Vec<Option<usize>>,
    /// Comparisons that may still be made.
    left: usize,
    fits: F,
}

impl<F: Fn(usize, usize) -> bool> Pairs<F> {
    fn are_same(&mut self, one: usize, other: usize) -> bool {
        // When all are used up nothing is the same: giving up must never let a program pass.
        let has_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_left && (self.fits)(one, other)
    }

    /// Finds a partner, where need be by moving up to `most` others to another one (an augmenting path); `seen` are those that were asked.
    fn pair(&mut self, item: usize, seen: &mut [bool], most: usize) -> bool {
        for other in 0..self.partner.len() {
            if seen[other] || most == 0 || !self.are_same(item, other) {
                continue;
            }
            seen[other] = true;
            if self.partner[other].is_none_or(|owner| self.pair(owner, seen, most - 1)) {
                self.partner[other] = Some(item);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn left(wanted: &[i32], actual: &[i32], most: i32) -> Option<Unmatched> {
        unmatched(wanted, actual, ToString::to_string, |one, other| {
            (one - other).abs() <= most
        })
    }

    #[test]
    fn every_item_finds_a_partner_where_there_is_a_way() {
        assert_eq!(left(&[10, 11, 12], &[13, 11, 10], 1), None);
        assert_eq!(left(&[10, 11], &[11, 9], 1), None);
        // The one that comes first takes what only the other can have, and gives it back.
        assert_eq!(left(&[12, 10], &[11, 13], 1), None);
        assert_eq!(left(&[14, 12, 10], &[13, 11, 15], 1), None);
    }

    #[test]
    fn what_has_no_partner_is_named() {
        assert_eq!(left(&[10, 12], &[10, 20], 1), Some(Unmatched::Wanted(1)));
        assert_eq!(left(&[10, 10], &[10], 0), Some(Unmatched::Wanted(1)));
        assert_eq!(left(&[10], &[10, 10], 0), Some(Unmatched::Actual(1)));
    }

    #[test]
    fn many_items_are_paired_too() {
        let wanted: Vec<i32> = (0..40_000).collect();
        let mut actual: Vec<i32> = (0..40_000).rev().collect();
        assert_eq!(left(&wanted, &actual, 0), None);
        assert_eq!(left(&vec![7; 40_000], &vec![7; 40_000], 0), None);
        actual[3] = -1;
        assert_eq!(left(&wanted, &actual, 0), Some(Unmatched::Wanted(39_996)));
    }

    #[test]
    fn many_items_that_differ_are_given_up_after_so_many_comparisons() {
        let comparisons = Cell::new(0_usize);
        let items: Vec<usize> = (0..40_000).collect();
        // All have one key, and each is like the next alone: without a bound that would be 1,600,000,000 comparisons.
        let left = unmatched(
            &items,
            &items,
            |_| String::new(),
            |one, other| {
                comparisons.set(comparisons.get() + 1);
                one % 2 == 0 && *other == one + 1
            },
        );
        assert!(matches!(left, Some(Unmatched::Wanted(_))));
        assert_eq!(comparisons.get(), MOST_COMPARISONS);
    }
}
