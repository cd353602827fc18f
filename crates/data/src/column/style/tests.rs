use rstest::rstest;

use super::*;
use crate::column::numeric::Numbers;

fn verdict(values: &[&str], decimal: Option<char>) -> StyleVerdict {
    let numbers = Numbers::new(100, 0);
    let mut styled = Styled::new(numbers.clone(), Some(numbers), false, '.');
    for value in values {
        if !styled.push_text(value) {
            return StyleVerdict::NoNumbers;
        }
    }
    styled.verdict(0, decimal)
}

/// Values, decimal sign, separator, percent, currency, and smallest, largest and mean.
#[rstest]
#[case::english(&["1,234.50", "2.5", "1,000,000"], Some('.'), Some(','), false, None, ("2.5", "1,000,000", 333_745.666_666))]
#[case::german(&["1.234,50", "2,5", "-1.000.000,25"], Some(','), Some('.'), false, None, ("-1.000.000,25", "1.234,50", -332_921.083_333))]
#[case::french(&["1 234,50", "12,5"], Some(','), Some(' '), false, None, ("12,5", "1 234,50", 623.5))]
#[case::narrow_blank(&["1\u{202f}234,50", "12,5"], Some(','), Some('\u{202f}'), false, None, ("12,5", "1\u{202f}234,50", 623.5))]
#[case::swiss(&["1'234.50", "0.5"], Some('.'), Some('\''), false, None, ("0.5", "1'234.50", 617.5))]
#[case::comma_only(&["1,5", "0,25"], Some(','), None, false, None, ("0,25", "1,5", 0.875))]
#[case::percent(&["5%", "12.5 %", "-1%"], Some('.'), None, true, None, ("-1%", "12.5 %", 5.5))]
#[case::percent_comma(&["5,5 %", "12%"], Some(','), None, true, None, ("5,5 %", "12%", 8.75))]
#[case::dollars(&["$1,234.50", "-$5.00", "$ 7"], Some('.'), Some(','), false, Some("$"), ("-$5.00", "$1,234.50", 412.166_666))]
#[case::euros(&["5,00 €", "1.000,00 €"], Some(','), Some('.'), false, Some("€"), ("5,00 €", "1.000,00 €", 502.5))]
#[case::code(&["USD 5", "USD -7.5"], Some('.'), None, false, Some("USD"), ("USD -7.5", "USD 5", -1.25))]
#[case::decided_later(&["1,234", "2,345.5"], Some('.'), Some(','), false, None, ("1,234", "2,345.5", 1_789.75))]
#[case::decided_by_two(&["1,234", "1,234,567"], None, Some(','), false, None, ("1,234", "1,234,567", 617_900.5))]
#[case::decided_by_width(&["1,234", "2,34"], Some(','), None, false, None, ("1,234", "2,34", 1.787))]
fn the_whole_column_decides_the_number_format(
    #[case] values: &[&str],
    #[case] decimal: Option<char>,
    #[case] thousands: Option<char>,
    #[case] has_percent: bool,
    #[case] currency: Option<&str>,
    #[case] (min, max, mean): (&str, &str, f64),
) {
    let StyleVerdict::Numbers(style, numbers) = verdict(values, None) else {
        panic!("no numbers: {:?}", verdict(values, None))
    };
    let expected = NumberStyle {
        decimal,
        thousands,
        has_percent,
        currency: currency.map(str::to_owned),
        has_brackets: false,
    };
    assert_eq!(style, expected);
    assert_eq!((numbers.min.as_str(), numbers.max.as_str()), (min, max));
    assert!((numbers.mean - mean).abs() < 1e-5, "{}", numbers.mean);
}

#[rstest]
#[case(&["5.00", "(4.10)"], None, -4.1)]
#[case(&["$5.00", "($1,200.00)"], Some("$"), -1_200.0)]
#[case(&["€5", "€(7)"], Some("€"), -7.0)]
fn numbers_in_brackets_are_negative_beside_others(
    #[case] values: &[&str],
    #[case] currency: Option<&str>,
    #[case] other: f64,
) {
    let StyleVerdict::Numbers(style, numbers) = verdict(values, None) else {
        panic!("no numbers: {:?}", verdict(values, None))
    };
    assert!(style.has_brackets);
    assert_eq!(style.currency.as_deref(), currency);
    assert!(
        (numbers.mean - f64::midpoint(5.0, other)).abs() < 1e-9,
        "{}",
        numbers.mean
    );
}

#[rstest]
#[case(&["1 200 kr", "900 kr"], "kr")]
#[case(&["1 200 kr.", "900 kr."], "kr.")]
#[case(&["R$ 5", "R$ 7.50"], "R$")]
#[case(&["5 Kč", "7 Kč"], "Kč")]
fn amounts_name_their_currency(#[case] values: &[&str], #[case] currency: &str) {
    let StyleVerdict::Numbers(style, _) = verdict(values, None) else {
        panic!("no numbers: {:?}", verdict(values, None))
    };
    assert_eq!(style.currency.as_deref(), Some(currency));
}

#[rstest]
#[case::brackets_alone(&["(1999)", "(2004)"])]
#[case::sign_in_brackets(&["5", "(-4)"])]
#[case::words(&["1,5", "many"])]
#[case::digits_in_words(&["A1", "B2"])]
#[case::half_percent(&["5%", "abc%"])]
#[case::leading_zero(&["01,234"])]
#[case::versions(&["1.2.3"])]
#[case::dates(&["31.12.2025"])]
#[case::addresses(&["10.0.0.1"])]
#[case::codes(&["123 456 789", "987 654 321"])]
#[case::two_units(&["$5%"])]
#[case::two_signs(&["-$-5"])]
#[case::empty_group(&["1,,234"])]
#[case::no_digits(&["$", "%"])]
fn other_texts_are_no_numbers(#[case] values: &[&str]) {
    assert_eq!(verdict(values, None), StyleVerdict::NoNumbers);
}

#[test]
fn what_nothing_decides_is_ambiguous_unless_the_file_says_its_decimal_sign() {
    let values = ["1,234", "5,678"];
    assert_eq!(verdict(&values, None), StyleVerdict::Ambiguous);
    let mean = |decimal| match verdict(&values, Some(decimal)) {
        StyleVerdict::Numbers(style, numbers) => (style.decimal, style.thousands, numbers.mean),
        other => panic!("{other:?}"),
    };
    assert_eq!(mean('.'), (None, Some(','), 3456.0));
    assert_eq!(mean(','), (Some(','), None, 3.456));
}

#[test]
fn two_ways_of_writing_contradict_each_other() {
    assert_eq!(verdict(&["1,5", "1.5"], None), StyleVerdict::Contradicting);
    assert_eq!(verdict(&["$5", "€5"], None), StyleVerdict::SeveralCurrencies);
}
