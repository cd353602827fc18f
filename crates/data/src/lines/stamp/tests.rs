//! Timestamps of every format, and what is none.

use rstest::rstest;

use super::*;

#[rstest]
#[case("2026-01-01T00:00:00Z INFO", 20, "%Y-%m-%dT%H:%M:%SZ")]
#[case("2026-01-01T00:00:00.123+01:00", 29, "%Y-%m-%dT%H:%M:%S.%f%z")]
#[case("2026-01-01 00:00:00,123 x", 23, "%Y-%m-%d %H:%M:%S,%f")]
#[case("2026/01/31 23:59:59 [error]", 19, "%Y/%m/%d %H:%M:%S")]
#[case("2026-01-01 x", 10, "%Y-%m-%d")]
#[case("10/Oct/2000:13:55:36 -0700]", 26, "%d/%b/%Y:%H:%M:%S %z")]
#[case("Jun  9 06:06:20 combo", 15, "%b %d %H:%M:%S")]
#[case("Jun 14 06:06:20 combo", 15, "%b %d %H:%M:%S")]
#[case("Thu Jun 09 06:07:04 2005] x", 24, "%a %b %d %H:%M:%S %Y")]
#[case("Sat, 31 Jan 2026 10:00:00 GMT", 29, "%a, %d %b %Y %H:%M:%S %Z")]
#[case("17/06/09 20:10:40 INFO", 17, "%y/%m/%d %H:%M:%S")]
#[case("31.12.2026 10:00:00", 19, "%d.%m.%Y %H:%M:%S")]
#[case("12/31/2026 10:00:00", 19, "%m/%d/%Y %H:%M:%S")]
#[case("01/02/2026 10:00:00", 19, "%m/%d/%Y or %d/%m/%Y %H:%M:%S")]
#[case("10:00:00.5 x", 10, "%H:%M:%S.%f")]
#[case(
    "2026-01-01T00:00:00.123456789Z",
    30,
    "%Y-%m-%dT%H:%M:%S.%fZ with more than 6 digits of a second"
)]
fn usual_timestamps_are_found_with_their_format(
    #[case] text: &str,
    #[case] length: usize,
    #[case] words: &str,
) {
    let found = stamp(text).unwrap();
    assert_eq!((found.length, found.format.as_str()), (length, words));
}

#[rstest]
#[case("2026-13-01")]
#[case("2026-01-011")]
#[case("1.2.3.4")]
#[case("12/34")]
#[case("2026")]
#[case("May be")]
#[case("10:00")]
#[case("10:00:00:00")]
#[case("25:00:00")]
#[case("Mon")]
#[case("17/06/09")]
fn what_is_not_certain_is_no_timestamp(#[case] text: &str) {
    assert_eq!(stamp(text), None);
}

#[test]
fn zones_count_when_moments_are_compared() {
    let micros = |text: &str| stamp(text).unwrap().micros.unwrap();
    assert_eq!(
        micros("2026-01-01T01:00:00+01:00"),
        micros("2025-12-31T23:00:00-01:00")
    );
    assert_eq!(micros("1970-01-02T00:00:00Z"), 86_400 * MICROS_PER_SECOND);
}

#[test]
fn a_number_of_seconds_or_milliseconds_since_1970_is_a_timestamp() {
    assert_eq!(epoch("1700000000.25 x").unwrap().format, "seconds since 1970");
    assert_eq!(epoch("1700000000123").unwrap().format, "milliseconds since 1970");
    assert_eq!(epoch("5000000000"), None);
    assert_eq!(epoch("17000000001"), None);
}
