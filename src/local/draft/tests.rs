//! Drafts of odd files, names and texts.

use std::fs;
use std::path::Path;

use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::local::kustomize;
use codegen_api::values::FileFormat;
use codegen_sources::{Claims, GivenFiles, SourceOrigin, plan};

const ROWS: &[u8] = b"a,b\n1,2\n";

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn options(folder: &Path, samples: &[&str]) -> DraftOptions {
    let place = |sample: &&str| match sample.split_once('=') {
        Some((name, file)) => PathBuf::from(format!("{name}={}", folder.join(file).display())),
        None => folder.join(sample),
    };
    DraftOptions {
        prompt: "count the rows".to_owned(),
        samples: samples.iter().map(place).collect(),
        outputs: vec![Output {
            name: "rows".to_owned(),
            type_: ValueType::Int,
            format: None,
            description: None,
        }],
        ..DraftOptions::default()
    }
}

fn messages(options: &DraftOptions) -> Vec<String> {
    match Draft::read(options) {
        Ok(draft) => draft.objects().err().unwrap_or_default(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Writes the folder, renders it, and gives for each sample the file that the program sees with its bytes.
fn rendered(draft: &Draft) -> Vec<(String, String, Vec<u8>)> {
    let target = tempfile::tempdir().unwrap();
    draft.write(target.path()).unwrap();
    let objects = Objects::collect(kustomize::render(target.path()).unwrap()).unwrap();
    let expected = draft.objects().unwrap();
    assert_eq!(objects.tasks, expected.tasks);
    assert_eq!(objects.config_maps, expected.config_maps);
    let plan = plan(&objects.tasks[0], &objects.config_maps, &GivenFiles::default()).unwrap();
    plan.samples
        .into_iter()
        .map(|wanted| match wanted.source {
            SourceOrigin::Bytes(bytes) => (wanted.name, wanted.file_name, bytes),
            _ => panic!("{} is no key of a ConfigMap", wanted.name),
        })
        .collect()
}

#[rstest]
#[case::plain("penguins.csv", "penguins", "penguins.csv")]
#[case::spaces("my birds 2026.csv", "my_birds_2026", "my_birds_2026.csv")]
#[case::not_ascii("Größe.csv", "Gr_e", "Gr_e.csv")]
#[case::of_another_script("鳥.csv", "sample", "sample.csv")]
#[case::a_dash_first("-rf.csv", "rf", "rf.csv")]
#[case::a_dot_first(".hidden.csv", "hidden", "hidden.csv")]
#[case::an_equals_sign("a=b.csv", "a_b", "a_b.csv")]
#[case::quotes("it's \"x\".csv", "it_s_x", "it_s_x.csv")]
#[case::a_line_break("a\nb: {{c}}.csv", "a_b_c", "a_b_c.csv")]
#[case::a_word_of_yaml("on", "on", "on")]
#[case::a_word_of_python("class.csv", "class_sample", "class.csv")]
#[case::of_ours("task.yaml", "task", "task_2.yaml")]
#[case::of_kustomize("kustomization.yaml", "kustomization", "kustomization_2.yaml")]
fn a_file_of_any_name_becomes_a_sample(#[case] file: &str, #[case] name: &str, #[case] file_name: &str) {
    let folder = folder(&[(file, ROWS)]);
    let mut options = options(folder.path(), &[]);
    options.samples = vec![folder.path().join(file)];
    let draft = Draft::read(&options).unwrap();
    assert_eq!(
        rendered(&draft),
        [(name.to_owned(), file_name.to_owned(), ROWS.to_vec())]
    );
}

#[test]
fn a_name_that_is_given_goes_before_one_that_is_made() {
    let folder = folder(&[("a/x.csv", b"1\n"), ("b/x.csv", b"2\n"), ("c/x.csv", b"3\n")]);
    let draft = Draft::read(&options(folder.path(), &["a/x.csv", "b/x.csv", "x=c/x.csv"])).unwrap();
    let found = rendered(&draft);
    let names: Vec<_> = found
        .iter()
        .map(|(name, file, _)| (name.as_str(), file.as_str()))
        .collect();
    assert_eq!(names, [("x_2", "x.csv"), ("x_3", "x_3.csv"), ("x", "x_2.csv")]);
    assert_eq!(found[2].2, b"3\n");
}

#[test]
fn two_samples_of_one_given_name_are_refused_in_words_of_the_command_line() {
    let folder = folder(&[("a.csv", ROWS), ("b.csv", ROWS)]);
    let said = messages(&options(folder.path(), &["x=a.csv", "x=b.csv"]));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("--sample: two samples have the same name"),
        "{said:?}"
    );
}

#[test]
fn everything_that_is_wrong_with_files_is_reported_at_once() {
    let folder = folder(&[
        ("empty.csv", b""),
        ("folder/a.csv", ROWS),
        ("notes.py", b"x = 1\n"),
    ]);
    let mut options = options(folder.path(), &["empty.csv", "folder", "absent.csv"]);
    options.samples.push("/dev/zero".into());
    options.acceptance_tests = Some(folder.path().join("notes.py"));
    options.model.base_url = Some("https://me:hunter2@models.example.com/v1".to_owned());
    let said = messages(&options);
    let expected = [
        "empty.csv: is empty: give a file",
        "folder: is a folder: name one file",
        "absent.csv: cannot be read: ",
        "/dev/zero: has more than 1 MiB, which is all that a ConfigMap holds: save it to a file",
        "notes.py: has no test",
        "--model-url needs --model",
        "the folder keeps no secret",
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_file_of_exactly_what_a_config_map_holds_is_taken_with_server_side_apply() {
    let folder = folder(&[("small.csv", ROWS)]);
    fs::write(folder.path().join("large.csv"), vec![b'1'; 1024 * 1024]).unwrap();
    let small = Draft::read(&options(folder.path(), &["small.csv"])).unwrap();
    assert!(!small.needs_server_side_apply());
    let large = Draft::read(&options(folder.path(), &["large.csv"])).unwrap();
    assert!(large.needs_server_side_apply());
}

#[test]
fn what_no_config_map_holds_lies_beside_the_manifest_and_on_a_claim_in_a_cluster() {
    let folder = folder(&[("small.csv", ROWS)]);
    let large = [b"a,b\n".as_slice(), &b"1,2\n".repeat(300_000)].concat();
    fs::write(folder.path().join("large.csv"), &large).unwrap();
    let mut options = options(folder.path(), &["small.csv", "rows=large.csv"]);
    options.inputs = vec![DraftInput {
        name: "more".to_owned(),
        type_: ValueType::File,
        value: Some(folder.path().join("large.csv").display().to_string()),
    }];
    let draft = Draft::read(&options).unwrap();
    let claim = "count-the-rows-data";
    assert_eq!(draft.claim(), Some((claim, vec!["large.csv", "more.csv"])));
    assert!(!draft.needs_server_side_apply());
    let target = tempfile::tempdir().unwrap();
    draft.write(target.path()).unwrap();

    let objects = Objects::collect(kustomize::render(target.path()).unwrap()).unwrap();
    assert_eq!(objects.config_maps.len(), 1);
    let folders = [(claim.to_owned(), target.path().to_owned())].into();
    let given = GivenFiles {
        claims: Claims::Folders(folders),
        ..GivenFiles::default()
    };
    let plan = plan(&objects.tasks[0], &objects.config_maps, &given).unwrap();
    for wanted in [&plan.samples[1], &plan.inputs[0]] {
        let SourceOrigin::File(path) = &wanted.source else {
            panic!("{} is no file", wanted.name);
        };
        assert!(fs::read(path).unwrap() == large, "{}", path.display());
    }
    let text = draft.task_yaml();
    assert!(
        text.contains("local -k . --claim count-the-rows-data=.\n"),
        "{text}"
    );

    options.acceptance_tests = Some(folder.path().join("large.csv"));
    assert!(messages(&options)[0].contains("--accept"));
}

#[test]
fn what_an_api_server_would_refuse_names_the_option() {
    let folder = folder(&[("a.csv", ROWS)]);
    let mut options = options(folder.path(), &["a.csv"]);
    options.name = Some("My Task".to_owned());
    options.prompt = " \n".to_owned();
    options.inputs = vec![DraftInput {
        name: "decimals".to_owned(),
        type_: ValueType::Int,
        value: Some("one".to_owned()),
    }];
    options.outputs[0].name = "../rows".to_owned();
    options.constraints = vec![String::new()];
    let said = messages(&options);
    for expected in [
        "--name: Invalid value: \"My Task\"",
        "--output ../rows.name: ",
        "--constraint : ",
    ] {
        assert!(
            said.iter().any(|said| said.starts_with(expected)),
            "{expected}: {said:#?}"
        );
    }
    options.name = None;
    options.outputs[0].name = "rows".to_owned();
    options.constraints.clear();
    let said = messages(&options);
    for expected in [
        "the prompt: the prompt is blank",
        "--input decimals: default and example of an Int",
    ] {
        assert!(
            said.iter().any(|said| said.starts_with(expected)),
            "{expected}: {said:#?}"
        );
    }
}

#[test]
fn inputs_tests_and_models_are_as_the_command_line_says() {
    let tests = b"import solution\n\n\ndef test_x():\n    assert solution.x() == 1\n";
    let folder = folder(&[("rates.csv", ROWS), ("test_x.py", tests)]);
    let mut options = options(folder.path(), &[]);
    let rates = folder.path().join("rates.csv");
    options.inputs = vec![DraftInput {
        name: "rates".to_owned(),
        type_: ValueType::File,
        value: Some(format!("@{}", rates.display())),
    }];
    options.acceptance_tests = Some(folder.path().join("test_x.py"));
    options.outputs[0].format = Some(FileFormat::CSV);
    options.outputs[0].type_ = ValueType::File;
    options.model.base_url = Some("http://127.0.0.1:11434/v1".to_owned());
    options.model.name = Some("qwen2.5-coder:32b".to_owned());
    let draft = Draft::read(&options).unwrap();
    assert!(rendered(&draft).is_empty());
    let text = draft.task_yaml();
    for expected in [
        "name: qwen2.5-coder:32b",
        "baseURL: http://127.0.0.1:11434/v1",
        "configMapKeyRef:\n        name: count-the-rows-rates\n        key: rates.csv",
        "configMapKeyRef:\n      name: count-the-rows-acceptance\n      key: test_x.py",
        "format: CSV",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    // A server of one's own needs no key, and the key of another provider has no business there.
    assert!(!text.contains("apiKeySecretRef"), "{text}");
    options.model = ModelOverrides::default();
    assert!(
        Draft::read(&options)
            .unwrap()
            .task_yaml()
            .contains("apiKeySecretRef")
    );
}

#[test]
fn nothing_that_lies_in_the_folder_is_replaced_unasked() {
    let folder = folder(&[("a.csv", ROWS)]);
    let draft = Draft::read(&options(folder.path(), &["a.csv"])).unwrap();
    let target = tempfile::tempdir().unwrap();
    fs::write(target.path().join("README.md"), "mine").unwrap();
    draft.check_folder(target.path()).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", target.path().join("task.yaml")).unwrap();
    let error = draft.check_folder(target.path()).unwrap_err().to_string();
    let path = target.path().join("task.yaml");
    assert_eq!(
        error,
        format!(
            "{} is there already: choose another folder with -o, or replace it with --force",
            path.display()
        )
    );
    draft.write(target.path()).unwrap();
    assert!(fs::symlink_metadata(path).unwrap().is_file());
    assert_eq!(fs::read(target.path().join("README.md")).unwrap(), b"mine");
}
