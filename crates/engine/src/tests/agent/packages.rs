//! Packages of an agent's workspace: the list, imports, and those of the acceptance tests.

use super::*;

#[tokio::test]
async fn packages_that_do_not_exist_are_reported_and_others_are_installed() {
    let program = |name: &str| format!("import {name}\n{}", source(&code("return len(text.split())")));
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write("solution.py", &program("nosuch")),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("", &[write("solution.py", &program("tabulate")), bash("pytest")])
        .with_turn("Done.", &[]);
    let mut world = world(agent_task(), script);
    world.sandbox.unknown = vec!["nosuch".to_owned()];
    let progress = live(&world).await;
    assert_eq!(
        (progress.stage, progress.attempt),
        (Stage::Succeeded, 1),
        "{:?}",
        progress.stop
    );
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    assert!(
        told[0].results[2].text.contains("cannot be installed"),
        "{:?}",
        told[0].results
    );
    assert_eq!(progress.build.built.unwrap().packages.pip, ["tabulate"]);
}

#[rstest]
#[case::a_program(
    "helpers.py",
    "from helpers import parse\n",
    "",
    "solution.py imports helpers.py, and a program is one file"
)]
#[case::a_folder(
    "helpers/parse.py",
    "from helpers.parse import parse\n",
    "",
    "solution.py imports helpers/, and a program"
)]
#[case::a_suite(
    "helpers.py",
    "",
    "import helpers\n",
    "test_solution.py imports helpers.py, and a suite is one file"
)]
#[case::fixtures(
    "conftest.py",
    "",
    "import conftest\n",
    "test_solution.py imports conftest.py, and a suite"
)]
#[tokio::test]
async fn a_module_of_the_workspace_is_no_package_and_its_place_is_explained(
    #[case] module: &str,
    #[case] program: &str,
    #[case] suite: &str,
    #[case] why: &str,
) {
    let solution = source(&code("return len(text.split())")).to_owned();
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write(module, "def parse(): ...\n"),
                write("solution.py", &format!("{program}{solution}")),
                write("test_solution.py", &format!("{suite}{}", source(&tests(2)))),
                bash("python solution.py"),
                bash("pytest"),
            ],
        )
        .with_turn(
            "",
            &[
                write("solution.py", &solution),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let world = world(agent_task(), script);
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, 1));
    assert_eq!(progress.build.built.unwrap().packages.pip, [""; 0]);
    let told = turns(&world).pop().unwrap().conversation.unwrap().exchanges;
    assert!(
        told[0].results[4].text.contains(why),
        "{}",
        told[0].results[4].text
    );
}

#[tokio::test]
async fn an_import_of_the_acceptance_tests_that_cannot_be_installed_is_reported_to_the_user_alone() {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn(
            "",
            &[
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let mut world = world(agent_task(), script);
    world.surroundings.acceptance_tests =
        Some("import helper_of_mine\n\n\ndef test_hidden(program):\n    assert program\n".into());
    world.sandbox.unknown = vec!["helper-of-mine".to_owned()];
    let progress = live(&world).await;
    let stop = progress.stop.unwrap();
    assert_eq!(stop.reason, StopReason::NoProgress);
    for part in [
        "spec.acceptanceTests imports",
        "helper-of-mine",
        "put what they need into it",
    ] {
        assert!(stop.message.contains(part), "{part}: {stop}");
    }
    assert_eq!(
        turns(&world).len(),
        1,
        "nobody is asked to put it right who cannot"
    );
}

#[rstest]
#[case::builds_are_left(5, &[])]
#[case::none_is_left(1, &["tabulate"])]
#[tokio::test]
async fn a_package_that_is_taken_off_the_list_is_not_in_the_environment_of_what_passes(
    #[case] builds: u32,
    #[case] expected: &[&str],
) {
    let script = Script::new()
        .with(CallKind::Plan, &plan())
        .with_turn("", &[write("packages.txt", "tabulate\n"), bash("ls")])
        .with_turn(
            "",
            &[
                write("packages.txt", ""),
                write("solution.py", source(&code("return len(text.split())"))),
                write("test_solution.py", source(&tests(2))),
                bash("ls"),
                bash("pytest"),
            ],
        )
        .with_turn("Done.", &[]);
    let mut world = world(agent_task(), script);
    world.task.limits.max_builds = builds;
    let progress = live(&world).await;
    assert_eq!((progress.stage, progress.attempt), (Stage::Succeeded, 1));
    assert_eq!(progress.build.built.unwrap().packages.pip, expected);
}
