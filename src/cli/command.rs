//! What the commands that read manifests share: objects, runtime, complaints, the document on stdout.

use std::fmt::Display;
use std::io;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::args::{Format, ManifestArgs};
use super::paint::{Line, Mark};
use super::progress::Progress;
use super::text::{MAX_COLUMNS, wrap};
use crate::local::objects::Objects;
use crate::local::{files, kustomize};
use crate::sources::{Claims, Given};

/// Exit code of a task that failed, and of a sample that cannot be described.
pub(super) const TASK_FAILED: i32 = 1;
/// Exit code of a manifest or command line that is wrong.
pub(super) const USAGE: i32 = 2;

/// The objects of the manifests. Documents that no local run uses are told.
pub(super) fn read(args: &ManifestArgs, progress: &Progress) -> Result<Objects, Box<dyn Display>> {
    let mut documents = files::load(&args.files).map_err(boxed)?;
    for folder in &args.kustomize {
        documents.extend(kustomize::render(folder).map_err(boxed)?);
    }
    let objects = Objects::collect(documents).map_err(boxed)?;
    for notice in &objects.notices {
        progress.lines(&warning(notice));
    }
    Ok(objects)
}

fn boxed(error: impl Display + 'static) -> Box<dyn Display> {
    Box::new(error)
}

/// What stands in the place of the manifests' data.
pub(super) fn given(args: &ManifestArgs) -> Given {
    Given {
        samples: args.samples.iter().cloned().collect(),
        inputs: args.inputs.iter().cloned().collect(),
        claims: Claims::Folders(args.claims.iter().cloned().collect()),
    }
}

/// A runtime that can reach the network.
pub(super) fn runtime() -> io::Result<Runtime> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// The one document on stdout: what there is of a task, or a list when several were wanted.
pub(super) fn document(format: Format, mut items: Vec<Value>, wanted: usize) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let value = match (wanted, items.pop()) {
        (1, Some(item)) => item,
        (_, last) => {
            items.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "items": items})
        }
    };
    match format {
        Format::Text => None,
        Format::Json => serde_json::to_string_pretty(&value).ok().map(|text| text + "\n"),
        Format::Yaml => serde_saphyr::to_string(&value).ok(),
    }
}

/// A paragraph with the mark of a warning.
pub(super) fn warning(text: &str) -> Vec<Line> {
    wrap(text, MAX_COLUMNS - 2)
        .into_iter()
        .enumerate()
        .map(|(index, text)| Line::new(if index == 0 { Mark::Warning } else { Mark::Detail }, text))
        .collect()
}

/// Says what is wrong, one line each, and gives the exit code.
pub(super) fn fail(progress: &Progress, message: &dyn Display, code: i32) -> i32 {
    for line in message.to_string().lines() {
        progress.lines(&[Line::new(Mark::Heading, format!("error: {line}"))]);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_is_printed_as_itself_and_several_as_a_list() {
        let one = document(Format::Json, vec![json!({"kind": "A"})], 1).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["kind"], "A");
        let two = document(Format::Json, vec![json!({"n": 1}), json!({"n": 2})], 2).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&two).unwrap()["items"],
            json!([{"n": 1}, {"n": 2}])
        );
        assert_eq!(document(Format::Text, vec![json!({})], 1), None);
    }

    #[test]
    fn yaml_reads_back_as_the_same_task() {
        let task = json!({"kind": "A", "spec": {"prompt": "line one\nline: two\n", "n": "1"}});
        let text = document(Format::Yaml, vec![task.clone()], 1).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), task);
    }
}
