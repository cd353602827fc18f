//! Durations as manifests write them: `1h30m`, `90s`, `250ms`.

use std::time::Duration;

/// A text that is no duration.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error(
    "{0:?} is not a duration: write whole hours, minutes, seconds and milliseconds in this order, like 1h30m, 5m, 90s or 250ms"
)]
pub struct DurationError(String);

/// Reads whole hours, minutes, seconds and milliseconds in this order, each at most once (`1h30m`, `5m`, `90s`).
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError(text.to_owned());
    let mut rest = text;
    let mut millis: u64 = 0;
    for (unit, factor) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        // `m` must not take the beginning of `ms`.
        let Some(after) = after.strip_prefix(unit).filter(|after| !after.starts_with('s')) else {
            continue;
        };
        let part = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor));
        millis = part.and_then(|part| millis.checked_add(part)).ok_or_else(error)?;
        rest = after;
    }
    if text.is_empty() || !rest.is_empty() {
        return Err(error());
    }
    Ok(Duration::from_millis(millis))
}

/// Seconds for people: `90 s`, `1.5 s`, `20 ms`; never 0 for what took some time.
#[must_use]
pub fn text(seconds: f64) -> String {
    match seconds {
        10.0.. => format!("{seconds:.0} s"),
        1.0.. => format!("{} s", (seconds * 10.0).round() / 10.0),
        _ => format!("{} ms", (seconds * 1_000.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("5m", 300_000)]
    #[case("1h30m", 5_400_000)]
    #[case("90s", 90_000)]
    #[case("250ms", 250)]
    #[case("1h1m1s1ms", 3_661_001)]
    #[case("2h5ms", 7_200_005)]
    #[case("0s", 0)]
    fn a_duration_is_the_sum_of_its_parts(#[case] text: &str, #[case] millis: u64) {
        assert_eq!(parse(text), Ok(Duration::from_millis(millis)));
    }

    #[rstest]
    #[case(0.0004, "1 ms")]
    #[case(0.02, "20 ms")]
    #[case(7.04, "7 s")]
    #[case(1.5, "1.5 s")]
    #[case(300.2, "300 s")]
    fn seconds_are_said_in_a_unit_in_which_they_are_not_nothing(#[case] seconds: f64, #[case] words: &str) {
        assert_eq!(text(seconds), words);
    }

    #[rstest]
    #[case("")]
    #[case("5")]
    #[case("m")]
    #[case("5 m")]
    #[case("5min")]
    #[case("30m1h")]
    #[case("5m5m")]
    #[case("1.5h")]
    #[case("-5m")]
    #[case("5ms5s")]
    #[case("99999999999999999999h")]
    #[case("18446744073709551615h")]
    fn what_is_no_duration_is_refused_with_what_is_valid(#[case] text: &str) {
        let message = parse(text).unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "{text:?} is not a duration: write whole hours, minutes, seconds and milliseconds in this order, \
                 like 1h30m, 5m, 90s or 250ms"
            )
        );
    }
}
