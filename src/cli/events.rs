//! `kubectl-codegen events`: what happened to a task or a question, its Pods and its Jobs, as one story.

mod cluster;
mod question;
mod story;

use serde_json::{Value, json};

use self::cluster::{events, of_task};
use self::story::{Happening, of_record, story};
use super::args::{Color, EventsArgs, ListFormat, question_name};
use super::cluster::Cluster;
use super::command::{TASK_FAILED, USAGE, fail, runtime, warning};
use super::ended::Absent;
use super::progress::Progress;
use super::recorded::{Place, from_cluster, is_folder, read};
use super::table::{Listing, cell};

/// Widest message of a table.
const MESSAGE_COLUMNS: usize = 160;

/// Runs the command.
pub(super) fn run(args: &EventsArgs) -> i32 {
    let progress = Progress::new(Color::Auto);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&progress, &format!("cannot start: {error}"), TASK_FAILED),
    };
    match runtime.block_on(happenings(args, &progress)) {
        Ok((about, happenings)) => {
            let listing = listing(&happenings, args.format);
            let text = listing.print(args.format, &about);
            match super::print_as_it_is(text.as_bytes()) {
                Ok(()) => 0,
                Err(error) => fail(
                    &progress,
                    &format!("cannot write to stdout: {error}"),
                    TASK_FAILED,
                ),
            }
        }
        Err(Absent { message, code }) => fail(&progress, &message, code),
    }
}

async fn happenings(args: &EventsArgs, progress: &Progress) -> Result<(Value, Vec<Happening>), Absent> {
    let record = &args.record;
    if let Some(name) = question_name(&record.task) {
        let connected = Cluster::connect(&record.cluster).await;
        let cluster = connected.map_err(|message| Absent::new(message, USAGE))?;
        let happenings = question::happenings(&cluster, name, progress).await?;
        return Ok((json!({"question": name}), happenings));
    }
    if is_folder(&record.task) {
        let task = read(&record.task, &record.cluster).await?;
        let happenings = story(of_record(&task)?, Vec::new());
        return Ok((json!({"task": task.name}), happenings));
    }
    let connected = Cluster::connect(&record.cluster).await;
    let cluster = connected.map_err(|message| Absent::new(message, USAGE))?;
    let task = from_cluster(&cluster, &record.task).await?;
    if task.withheld.is_some() {
        progress.lines(&warning(
            "model calls, and all further tries but the last six, are left out, since they are in Secrets, which you may not read in this namespace",
        ));
    }
    let told = match &task.place {
        Place::Cluster { object, .. } => {
            let subject = of_task(&cluster, object, progress).await;
            events(&cluster, &subject, progress).await
        }
        Place::Folder(_) => Vec::new(),
    };
    let happenings = story(of_record(&task)?, told);
    Ok((json!({"task": task.name}), happenings))
}

fn listing(happenings: &[Happening], format: ListFormat) -> Listing {
    let row = |one: &Happening| {
        vec![
            format!("{:.0}", one.at),
            if one.warning { "Warning" } else { "Normal" }.to_owned(),
            one.object.clone(),
            one.reason.clone(),
            cell(&one.sentence(), MESSAGE_COLUMNS, format),
        ]
    };
    Listing {
        header: vec!["TIME", "TYPE", "OBJECT", "REASON", "MESSAGE"],
        rows: happenings.iter().map(row).collect(),
        names: happenings.iter().map(|one| one.reason.clone()).collect(),
        items: happenings
            .iter()
            .map(|one| serde_json::to_value(one).unwrap_or_default())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_a_model_or_a_tool_wrote_moves_no_cursor_and_begins_no_row() {
        let at = Timestamp::UNIX_EPOCH;
        let hostile = "Program 1: \u{1b}[2J\u{1b}]0;x\u{7}no\nTIME Normal question Answered all is well";
        let happening = Happening::of("question", at, "ProgramFailed", hostile.to_owned());
        for format in [ListFormat::Table, ListFormat::Wide] {
            let text = listing(std::slice::from_ref(&happening), format).print(format, &Value::Null);
            assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
            assert_eq!(text.lines().count(), 2, "{text}");
        }
    }
}
