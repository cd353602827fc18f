//! Requests to a reader, and the use of its answer.

use super::*;
use codegen_core::test_support::task;

fn file(name: &str, sha256: &str) -> FrozenFile {
    FrozenFile {
        name: name.to_owned(),
        file_name: format!("{name}.csv"),
        sha256: sha256.to_owned(),
        bytes: 0,
        is_dir: false,
    }
}

fn on_claim(path: &str) -> Contents {
    Contents::OnClaim {
        claim: "data".to_owned(),
        path: path.to_owned(),
    }
}

fn here() -> Contents {
    Contents::Here(vec![SourceFile {
        path: String::new(),
        bytes: b"a,b".to_vec(),
    }])
}

/// Samples `large` and `small`, and an input `rates`.
fn sources(large: Contents, rates: Contents) -> (Task, ReadSources) {
    let mut sources = ReadSources::default();
    sources.files.samples = vec![file("large", ""), file("small", "51")];
    sources.files.input_files = vec![file("rates", "")];
    sources.contents.insert("large".to_owned(), large);
    sources.contents.insert("small".to_owned(), here());
    sources.contents.insert("rates".to_owned(), rates);
    let mut task = task();
    task.samples.clone_from(&sources.files.samples);
    task.input_files.clone_from(&sources.files.input_files);
    (task, sources)
}

#[test]
fn without_a_claim_nothing_is_asked() {
    let (task, sources) = sources(here(), here());
    assert_eq!(request(&task, &sources), ReadRequest::default());
}

#[test]
fn one_sample_on_a_claim_has_all_samples_described() {
    let (task, sources) = sources(on_claim("a.csv"), here());
    let request = request(&task, &sources);
    assert_eq!(request.sources.len(), 1);
    let samples: Vec<_> = request
        .samples
        .iter()
        .map(|sample| {
            (
                sample.name.as_str(),
                sample.file_name.as_str(),
                sample.sha256.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        samples,
        [("large", "large.csv", None), ("small", "small.csv", Some("51"))]
    );
    let mounted = mounted(&request, &sources);
    assert_eq!(mounted.len(), 1);
    assert_eq!(mounted[0].0, "small");
}

#[test]
fn an_input_on_a_claim_is_hashed_and_no_sample_described() {
    let (task, sources) = sources(here(), on_claim("rates.csv"));
    let request = request(&task, &sources);
    assert_eq!(request.sources[0].name, "rates");
    assert!(request.samples.is_empty());
}

#[test]
fn a_digest_of_the_spec_is_for_the_reader_to_check() {
    let (task, mut sources) = sources(on_claim("a.csv"), here());
    assert_eq!(request(&task, &sources).sources[0].sha256, None);
    sources.files.samples[0].sha256 = "cd".to_owned();
    assert_eq!(request(&task, &sources).sources[0].sha256.as_deref(), Some("cd"));
}

#[test]
fn what_was_found_completes_the_file() {
    let (_, mut sources) = sources(on_claim("a.csv"), here());
    let found = ReadSource {
        sha256: "ab".to_owned(),
        bytes: 7,
    };
    complete(&mut sources, "large", found);
    let large = &sources.files.samples[0];
    assert_eq!((large.sha256.as_str(), large.bytes), ("ab", 7));
}
