//! Samples, inputs and their contents.

use std::collections::BTreeMap;

use crate::task::{FrozenFile, Task};
use codegen_api::CodeGenTaskSpec;
use codegen_api::values::{Input, ValueType};

use super::errors::{Problem, ResolveFaults};

/// Every option of the program: the samples as `File` inputs, then the inputs that are no samples.
pub(super) fn inputs(spec: &CodeGenTaskSpec, faults: &mut ResolveFaults) -> Vec<Input> {
    let of_samples = spec.samples.iter().map(|sample| Input {
        name: sample.name.clone(),
        type_: ValueType::File,
        default: None,
        example: None,
        description: declared(spec, &sample.name).and_then(|(_, input)| input.description.clone()),
        source: None,
    });
    let inputs = of_samples
        .chain(others(spec).map(|(_, input)| input.clone()))
        .collect();
    for (index, input) in spec.inputs.iter().enumerate() {
        check(spec, index, input, faults);
    }
    inputs
}

fn check(spec: &CodeGenTaskSpec, index: usize, input: &Input, faults: &mut ResolveFaults) {
    let path = |field: &str| format!("spec.inputs[{index}].{field}");
    if is_sample(spec, &input.name) {
        if input.type_ != ValueType::File {
            let problem = Problem::SampleOfOtherType {
                name: input.name.clone(),
                type_: input.type_,
            };
            faults.add(path("type"), problem);
        }
        return;
    }
    if matches!(input.type_, ValueType::Datetime | ValueType::Timedelta) {
        return faults.add(path("type"), Problem::OutputType(input.type_));
    }
    for (field, text) in [("default", &input.default), ("example", &input.example)] {
        if let Some(text) = text.as_ref().filter(|text| !input.type_.accepts(text)) {
            faults.add(
                path(field),
                Problem::NotOfType {
                    text: text.clone(),
                    type_: input.type_,
                },
            );
        }
    }
}

/// The samples' files in the order of the spec.
pub(super) fn samples(
    spec: &CodeGenTaskSpec,
    files: Vec<FrozenFile>,
    faults: &mut ResolveFaults,
) -> Vec<FrozenFile> {
    let mut files = by_name(files);
    let mut ordered = Vec::new();
    for (index, sample) in spec.samples.iter().enumerate() {
        let path = format!("spec.samples[{index}]");
        let Some(file) = files.remove(&sample.name) else {
            faults.add(path, Problem::NotRead(sample.name.clone()));
            continue;
        };
        // A file that changed since the manifest was written must not be taken for the expected one.
        if let Some(expected) = sample
            .sha256
            .as_ref()
            .filter(|expected| **expected != file.sha256)
        {
            let problem = Problem::OtherContent {
                expected: expected.clone(),
                found: file.sha256.clone(),
            };
            faults.add(format!("{path}.sha256"), problem);
        }
        check_shape(&path, ValueType::File, &file, faults);
        ordered.push(file);
    }
    ordered
}

/// The contents of the other inputs in the order of the spec. An input without a source may have content, too.
pub(super) fn input_files(
    spec: &CodeGenTaskSpec,
    files: Vec<FrozenFile>,
    faults: &mut ResolveFaults,
) -> Vec<FrozenFile> {
    let mut files = by_name(files);
    let mut ordered = Vec::new();
    for (index, input) in others(spec).filter(|(_, input)| takes_content(input.type_)) {
        let path = format!("spec.inputs[{index}].source");
        match files.remove(&input.name) {
            Some(file) => {
                check_shape(&path, input.type_, &file, faults);
                ordered.push(file);
            }
            None if input.source.is_some() => faults.add(path, Problem::NotRead(input.name.clone())),
            None => {}
        }
    }
    for name in files.into_keys() {
        faults.add("spec.inputs", Problem::NoSuchInput(name));
    }
    ordered
}

pub(super) fn acceptance_tests(
    spec: &CodeGenTaskSpec,
    file: Option<FrozenFile>,
    faults: &mut ResolveFaults,
) -> Option<FrozenFile> {
    if spec.acceptance_tests.is_some() && file.is_none() {
        faults.add(
            "spec.acceptanceTests",
            Problem::NotRead("acceptanceTests".to_owned()),
        );
    }
    file.filter(|_| spec.acceptance_tests.is_some())
}

/// Under `/var/inputs` lies each `File` or `Dir` input by its name and each content by its file name: none may hide
/// another.
pub(super) fn paths_differ(task: &Task, faults: &mut ResolveFaults) {
    let inputs = task.inputs.iter().filter(|input| takes_content(input.type_));
    let names = inputs.map(|input| (input.name.as_str(), input.name.as_str()));
    let files = task.samples.iter().chain(&task.input_files);
    let file_names = files.map(|file| (file.file_name.as_str(), file.name.as_str()));
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, name) in names.chain(file_names) {
        match taken.insert(path, name) {
            Some(first) if first != name => {
                let problem = Problem::SamePath {
                    first: first.to_owned(),
                    second: name.to_owned(),
                    path: path.to_owned(),
                };
                faults.add("spec.samples", problem);
            }
            _ => {}
        }
    }
}

fn check_shape(path: &str, type_: ValueType, file: &FrozenFile, faults: &mut ResolveFaults) {
    if (type_ == ValueType::Dir) != file.is_dir {
        let found = if file.is_dir { "folder" } else { "file" };
        faults.add(
            path,
            Problem::WrongShape {
                name: file.name.clone(),
                type_,
                found,
            },
        );
    }
}

const fn takes_content(type_: ValueType) -> bool {
    matches!(type_, ValueType::File | ValueType::Dir)
}

fn others(spec: &CodeGenTaskSpec) -> impl Iterator<Item = (usize, &Input)> {
    spec.inputs
        .iter()
        .enumerate()
        .filter(|(_, input)| !is_sample(spec, &input.name))
}

fn declared<'a>(spec: &'a CodeGenTaskSpec, name: &str) -> Option<(usize, &'a Input)> {
    spec.inputs
        .iter()
        .enumerate()
        .find(|(_, input)| input.name == name)
}

fn is_sample(spec: &CodeGenTaskSpec, name: &str) -> bool {
    spec.samples.iter().any(|sample| sample.name == name)
}

fn by_name(files: Vec<FrozenFile>) -> BTreeMap<String, FrozenFile> {
    files.into_iter().map(|file| (file.name.clone(), file)).collect()
}
