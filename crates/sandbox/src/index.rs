//! Asks the index for all that an environment is to hold, before anything is made.

use futures::future::join_all;

use super::error::{PackageProblem, PackageProblemKind, SandboxError};
use super::image::{ImageSpec, TEST_RUNNER};
use codegen_core::causes::with_causes;
use codegen_core::python::requirement::Requirement;
use codegen_package_index::{IndexError, IndexQuery, PackageFinding, PackageIndex, shown};

/// Index to ask, and the interpreter to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where<'a> {
    /// The index; `None` where nobody here knows which one the installer takes.
    pub index: Option<&'a str>,
    /// `3.12`.
    pub python: &'a str,
}

/// Asks for every package that is to be installed. What is missing is reported as an installer would; an index that gives no answer is
/// no matter unless the age of releases counts, for the installer will see for itself.
pub(super) async fn verify(
    packages: &PackageIndex,
    spec: &ImageSpec,
    place: Where<'_>,
) -> Result<(), SandboxError> {
    let days = spec.min_release_age_days;
    if days == 0 && !spec.verify_on_index {
        return Ok(());
    }
    let asked = asked(spec);
    if asked.is_empty() {
        return Ok(());
    }
    // A base image or the user's settings of pip may choose the index. Without a rule on ages a guess gains nothing: the installer itself
    // finds out.
    let Some(index) = place.index else {
        return if days == 0 {
            Ok(())
        } else {
            Err(unknown_ages("nobody here knows which index it is".to_owned()))
        };
    };
    let answers = asked.iter().map(|requirement| {
        let question = question(spec, place, index, requirement);
        async move { packages.ask(&question).await }
    });
    // All at once: a plan may name many packages, and each is a request of its own.
    let answers = join_all(answers).await;
    settle(index, days, asked.iter().zip(answers))
}

/// Returns the question about a package for this image, whichever of its files it may be.
fn question<'a>(
    spec: &'a ImageSpec,
    place: Where<'a>,
    index: &'a str,
    requirement: &'a Requirement,
) -> IndexQuery<'a> {
    IndexQuery {
        index,
        requirement,
        python: place.python,
        architecture: &spec.architecture,
        min_release_age_days: spec.min_release_age_days,
        authorities: spec.index_ca_bundle.as_deref(),
    }
}

/// Checks that the index answers at all, asked for what every environment has. What it answers is no matter, and neither is an index that
/// nobody here knows.
pub(super) async fn answers(
    packages: &PackageIndex,
    spec: &ImageSpec,
    place: Where<'_>,
) -> Result<(), SandboxError> {
    let (Some(index), Ok(runner)) = (place.index, Requirement::parse(TEST_RUNNER)) else {
        return Ok(());
    };
    match packages.ask(&question(spec, place, index, &runner)).await {
        Err(error) if error.passes() => Err(SandboxError::IndexUnreachable(error.to_string())),
        _ => Ok(()),
    }
}

/// Everything that the environment is to hold, but for the test runner, which every index has, where no age counts.
fn asked(spec: &ImageSpec) -> Vec<Requirement> {
    let needs_ages = spec.min_release_age_days > 0;
    let is_asked = |requirement: &Requirement| needs_ages || requirement.name != TEST_RUNNER;
    let packages = spec.packages.pip.iter();
    packages
        .filter_map(|given| Requirement::parse(given).ok())
        .filter(is_asked)
        .collect()
}

fn settle<'a>(
    index: &str,
    days: u32,
    answers: impl Iterator<Item = (&'a Requirement, Result<PackageFinding, IndexError>)>,
) -> Result<(), SandboxError> {
    let (mut absent, mut without_version) = (Vec::new(), Vec::new());
    for (requirement, answer) in answers {
        let name = requirement.name.clone();
        match answer {
            Ok(PackageFinding::Available) => {}
            Ok(PackageFinding::NoProject | PackageFinding::NoWheel) => absent.push(name),
            Ok(PackageFinding::NoVersion) => without_version.push(name),
            Ok(PackageFinding::TooYoung(version, age)) => {
                return Err(SandboxError::PackageDenied(format!(
                    "pip package {requirement}: its oldest release that will do, {version}, is {age} days old, and \
                     packages.minReleaseAgeDays wants {days}. Say in the prompt what to use in its place, or wait, or change the rule; \
                     a task in a cluster goes on at the annotation codegen-operator.dev/retry."
                )));
            }
            Ok(PackageFinding::NoDates) => {
                return Err(unknown_ages(format!(
                    "{} does not say when releases of {name} were made",
                    shown(index)
                )));
            }
            // Without a rule on ages the question only saves a build that would fail; the installer asks the same index.
            Err(error) if days == 0 => {
                tracing::warn!(
                    package = name,
                    error = with_causes(&error),
                    "the package index was not asked; the build will tell"
                );
            }
            Err(error) if error.passes() => return Err(SandboxError::IndexUnreachable(error.to_string())),
            Err(error) => return Err(unknown_ages(error.to_string())),
        }
    }
    // Names come before versions: a model corrects a name that does not exist in another way than a version.
    match (absent.is_empty(), without_version.is_empty()) {
        (false, _) => Err(missing(absent, PackageProblemKind::NotFound, index)),
        (true, false) => Err(missing(without_version, PackageProblemKind::NoSuchVersion, index)),
        (true, true) => Ok(()),
    }
}

fn missing(names: Vec<String>, kind: PackageProblemKind, index: &str) -> SandboxError {
    SandboxError::Packages(PackageProblem {
        manager: "pip",
        names,
        kind,
        detail: format!("asked of {} before anything was built", shown(index)),
        is_foreseen: true,
    })
}

fn unknown_ages(reason: String) -> SandboxError {
    SandboxError::Refused {
        object: "package index".to_owned(),
        reason,
        remedy: "packages.minReleaseAgeDays needs an index that says when releases were made, as PyPI does: set image.indexURL \
                 to one, or remove the rule"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use codegen_api::common::Language;
    use codegen_core::sandbox::Packages;
    use codegen_core::test_support::task;

    const INDEX: &str = "https://reader:hunter2@index.example/simple";

    fn settled(
        days: u32,
        answers: &[(&str, Result<PackageFinding, IndexError>)],
    ) -> Result<(), SandboxError> {
        let asked: Vec<Requirement> = answers
            .iter()
            .map(|(given, _)| Requirement::parse(given).unwrap())
            .collect();
        let answers = answers.iter().map(|(_, answer)| answer.clone());
        settle(INDEX, days, asked.iter().zip(answers))
    }

    fn unreachable() -> IndexError {
        IndexError::Unreachable {
            index: "https://index.example/simple".into(),
            why: "503".into(),
        }
    }

    fn refused() -> IndexError {
        IndexError::NoIndex {
            index: "https://index.example/simple".into(),
            why: "418".into(),
        }
    }

    const THERE: Result<PackageFinding, IndexError> = Ok(PackageFinding::Available);

    #[test]
    fn the_test_runner_is_asked_for_where_ages_count() {
        let packages = Packages {
            pip: vec!["rich<14".to_owned()],
            apt: Vec::new(),
        };
        let mut spec = ImageSpec::new(Language::Python, &task().image, &packages);
        let names = |spec: &ImageSpec| -> Vec<String> {
            asked(spec)
                .into_iter()
                .map(|requirement| requirement.name)
                .collect()
        };
        assert_eq!(names(&spec), ["rich"]);
        spec.min_release_age_days = 7;
        assert_eq!(names(&spec), ["pytest", "rich"]);
    }

    #[test]
    fn all_that_is_not_there_is_named_at_once() {
        let answers = [
            ("a", Ok(PackageFinding::NoProject)),
            ("b", THERE),
            ("c>=9", Ok(PackageFinding::NoVersion)),
            ("d", Ok(PackageFinding::NoWheel)),
        ];
        let Err(SandboxError::Packages(problem)) = settled(0, &answers) else {
            panic!("no package problem");
        };
        assert_eq!(
            (problem.kind, problem.names.as_slice()),
            (
                PackageProblemKind::NotFound,
                &["a".to_owned(), "d".to_owned()][..]
            )
        );
        assert!(
            problem.is_foreseen && !problem.detail.contains("hunter2"),
            "{problem:?}"
        );
        let Err(SandboxError::Packages(problem)) = settled(0, &answers[1..3]) else {
            panic!("no package problem");
        };
        assert_eq!(
            (problem.kind, problem.names),
            (PackageProblemKind::NoSuchVersion, vec!["c".to_owned()])
        );
    }

    #[rstest]
    #[case(unreachable())]
    #[case(refused())]
    fn an_index_without_an_answer_holds_up_nobody_who_asks_for_no_age(#[case] error: IndexError) {
        settled(0, &[("a", Err(error)), ("b", THERE)]).unwrap();
    }

    #[test]
    fn a_build_needs_the_age_of_every_release() {
        settled(7, &[("a", THERE), ("b[x]<3", THERE)]).unwrap();
        assert!(matches!(
            settled(7, &[("a", Err(unreachable()))]),
            Err(SandboxError::IndexUnreachable(_))
        ));
        for answer in [Ok(PackageFinding::NoDates), Err(refused())] {
            let said = settled(7, &[("a", answer)]).unwrap_err();
            assert!(
                matches!(&said, SandboxError::Refused { remedy, .. } if remedy.contains("minReleaseAgeDays")),
                "{said}"
            );
        }
        let young = settled(7, &[("a>=2", Ok(PackageFinding::TooYoung("2.0".into(), 3)))]).unwrap_err();
        assert!(
            matches!(&young, SandboxError::PackageDenied(said) if said.contains("a>=2") && said.contains("3 days")),
            "{young}"
        );
    }
}
