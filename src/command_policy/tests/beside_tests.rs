//! Commands that ask for the tests: what of them is executed before and after those.

use rstest::rstest;
use serde_json::json;

use super::RULES;
use super::machine::{Machine, Outcome};
use crate::after::AfterTests;
use crate::script::{After, Argument, Pipeline, Run, Statement};
use crate::{Class, Judgement, Script, judge};

/// What is executed before the tests, as bash would write it with the names of programs alone.
#[rstest]
#[case::edit("sed -i 's/a/b/' solution.py && pytest", "sed -i s/a/b/ solution.py")]
#[case::lines("cat > solution.py <<'EOF'\nx = 1\nEOF\npython -m pytest -q", "cat; true")]
#[case::list("echo numpy > packages.txt; pytest -q 2>&1 | tail -3", "echo numpy; true")]
#[case::run(
    "cd /sandbox && python solution.py --a 1; cat /var/outputs/x; pytest",
    "cd /sandbox && python solution.py --a 1; cat /var/outputs/x; true"
)]
#[case::bound_to_all_before("ls; rm a || mkdir b && pytest && echo ok", "ls; rm a || mkdir b")]
#[case::with_what_follows_them("rm a && pytest && rm b", "rm a")]
#[case::condition("[ -f solution.py ] && pytest", "[ -f solution.py ]")]
#[case::shell("cd /sandbox && bash -c 'rm a; pytest' | tail", "cd /sandbox && (rm a; true)")]
#[case::group("{ rm a && pytest -q; } 2>&1 | tail -1", "(rm a)")]
fn what_comes_before_the_tests_is_executed_before_them(#[case] text: &str, #[case] expected: &str) {
    let judged = judge(text, &RULES);
    assert_eq!(
        (judged.class, judged.parsed),
        (Class::Intercepted, None),
        "{}",
        judged.reason
    );
    assert_eq!(as_text(&judged.before.unwrap().statements), expected);
}

fn as_text(statements: &[Statement]) -> String {
    let pipeline = |pipeline: &Pipeline| {
        let texts = |call: &[Argument]| {
            call.iter()
                .map(|text| text.text().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        match &pipeline.commands[0].run {
            Run::Program(call) => [vec![call.program.name.clone()], texts(&call.arguments)]
                .concat()
                .join(" "),
            Run::Builtin(call) => {
                let name = json!(call.name).as_str().unwrap().to_owned();
                [vec![name], texts(&call.arguments)].concat().join(" ")
            }
            Run::For(_) => "for".to_owned(),
            Run::Group(body) | Run::Subshell(body) | Run::Shell(body) => format!("({})", as_text(body)),
            other => panic!("{other:?}"),
        }
    };
    let statement = |statement: &Statement| {
        let rest = statement.rest.iter().map(|next| {
            let sign = if next.after == After::Success { "&&" } else { "||" };
            format!(" {sign} {}", pipeline(&next.pipeline))
        });
        pipeline(&statement.first) + &rest.collect::<String>()
    };
    statements.iter().map(statement).collect::<Vec<_>>().join("; ")
}

#[rstest]
#[case("pytest")]
#[case("cd /sandbox && PYTHONPATH=. pytest -q 2>&1 | tee log.txt | tail -5; echo \"exit: $?\"")]
#[case("echo testing; true && (cd /sandbox; pytest) > log.txt 2>&1; cat log.txt")]
#[case("x=$(pytest 2>/dev/null); echo \"$x\" | grep FAILED || true")]
#[case("cd /sandbox || pytest")]
#[case("pytest | sort | uniq -c | sed -n 1,3p")]
fn nothing_is_executed_beside_the_tests_that_nobody_would_miss(#[case] text: &str) {
    let judged = judge(text, &RULES);
    assert_eq!(
        (judged.class, judged.before, judged.after),
        (Class::Intercepted, None, AfterTests::default()),
        "{}",
        judged.reason
    );
}

#[rstest]
#[case("(pytest && rm a)", "after them")]
#[case("(cd /tmp; pytest) && rm a", "after them")]
#[case("cd /tmp && pytest; rm a", "after them")]
#[case("x=a; pytest; rm $x", "after them")]
#[case("set -e; pytest; rm a", "after them")]
#[case("python a.py || exit 1; pytest; rm a", "after them")]
#[case("pytest > log.txt && python read.py log.txt", "after them")]
#[case("pytest | tee log.txt; python read.py log.txt", "after them")]
#[case("pytest && rm a && pytest", "after them")]
#[case("rm b || pytest && rm a", "after them")]
#[case("pytest | python read.py", "only filters")]
#[case("rm a | pytest", "only filters")]
#[case("if pytest; then rm a; fi", "by themselves")]
#[case("for i in 1 2; do sed -i s/1/2/ a; pytest; done", "after them")]
#[case("while read -r line; do sed -i s/1/2/ a; pytest; done < a", "by themselves")]
#[case("echo \"$(rm a; pytest)\"", "by themselves")]
#[case("python solution.py || pytest", "||")]
#[case("cd /sandbox || (rm a && pytest)", "||")]
#[case("sed -i s/a/b/ /etc/passwd && pytest", "/etc/passwd")]
fn what_would_not_run_beside_the_tests_is_denied(#[case] text: &str, #[case] why: &str) {
    let judged = judge(text, &RULES);
    assert_eq!((judged.class, judged.before), (Class::Denied, None));
    assert!(judged.reason.contains(why), "{}", judged.reason);
}

#[rstest]
#[case::of_success("pytest && python solution.py", "true && python solution.py", "")]
#[case::of_failure("pytest || cat log.txt", "", "false || cat log.txt")]
#[case::of_both("pytest && rm a || rm b", "true && rm a || rm b", "false && rm a || rm b")]
#[case::whatever_they_come_to("pytest; rm a", "true; rm a", "false; rm a")]
#[case::of_a_filter("pytest | tail -3 && rm a", "true && rm a", "true && rm a")]
#[case::of_a_search("pytest | grep passed && rm a", "true && rm a", "")]
#[case::negated("! pytest && rm a", "", "true && rm a")]
#[case::in_the_workspace("cd /sandbox && pytest -q 2>&1 && rm a", "true && rm a", "")]
#[case::with_its_own_variables(
    "pytest; for f in a b; do rm \"$f\"; done",
    "true; (for; for)",
    "false; (for; for)"
)]
#[case::what_reads(
    "pytest && cat solution.py; echo done",
    "true && cat solution.py; echo done",
    ""
)]
fn what_follows_the_tests_is_executed_after_them(
    #[case] text: &str,
    #[case] passed: &str,
    #[case] failed: &str,
) {
    let judged = judge(text, &RULES);
    assert_eq!(judged.class, Class::Intercepted, "{}", judged.reason);
    let text = |script: Option<Script>| script.map_or(String::new(), |script| as_text(&script.statements));
    assert_eq!(
        (text(judged.after.passed), text(judged.after.failed)),
        (passed.to_owned(), failed.to_owned())
    );
}

/// With a command in the place of the tests that succeeds or fails.
#[test]
fn what_stands_beside_the_tests_does_what_bash_would_do() {
    let machine = Machine::new();
    let mut differing = Vec::new();
    for text in BESIDE_TESTS {
        let judged = judge(text, &RULES);
        assert_eq!(judged.class, Class::Intercepted, "{text}: {}", judged.reason);
        for passed in [true, false] {
            machine.lay_out();
            let expected = machine.by_bash(&text.replace("pytest", if passed { "true" } else { "false" }));
            machine.lay_out();
            let found = executed_beside(&machine, &judged, passed);
            if (&found.output, &found.files) != (&expected.output, &expected.files) {
                differing.push(format!(
                    "{text} ({passed})\n  bash {expected:?}\n  ours {found:?}"
                ));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

const BESIDE_TESTS: [&str; 14] = [
    "rm a.txt && pytest && rm b.txt",
    "rm missing 2>/dev/null && pytest && rm b.txt",
    "rm missing 2>/dev/null && pytest; rm b.txt",
    "rm missing 2>/dev/null; pytest; rm b.txt",
    "rm missing 2>/dev/null && pytest || rm b.txt",
    "rm a.txt\npytest\ncat b.txt",
    "pytest && rm a.txt || rm b.txt",
    "pytest || rm a.txt && rm b.txt",
    "pytest && cat a.txt && false || cat b.txt; rm a.txt",
    "! pytest && rm a.txt; cat names.txt",
    "pytest | tail -1 && rm a.txt",
    "cd /sandbox && pytest && python solution.py 1 2>&1 | tail -1 > out.txt",
    "pytest; for f in *.txt; do wc -l \"$f\"; done | sort",
    "pytest && { python script.py; cat a.txt; } || cat b.txt",
];

/// What is executed before the tests, and after them.
fn executed_beside(machine: &Machine, judged: &Judgement, passed: bool) -> Outcome {
    let run = |script: &Script| machine.executed(&serde_json::to_value(script).unwrap(), 30.0);
    let before = judged.before.as_ref().map(run);
    let is_run = before.as_ref().is_none_or(|before| before.status == 0);
    let after = if passed && is_run {
        &judged.after.passed
    } else {
        &judged.after.failed
    };
    let nothing = || Outcome {
        files: machine.files(),
        ..Outcome::default()
    };
    let after = after.as_ref().map_or_else(nothing, run);
    let printed = before.map(|before| before.output).unwrap_or_default();
    Outcome {
        output: printed + &after.output,
        ..after
    }
}
