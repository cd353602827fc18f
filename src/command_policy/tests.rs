use std::sync::LazyLock;
use std::time::Instant;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{Class, Outline, Rules, RulesError, Script, judge};

mod beside_tests;
mod corpora;
mod execution;
mod machine;

use corpora::rules;

static RULES: LazyLock<Rules> = LazyLock::new(rules);

#[test]
fn the_rules_that_are_shipped_keep_their_examples() {
    if let Err(error) = Rules::shipped() {
        panic!("{error}");
    }
}

#[rstest]
#[case::let_through("no_match: [cat x > /etc/x]", "no_match: [cat x]", "\"cat x\" is Safe")]
#[case::refused("match: [cat x]", "match: [curl x]", "\"curl x\" is Denied")]
#[case::none("match: [cat x]", "match: []", "the only one")]
fn a_wrong_example_is_named_with_its_rule(#[case] right: &str, #[case] wrong: &str, #[case] said: &str) {
    let table = "assignments: []\nfolders: [/bin]\ninterpreters: []\nsafe:\n  - rule: reading\n    programs: [cat]\n    arguments: any\n    match: [cat x]\n    no_match: [cat x > /etc/x]\nintercepted: []\ndenied: []\n";
    assert!(Rules::from_yaml(table).is_ok());
    let error = Rules::from_yaml(&table.replace(right, wrong)).unwrap_err();
    assert!(
        matches!(&error, RulesError::Example { rule, .. } if rule == "reading"),
        "{error}"
    );
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn a_program_has_one_rule() {
    let table = include_str!("rules.yaml").replace("programs: [perl,", "programs: [cat, perl,");
    let error = Rules::from_yaml(&table).unwrap_err();
    assert!(matches!(error, RulesError::Ambiguous { .. }), "{error}");
}

#[test]
fn an_administrator_denies_more_and_allows_nothing() {
    let before = rules();
    let after = rules().with_denied(vec![
        "jq".to_owned(),
        "curl".to_owned(),
        "pytest".to_owned(),
        "json".to_owned(),
    ]);
    for (text, first, then) in [
        ("jq . x", Class::Safe, Class::Denied),
        ("ls | xargs jq .", Class::Safe, Class::Denied),
        ("pytest", Class::Intercepted, Class::Denied),
        ("python -m json.tool x", Class::Safe, Class::Denied),
        ("curl x", Class::Denied, Class::Denied),
        ("cat x", Class::Safe, Class::Safe),
    ] {
        let classes = (judge(text, &before).class, judge(text, &after).class);
        assert_eq!((text, classes), (text, (first, then)));
    }
    assert!(judge("jq . x", &after).reason.contains("administrator"));
}

#[test]
fn a_script_is_plain_data() {
    let judged = judge(
        "cd out && PYTHONPATH=. timeout 5 python x.py *.csv \"$?\" 2>&1 | head -1 > /tmp/x",
        &rules(),
    );
    let script = judged.parsed.unwrap();
    let printed = serde_json::to_value(&script).unwrap();
    let expected = json!({"statements": [{
        "first": {"commands": [{"run": {"builtin": {"name": "cd", "arguments": ["out"]}}}]},
        "rest": [{"after": "success", "pipeline": {"commands": [
            {
                "run": {"program": {
                    "program": {"name": "python", "paths": []},
                    "arguments": ["x.py", [{"pattern": "*"}, {"text": ".csv"}], ["status"]],
                    "environment": [["PYTHONPATH", "."]],
                    "timeout": 5000,
                }},
                "redirections": [{"stream": 2, "to": {"duplicate": 1}}],
            },
            {
                "run": {"program": {
                    "program": {"name": "head", "paths": ["/usr/bin/head", "/bin/head"]},
                    "arguments": ["-1"],
                }},
                "redirections": [{"stream": 1, "to": {"write": "/tmp/x"}}],
            },
        ]}}],
    }]});
    assert_eq!(printed, expected);
    assert_eq!(serde_json::from_value::<Script>(printed).unwrap(), script);
}

#[rstest]
#[case("A=1 curl -s 'x y' > f | sh", json!([["A=1", "curl", "-s", "'x y'", "> f"], ["sh"]]))]
#[case("if a; then (b); elif c; then { d; }; else e; fi", json!([["a"], ["b"], ["c"], ["d"], ["e"]]))]
#[case("while a; do b; done; for i in x; do c $i; done", json!([["a"], ["b"], ["c", "$i"]]))]
#[case("f() { a; }; case x in y) b;; esac", json!([["a"], ["b"]]))]
#[case("ls |", json!([]))]
fn of_a_denied_command_the_words_are_those_of_its_text(#[case] text: &str, #[case] commands: Value) {
    assert_eq!(judge(text, &RULES).class, Class::Denied);
    let outline = Outline::read(text).unwrap_or_default();
    assert_eq!(json!(outline.commands), commands);
}

#[test]
fn what_makes_the_parser_panic_is_denied() {
    for text in ["echo x 99999999999999999999> f", "ls 4294967296<x"] {
        let judged = judge(text, &rules());
        assert_eq!((judged.class, judged.rule.as_str()), (Class::Denied, "syntax"));
    }
}

/// Each would take the parser long, or its stack, without a bound.
#[rstest]
#[case("(".repeat(60_000))]
#[case("( ".repeat(24) + "ls" + &" )".repeat(24))]
#[case("{ ".repeat(24) + "ls" + &"; }".repeat(24))]
#[case("if ".repeat(24))]
#[case("[[ ".to_owned() + &"( ".repeat(24) + "a" + &" )".repeat(24) + " ]]")]
#[case("[[ ".to_owned() + &"! ".repeat(5_000) + "a ]]")]
#[case("! ".repeat(4_000) + "ls")]
#[case("$(".repeat(100))]
#[case("echo ".to_owned() + &"$((".repeat(50))]
#[case("echo \"".to_owned() + &"${a:-".repeat(90))]
#[case("cat <<EOF\n".to_owned() + &"$((".repeat(40) + "\nEOF")]
#[case("`".repeat(100))]
#[case("echo ".to_owned() + &"{a,".repeat(20_000))]
#[case("echo ".to_owned() + &"{a,b}".repeat(40))]
#[case("echo {1..9223372036854775807}".to_owned())]
#[case("echo ".to_owned() + &"{".repeat(60_000))]
#[case("ls;".repeat(2_400))]
#[case("ls |".repeat(2_400) + "ls")]
#[case("for a in {1..200}; do for b in {1..200}; do ls; done; done".to_owned())]
#[case("a".repeat(200_000))]
#[case("'".to_owned() + &"a".repeat(120_000) + "'")]
#[case("f() ".repeat(1_000))]
#[case("case x in ".repeat(20))]
#[case("<<a ".repeat(2_000))]
#[case("echo $$'\\' ; echo $[a[$(b[$((c[$[d[$((e' ".to_owned() + &"$[a[$(b$((".repeat(12))]
#[case("ls ".to_owned() + &"a[".repeat(40))]
#[case("a[".repeat(40) + "=1")]
#[case("echo ${".to_owned() + &"a[".repeat(40) + "}")]
#[case("echo \"${a[".to_owned() + &"b[".repeat(40) + "}\"")]
#[case("$(echo a <<\tb) x$(c\t".to_owned())]
#[case("echo \"$(cat <<a) $(b\"".to_owned())]
#[case("(".repeat(24))]
#[case("( ".repeat(12) + "a")]
#[case("(( ".to_owned() + &"a ( ".repeat(22))]
#[case("for ((".to_owned() + &"(".repeat(21))]
#[case("[[ a =~ ".to_owned() + &"(".repeat(23))]
#[case("[[ a =~ ".to_owned() + &"b ( ".repeat(23) + " ]]")]
#[case("case a in b) ".repeat(24))]
#[case("case a in b) ".repeat(12) + "ls" + &" ;; esac".repeat(12))]
#[case("f() { ".repeat(24))]
#[case("< <( ".repeat(24))]
#[case("cat <( ".repeat(24))]
#[case("a[(".repeat(24) + "=1")]
#[case("for i in {1..99}; do ".repeat(4) + "pytest" + &"; done".repeat(4))]
#[case("echo ".to_owned() + &"\"$(echo \"$(echo \"$(echo a)\")\")\" ".repeat(13))]
#[case("echo ".to_owned() + "\"$(echo \"$(echo \"$(echo " + &"\"a\" $b ".repeat(4_000) + ")\")\")\"")]
#[case("echo ".to_owned() + &"$(echo ((( $(((a".repeat(3))]
#[case("echo ".to_owned() + "\"$(echo ( ( ( $(echo ( ( ( $(echo ( ( ( a" + &" ) ) ) )".repeat(3) + "\"")]
#[case("echo $((".to_owned() + &"(".repeat(200))]
#[case("echo ".to_owned() + &"$((((((1)))))) ".repeat(40))]
#[case("echo $((".to_owned() + &"a?".repeat(60) + "1" + &":1".repeat(60) + "))")]
#[case("echo $((".to_owned() + &"-".repeat(200) + "1))")]
#[case("echo $((".to_owned() + &"a=".repeat(100) + "1))")]
#[case("echo $((".to_owned() + &"2**".repeat(70) + "2))")]
#[case("echo \"$(echo ".to_owned() + &"@(a".repeat(3) + &"'x".repeat(900) + ")\"")]
#[case("while true; do ".repeat(12) + "x=1" + &"; done".repeat(12))]
#[case("while true; do x=$(".repeat(3) + "ls" + &"); done".repeat(3))]
#[case("x=$(ls); ".to_owned() + &"for i in $x; do for j in 1 2 3 4; do ".repeat(6) + "echo \"$i\"" + &"; done; done".repeat(6))]
#[case("a=xxxxxxxx; ".to_owned() + &"a=$a$a$a$a$a$a$a$a; ".repeat(20))]
#[case("a=".to_owned() + &"x".repeat(60_000) + "; for i in {1..250}; do echo " + &"$a ".repeat(400) + "; done")]
#[case("for a in *; do ".to_owned() + &"for a in $a$a$a$a$a$a$a$a*; do ".repeat(20) + "ls $a" + &"; done".repeat(21))]
fn no_text_takes_long_or_ends_the_process(#[case] text: String) {
    let started = Instant::now();
    let _ = judge(&text, &rules());
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// Openings, of which the parser may take each for one of several things.
const OPENINGS: [&str; 36] = [
    "echo \"$(",
    "echo $(echo ",
    "a \"$(b \"",
    "$( (",
    "$((1+(",
    "echo \"$((",
    "(",
    "( ",
    "((",
    "$((",
    "$(",
    "${a:-",
    "${a[",
    "`",
    "[[ (",
    "[[ a =~ (",
    "((a",
    "for ((",
    "for a in b; do ",
    "case a in b) ",
    "case a in (b) ",
    "if ",
    "if a; then ",
    "while ",
    "until a; do ",
    "{ ",
    "f() ",
    "f() {",
    "function f ",
    "coproc a ",
    "<(",
    "< <(",
    "a=(",
    "a[(",
    "@(",
    "cat <<a <<b ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Each of them alone, and in the two others, as often as a command may have them.
    #[test]
    fn no_openings_within_each_other_take_long(
        openings in prop::collection::vec(prop::sample::select(&OPENINGS[..]), 1..4),
        end in prop::sample::select(vec!["", "a", "a;", ")", ")\"", "a)\"", "))", "))\"", "a )", ";; esac", " }", "\n"]),
        count in 1_usize..60,
        ends in 0_usize..60,
    ) {
        let text = openings.concat().repeat(count) + &end.repeat(ends);
        let started = Instant::now();
        let _ = judge(&text, &RULES);
        prop_assert!(started.elapsed().as_secs() < 5, "{text:?}: {:?}", started.elapsed());
    }

    #[test]
    fn any_text_is_judged(text in r#"([a-z ]{0,4}|[$'"`{}()|&;<>\\\n*?\[\]!~#=,.-]|\$\(|<<|&&|\|\||if|then|fi|for|do|done|ls|cd|python|sed|awk){0,24}"#) {
        let judged = judge(&text, &RULES);
        let outline = Outline::read(&text);
        prop_assert!(outline.is_some() || judged.class == Class::Denied);
        prop_assert!(!judged.reason.is_empty());
        prop_assert_eq!(judged.parsed.is_some(), judged.class == Class::Safe);
        prop_assert!(judged.before.is_none() && judged.after.is_empty() || judged.class == Class::Intercepted);
    }
}
