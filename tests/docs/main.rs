//! What the pages show is true: commands parse, manifests are accepted, generated pages are what the code says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests say what they expect"
)]

mod readme;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use codegen_api::common::Exposure;
use codegen_api::{crds, validate};
use codegen_data::exposure::FEWEST_ROWS;
use codegen_operator::cli::args::Cli;
use codegen_operator::controller::config::OperatorConfig;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md"), root().join("examples/README.md")];
    paths.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The command lines of a page that call this program: words, without variables before and comments behind, up to a pipe
/// or a redirection.
fn commands(page: &str) -> Vec<Vec<String>> {
    page.replace("\\\n", " ")
        .lines()
        .map(str::trim)
        .filter_map(|line| {
            let line = line
                .split(" #")
                .next()
                .unwrap_or_default()
                .split(" > ")
                .next()
                .unwrap_or_default()
                .split(" | ")
                .next()
                .unwrap_or_default();
            // Prose may have an apostrophe and no second one.
            let words = shlex::split(line)?;
            let start = words.iter().position(|word| !word.contains('='))?;
            (words[start] == "kubectl-codegen" && words.len() > start + 1).then(|| words[start..].to_vec())
        })
        .collect()
}

#[test]
fn the_page_on_exposure_has_every_level_the_one_that_shows_the_least_first() {
    let page = fs::read_to_string(root().join("docs/exposure.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let levels: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    assert_eq!(levels, Exposure::ALL.map(Exposure::as_str));
    assert_eq!(FEWEST_ROWS, 5, "the page says five");
}

#[test]
fn the_page_on_the_model_protocol_is_what_the_code_says() {
    let page = fs::read_to_string(root().join("docs/model-protocol.md")).unwrap();
    let expected = codegen_core::protocol::page();
    assert!(
        page == expected,
        "docs/model-protocol.md differs from the code: run `make generate`"
    );
}

#[test]
fn every_command_on_a_page_is_one_that_the_program_takes() {
    let mut seen = 0;
    for (name, page) in pages() {
        for command in commands(&page) {
            seen += 1;
            if let Err(error) = Cli::try_parse_from(&command) {
                panic!("{name}: `{}`\n{error}", command.join(" "));
            }
        }
    }
    assert!(seen >= 8, "only {seen} commands were found");
}

#[test]
fn every_example_that_a_page_names_exists() {
    for (name, page) in pages() {
        for command in commands(&page) {
            for word in command.iter().filter(|word| word.starts_with("examples/")) {
                assert!(root().join(word).exists(), "{name}: {word}");
            }
        }
    }
}

#[test]
fn the_manifest_of_the_page_on_sources_is_accepted() {
    let page = fs::read_to_string(root().join("docs/sources.md")).unwrap();
    let yaml = page.split("```yaml\n").nth(1).unwrap();
    let value: serde_json::Value = serde_saphyr::from_str(yaml.split("```").next().unwrap()).unwrap();
    if let Err(faults) = validate::manifest(&value) {
        panic!("{faults:?}");
    }
}

#[test]
fn the_page_on_the_operator_shows_the_defaults() {
    let page = fs::read_to_string(root().join("docs/operator.md")).unwrap();
    let yaml = page.split("```yaml\n").nth(1).unwrap();
    let yaml = yaml.split("```").next().unwrap();
    let shown = OperatorConfig::parse(Path::new("docs/operator.md"), yaml).unwrap();
    assert_eq!(shown, OperatorConfig::default());
    for field in [
        "listen",
        "watchNamespaces",
        "limits",
        "leaderElection",
        "egress",
        "history",
    ] {
        assert!(yaml.contains(&format!("{field}:")), "{field}");
    }
}

#[test]
fn the_page_on_images_shows_the_defaults() {
    let page = fs::read_to_string(root().join("docs/images.md")).unwrap();
    let yaml = page.split("```yaml\n").nth(1).unwrap();
    let yaml = yaml.split("```").next().unwrap();
    let shown = OperatorConfig::parse(Path::new("docs/images.md"), yaml).unwrap();
    assert_eq!(shown, OperatorConfig::default());
}

#[test]
fn the_snippets_of_the_page_on_models_are_accepted() {
    let page = fs::read_to_string(root().join("docs/models.md")).unwrap();
    let mut seen = 0;
    for yaml in page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|part| part.split("```").next())
    {
        let value: serde_json::Value = serde_saphyr::from_str(yaml).unwrap();
        let spec = if value.get("spec").is_some() {
            value["spec"].clone()
        } else {
            value.clone()
        };
        let Some(model) = spec.get("model") else { continue };
        seen += 1;
        let task = serde_json::json!({
            "apiVersion": "codegen-operator.dev/v1alpha1", "kind": "CodeGenTask", "metadata": {"name": "snippet"},
            "spec": {"prompt": "p", "model": model},
        });
        if let Err(faults) = validate::manifest(&task) {
            panic!("{yaml}\n{faults:?}");
        }
    }
    assert!(seen >= 6, "only {seen} snippets were found");
}

#[test]
fn removing_the_definitions_names_those_of_every_kind() {
    let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
    let command = page.split("kubectl delete crd").nth(1).unwrap();
    let command = command.split("```").next().unwrap();
    for definition in crds() {
        let name = definition.metadata.name.unwrap();
        assert!(command.contains(&name), "{name} is left: {command}");
    }
}

#[test]
fn the_page_on_the_operator_lists_each_metric_once() {
    let page = fs::read_to_string(root().join("docs/operator.md")).unwrap();
    let table = page.split("## Metrics").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let mut names: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split(" | ").next())
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "{names:?}");
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#:]+)\)").unwrap();
    for (name, page) in pages() {
        let folder = Path::new(&name).parent().unwrap();
        for found in link.captures_iter(&page) {
            assert!(folder.join(&found[1]).exists(), "{name}: {}", &found[1]);
        }
    }
}

#[test]
fn the_page_on_new_tasks_shows_what_is_printed() {
    let page = fs::read_to_string(root().join("docs/new.md")).unwrap();
    let shown = page.split("```text\n").nth(1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("examples"), folder.path().join("examples")).unwrap();
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .current_dir(folder.path())
        .args(&commands(&page)[0][1..])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        shown.split("```").next().unwrap(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn every_wall_of_the_page_on_security_has_tests_that_exist() {
    let mut code = String::new();
    for folder in ["crates", "src", "tests"] {
        rust(&root().join(folder), &mut code);
    }
    let exists = |name: &str| {
        if name.contains('/') {
            root().join(name).is_file()
        } else {
            code.contains(&format!("fn {name}("))
        }
    };
    let text = fs::read_to_string(root().join("tests/docs/defences.yaml")).unwrap();
    let mut entries: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_saphyr::from_str(&text).unwrap();
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 130, "{rows:#?}");
    let mut faults = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, _, condition] = cells[..] else {
            panic!("{row}");
        };
        // A second row of the same name finds no entry.
        let mut entry = entries.remove(name.trim_matches('`')).unwrap_or_default();
        let shown = entry.remove("shown").unwrap_or_default();
        let without = entry.remove("without").unwrap_or_default();
        let beside = entry.remove("beside").unwrap_or_default();
        if shown.is_empty() {
            faults.push(format!("{name}: no test shows it"));
        }
        if condition.is_empty() || condition.ends_with('*') != without.is_empty() {
            faults.push(format!("{name}: {condition:?}, without the wall: {without:?}"));
        }
        faults.extend(entry.into_keys().map(|key| format!("{name}: {key}")));
        for test in [shown, without, beside].concat() {
            if !exists(&test) {
                faults.push(format!("{name}: there is no {test}"));
            }
        }
    }
    faults.extend(entries.into_keys().map(|name| format!("{name}: no row")));
    assert!(faults.is_empty(), "{faults:#?}");
}

fn rust(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust(&path, code);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            code.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
