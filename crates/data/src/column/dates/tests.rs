//! Formats of dates, found and not found.

use rstest::rstest;

use super::*;

fn infer(values: &[&str]) -> InferredDates {
    let Some(mut dates) = TextDates::of(values[0], 100, 0) else {
        return InferredDates::Nothing;
    };
    if values[1..].iter().all(|value| dates.push(value)) {
        dates.finish()
    } else {
        InferredDates::Nothing
    }
}

#[rstest]
#[case(&["31.12.2025", "01.02.2024"], "%d.%m.%Y", "01.02.2024", "31.12.2025")]
#[case(&["31/12/2025", "01/02/2024"], "%d/%m/%Y", "01/02/2024", "31/12/2025")]
#[case(&["01/02/2024", "12/31/2025"], "%m/%d/%Y", "01/02/2024", "12/31/2025")]
#[case(&["2025/12/31", "2024/01/02"], "%Y/%m/%d", "2024/01/02", "2025/12/31")]
#[case(&["31-12-2025"], "%d-%m-%Y", "31-12-2025", "31-12-2025")]
#[case(&["31 Dec 2025", "1 Feb 2024"], "%d %b %Y", "1 Feb 2024", "31 Dec 2025")]
#[case(&["Dec 31, 2025", "May 1, 2024"], "%b %d, %Y", "May 1, 2024", "Dec 31, 2025")]
#[case(&["May 1, 2024", "June 2, 2024"], "%B %d, %Y", "May 1, 2024", "June 2, 2024")]
#[case(&["May 1, 2024"], "%b %d, %Y", "May 1, 2024", "May 1, 2024")]
#[case(&["31-Dec-2025"], "%d-%b-%Y", "31-Dec-2025", "31-Dec-2025")]
#[case(&["31.12.25"], "%d.%m.%y", "31.12.25", "31.12.25")]
#[case(&["31.12.2025 14:05", "01.01.2025 00:00"], "%d.%m.%Y %H:%M", "01.01.2025 00:00", "31.12.2025 14:05")]
#[case(&["12/31/2025 2:05 PM", "12/31/2025 2:05 AM"], "%m/%d/%Y %I:%M %p", "12/31/2025 2:05 AM", "12/31/2025 2:05 PM")]
#[case(&["14:05", "9:30"], "%H:%M", "9:30", "14:05")]
#[case(&["14:05:33"], "%H:%M:%S", "14:05:33", "14:05:33")]
#[case(&["18.00.00", "9.30.00"], "%H.%M.%S", "9.30.00", "18.00.00")]
#[case(&["1/31/24", "2/1/24"], "%m/%d/%y", "1/31/24", "2/1/24")]
#[case(&["Jan 2024", "May 2024", "Mar 2024"], "%b %Y", "Jan 2024", "May 2024")]
#[case(&["January 2024", "May 2024"], "%B %Y", "January 2024", "May 2024")]
#[case(&["2024-12", "2024-01"], "%Y-%m", "2024-01", "2024-12")]
#[case(&["12/2024", "01/2025"], "%m/%Y", "12/2024", "01/2025")]
#[case(&["Mon, 15 Jan 2024 10:00:00 +0100", "Mon, 15 Jan 2024 09:30:00 GMT"], "RFC 2822", "Mon, 15 Jan 2024 10:00:00 +0100", "Mon, 15 Jan 2024 09:30:00 GMT")]
#[case(&["28.02.2024", "30.02.2024", "01.03.2024"], "%d.%m.%Y", "28.02.2024", "01.03.2024")]
#[case(&["30.02.2024", "28.02.2024"], "%d.%m.%Y", "28.02.2024", "28.02.2024")]
fn dates_are_recognized_by_the_format_that_fits_every_value(
    #[case] values: &[&str],
    #[case] format: &str,
    #[case] min: &str,
    #[case] max: &str,
) {
    let InferredDates::Times(times) = infer(values) else {
        panic!("{:?}", infer(values))
    };
    assert_eq!(
        (times.format.as_str(), times.min.as_str(), times.max.as_str()),
        (format, min, max)
    );
}

#[rstest]
#[case(&["01/02/2025", "03/04/2025"], "%d/%m/%Y", "%m/%d/%Y")]
#[case(&["01-02-2025 10:00", "03-04-2025 11:00"], "%d-%m-%Y %H:%M", "%m-%d-%Y %H:%M")]
fn ambiguous_dates_are_reported_with_both_formats(
    #[case] values: &[&str],
    #[case] format: &str,
    #[case] other: &str,
) {
    assert_eq!(
        infer(values),
        InferredDates::Either(format.to_owned(), other.to_owned())
    );
}

#[test]
fn dates_that_no_format_fits_together_contradict_each_other() {
    assert_eq!(infer(&["31/12/2025", "12/31/2025"]), InferredDates::Contradicting);
}

#[rstest]
#[case(&["32.12.2025"])]
#[case(&["1234-56", "2024-01"])]
#[case(&["1/2/3"])]
#[case(&["555-12-34", "555-12-35", "555-12-36", "555-12-37", "555-12-38"])]
#[case(&["31.02.2025"])]
#[case(&["1.2.10", "1.3.11"])]
#[case(&["10.0.0.1"])]
#[case(&["24:05"])]
#[case(&["Widget 2025"])]
#[case(&["31.12.02025"])]
fn other_texts_are_no_dates(#[case] values: &[&str]) {
    assert_eq!(infer(values), InferredDates::Nothing);
}

fn ints(values: impl Iterator<Item = i64>) -> Option<TimeStats> {
    let values: Vec<_> = values.collect();
    let mut dates = IntDates::of(values[0], &values[0].to_string(), 100, 0)?;
    for value in &values[1..] {
        if !dates.push(*value, &value.to_string()) {
            return None;
        }
    }
    dates.finish(values.len() as u64)
}

#[test]
fn whole_numbers_that_are_all_dates_look_like_dates() {
    let found = ints([20_251_231, 20_260_101, 20_260_102].into_iter()).unwrap();
    assert_eq!(
        (found.format.as_str(), found.min.as_str()),
        ("%Y%m%d", "20251231")
    );
    assert_eq!(found.step.unwrap().step, "1 day");
    assert_eq!(ints([20_251_231, 20_260_101, 20_261_301].into_iter()), None);
}

#[test]
fn whole_numbers_may_look_like_unix_time() {
    let hours = |unit: i64| (0..20).map(move |hour| (1_735_689_600 + hour * 86_400) * unit);
    for (unit, format) in [(1, "Unix seconds"), (1000, "Unix milliseconds")] {
        let found = ints(hours(unit)).unwrap();
        assert_eq!(
            (found.format.as_str(), found.min.as_str(), found.max.as_str()),
            (format, "2025-01-01", "2025-01-20")
        );
    }
    assert_eq!(ints(hours(1).take(5)), None, "too few");
    assert_eq!(ints(1_000_000_001..1_000_000_100), None, "numbers in sequence");
    assert_eq!(ints((0..20).map(|number| 100 + number)), None);
    assert_eq!(
        ints((0..20).map(|number| 2_025_550_100 + number * 31)),
        None,
        "telephone numbers"
    );
}
