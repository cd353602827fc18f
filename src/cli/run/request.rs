//! Objects that a run of the command line is in a cluster: a `CodeGenRun`, and a `ConfigMap` each for the contents that are too large to
//! stand in it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

use codegen_api::CodeGenRun;
use codegen_api::common::{ConfigMapKeyRef, LocalRef};
use codegen_api::run::{CodeGenRunSpec, RunInput, RunSource};

/// Largest text that stands in the run itself, bytes.
const LARGEST_INLINE: usize = 64 * 1024;
/// Most bytes that all texts in a run have together.
const MOST_INLINE: usize = 256 * 1024;
/// Longest name before a random ending, characters.
const LONGEST_STEM: usize = 50;

/// Content that the command line gives for a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputContent {
    /// A file with its name.
    File(String, Vec<u8>),
    /// The files of a folder by name.
    Folder(BTreeMap<String, Vec<u8>>),
}

/// Request as the command line has it.
#[derive(Clone, Debug)]
pub(super) struct RequestedRun {
    /// The run without its inputs.
    pub spec: CodeGenRunSpec,
    /// Values by name.
    pub values: BTreeMap<String, String>,
    /// Files and folders by name.
    pub contents: Vec<(String, InputContent)>,
}

/// Objects that are created for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunObjects {
    /// The run; its inputs with a ConfigMap lack the name that the server gives that.
    pub run: CodeGenRun,
    /// Each `ConfigMap`, and the position of the input that it is for.
    pub config_maps: Vec<(usize, ConfigMap)>,
}

/// The objects of a run, or what of it a cluster does not take. `largest` is the most bytes that a ConfigMap is read for.
pub(super) fn request(asked: RequestedRun, largest: usize) -> Result<RunObjects, String> {
    let mut inputs: Vec<RunInput> = asked
        .values
        .into_iter()
        .map(|(name, value)| RunInput {
            name,
            value: Some(value),
            source: None,
        })
        .collect();
    let mut placed = Placed {
        stem: stem(&asked.spec),
        config_maps: Vec::new(),
        inline: 0,
    };
    for (name, content) in asked.contents {
        let bytes = content.bytes();
        if bytes > largest {
            return Err(format!(
                "input {name:?} has {bytes} bytes, and at most {largest} go to a cluster from here: put it on a \
                 PersistentVolumeClaim, and name that in a CodeGenRun of your own (inputs[].source.persistentVolumeClaim)"
            ));
        }
        let source = placed.place(inputs.len(), &name, content)?;
        inputs.push(RunInput {
            name,
            value: None,
            source: Some(source),
        });
    }
    let spec = CodeGenRunSpec { inputs, ..asked.spec };
    let mut run = CodeGenRun::new("", spec);
    run.metadata = named(&placed.stem, "");
    Ok(RunObjects {
        run,
        config_maps: placed.config_maps,
    })
}

/// Placement of the contents of files and folders: in the run as long as there is room, else in a `ConfigMap` each.
struct Placed {
    /// Beginning of the names of created objects.
    stem: String,
    /// Each `ConfigMap`, and the position of the input that it is for.
    config_maps: Vec<(usize, ConfigMap)>,
    /// Bytes of the texts in the run.
    inline: usize,
}

impl Placed {
    /// Places the content of the input at a position, and says where that is.
    fn place(&mut self, input: usize, name: &str, content: InputContent) -> Result<RunSource, String> {
        Ok(match content {
            InputContent::File(file_name, bytes) if fits_inline(&bytes, self.inline) => {
                self.inline += bytes.len();
                RunSource {
                    // It is text: that was checked.
                    inline: Some(String::from_utf8_lossy(&bytes).into_owned()),
                    // Without a name of its own, its content decides the ending.
                    file_name: (file_name != name).then(|| usable_name(&file_name, name)),
                    ..RunSource::default()
                }
            }
            InputContent::File(file_name, bytes) => {
                let key = usable_name(&file_name, name);
                self.add_config_map(input, BTreeMap::from([(key.clone(), bytes)]));
                RunSource {
                    config_map_key_ref: Some(ConfigMapKeyRef {
                        name: String::new(),
                        key,
                    }),
                    ..RunSource::default()
                }
            }
            InputContent::Folder(files) => {
                if let Some(file) = files.keys().find(|file| !is_key(file)) {
                    return Err(format!(
                        "input {name:?} holds {file:?}, and a ConfigMap takes no file of such a name: use letters, digits, dots, \
                         dashes and underscores, or put the folder on a PersistentVolumeClaim"
                    ));
                }
                self.add_config_map(input, files);
                RunSource {
                    config_map_ref: Some(LocalRef { name: String::new() }),
                    ..RunSource::default()
                }
            }
        })
    }

    fn add_config_map(&mut self, input: usize, files: BTreeMap<String, Vec<u8>>) {
        self.config_maps.push((input, config_map(&self.stem, files)));
    }
}

/// Returns the beginning of the names of its objects: that of the task, of an image the last part of its repository.
fn stem(spec: &CodeGenRunSpec) -> String {
    if let Some(task) = &spec.task_ref {
        return task.name.clone();
    }
    let reference = spec.program_image.as_deref().unwrap_or_default();
    let name = reference.split('@').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    let last = last.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let known = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    let stem: String = last.chars().map(known).collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() {
        "program".to_owned()
    } else {
        stem.to_owned()
    }
}

impl RunObjects {
    /// Puts the name that a ConfigMap has got into the run.
    pub fn refer(&mut self, input: usize, name: &str) {
        let source = self
            .run
            .spec
            .inputs
            .get_mut(input)
            .and_then(|input| input.source.as_mut());
        let Some(source) = source else { return };
        if let Some(reference) = &mut source.config_map_key_ref {
            name.clone_into(&mut reference.name);
        }
        if let Some(reference) = &mut source.config_map_ref {
            name.clone_into(&mut reference.name);
        }
    }
}

impl InputContent {
    fn bytes(&self) -> usize {
        match self {
            Self::File(_, bytes) => bytes.len(),
            Self::Folder(files) => files.values().map(Vec::len).sum(),
        }
    }
}

fn fits_inline(bytes: &[u8], before: usize) -> bool {
    bytes.len() <= LARGEST_INLINE && before + bytes.len() <= MOST_INLINE && std::str::from_utf8(bytes).is_ok()
}

fn config_map(task: &str, files: BTreeMap<String, Vec<u8>>) -> ConfigMap {
    let data = files.into_iter().map(|(key, bytes)| (key, ByteString(bytes)));
    ConfigMap {
        metadata: named(task, "input-"),
        // As bytes, for a file need not be text.
        binary_data: Some(data.collect()),
        // The run may read it much later, and is to find what was given.
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

fn named(task: &str, what: &str) -> ObjectMeta {
    let stem: String = task.chars().take(LONGEST_STEM).collect();
    let stem = stem.trim_end_matches(['-', '.']);
    ObjectMeta {
        generate_name: Some(format!("{stem}-{what}")),
        ..ObjectMeta::default()
    }
}

fn is_key(name: &str) -> bool {
    // The API server's own rule for keys, applied here so that the message names the input.
    !name.is_empty()
        && !name.starts_with("..")
        && name != "."
        && name.len() <= 253
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// A file name that the cluster takes: what it does not know becomes `_`, and its ending stays.
fn usable_name(file_name: &str, input: &str) -> String {
    let known = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let name: String = file_name
        .chars()
        .map(|character| if known(character) { character } else { '_' })
        .collect();
    let from = name.len().saturating_sub(200);
    let name = &name[from..];
    if name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        name.to_owned()
    } else {
        format!("{input}{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LARGEST: usize = 900 * 1024;

    fn reference(name: &str) -> LocalRef {
        LocalRef {
            name: name.to_owned(),
        }
    }

    fn asked(contents: Vec<(&str, InputContent)>) -> RequestedRun {
        RequestedRun {
            spec: CodeGenRunSpec {
                task_ref: Some(reference("penguin-masses")),
                ..CodeGenRunSpec::default()
            },
            values: BTreeMap::from([("decimals".to_owned(), "2".to_owned())]),
            contents: contents
                .into_iter()
                .map(|(name, content)| (name.to_owned(), content))
                .collect(),
        }
    }

    fn file(name: &str, bytes: &[u8]) -> InputContent {
        InputContent::File(name.into(), bytes.to_vec())
    }

    #[test]
    fn a_small_text_stands_in_the_run_itself() {
        let request = request(
            asked(vec![("measurements", file("today 1.csv", b"a\n1\n"))]),
            LARGEST,
        )
        .unwrap();
        assert_eq!(
            serde_json::to_value(&request.run).unwrap(),
            json!({
                "apiVersion": "codegen-operator.dev/v1alpha1",
                "kind": "CodeGenRun",
                "metadata": {"generateName": "penguin-masses-"},
                "spec": {
                    "taskRef": {"name": "penguin-masses"},
                    "inputs": [
                        {"name": "decimals", "value": "2"},
                        {"name": "measurements", "source": {"inline": "a\n1\n", "fileName": "today_1.csv"}},
                    ],
                },
            })
        );
        assert!(request.config_maps.is_empty());
    }

    #[test]
    fn what_comes_without_a_name_is_named_by_the_cluster() {
        let request = request(
            asked(vec![("measurements", file("measurements", b"a\n1\n"))]),
            LARGEST,
        )
        .unwrap();
        let source = request.run.spec.inputs[1].source.clone().unwrap();
        assert_eq!(
            (source.file_name, source.inline.as_deref()),
            (None, Some("a\n1\n"))
        );
    }

    #[test]
    fn what_is_large_or_no_text_goes_to_a_config_map_that_the_run_names() {
        let large = vec![b'a'; LARGEST_INLINE + 1];
        let contents = vec![
            ("table", file(".table.csv", &large)),
            ("photo", file("a.png", b"\xff\0")),
        ];
        let mut request = request(asked(contents), LARGEST).unwrap();
        assert_eq!(request.config_maps.len(), 2);
        let (input, map) = request.config_maps[0].clone();
        assert_eq!(
            map.metadata.generate_name.as_deref(),
            Some("penguin-masses-input-")
        );
        assert_eq!(map.binary_data.unwrap()["table.table.csv"].0, large);
        request.refer(input, "penguin-masses-input-x1");
        request.refer(request.config_maps[1].0, "penguin-masses-input-x2");
        let references: Vec<_> = request
            .run
            .spec
            .inputs
            .iter()
            .filter_map(|input| input.source.as_ref()?.config_map_key_ref.clone())
            .map(|reference| format!("{}/{}", reference.name, reference.key))
            .collect();
        assert_eq!(
            references,
            [
                "penguin-masses-input-x1/table.table.csv",
                "penguin-masses-input-x2/a.png"
            ]
        );
    }

    #[test]
    fn a_published_program_is_named_by_its_image_and_its_run_after_the_repository() {
        for (image, stem) in [
            ("registry.example:5000/team/penguins:v1", "penguins-"),
            ("registry.example/Team/pen_guins@sha256:00", "pen-guins-"),
            ("penguins", "penguins-"),
            ("registry.example/__", "program-"),
        ] {
            let mut asked = asked(Vec::new());
            asked.spec = CodeGenRunSpec {
                program_image: Some(image.to_owned()),
                pull_secret_ref: Some(reference("registry")),
                ..CodeGenRunSpec::default()
            };
            let made = request(asked, LARGEST).unwrap().run;
            assert_eq!(made.metadata.generate_name.as_deref(), Some(stem));
            assert_eq!(made.spec.program_image.as_deref(), Some(image));
            assert_eq!(made.spec.task_ref, None);
            let secret = made.spec.pull_secret_ref.unwrap();
            assert_eq!(secret.name, "registry");
        }
    }

    #[test]
    fn an_input_that_is_too_large_is_refused_with_a_way_to_give_it() {
        let contents = vec![("table", file("a.csv", &vec![b'a'; LARGEST + 1]))];
        let refusal = request(asked(contents), LARGEST).unwrap_err();
        assert!(refusal.contains("has 921601 bytes"), "{refusal}");
        assert!(refusal.contains("PersistentVolumeClaim"), "{refusal}");
    }

    #[test]
    fn a_folder_is_a_config_map_of_its_files() {
        let files = |name: &str| InputContent::Folder(BTreeMap::from([(name.to_owned(), b"x".to_vec())]));
        let mut taken = request(asked(vec![("notes", files("a.txt"))]), LARGEST).unwrap();
        taken.refer(1, "x");
        let source = taken.run.spec.inputs[1].source.clone().unwrap();
        assert_eq!(source.config_map_ref, Some(reference("x")));
        let refusal = request(asked(vec![("notes", files("a b.txt"))]), LARGEST).unwrap_err();
        assert!(refusal.contains("takes no file of such a name"), "{refusal}");
    }

    #[test]
    fn texts_that_are_too_many_for_the_run_go_into_a_config_map() {
        let text = vec![b'a'; LARGEST_INLINE];
        let names = ["a", "b", "c", "d", "e"];
        let contents = names.map(|name| (name, file("a.txt", &text))).to_vec();
        let request = request(asked(contents), LARGEST).unwrap();
        assert_eq!(request.config_maps.len(), 1);
    }
}
