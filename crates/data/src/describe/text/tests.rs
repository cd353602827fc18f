//! Texts and logs of several kinds.

use std::fmt::Write as _;

use super::*;
use crate::source::Scan;

fn profile(text: impl AsRef<[u8]>) -> TextProfile {
    let source = Source::bytes(text.as_ref());
    let (_, encoding) = Scan::of(&source).unwrap();
    match super::text(&source, encoding).unwrap() {
        Content::Text(profile) => profile,
        other => panic!("not a text: {other:?}"),
    }
}

fn patterns(profile: &TextProfile) -> Vec<(&str, u64, u64)> {
    let shown = |one: &'_ LinePattern| (one.lines, one.example.number);
    profile
        .patterns
        .iter()
        .map(|one| (one.pattern.as_str(), shown(one).0, shown(one).1))
        .collect()
}

#[test]
fn a_log_with_stack_traces_has_patterns_levels_times_and_continuations() {
    let mut text = String::new();
    for minute in 0..30 {
        let _ = writeln!(
            text,
            "2026-01-01 10:{minute:02}:00,123 INFO web: served /a/{minute} in {minute}ms"
        );
        if minute % 10 == 3 {
            let _ = writeln!(
                text,
                "2026-01-01 10:{minute:02}:01,000 ERROR web: failed\nTraceback (most recent call last):\n  File \"x.py\", line 3\nValueError: bad"
            );
        }
    }
    let profile = profile(&text);
    assert_eq!(
        patterns(&profile)[..2],
        [
            ("<time> INFO web: served <path> in <int>ms", 30, 1),
            ("<time> ERROR web: failed", 3, 5),
        ]
    );
    assert_eq!(profile.levels, [("INFO".to_owned(), 30), ("ERROR".to_owned(), 3)]);
    assert_eq!(
        profile.continuations,
        Some(Continuations {
            lines: 9,
            first: 6,
            lack: RecordStart::Time
        })
    );
    let [times] = profile.times.as_slice() else {
        panic!("{:?}", profile.times)
    };
    assert_eq!(
        (times.format.as_str(), times.lines, times.steps_back),
        ("%Y-%m-%d %H:%M:%S,%f", 33, 0)
    );
    assert_eq!(
        (times.first.as_str(), times.last.as_str()),
        ("2026-01-01 10:00:00,123", "2026-01-01 10:29:00,123")
    );
}

#[test]
fn times_out_of_order_have_a_true_range() {
    let profile = profile("10:00:05 a\n10:00:01 a\n10:00:09 a\n10:00:02 a\n");
    let times = &profile.times[0];
    assert_eq!(
        (times.first.as_str(), times.last.as_str(), times.steps_back),
        ("10:00:01", "10:00:09", 2)
    );
}

#[test]
fn prose_has_its_first_lines_and_no_patterns() {
    let profile = profile(
        "It was late.\nNobody knew why the door had been left open, or by whom?\n\nSo they waited.\n",
    );
    assert_eq!(profile.patterns, []);
    assert_eq!(
        (profile.first_lines.len(), profile.empty_lines, profile.lines),
        (4, 1, 4)
    );
    assert_eq!(profile.continuations, None);
}

#[test]
fn lines_may_end_with_carriage_returns() {
    for text in [
        "10:00:00 a\r10:00:01 a\r10:00:02 a\r",
        "10:00:00 a\r\n10:00:01 a\r\n10:00:02 a",
    ] {
        let profile = profile(text);
        assert_eq!((profile.lines, profile.longest_line), (3, 10));
        assert_eq!(patterns(&profile), [("<time> a", 3, 1)]);
    }
}

#[test]
fn bytes_that_are_no_text_do_not_hide_a_pattern() {
    let mut text = Vec::new();
    for line in 0..20u8 {
        text.extend(format!("2026-01-01T00:00:{line:02}Z INFO caf").bytes());
        text.push(0xe9 + line % 2);
        text.push(b'\n');
    }
    let profile = profile(&text);
    assert_eq!(
        (profile.lines, profile.levels.clone()),
        (20, vec![("INFO".to_owned(), 20)])
    );
    assert_eq!(profile.patterns.len(), 1, "{:?}", profile.patterns);
}

#[test]
fn a_line_of_10_mb_is_truncated_and_its_length_reported() {
    let profile = profile("word ".repeat(2_000_000));
    assert_eq!((profile.lines, profile.longest_line), (1, 10_000_000));
    assert!(profile.first_lines[0].ends_with("…[cut]"));
}

#[test]
fn the_text_of_a_log_is_short() {
    let mut log = String::new();
    for line in 0..2_000 {
        let _ = writeln!(
            log,
            "Jan {:2} 10:00:00 host app[{line}]: step {} of {} took {line}.5s",
            line / 100 + 1,
            line % 7,
            ["a", "b", "c"][line % 3]
        );
    }
    let profile = profile(&log);
    let mut text = String::new();
    assert_eq!(profile.patterns.len(), 1, "{:?}", profile.patterns);
    text.push_str(&profile.patterns[0].pattern);
    assert_eq!(
        text,
        "<time> host app[<int>]: step <int> of <a|b|c> took <float>s"
    );
}
