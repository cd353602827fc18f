//! Rows in any order: which expected one is which of those that are there.

use std::cell::Cell;
use std::collections::HashMap;

/// Most items for which every pairing is tried; of more, each takes the first that fits.
// All pairings of 256 items are 65,536 comparisons.
const MOST_TRIED: usize = 256;
/// Most comparisons of more items than that: what a program writes must not keep anybody waiting.
const MOST_COMPARISONS: usize = 1_000_000;

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

/// Pairs `wanted` items with `actual` ones. With a tolerance one item may fit several, so that the first that fits may be the wrong one to
/// take. Items with the same `key` are likely the same; of many items those are compared first.
pub(super) fn unmatched<T>(
    wanted: &[T],
    actual: &[T],
    key: impl Fn(&T) -> String,
    is_same: impl Fn(&T, &T) -> bool,
) -> Unmatched {
    if wanted.len().max(actual.len()) <= MOST_TRIED {
        let fits = wanted
            .iter()
            .map(|one| actual.iter().map(|other| is_same(one, other)).collect())
            .collect();
        return every_pairing(fits, actual.len());
    }
    first_that_fits(wanted, actual, MOST_COMPARISONS, key, is_same)
}

fn every_pairing(fits: Vec<Vec<bool>>, actual: usize) -> Unmatched {
    let wanted = fits.len();
    let mut pairs = Pairs {
        partner: vec![None; actual],
        fits,
    };
    let left = (0..wanted).find(|item| !pairs.pair(*item, &mut vec![false; actual]));
    Unmatched {
        wanted: left,
        actual: pairs.partner.iter().position(Option::is_none),
    }
}

struct Pairs {
    /// Of each item that is there, the expected one that has it.
    partner: Vec<Option<usize>>,
    /// Whether an expected item and one that is there are the same.
    fits: Vec<Vec<bool>>,
}

impl Pairs {
    /// Finds a partner, where need be by moving others to another one (an augmenting path); `seen` are those that were asked.
    fn pair(&mut self, item: usize, seen: &mut [bool]) -> bool {
        for other in 0..self.partner.len() {
            if seen[other] || !self.fits[item][other] {
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

/// Makes about `most` comparisons, and gives up.
fn first_that_fits<T>(
    wanted: &[T],
    actual: &[T],
    most: usize,
    key: impl Fn(&T) -> String,
    is_same: impl Fn(&T, &T) -> bool,
) -> Unmatched {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in actual.iter().enumerate().rev() {
        by_key.entry(key(item)).or_default().push(index);
    }
    let left = Cell::new(most);
    let fits = |one: &T, other: usize| {
        left.set(left.get().saturating_sub(1));
        is_same(one, &actual[other])
    };
    let mut is_taken = vec![false; actual.len()];
    let mut rest = Vec::new();
    for (index, item) in wanted.iter().enumerate() {
        let alike = by_key.get_mut(&key(item)).filter(|_| left.get() > 0);
        let found = alike.and_then(|alike| {
            let place = alike.iter().rposition(|other| fits(item, *other))?;
            Some(alike.remove(place))
        });
        match found {
            Some(other) => is_taken[other] = true,
            None => rest.push(index),
        }
    }
    let mut free: Vec<usize> = (0..actual.len()).filter(|other| !is_taken[*other]).collect();
    let mut first = None;
    for index in rest {
        // What is left is a mismatch: giving up must never let a program pass.
        if left.get() == 0 {
            first = first.or(Some(index));
            break;
        }
        match free.iter().position(|other| fits(&wanted[index], *other)) {
            Some(place) => {
                free.remove(place);
            }
            None => first = first.or(Some(index)),
        }
    }
    Unmatched {
        wanted: first,
        actual: free.first().copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(wanted: &[i32], actual: &[i32], most: i32) -> Unmatched {
        unmatched(wanted, actual, ToString::to_string, |one, other| {
            (one - other).abs() <= most
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
        let wanted: Vec<i32> = (0..40_000).collect();
        let mut actual: Vec<i32> = (0..40_000).rev().collect();
        assert!(left(&wanted, &actual, 0).is_none());
        assert!(left(&vec![7; 40_000], &vec![7; 40_000], 0).is_none());
        actual[3] = -1;
        let one = left(&wanted, &actual, 0);
        assert_eq!((one.wanted, one.actual), (Some(39_996), Some(3)));
    }

    /// How often two of so many items are compared, none of which is like another.
    fn comparisons(items: usize, most: usize) -> usize {
        let looks = Cell::new(0_usize);
        let items: Vec<usize> = (0..items).collect();
        let left = first_that_fits(
            &items,
            &items,
            most,
            |_| String::new(),
            |_, _| {
                looks.set(looks.get() + 1);
                false
            },
        );
        assert!(!left.is_none());
        looks.get()
    }

    #[test]
    fn many_items_that_differ_are_given_up_after_so_many_comparisons() {
        // Without a bound every item is compared with every other, and twice: a table of 40,000 rows would take 3,200,000,000.
        assert_eq!(comparisons(2_000, usize::MAX), 2 * 2_000 * 2_000);
        let looks = comparisons(40_000, MOST_COMPARISONS);
        assert!(looks <= MOST_COMPARISONS + 40_000, "{looks}");
    }
}
