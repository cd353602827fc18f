//! Every source of every field, and what is said when it cannot be had.

use super::*;
use codegen_api::CodeGenTaskSpec;
use codegen_core::mounts::ending_of_text;

fn config_maps() -> BTreeMap<ObjectKey, ObjectData> {
    let map = |name: &str, keys: &[(&str, &str)]| {
        let keys = keys
            .iter()
            .map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec()));
        (
            ("default".to_owned(), name.to_owned()),
            ObjectData(keys.collect()),
        )
    };
    BTreeMap::from([
        map("penguins", &[("penguins.csv", "a,b"), ("notes", "n")]),
        map("other", &[("penguins.csv", "c,d")]),
    ])
}

fn plan_of(spec: &str, given: &GivenFiles) -> Result<ReadPlan, SourceError> {
    // Past the validation, so that what it refuses is refused here too.
    let spec = serde_saphyr::from_str(&format!("  prompt: p\n{spec}")).unwrap();
    plan(&CodeGenTask::new("t", spec), &config_maps(), given)
}

fn message(spec: &str) -> String {
    plan_of(spec, &GivenFiles::default()).err().unwrap().to_string()
}

fn file_names(plan: &ReadPlan) -> Vec<&str> {
    plan.samples
        .iter()
        .chain(&plan.inputs)
        .map(|wanted| wanted.file_name.as_str())
        .collect()
}

#[test]
fn a_key_of_a_config_map_keeps_its_name_as_the_file_name() {
    let plan = plan_of(
        "  samples: [{name: m, configMapKeyRef: {name: penguins, key: penguins.csv}}]\n",
        &GivenFiles::default(),
    )
    .unwrap();
    assert_eq!(file_names(&plan), ["penguins.csv"]);
    assert!(plan.samples[0].source == SourceOrigin::Bytes(b"a,b".to_vec()));
}

#[test]
fn files_of_one_name_are_named_after_their_samples() {
    let plan = plan_of(
        "  samples:\n  - {name: m, configMapKeyRef: {name: penguins, key: penguins.csv}}\n  - {name: n, configMapKeyRef: {name: other, key: penguins.csv}}\n",
        &GivenFiles::default(),
    )
    .unwrap();
    assert_eq!(file_names(&plan), ["m.csv", "n.csv"]);
}

#[test]
fn two_equal_file_names_are_refused() {
    let message = message(
        "  samples:\n  - {name: m, inline: x, fileName: a.csv}\n  - {name: n, inline: y, fileName: a.csv}\n",
    );
    assert_eq!(
        message,
        "m and n have the same file name a.csv: give one of them another fileName"
    );
}

#[test]
fn an_inline_sample_gets_its_ending_from_its_content() {
    let ending = |text: &str| ending_of_text(text);
    assert_eq!(ending("a,b\n1,2\n"), ".csv");
    assert_eq!(ending("a\tb\n1\t2\n"), ".tsv");
    assert_eq!(ending("{\"a\": 1}\n{\"a\": 2}\n"), ".jsonl");
    assert_eq!(ending("[1,\n 2]\n"), ".json");
    assert_eq!(ending("2026-01-01 INFO started, then\nnothing\n"), ".txt");
    assert_eq!(ending(""), ".txt");
}

#[test]
fn a_missing_config_map_names_both_ways_to_give_it() {
    assert_eq!(
        message("  samples: [{name: m, configMapKeyRef: {name: absent, key: k}}]\n"),
        "spec.samples[0] (m) refers to ConfigMap absent, which is not among the manifests: add its document with -f (or its kustomization with -k), or give the file with --sample m=PATH"
    );
}

#[test]
fn a_config_map_that_kustomize_has_renamed_is_named() {
    let map = |name: &str| (("default".to_owned(), name.to_owned()), ObjectData::default());
    let spec =
        serde_saphyr::from_str("{prompt: p, samples: [{name: m, configMapKeyRef: {name: absent, key: k}}]}")
            .unwrap();
    let task = CodeGenTask::new("t", spec);
    let error = plan(
        &task,
        &BTreeMap::from([map("dev-absent")]),
        &GivenFiles::default(),
    )
    .err()
    .unwrap()
    .to_string();
    assert!(
        error.contains("(kustomize calls it dev-absent and changes no reference of ours"),
        "{error}"
    );
}

#[test]
fn a_folder_for_a_claim_that_no_task_reads_is_refused() {
    let spec = serde_saphyr::from_str(
        "{prompt: p, samples: [{name: m, persistentVolumeClaim: {claimName: data, path: a.csv}}]}",
    )
    .unwrap();
    let tasks = [
        CodeGenTask::new("t", CodeGenTaskSpec::default()),
        CodeGenTask::new("u", spec),
    ];
    let tasks: Vec<&CodeGenTask> = tasks.iter().collect();
    let given = |name: &str| BTreeMap::from([(name.to_owned(), PathBuf::from("/srv"))]);
    assert_eq!(unclaimed(&given("data"), &tasks), Ok(()));
    assert_eq!(
        unclaimed(&given("date"), &tasks).unwrap_err().to_string(),
        "--claim date=...: no task reads a PersistentVolumeClaim of that name; they read data"
    );
    assert!(unclaimed(&given("data"), &tasks[..1]).is_err());
}

#[test]
fn a_missing_key_names_the_keys_that_there_are() {
    assert_eq!(
        message("  samples: [{name: m, configMapKeyRef: {name: penguins, key: k}}]\n"),
        "spec.samples[0] (m) refers to key k of ConfigMap penguins, which has notes, penguins.csv: correct the key, or give the file with --sample m=PATH"
    );
}

#[test]
fn a_claim_needs_a_folder_and_its_path_stays_inside() {
    let spec = |path: &str| {
        format!("  samples: [{{name: m, persistentVolumeClaim: {{claimName: data, path: {path}}}}}]\n")
    };
    assert!(message(&spec("a.csv")).contains("--claim data=FOLDER"));
    let given = GivenFiles {
        claims: Claims::Folders(BTreeMap::from([("data".to_owned(), PathBuf::from("/srv"))])),
        ..GivenFiles::default()
    };
    let plan = plan_of(&spec("2026/a.csv"), &given).unwrap();
    assert!(plan.samples[0].source == SourceOrigin::File(PathBuf::from("/srv/2026/a.csv")));
    assert_eq!(file_names(&plan), ["a.csv"]);
    for path in ["../a.csv", "/etc/passwd", "x/../../a"] {
        assert!(
            matches!(
                plan_of(&spec(path), &given),
                Err(SourceError::OutsideClaim { .. })
            ),
            "{path}"
        );
    }
}

#[test]
fn a_file_given_for_a_sample_stands_in_its_place() {
    let given = GivenFiles {
        samples: BTreeMap::from([("m".to_owned(), PathBuf::from("/tmp/my data.xlsx"))]),
        ..GivenFiles::default()
    };
    let sha256 = "0".repeat(64);
    let spec = format!("  samples: [{{name: m, url: 'https://example.com/a.csv', sha256: '{sha256}'}}]\n");
    let plan = plan_of(&spec, &given).unwrap();
    assert_eq!(file_names(&plan), ["m.xlsx"]);
    assert_eq!(plan.samples[0].sha256, None);
}

#[test]
fn a_download_is_named_after_the_path_of_its_address() {
    let sha256 = "0".repeat(64);
    let spec =
        format!("  samples: [{{name: m, url: 'https://example.com/d/a.csv?raw=1#x', sha256: '{sha256}'}}]\n");
    let plan = plan_of(&spec, &GivenFiles::default()).unwrap();
    assert_eq!(file_names(&plan), ["a.csv"]);
    assert_eq!(plan.samples[0].sha256, Some(sha256));
}

#[test]
fn an_option_for_a_name_that_is_not_there_lists_those_that_are() {
    let given = GivenFiles {
        samples: BTreeMap::from([("x".to_owned(), PathBuf::new())]),
        ..GivenFiles::default()
    };
    let error = plan_of("  samples: [{name: m, inline: a}]\n", &given)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "--sample x=...: the task has no sample of that name; it has m"
    );
    let given = GivenFiles {
        inputs: BTreeMap::from([("n".to_owned(), PathBuf::new())]),
        ..GivenFiles::default()
    };
    let error = plan_of("  inputs: [{name: n, type: Int}]\n", &given)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("--input n=...: the task has no File or Dir input"),
        "{error}"
    );
}

#[test]
fn a_folder_input_takes_every_key_and_its_own_name() {
    let plan = plan_of(
        "  inputs: [{name: d, type: Dir, source: {configMapRef: {name: penguins}}}]\n",
        &GivenFiles::default(),
    )
    .unwrap();
    assert_eq!(file_names(&plan), ["d"]);
    assert!(matches!(&plan.inputs[0].source, SourceOrigin::Files(files) if files.len() == 2));
}

#[test]
fn a_file_input_without_a_source_is_left_out() {
    let plan = plan_of("  inputs: [{name: f, type: File}]\n", &GivenFiles::default()).unwrap();
    assert!(plan.inputs.is_empty());
}

#[test]
fn an_input_that_is_a_sample_is_read_once() {
    let plan = plan_of(
        "  samples: [{name: m, inline: a}]\n  inputs: [{name: m, type: File}]\n",
        &GivenFiles::default(),
    )
    .unwrap();
    assert_eq!((plan.samples.len(), plan.inputs.len()), (1, 0));
}

#[test]
fn acceptance_tests_get_a_name_that_pytest_collects() {
    let plan = plan_of(
        "  acceptanceTests: {configMapKeyRef: {name: penguins, key: notes}}\n",
        &GivenFiles::default(),
    )
    .unwrap();
    assert_eq!(plan.acceptance_tests.unwrap().file_name, "test_acceptance.py");
    assert!(message("  acceptanceTests: {}\n").contains("has no source"));
}

#[test]
fn a_claim_that_a_cluster_mounts_is_read_there() {
    let given = GivenFiles {
        claims: Claims::Mounted,
        ..GivenFiles::default()
    };
    let spec = |path: &str| {
        format!("  samples: [{{name: m, persistentVolumeClaim: {{claimName: data, path: {path}}}}}]\n")
    };
    let plan = plan_of(&spec("./2026//a.csv"), &given).unwrap();
    assert_eq!(file_names(&plan), ["a.csv"]);
    assert!(matches!(
        &plan.samples[0].source,
        SourceOrigin::Claim { claim, path, is_dir: false } if claim == "data" && path == "2026/a.csv"
    ));
    assert!(plan_of(&spec("../a.csv"), &given).is_err());
    let spec =
        "  inputs: [{name: d, type: Dir, source: {persistentVolumeClaim: {claimName: data, path: .}}}]\n";
    let plan = plan_of(spec, &given).unwrap();
    assert!(matches!(
        &plan.inputs[0].source,
        SourceOrigin::Claim { path, is_dir: true, .. } if path.is_empty()
    ));
}

#[test]
fn messages_in_a_cluster_name_no_command_line_options() {
    let given = GivenFiles {
        claims: Claims::Mounted,
        ..GivenFiles::default()
    };
    let error = plan_of(
        "  samples: [{name: m, configMapKeyRef: {name: penguins, key: k}}]\n",
        &given,
    );
    assert_eq!(
        error.err().unwrap().to_string(),
        "spec.samples[0] (m) refers to key k of ConfigMap penguins, which has notes, penguins.csv: correct the key"
    );
}

#[test]
fn sources_that_are_not_wanted_are_left_out_and_the_others_stay_where_they_are() {
    let spec = "  prompt: p\n  samples:\n  - {name: a, configMapKeyRef: {name: gone, key: a.csv}}\n  - {name: b, inline: \"x,y\"}\n  inputs:\n  - {name: rates, type: File, source: {configMapKeyRef: {name: rates, key: r}}}\n";
    let task = CodeGenTask::new("t", serde_saphyr::from_str(spec).unwrap());
    let left = with_sources_of(&task, |name| name == "b").spec;
    assert_eq!(left.samples[0].config_map_key_ref, None);
    assert_eq!(left.samples[1], task.spec.samples[1]);
    assert_eq!(left.inputs[0].source, None);
}
