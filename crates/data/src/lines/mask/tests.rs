//! Lines as parts.

use rstest::rstest;

use super::*;

fn masked(line: &str) -> Masked {
    let mut masked = Masked::default();
    masked.mask(line);
    masked
}

#[rstest]
#[case(
    "2026-01-01T00:00:00Z INFO api[400] GET /v1/items/0 200 3ms",
    "<time> INFO api[<int>] GET <path> <int> <int>ms"
)]
#[case(
    "10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b=1 HTTP/1.0\" 200 2326 \"-\" \"Mozilla/5.0 (X11)\"",
    "<ip> - - [<time>] \"<method> <path> <protocol>\" <int> <int> \"-\" \"<text>\""
)]
#[case("from ::1 and fe80::1 to 10.1.2.3:8080", "from <ip> and <ip> to <ip>:<int>")]
#[case("user a.b+c@example.com at https://x.org/a?b=c.", "user <email> at <url>")]
#[case(
    "id=550e8400-e29b-41d4-a716-446655440000 at 0x7ffe and deadbeef01",
    "id=<uuid> at <hex> and <hex>"
)]
#[case(
    "took 1.5s, 50% of -3 tries. Done...",
    "took <float>s, <int>% of <int> tries. Done..."
)]
#[case(
    "pod api-7f9c8d6b5-x2k4z of blk_-1608999687919862906",
    "pod api-<id>-<id> of blk_-<int>"
)]
#[case("\tat Foo.bar(Foo.java:42)", "\\tat Foo.bar(Foo.java:<int>)")]
#[case(
    "level=info msg=\"user logged in\" n=3 to=\"x 9\"",
    "level=info msg=\"user logged in\" n=<int> to=\"<text>\""
)]
#[case("it's Bob's 'turn'", "it's Bob's 'turn'")]
#[case("C:\\Temp\\a.txt:3 and / and a/b", "<path>:<int> and <path> and a/b")]
#[case(
    "E0102 15:04:05.678901   12 x.go:7] boom",
    "E<int> <time> <int> x.go:<int>] boom"
)]
#[case("Face::Add and ::", "Face::Add and ::")]
#[case("naïve café 3 €", "naïve café <int> €")]
fn variable_parts_are_masked(#[case] line: &str, #[case] pattern: &str) {
    assert_eq!(masked(line).text, pattern);
}

#[rstest]
#[case("2026-01-01 INFO x", Some("INFO"))]
#[case("[error] x", Some("error"))]
#[case("time=1 level=warn msg=x", Some("warn"))]
#[case("error: it broke", Some("error"))]
#[case("no error was found", None)]
#[case("E0102 15:04:05.678901 12 x.go:7] boom", Some("E"))]
fn a_level_is_shouted_or_set_off(#[case] line: &str, #[case] level: Option<&str>) {
    let masked = masked(line);
    assert_eq!(masked.level.map(|range| &masked.text[range]), level);
}

#[test]
fn a_line_of_many_parts_ends_with_the_rest() {
    let masked = masked(&"a ".repeat(1_000));
    assert_eq!(masked.parts.len(), MOST_PARTS + 1);
    assert!(masked.text.ends_with("<rest>"));
}

#[test]
fn any_text_can_be_masked() {
    for line in [
        "\"",
        "'",
        "\"\\",
        "é\"é\\é\"",
        ":",
        "::",
        "/",
        "C:\\",
        "0x",
        "+",
        "1x",
        "\u{0}\u{1b}[31m",
        "I0102 ",
    ] {
        masked(line);
    }
}
