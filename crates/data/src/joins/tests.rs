//! Joins of small samples, and what must not be one.

use std::fmt::Write as _;

use rstest::rstest;

use super::*;
use crate::describe::{DescribeOptions, describe_source};
use crate::source::Source;

fn found(samples: &[(&str, String)]) -> Vec<JoinProfile> {
    let profiles: Vec<_> = samples
        .iter()
        .map(|(name, text)| {
            let file_name = format!("{name}.csv");
            describe_source(
                &Source::bytes(text.as_bytes()),
                name,
                &file_name,
                &DescribeOptions::default(),
            )
            .unwrap()
        })
        .collect();
    joins(&profiles)
}

fn in_words(joins: &[JoinProfile]) -> Vec<String> {
    let word = |join: &JoinProfile| {
        let (left, right) = (&join.left, &join.right);
        format!(
            "{}.{} {}/{} {}.{} {}/{} {}",
            left.sample,
            left.column,
            left.found,
            left.distinct,
            right.sample,
            right.column,
            right.found,
            right.distinct,
            right.is_unique
        )
    };
    joins.iter().map(word).collect()
}

/// A table with a line for each number.
fn table(header: &str, numbers: std::ops::Range<u64>, line: impl Fn(u64) -> String) -> String {
    let mut text = format!("{header}\n");
    for number in numbers {
        let _ = writeln!(text, "{}", line(number));
    }
    text
}

#[test]
fn the_samples_of_the_example_join_on_the_customer() {
    let orders = include_str!("../../../../examples/multi-input/data/orders.csv").to_owned();
    let customers = include_str!("../../../../examples/multi-input/data/customers.csv").to_owned();
    let found = found(&[("orders", orders), ("customers", customers)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].left.column.as_str(), found[0].right.sample.as_str()),
        ("customer_id", "customers")
    );
    assert!(found[0].right.is_unique && !found[0].is_estimated);
}

#[test]
fn a_reference_that_is_not_always_found_is_counted_both_ways() {
    let orders = table("order_id,customer_id,amount", 0..200, |row| {
        format!("{},{},{}.5", 9_000 + row, row % 100 + 2, row % 7)
    });
    let customers = table("id,city", 0..120, |row| format!("{row},town{}", row % 3));
    for samples in [
        [("orders", orders.clone()), ("customers", customers.clone())],
        [("customers", customers.clone()), ("orders", orders.clone())],
    ] {
        assert_eq!(
            in_words(&found(&samples)),
            ["orders.customer_id 100/100 customers.id 100/120 true"]
        );
    }
    let few = table("id,city", 0..52, |row| format!("{row},town{}", row % 3));
    assert_eq!(
        in_words(&found(&[("orders", orders), ("customers", few)])),
        ["orders.customer_id 50/100 customers.id 50/52 true"]
    );
}

#[test]
fn three_samples_join_through_their_key() {
    let customers = table("customer_id,name", 0..30, |row| format!("c{row},n{row}"));
    let orders = table("order,customer_id", 0..60, |row| format!("{row},c{}", row % 30));
    let calls = table("call,CustomerID", 0..60, |row| format!("x{row},c{}", row % 20));
    assert_eq!(
        in_words(&found(&[
            ("orders", orders),
            ("calls", calls),
            ("customers", customers)
        ])),
        [
            "orders.customer_id 30/30 customers.customer_id 30/30 true",
            "calls.CustomerID 20/20 customers.customer_id 20/30 true",
        ]
    );
}

#[test]
fn texts_that_are_shared_join_whatever_their_names() {
    let one = table("sku,n", 0..40, |row| format!("AB-{row},{}", row % 3));
    let two = table("article,n", 0..80, |row| format!("AB-{},{}", row % 40, row % 3));
    assert_eq!(
        in_words(&found(&[("stock", one), ("sales", two)])),
        ["sales.article 40/40 stock.sku 40/40 true"]
    );
}

#[test]
fn large_numbers_refer_to_a_key_whatever_their_names() {
    let one = table("id,n", 0..40, |row| format!("{},{}", 70_000 + row * 3, row % 3));
    let two = table("ref,n", 0..80, |row| {
        format!("{},{}", 70_000 + row % 40 * 3, row % 3)
    });
    assert_eq!(
        in_words(&found(&[("stock", one), ("sales", two)])),
        ["sales.ref 40/40 stock.id 40/40 true"]
    );
}

#[rstest]
#[case::row_numbers_that_are_called_id("id,a", "id,b", |row| format!("{row},x{row}"), |row| format!("{row},y{row}"))]
#[case::small_numbers("id,a", "quantity,b", |row| format!("{row},x{row}"), |row| format!("{},y{row}", row % 10))]
#[case::shared_categories("status,a", "status,b", |row| format!("{},x{row}", row % 3), |row| format!("{},y{row}", row % 3))]
#[case::a_category_of_text("kind,a", "kind,b", |row| format!("k{},x{row}", row % 3), |row| format!("k{},y{row}", row % 3))]
#[case::codes_and_numbers("part_id,a", "part_id,b", |row| format!("00{row},x{row}"), |row| format!("{row},y{row}"))]
#[case::another_case("email,a", "email,b", |row| format!("A{row}@X.ORG,x{row}"), |row| format!("a{row}@x.org,y{row}"))]
#[case::dates("day,a", "day,b", |row| format!("2026-01-{:02},x{row}", row % 28 + 1), |row| format!("2026-01-{:02},y{row}", row % 28 + 1))]
#[case::truth("a,ok", "b,ok", |row| format!("x{row},{}", row % 2 == 0), |row| format!("y{row},{}", row % 2 == 0))]
#[case::measures("a,price", "b,price", |row| format!("x{row},{row}.5"), |row| format!("y{row},{row}.5"))]
fn what_lies_in_two_samples_by_chance_is_no_join(
    #[case] header: &str,
    #[case] other_header: &str,
    #[case] line: fn(u64) -> String,
    #[case] other_line: fn(u64) -> String,
) {
    let samples = [
        ("first", table(header, 0..100, line)),
        ("second", table(other_header, 0..100, other_line)),
    ];
    assert_eq!(in_words(&found(&samples)), Vec::<String>::new());
}

#[test]
fn columns_of_one_table_are_not_joined() {
    let text = table("sku,copy_of_sku", 0..40, |row| format!("AB-{row},AB-{row}"));
    assert_eq!(found(&[("stock", text)]), []);
}

#[test]
fn a_join_of_many_values_is_an_estimate() {
    let one = table("customer_id,n", 0..30_000, |row| format!("{row},1"));
    let two = table("customer_id,n", 0..40_000, |row| {
        format!("{},1", row * 7_919 % 20_000 + 15_000)
    });
    let found = found(&[("customers", one), ("visits", two)]);
    let [join] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(join.is_estimated && join.left.sample == "visits");
    let share = join.left.found as f64 / join.left.distinct as f64;
    assert!((0.69..0.81).contains(&share), "{share}");
}

#[rstest]
#[case("CustomerIDs", &["customer", "id"])]
#[case("customer_id", &["customer", "id"])]
#[case("user.address.zip-code", &["zip", "code"])]
#[case("items[]", &["item"])]
#[case("status", &["status"])]
#[case("__", &[])]
fn names_are_words(#[case] name: &str, #[case] expected: &[&str]) {
    assert_eq!(words(name), expected);
}
