//! One finished program, many files: a run for each file that a pattern names, each with inputs, limits and outputs of its own.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use glob::{MatchOptions, glob_with};
use tempfile::TempDir;

use super::error::LocalRunError;
use super::finished::FinishedTask;
use super::given::{self, freeze_given};
use super::item_folder::ItemFolder;
use super::{LocalRunOptions, ReadyRun};
use crate::local::objects::Objects;
use codegen_api::values::ValueType;
use codegen_core::run::{InputFault, ItemRecord, ProgramOptions, RunEnd, RunFault, item_names};
use codegen_core::task::Task;
use codegen_sandbox::LocalSandbox;

/// Names in a folder that an error lists.
const LISTED: usize = 5;

/// Options of the command line about runs for many files.
#[derive(Clone, Debug)]
pub struct ForEachOptions {
    /// The input that differs between runs.
    pub input: String,
    /// Pattern of the files that it is.
    pub pattern: String,
    /// Most runs at once.
    pub parallelism: NonZeroUsize,
    /// Runs items again whose record says that they failed.
    pub failed: bool,
}

/// Progress of a run for each of many files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemCounts {
    /// Items of this command.
    pub all: usize,
    /// Items that have ended.
    pub done: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Those of them that an earlier command ran.
    pub earlier: usize,
}

/// Runs the program once for each file, and returns a record for each, in the order of the files, and their counts. What is wrong with a
/// file fails its item; what is wrong with the command or this machine ends all. `doing` receives what comes before the first item, `ended`
/// the counts after each. Dropping the future ends the programs.
pub async fn for_each(
    finished: &FinishedTask,
    options: &LocalRunOptions,
    each: &ForEachOptions,
    objects: &Objects,
    doing: &(dyn Fn(&str) + Send + Sync),
    ended: &(dyn Fn(&ItemCounts) + Send + Sync),
) -> Result<(Vec<ItemRecord>, ItemCounts), LocalRunError> {
    let task = &finished.task;
    let declared = task.inputs.iter().find(|input| input.name == each.input);
    let type_ = declared.map_or(ValueType::File, |input| input.type_);
    let paths = matching(type_, each)?;
    let shared = tempfile::tempdir().map_err(LocalRunError::NoTemporaryFolder)?;
    doing("reading the inputs that are the same for all files");
    let inputs = shared_inputs(task, &options.inputs, (&each.input, type_), shared.path()).await?;
    let folder = options.output_dir.as_deref();
    let folder = folder.map(ItemFolder::open).transpose()?;
    // What fails here would fail for each of them.
    finished.environment(&LocalSandbox::for_user()?, doing).await?;
    doing("the program runs on the first files");
    let runs = &ItemRuns {
        finished,
        options: LocalRunOptions {
            inputs,
            ..options.clone()
        },
        each,
        objects,
        folder: folder.as_ref(),
    };
    let names = item_names(&paths);
    let mut counts = ItemCounts {
        all: paths.len(),
        ..ItemCounts::default()
    };
    let mut running = stream::iter(names.iter().zip(&paths).enumerate())
        .map(|(index, (name, path))| async move {
            let item = Box::pin(runs.item(name, path.display().to_string())).await;
            item.map(|(record, is_earlier)| (index, record, is_earlier))
        })
        .buffer_unordered(each.parallelism.get());
    let mut records = BTreeMap::new();
    while let Some((index, record, is_earlier)) = running.try_next().await? {
        counts.done += 1;
        counts.failed += usize::from(!record.has_succeeded());
        counts.earlier += usize::from(is_earlier);
        ended(&counts);
        records.insert(index, record);
    }
    let records: Vec<ItemRecord> = records.into_values().collect();
    if let Some(folder) = &folder {
        folder.finish(&task.outputs, &records)?;
    }
    Ok((records, counts))
}

/// What the runs of all items share.
struct ItemRuns<'a> {
    finished: &'a FinishedTask,
    options: LocalRunOptions,
    each: &'a ForEachOptions,
    objects: &'a Objects,
    folder: Option<&'a ItemFolder>,
}

impl ItemRuns<'_> {
    /// Runs an item and records it, unless an earlier command did. Returns its record, and whether it is that of the earlier command.
    async fn item(&self, item: &str, file: String) -> Result<(ItemRecord, bool), LocalRunError> {
        let begun = self.folder.map(ItemFolder::begin).transpose()?;
        let (record, is_earlier) = match self.run(item, &file, begun.as_ref()).await {
            Err(error) if error.is_of_one_run() => {
                let why = error.messages().join("; ");
                (ItemRecord::not_run(item, &file, why), false)
            }
            ran => ran?,
        };
        if let (Some(folder), false) = (self.folder, is_earlier) {
            folder.record(&record, begun.as_ref())?;
        }
        Ok((record, is_earlier))
    }

    /// Reads the inputs of an item and runs the program, whose files go to `begun`, or finds the record of an earlier command.
    async fn run(
        &self,
        item: &str,
        file: &str,
        begun: Option<&TempDir>,
    ) -> Result<(ItemRecord, bool), LocalRunError> {
        let mut options = self.options.clone();
        options.inputs.push((self.each.input.clone(), format!("@{file}")));
        let ready = ReadyRun::read(self.finished, &options).await?;
        let key = ready.key();
        let before = self.folder.and_then(|folder| folder.before(item, &key));
        if let Some(before) = before.filter(|before| before.has_succeeded() || !self.each.failed) {
            let mut record = before.clone();
            file.clone_into(&mut record.file);
            return Ok((record, true));
        }
        let ran = ready.run(begun.map(TempDir::path), self.objects, &|_| {});
        let ran = Box::pin(ran).await?;
        if let (Some(begun), RunEnd::Succeeded(outputs)) = (begun, &ran.end) {
            ItemFolder::write(item, outputs, begun)?;
        }
        let status = ran.object.status.unwrap_or_default();
        Ok((
            ItemRecord::ended((item, file), &self.each.input, key, status),
            false,
        ))
    }
}

/// Lists what the pattern names, in the order of their paths: folders for an input that is one, else files.
fn matching(type_: ValueType, each: &ForEachOptions) -> Result<Vec<PathBuf>, LocalRunError> {
    let failed = |why: String| LocalRunError::Pattern {
        input: each.input.clone(),
        pattern: each.pattern.clone(),
        why,
    };
    if !matches!(type_, ValueType::File | ValueType::Dir) {
        return Err(LocalRunError::Faults(vec![RunFault::Input(
            InputFault::NoValue {
                name: each.input.clone(),
                type_,
                found: "many files",
            },
        )]));
    }
    let as_in_a_shell = MatchOptions {
        require_literal_leading_dot: true,
        ..MatchOptions::new()
    };
    let paths = glob_with(&each.pattern, as_in_a_shell).map_err(|error| failed(error.to_string()))?;
    let paths: Result<Vec<PathBuf>, _> = paths.collect();
    let mut paths = paths.map_err(|error| failed(error.to_string()))?;
    paths.retain(|path| path.is_dir() == (type_ == ValueType::Dir));
    if paths.is_empty() {
        return Err(failed(format!(
            "nothing of that name is a {}; {}",
            if type_ == ValueType::Dir { "folder" } else { "file" },
            present(&each.pattern)
        )));
    }
    Ok(paths)
}

/// Says what lies in the last folder of a pattern whose name is no pattern.
fn present(pattern: &str) -> String {
    let is_name = |path: &&Path| !path.to_string_lossy().contains(['*', '?', '[']);
    let folder = Path::new(pattern).ancestors().skip(1).find(is_name);
    let folder = folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let shown = folder.display();
    let mut names: Vec<String> = match fs::read_dir(folder) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect(),
        Err(error) => return format!("{shown} cannot be read: {error}"),
    };
    names.sort();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    match (names.join(", "), more) {
        (none, _) if none.is_empty() => format!("{shown} is empty"),
        (names, 0) => format!("{shown} holds {names}"),
        (names, more) => format!("{shown} holds {names} and {more} more"),
    }
}

/// Copies the inputs that are the same for every item to `shared`, once. Returns them as a command line has them, or everything that is
/// wrong with them and with the name of the one that differs.
async fn shared_inputs(
    task: &Task,
    inputs: &[(String, String)],
    (differs, type_): (&str, ValueType),
    shared: &Path,
) -> Result<Vec<(String, String)>, LocalRunError> {
    // In the place of a file of the pattern: one that cannot be read fails its item alone.
    let readable = match type_ {
        ValueType::Dir => "@/",
        _ => "@/dev/null",
    };
    let all = [inputs, &[(differs.to_owned(), readable.to_owned())]].concat();
    let mut given = given::sort(&ProgramOptions::from(task), &all)?;
    given.files.retain(|(name, _)| name != differs);
    let files = freeze_given(task, &given, shared).await?;
    let files = files.iter().map(|file| {
        let path = given::path(shared, file);
        (file.name.clone(), format!("@{}", path.display()))
    });
    Ok(given.values.into_iter().chain(files).collect())
}
