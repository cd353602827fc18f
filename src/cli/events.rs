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
use super::progress::ProgressPrinter;
use super::recorded::{Place, from_cluster, is_folder, read};
use super::table::{Listing, cell};

/// Widest message of a table.
const MESSAGE_COLUMNS: usize = 160;
/// Widest message of an agent's call, of which there are many: with it a row has 100 columns.
const CALL_COLUMNS: usize = 42;

/// Runs the command.
pub(super) fn run(args: &EventsArgs) -> i32 {
    let progress = ProgressPrinter::new(Color::Auto);
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

async fn happenings(
    args: &EventsArgs,
    progress: &ProgressPrinter,
) -> Result<(Value, Vec<Happening>), Absent> {
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

fn columns(happening: &Happening) -> usize {
    if happening.tool_call.is_some() {
        CALL_COLUMNS
    } else {
        MESSAGE_COLUMNS
    }
}

fn listing(happenings: &[Happening], format: ListFormat) -> Listing {
    let row = |one: &Happening| {
        vec![
            format!("{:.0}", one.at),
            if one.warning { "Warning" } else { "Normal" }.to_owned(),
            one.object.clone(),
            one.reason.clone(),
            cell(&one.sentence(), columns(one), format),
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

    #[test]
    fn the_calls_of_an_agent_stand_in_the_story_with_what_became_of_them() {
        let call = |tool: &str, what: &str, class: &str, exit: Value, is_error: bool, second: i64| {
            let at = Timestamp::from_second(second).unwrap();
            json!({"tool": tool, "what": what, "class": class, "text": "t", "isError": is_error, "exit": exit,
                "startedAt": at, "finishedAt": at})
        };
        let long = format!("cat {}", "a".repeat(150));
        let mut partial = call("Bash", "pytest -q", "Intercepted", json!(0), false, 16);
        partial["isPartial"] = json!(true);
        let step = json!({"turn": 2, "sequence": 3, "results": [
            call("Write", "solution.py", "", Value::Null, false, 13),
            call("Bash", &long, "Safe", json!(1), true, 14),
            call("Bash", "curl https://example.org", "Denied", json!(126), true, 15),
            partial,
            call("Bash", "pytest -q", "Intercepted", Value::Null, true, 17),
        ]});
        let mut task = crate::cli::recorded::fixture::recorded();
        let name = codegen_engine::agent::step_name(0);
        task.documents.insert(name, serde_json::to_vec(&step).unwrap());
        let happenings = story(of_record(&task).unwrap(), Vec::new());
        let calls: Vec<&Happening> = happenings.iter().filter(|one| one.tool_call.is_some()).collect();
        let said: Vec<String> = calls
            .iter()
            .map(|one| format!("{} {}", one.reason, one.message))
            .collect();
        assert_eq!(
            said,
            [
                "ToolCalled Turn 2: Write solution.py".to_owned(),
                format!("ToolFailed Turn 2: Bash (exit 1) {long}"),
                "ToolFailed Turn 2: Bash (Denied, exit 126) curl https://example.org".to_owned(),
                "ToolFailed Turn 2: Bash (Intercepted, failed) pytest -q".to_owned(),
            ]
        );

        let table = listing(&happenings, ListFormat::Table).print(ListFormat::Table, &Value::Null);
        let rows: Vec<&str> = table.lines().filter(|line| line.contains("Turn 2")).collect();
        assert_eq!(rows.len(), 4, "{table}");
        assert!(rows.iter().all(|row| row.chars().count() <= 100), "{table}");
        let wide = listing(&happenings, ListFormat::Wide).print(ListFormat::Wide, &Value::Null);
        assert!(wide.contains(&long), "{wide}");
        let document = listing(&happenings, ListFormat::Json).print(ListFormat::Json, &Value::Null);
        let document: Value = serde_json::from_str(&document).unwrap();
        let items = document["items"].as_array().unwrap();
        let denied = items
            .iter()
            .find(|item| item["toolCall"]["class"] == "Denied")
            .unwrap();
        assert_eq!(
            denied["toolCall"],
            json!({"turn": 2, "tool": "Bash", "what": "curl https://example.org", "class": "Denied", "exit": 126,
                "startedAt": denied["at"]})
        );
    }
}
