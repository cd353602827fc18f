//! `kubectl-codegen local run --for-each`: progress, one table of all items, and those that failed.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::print::Outputs;
use crate::cli::args::{ListFormat, RunFormat};
use crate::cli::command::{CommandError, TASK_FAILED, print_as_it_is, warning};
use crate::cli::paint::{Mark, PaintedLine};
use crate::cli::progress::ProgressPrinter;
use crate::cli::table::Listing;
use crate::cli::text::{columns, count, cut, seconds};
use crate::local::objects::Objects;
use crate::local::run::{
    FinishedTask, ForEachOptions, ItemCounts, LocalRunOptions, for_each as run_for_each,
};
use codegen_core::run::{ItemRecord, LINES};

/// Items that are named among those that failed, and warnings that are shown.
const MOST_NAMED: usize = 10;
/// Widest column of files.
const WIDEST_FILE: usize = 40;
/// Widest text of all values of an item.
const WIDEST_VALUES: usize = 26;

/// Runs the program for each file, and prints what came of it. Returns the exit code.
pub(super) async fn for_each(
    finished: &FinishedTask,
    options: &LocalRunOptions,
    each: &ForEachOptions,
    objects: &Objects,
    (progress, format): (&ProgressPrinter, RunFormat),
) -> Result<i32, CommandError> {
    let begun = Instant::now();
    let doing = |label: &str| progress.run(label);
    let ended = |counts: &ItemCounts| progress.update(&label(counts, begun.elapsed().as_secs_f64()));
    let running = run_for_each(finished, options, each, objects, &doing, &ended);
    let (records, counts) = Box::pin(running).await?;
    progress.stop();
    let target = options.output_dir.as_deref();
    let text = match format {
        RunFormat::Table => listing(&records).print(ListFormat::Table, &Value::Null),
        RunFormat::Json => listing(&records).print(ListFormat::Json, &Value::Null),
        RunFormat::Yaml => listing(&records).print(ListFormat::Yaml, &Value::Null),
        RunFormat::Value => records.iter().map(|record| line(record, target)).collect(),
    };
    print_as_it_is(text.as_bytes())?;
    if let Some(drift) = finished.drift() {
        progress.lines(&warning(&drift));
    }
    progress.lines(&notes(&records, target));
    progress.lines(&summary(counts, begun.elapsed().as_secs_f64(), target.is_some()));
    Ok(if counts.failed > 0 { TASK_FAILED } else { 0 })
}

/// Text of the moving line, `elapsed` seconds after the beginning.
fn label(counts: &ItemCounts, elapsed: f64) -> String {
    let ItemCounts {
        all, done, failed, ..
    } = *counts;
    let rate = done as f64 / elapsed.max(f64::EPSILON);
    let left = seconds((all - done) as f64 / rate);
    let all = count(all as u64, "file");
    format!("{done} of {all}, {failed} failed, {rate:.1} a second, {left} left")
}

/// All items, as a list has them.
fn listing(records: &[ItemRecord]) -> Listing {
    Listing {
        header: vec!["FILE", "RESULT", "SECONDS", "VALUES"],
        rows: records.iter().map(row).collect(),
        names: Vec::new(),
        items: records.iter().map(|record| json!(record)).collect(),
    }
}

fn row(record: &ItemRecord) -> Vec<String> {
    let is_short = record.file.chars().count() <= WIDEST_FILE;
    // The beginning of a path says least.
    let file = if is_short { &record.file } else { &record.item };
    let result = if record.has_succeeded() {
        &record.outcome
    } else {
        &record.reason
    };
    let values = record.outputs.iter().filter_map(|output| {
        let value = output.value.as_ref()?;
        Some(format!("{}={value}", output.name))
    });
    let values = values.collect::<Vec<_>>().join(" ");
    vec![
        cut(file, WIDEST_FILE),
        result.clone(),
        format!("{:.1}", record.seconds),
        cut(&values, WIDEST_VALUES),
    ]
}

/// One line of `-o value`: the item, and each output as a run of its own has it, with tabs between.
fn line(record: &ItemRecord, target: Option<&Path>) -> String {
    let files = record.outputs.iter().filter(|output| output.value.is_none());
    let places = target.map(|target| {
        let folder = target.join(&record.item);
        files
            .map(|file| (file.name.clone(), folder.join(&file.file_name)))
            .collect()
    });
    let outputs = Outputs {
        places: places.unwrap_or_default(),
        only: None,
    };
    let texts = record
        .outputs
        .iter()
        .map(|output| outputs.line(output).replace('\t', "\\t"));
    let texts: Vec<String> = std::iter::once(record.item.clone()).chain(texts).collect();
    texts.join("\t") + "\n"
}

/// Warnings about items, and those that failed: the first of each by name.
fn notes(records: &[ItemRecord], target: Option<&Path>) -> Vec<PaintedLine> {
    let rest = match target {
        Some(folder) => folder.join(LINES).display().to_string(),
        None => "-o json".to_owned(),
    };
    let named = |mark: Mark, of: fn(&ItemRecord) -> Vec<&String>| {
        let texts = records.iter().flat_map(|record| {
            let first = |text: &String| text.lines().next().unwrap_or_default().to_owned();
            of(record)
                .into_iter()
                .map(move |text| format!("{}: {}", record.item, first(text)))
        });
        let texts: Vec<String> = texts.collect();
        let named = texts.iter().take(MOST_NAMED);
        let mut lines: Vec<PaintedLine> = named
            .map(|text| PaintedLine::new(mark, cut(text, columns() - 2)))
            .collect();
        if let Some(more @ 1..) = texts.len().checked_sub(MOST_NAMED) {
            let more = format!("and {more} more of the kind: {rest} has all");
            lines.push(PaintedLine::new(Mark::Detail, more));
        }
        lines
    };
    let warnings = named(Mark::Warning, |record| record.warnings.iter().collect());
    let failures = named(Mark::Failed, |record| {
        let message = record.message.iter();
        message.filter(|_| !record.has_succeeded()).collect()
    });
    [warnings, failures].concat()
}

/// Counts of all, and what to do next; `has_folder` where a second command finds what this one did.
fn summary(counts: ItemCounts, elapsed: f64, has_folder: bool) -> Vec<PaintedLine> {
    let ItemCounts {
        all, failed, earlier, ..
    } = counts;
    let mark = if failed > 0 { Mark::Failed } else { Mark::Done };
    let succeeded = count((all - failed) as u64, "file");
    let text = format!("{succeeded} succeeded, {failed} failed, {}", seconds(elapsed));
    let mut lines = vec![PaintedLine::new(mark, text)];
    if earlier > 0 {
        let earlier = count(earlier as u64, "file");
        let text = format!("{earlier} of an earlier command did not run again");
        lines.push(PaintedLine::new(Mark::Detail, text));
    }
    if failed > 0 && has_folder {
        let next = "the same command with --failed runs those again that failed";
        lines.push(PaintedLine::new(Mark::Detail, next));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::paint::paint;

    fn record(number: usize, reason: &str) -> ItemRecord {
        let message = format!("cannot read {number}\nand more");
        ItemRecord {
            reason: reason.to_owned(),
            seconds: 12.04,
            ..ItemRecord::not_run(
                &format!("item-{number}"),
                &format!("{}/{number}.csv", "deep/".repeat(12)),
                message,
            )
        }
    }

    #[test]
    fn the_moving_line_says_how_many_are_done_how_fast_and_for_how_long() {
        let counts = ItemCounts {
            all: 1200,
            done: 300,
            failed: 2,
            earlier: 0,
        };
        assert_eq!(
            label(&counts, 60.0),
            "300 of 1,200 files, 2 failed, 5.0 a second, 3 min 0 s left"
        );
    }

    #[test]
    fn a_line_of_the_table_has_at_most_a_hundred_columns() {
        let output = |name: &str, value: &str| {
            let output = json!({
                "name": name, "type": "String", "value": value, "sha256": "ab12", "bytes": 4, "fileName": name, "files": [],
            });
            serde_json::from_value(output).unwrap()
        };
        let long = ItemRecord {
            outputs: vec![output("species", "3"), output("note", &"word ".repeat(40))],
            ..record(1, "ClaimNotWritable")
        };
        let table = listing(&[long]).print(ListFormat::Table, &Value::Null);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{widest}: {table}");
        assert!(
            table.contains("\nitem-1   ClaimNotWritable   12.0      species=3 note=word"),
            "{table}"
        );
    }

    #[test]
    fn the_first_ten_that_failed_are_named_with_the_first_line_of_why() {
        let records: Vec<ItemRecord> = (1..=12).map(|number| record(number, "NotRun")).collect();
        let lines: Vec<String> = notes(&records, Some(Path::new("out")))
            .iter()
            .map(|line| paint(line, false))
            .collect();
        assert_eq!(
            (lines.len(), lines[9].as_str()),
            (11, "\u{2717} item-10: cannot read 10")
        );
        assert_eq!(lines[10], "  and 2 more of the kind: out/items.jsonl has all");
    }
}
