//! Asks the index for all that an environment is to hold, before anything is made.

use futures::future::join_all;

use super::error::{PackageProblem, PackageProblemKind, SandboxError};
use super::image::{ImageSpec, TEST_RUNNER};
use super::installation::NEWER_PIP;
use crate::package_index::{Answer, IndexError, PackageIndex, Question, shown};
use crate::pipeline::causes::with_causes;
use crate::pipeline::lock::Locked;
use crate::pipeline::python::requirement::Requirement;

/// Requirements with what the index adds to them: versions that are old enough. Empty where their age does not matter.
pub(super) type Bounds = Vec<String>;

/// Where to ask, and for which interpreter.
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
) -> Result<Bounds, SandboxError> {
    let days = spec.min_release_age_days;
    if days == 0 && !spec.verify_on_index {
        return Ok(Bounds::new());
    }
    let asked = asked(spec);
    if asked.is_empty() {
        return Ok(Bounds::new());
    }
    // A base image or the user's settings of pip may choose the index. Without a rule on ages a guess gains nothing: the installer itself
    // finds out.
    let Some(index) = place.index else {
        return if days == 0 {
            Ok(Bounds::new())
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

/// What is asked of a package for this image, whichever of its files it may be.
fn question<'a>(
    spec: &'a ImageSpec,
    place: Where<'a>,
    index: &'a str,
    requirement: &'a Requirement,
) -> Question<'a> {
    Question {
        index,
        requirement,
        python: place.python,
        architecture: &spec.architecture,
        min_release_age_days: spec.min_release_age_days,
        sha256: None,
        authorities: spec.index_ca_bundle.as_deref(),
    }
}

/// Whether the index answers at all, asked for what every environment has. What it answers is no matter, and neither is an index that
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

/// Whether the index of installers has the pip that passes over young releases, of packages that others bring along, too.
pub(super) async fn has_newer_pip(packages: &PackageIndex, spec: &ImageSpec, place: Where<'_>) -> bool {
    // A missing pip is no error here: without it the ages of what packages bring along are checked once it is installed.
    let (Some(index), Some(pip)) = (place.index, NEWER_PIP.split_whitespace().next()) else {
        return false;
    };
    let Ok(requirement) = Requirement::parse(pip) else {
        return false;
    };
    // Which archive it is, its digest says; the task's rules and authorities are for its own packages.
    let question = Question {
        min_release_age_days: 0,
        authorities: None,
        ..question(spec, place, index, &requirement)
    };
    matches!(packages.ask(&question).await, Ok(Answer::Available { .. }))
}

/// Whether what packages brought along is old enough as well: an installer chose it, so it is checked when it is installed.
pub(super) async fn judge_installed(
    packages: &PackageIndex,
    spec: &ImageSpec,
    place: Where<'_>,
    installed: &[Locked],
) -> Result<(), SandboxError> {
    let days = spec.min_release_age_days;
    if days == 0 {
        return Ok(());
    }
    // What was asked for was judged before the installation.
    let asked: Vec<String> = asked(spec)
        .into_iter()
        .map(|requirement| requirement.name)
        .collect();
    let brought: Vec<(&Locked, Requirement)> = installed
        .iter()
        .filter_map(|locked| Some((locked, Requirement::parse(&locked.package).ok()?)))
        .filter(|(_, requirement)| !asked.contains(&requirement.name))
        .collect();
    if brought.is_empty() {
        return Ok(());
    }
    let Some(index) = place.index else {
        return Err(unknown_ages("nobody here knows which index it is".to_owned()));
    };
    let answers = brought.iter().map(|(locked, requirement)| {
        let question = Question {
            // The age that counts is that of the archive that was installed: further files of an old release may be young.
            sha256: locked.sha256.as_deref(),
            ..question(spec, place, index, requirement)
        };
        async move { packages.ask(&question).await }
    });
    let answers = join_all(answers).await;
    let locked = brought.iter().map(|(locked, _)| *locked);
    locked
        .zip(answers)
        .try_for_each(|(locked, answer)| settle_installed(index, days, locked, answer))
}

fn settle_installed(
    index: &str,
    days: u32,
    locked: &Locked,
    answer: Result<Answer, IndexError>,
) -> Result<(), SandboxError> {
    let Locked { package, via, .. } = locked;
    match answer {
        Ok(Answer::Available { .. }) => Ok(()),
        Ok(Answer::TooYoung(_, age)) => {
            let who = if via.is_empty() {
                "another package".to_owned()
            } else {
                via.join(", ")
            };
            // The way out that needs no other rule: asked for by name, an older release wins over what the installer would choose.
            let older = package.replacen("==", "<", 1);
            Err(SandboxError::PackageDenied(format!(
                "pip package {package}, which {who} brought along, is {age} days old, and packages.minReleaseAgeDays wants {days}. \
                 Name an older one in image.basePackages ({older}), or wait, or change the rule; a task in a cluster goes on at the \
                 annotation codegen-operator.dev/retry."
            )))
        }
        Ok(Answer::NoDates) => Err(unknown_ages(format!(
            "{} does not say when releases of {package} were made",
            shown(index)
        ))),
        // It was just installed from there, so an index that denies it cannot vouch for its age.
        Ok(Answer::NoProject | Answer::NoWheel | Answer::NoVersion) => Err(unknown_ages(format!(
            "{} does not know {package}, which is installed",
            shown(index)
        ))),
        // This passes: another pass asks again, and no image is lost.
        Err(error) if error.passes() => Err(SandboxError::IndexUnreachable(error.to_string())),
        Err(error) => Err(unknown_ages(error.to_string())),
    }
}

/// What is new in the environment, but for the test runner, which every index has. Where ages count it is everything, for all
/// may be installed again.
fn asked(spec: &ImageSpec) -> Vec<Requirement> {
    let needs_ages = spec.min_release_age_days > 0;
    let has = spec.from.as_ref().map_or(&[][..], |from| &from.pip);
    let is_new = |given: &&String| needs_ages || !has.contains(given);
    let is_asked = |requirement: &Requirement| needs_ages || requirement.name != TEST_RUNNER;
    spec.packages
        .pip
        .iter()
        .filter(is_new)
        .filter_map(|given| Requirement::parse(given).ok())
        .filter(is_asked)
        .collect()
}

fn settle<'a>(
    index: &str,
    days: u32,
    answers: impl Iterator<Item = (&'a Requirement, Result<Answer, IndexError>)>,
) -> Result<Bounds, SandboxError> {
    let (mut bounds, mut absent, mut without_version) = (Bounds::new(), Vec::new(), Vec::new());
    for (requirement, answer) in answers {
        let name = requirement.name.clone();
        match answer {
            Ok(Answer::Available { bound }) => bounds.extend(bound.map(|bound| bounded(requirement, &bound))),
            Ok(Answer::NoProject | Answer::NoWheel) => absent.push(name),
            Ok(Answer::NoVersion) => without_version.push(name),
            Ok(Answer::TooYoung(version, age)) => {
                return Err(SandboxError::PackageDenied(format!(
                    "pip package {requirement}: its oldest release that will do, {version}, is {age} days old, and \
                     packages.minReleaseAgeDays wants {days}. Say in the prompt what to use in its place, or wait, or change the rule; \
                     a task in a cluster goes on at the annotation codegen-operator.dev/retry."
                )));
            }
            Ok(Answer::NoDates) => {
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
        (true, true) => Ok(bounds),
    }
}

fn bounded(requirement: &Requirement, bound: &str) -> String {
    let separator = if requirement.versions().is_empty() {
        ""
    } else {
        ","
    };
    format!("{requirement}{separator}{bound}")
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

/// What is installed in the place of these requirements.
pub(super) fn with_bounds(packages: &[String], bounds: &[String]) -> Vec<String> {
    // Names are compared as parsed, since `Scikit_Learn` and `scikit-learn` are one distribution.
    let name = |given: &str| Requirement::parse(given).map(|requirement| requirement.name).ok();
    let bounded = packages.iter().map(|given| {
        let bound = bounds.iter().find(|bound| name(bound) == name(given));
        bound.unwrap_or(given).clone()
    });
    bounded.collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::api::common::Language;
    use crate::pipeline::sandbox::Packages;
    use crate::pipeline::test_support::task;

    const INDEX: &str = "https://reader:hunter2@index.example/simple";

    fn settled(days: u32, answers: &[(&str, Result<Answer, IndexError>)]) -> Result<Bounds, SandboxError> {
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

    const THERE: Result<Answer, IndexError> = Ok(Answer::Available { bound: None });

    #[test]
    fn what_is_new_is_asked_for_and_everything_where_ages_count() {
        let packages = |pip: &[&str]| Packages {
            pip: pip.iter().map(ToString::to_string).collect(),
            apt: Vec::new(),
        };
        let image = task().image;
        let mut spec = ImageSpec::new(Language::Python, &image, &packages(&["pandas", "rich<14"]))
            .after(&image, &packages(&["pandas"]));
        let names = |spec: &ImageSpec| -> Vec<String> {
            asked(spec)
                .into_iter()
                .map(|requirement| requirement.name)
                .collect()
        };
        assert_eq!(names(&spec), ["rich"]);
        spec.min_release_age_days = 7;
        assert_eq!(names(&spec), ["pandas", "pytest", "rich"]);
    }

    #[test]
    fn all_that_is_not_there_is_named_at_once() {
        let answers = [
            ("a", Ok(Answer::NoProject)),
            ("b", THERE),
            ("c>=9", Ok(Answer::NoVersion)),
            ("d", Ok(Answer::NoWheel)),
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
        assert_eq!(
            settled(0, &[("a", Err(error)), ("b", THERE)]).unwrap(),
            Bounds::new()
        );
    }

    #[test]
    fn a_build_needs_the_age_of_every_release() {
        let bound = Ok(Answer::Available {
            bound: Some("<=2.0,!=1.9".into()),
        });
        let answers = [("a", bound.clone()), ("b[x]<3", bound)];
        assert_eq!(
            settled(7, &answers).unwrap(),
            ["a<=2.0,!=1.9", "b[x]<3,<=2.0,!=1.9"]
        );
        assert!(matches!(
            settled(7, &[("a", Err(unreachable()))]),
            Err(SandboxError::IndexUnreachable(_))
        ));
        for answer in [Ok(Answer::NoDates), Err(refused())] {
            let said = settled(7, &[("a", answer)]).unwrap_err();
            assert!(
                matches!(&said, SandboxError::Refused { remedy, .. } if remedy.contains("minReleaseAgeDays")),
                "{said}"
            );
        }
        let young = settled(7, &[("a>=2", Ok(Answer::TooYoung("2.0".into(), 3)))]).unwrap_err();
        assert!(
            matches!(&young, SandboxError::PackageDenied(said) if said.contains("a>=2") && said.contains("3 days")),
            "{young}"
        );
    }

    #[test]
    fn a_dependency_that_is_too_young_is_reported_with_the_package_that_needs_it() {
        let locked = Locked {
            package: "numpy==2.3.5".into(),
            sha256: None,
            via: vec!["pandas".into()],
        };
        let settled = |answer| settle_installed(INDEX, 7, &locked, answer);
        assert!(settled(Ok(Answer::Available { bound: None })).is_ok());
        let young = settled(Ok(Answer::TooYoung("2.3.5".into(), 2))).unwrap_err();
        let SandboxError::PackageDenied(said) = young else {
            panic!("{young}");
        };
        for part in [
            "numpy==2.3.5, which pandas brought along, is 2 days old",
            "(numpy<2.3.5)",
        ] {
            assert!(said.contains(part), "{said}");
        }
        for answer in [Ok(Answer::NoDates), Ok(Answer::NoVersion), Err(refused())] {
            let said = settled(answer).unwrap_err();
            assert!(matches!(said, SandboxError::Refused { .. }), "{said}");
        }
        assert!(matches!(
            settled(Err(unreachable())),
            Err(SandboxError::IndexUnreachable(_))
        ));
    }

    #[test]
    fn bounds_take_the_place_of_what_they_bound() {
        let packages = ["b[x]<3", "pytest"].map(str::to_owned);
        let bounds = ["b[x]<3,<=2.0".to_owned()];
        assert_eq!(with_bounds(&packages, &bounds), ["b[x]<3,<=2.0", "pytest"]);
    }
}
