//! Meaning of a project's files for whoever wants to install it. No request is made here.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use jiff::{SignedDuration, Timestamp};
use pep440_rs::{Version, VersionSpecifiers};

use super::IndexQuery;
use super::page::File;
use super::wheel::Wheel;

/// A patch release as high as none: what `requires-python` says of patch releases is not known here.
const HIGHEST_PATCH: u64 = 99;

/// Finding about a package in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageFinding {
    /// A wheel that can be installed.
    Available,
    /// No project of that name.
    NoProject,
    /// A project, and no wheel of it for this Python and architecture.
    NoWheel,
    /// Wheels, and none of a version that will do.
    NoVersion,
    /// All that will do is too young: the oldest of it, and the whole days since it was published.
    TooYoung(String, i64),
    /// It does not say when releases were made.
    NoDates,
}

/// Wheels and facts of one version.
struct Release {
    /// Time at which the last of its wheels was published; nothing where one of them has no date.
    uploaded: Option<Timestamp>,
}

/// Judges what `files` mean at the time `now`.
pub(super) fn judge(files: &[File], question: &IndexQuery<'_>, now: Timestamp) -> PackageFinding {
    let minor = question
        .python
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok());
    let minor: u32 = minor.unwrap_or_default();
    // Highest and lowest patch release: `requires-python` may begin or end within a minor version.
    let pythons = [0, HIGHEST_PATCH].map(|patch| Version::new([3, u64::from(minor), patch]));
    let wheels: Vec<(&File, Wheel<'_>)> = files
        .iter()
        .filter_map(|file| Some((file, Wheel::parse(&file.name)?)))
        .filter(|(file, wheel)| {
            wheel.runs_on(minor, question.architecture) && takes(file.requires_python.as_deref(), &pythons)
        })
        .collect();
    if wheels.is_empty() {
        return PackageFinding::NoWheel;
    }
    let wanted = question.requirement.versions();
    // uv gives what was taken back to whoever names that very version.
    let is_exact = wanted.contains("==") && !wanted.contains('*');
    let specifiers = VersionSpecifiers::from_str(&wanted).unwrap_or_else(|_| VersionSpecifiers::empty());
    let mut releases: BTreeMap<Version, Release> = BTreeMap::new();
    for (file, wheel) in wheels {
        // What has no version of PEP 440 is passed over by uv, too.
        let Ok(version) = Version::from_str(wheel.version) else {
            continue;
        };
        if (file.is_yanked && !is_exact) || !specifiers.contains(&version) {
            continue;
        }
        // A version has several wheels; it is as young as the youngest of them.
        releases
            .entry(version)
            .and_modify(|release| {
                release.uploaded = release
                    .uploaded
                    .zip(file.uploaded)
                    .map(|(one, other)| one.max(other));
            })
            .or_insert(Release {
                uploaded: file.uploaded,
            });
    }
    // uv takes versions before their release only where there is nothing else.
    if releases.keys().any(Version::is_stable) {
        releases.retain(|version, _| version.is_stable());
    }
    if releases.is_empty() {
        return PackageFinding::NoVersion;
    }
    match question.min_release_age_days {
        0 => PackageFinding::Available,
        days => old_enough(&releases, i64::from(days), now),
    }
}

/// Reports whether one of these Pythons is one that `requires-python` names. What cannot be read says nothing, as with uv.
fn takes(requires_python: Option<&str>, pythons: &[Version]) -> bool {
    let specifiers = requires_python.and_then(|text| VersionSpecifiers::from_str(text).ok());
    specifiers.is_none_or(|specifiers| pythons.iter().any(|python| specifiers.contains(python)))
}

fn old_enough(releases: &BTreeMap<Version, Release>, days: i64, now: Timestamp) -> PackageFinding {
    let dated: Option<Vec<(&Version, Timestamp)>> = releases
        .iter()
        .map(|(version, release)| Some((version, release.uploaded?)))
        .collect();
    let Some(dated) = dated else {
        return PackageFinding::NoDates;
    };
    let least = SignedDuration::from_hours(24 * days);
    let is_old = |uploaded: Timestamp| now.duration_since(uploaded) >= least;
    if dated.iter().any(|(_, uploaded)| is_old(*uploaded)) {
        return PackageFinding::Available;
    }
    let oldest = dated.iter().min_by_key(|(_, uploaded)| *uploaded);
    oldest.map_or(PackageFinding::NoVersion, |(version, uploaded)| {
        PackageFinding::TooYoung(version.to_string(), now.duration_since(*uploaded).as_hours() / 24)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use codegen_core::python::requirement::Requirement;

    const NOW: &str = "2025-06-30T00:00:00Z";

    fn wheel(version: &str) -> File {
        File {
            name: format!("tiny-{version}-py3-none-any.whl"),
            requires_python: None,
            is_yanked: false,
            uploaded: None,
        }
    }

    fn of(version: &str, day: &str) -> File {
        File {
            uploaded: Some(format!("{day}T00:00:00Z").parse().unwrap()),
            ..wheel(version)
        }
    }

    fn answer(files: &[File], requirement: &str, min_release_age_days: u32) -> PackageFinding {
        let question = IndexQuery {
            index: "https://index.example/simple",
            requirement: &Requirement::parse(requirement).unwrap(),
            python: "3.12",
            architecture: "x86_64",
            min_release_age_days,
            authorities: None,
        };
        judge(files, &question, NOW.parse().unwrap())
    }

    const AVAILABLE: PackageFinding = PackageFinding::Available;

    #[test]
    fn a_wheel_for_this_python_of_a_version_that_will_do_is_available() {
        let source = File {
            name: "tiny-3.0.tar.gz".into(),
            ..wheel("3.0")
        };
        let files = [wheel("1.0"), wheel("2.0"), source.clone()];
        for requirement in ["tiny", "tiny>=2", "tiny==1.*", "tiny~=1.0", "tiny<2,!=1.1"] {
            assert_eq!(answer(&files, requirement, 0), AVAILABLE, "{requirement}");
        }
        for requirement in ["tiny>=3", "tiny==1.5", "tiny<1"] {
            assert_eq!(
                answer(&files, requirement, 0),
                PackageFinding::NoVersion,
                "{requirement}"
            );
        }
        assert_eq!(answer(&[source], "tiny", 0), PackageFinding::NoWheel);
        assert_eq!(answer(&[], "tiny", 0), PackageFinding::NoWheel);
    }

    #[rstest]
    #[case(">=3.9", true)]
    #[case(">=3.12.4", true)]
    #[case("<3.13,>=3.8", true)]
    #[case(">=3.13", false)]
    #[case("<3.12", false)]
    #[case(">=3.9, !=3.9.*", true)]
    #[case("three and up", true)]
    fn the_python_version_that_a_file_requires_is_checked(#[case] requires: &str, #[case] fits: bool) {
        let file = File {
            requires_python: Some(requires.into()),
            ..wheel("1.0")
        };
        let expected = if fits { AVAILABLE } else { PackageFinding::NoWheel };
        assert_eq!(answer(&[file], "tiny", 0), expected);
    }

    #[test]
    fn what_was_taken_back_is_there_for_whoever_names_it() {
        let yanked = File {
            is_yanked: true,
            ..wheel("2.0")
        };
        assert_eq!(
            answer(std::slice::from_ref(&yanked), "tiny", 0),
            PackageFinding::NoVersion
        );
        assert_eq!(answer(std::slice::from_ref(&yanked), "tiny==2.0", 0), AVAILABLE);
        assert_eq!(answer(&[yanked], "tiny==2.*", 0), PackageFinding::NoVersion);
    }

    #[test]
    fn versions_before_their_release_count_where_there_is_nothing_else() {
        assert_eq!(answer(&[wheel("2.0rc1")], "tiny", 0), AVAILABLE);
        let files = [of("1.0", "2025-01-01"), of("2.0rc1", "2025-02-01")];
        assert_eq!(answer(&files, "tiny", 7), AVAILABLE);
    }

    #[test]
    fn a_release_that_is_too_young_is_passed_over() {
        let files = [
            of("1.0", "2025-01-01"),
            of("1.0.1", "2025-06-29"),
            of("2.0", "2025-06-01"),
            of("2.1", "2025-06-28"),
        ];
        assert_eq!(answer(&files, "tiny", 7), AVAILABLE);
        assert_eq!(answer(&files, "tiny<2", 7), AVAILABLE);
        assert_eq!(
            answer(&files, "tiny>2", 7),
            PackageFinding::TooYoung("2.1".into(), 2)
        );
        assert_eq!(answer(&files, "tiny", 1), AVAILABLE);
    }

    #[test]
    fn a_wheel_that_was_added_later_makes_its_release_young() {
        let files = [of("1.0", "2025-01-01"), of("1.0", "2025-06-29")];
        assert_eq!(
            answer(&files, "tiny", 7),
            PackageFinding::TooYoung("1.0".into(), 1)
        );
    }

    #[test]
    fn an_index_without_dates_gives_no_ages() {
        let files = [of("1.0", "2025-01-01"), wheel("1.1")];
        assert_eq!(answer(&files, "tiny", 7), PackageFinding::NoDates);
        assert_eq!(answer(&files, "tiny", 0), AVAILABLE);
    }
}
