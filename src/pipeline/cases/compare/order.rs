//! Whether values stand in order.

use super::scalar::number;

/// Whether cells are in order: numbers by value, else texts. What is missing stands last, as pandas writes it.
pub(super) fn are_in_order(cells: &[&str], is_descending: bool) -> bool {
    let missing = cells.iter().rev().take_while(|cell| cell.is_empty()).count();
    let cells = &cells[..cells.len() - missing];
    let numbers: Option<Vec<_>> = cells.iter().map(|cell| number(cell)).collect();
    if let Some(numbers) = numbers {
        return is_sorted(&numbers, is_descending);
    }
    let mut written = cells.iter().filter(|cell| !cell.is_empty());
    let are_numbers_with_gaps = written.all(|cell| number(cell).is_some());
    // Numbers with gaps in between are neither numbers nor texts in order.
    !are_numbers_with_gaps && is_sorted(cells, is_descending)
}

pub(super) fn is_sorted<T: PartialOrd>(values: &[T], is_descending: bool) -> bool {
    if is_descending {
        values.is_sorted_by(|one, other| one >= other)
    } else {
        values.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::numbers(&["2", "10"], false, true)]
    #[case::numbers_as_texts(&["10", "2"], false, false)]
    #[case::large_numbers(&["9007199254740993", "9007199254740992"], false, false)]
    #[case::missing_last(&["2", "10", ""], false, true)]
    #[case::missing_last_descending(&["10", "2", "", ""], true, true)]
    #[case::missing_between(&["2", "", "10"], false, false)]
    #[case::missing_first(&["", "10", "9"], false, false)]
    #[case::texts(&["a", "b"], false, true)]
    #[case::texts_after_an_empty_one(&["", "a", "b"], false, true)]
    #[case::texts_around_an_empty_one(&["a", "", "b"], false, false)]
    #[case::nothing(&[], true, true)]
    fn a_column_is_in_order(#[case] cells: &[&str], #[case] is_descending: bool, #[case] expected: bool) {
        assert_eq!(are_in_order(cells, is_descending), expected);
    }
}
