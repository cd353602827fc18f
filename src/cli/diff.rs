//! `kubectl-codegen diff`: what changed of program and suite between two attempts.

use super::args::{Color, DiffArgs};
use super::command::{self, CommandError, TASK_FAILED, print_as_it_is};
use super::paint::{Mark, PaintedLine};
use super::recorded::{RecordedTask, Sources, read};
use codegen_engine::results::{SOLUTION, TESTS, difference};

/// Runs the command.
pub(super) fn run(args: &DiffArgs) -> i32 {
    command::run(Color::Auto, async |progress| {
        let task = Box::pin(read(&args.record.task, &args.record.cluster)).await?;
        let Compared {
            text,
            numbers: [a, b],
        } = compare(&task, &args.attempts).await?;
        if text.is_empty() {
            let same = format!("attempts {a} and {b} ran the same program and the same suite");
            progress.lines(&[PaintedLine::new(Mark::Done, same)]);
            return Ok(0);
        }
        // 1 says that they differ.
        print_as_it_is(text.as_bytes()).map_err(CommandError::usage)?;
        Ok(TASK_FAILED)
    })
}

#[derive(Debug)]
struct Compared {
    /// A unified diff, empty where nothing differs.
    text: String,
    numbers: [u32; 2],
}

async fn compare(task: &RecordedTask, wanted: &[u32]) -> Result<Compared, CommandError> {
    task.readable()?;
    let numbers = chosen(task, wanted)?;
    let mut sources = Vec::new();
    for number in numbers {
        let attempt = task.attempt(Some(number))?;
        sources.push(task.sources(&attempt).await?);
    }
    let text = match sources.as_slice() {
        [before, after] => differences(numbers, before, after),
        _ => String::new(),
    };
    Ok(Compared { text, numbers })
}

/// The two attempts that are meant.
fn chosen(task: &RecordedTask, wanted: &[u32]) -> Result<[u32; 2], CommandError> {
    if let [before, after] = wanted {
        return Ok([*before, *after]);
    }
    let recorded = task.attempts();
    let after = match wanted.first() {
        Some(after) => recorded.iter().position(|number| number == after),
        None => recorded.len().checked_sub(1),
    };
    let pair = after.and_then(|after| Some([*recorded.get(after.checked_sub(1)?)?, *recorded.get(after)?]));
    pair.ok_or_else(|| {
        CommandError::usage(format!(
            "{} has {} recorded, so there are no two to compare; {}",
            task.name,
            super::text::count(recorded.len() as u64, "attempt"),
            task.standing()
        ))
    })
}

fn differences(numbers: [u32; 2], before: &Sources, after: &Sources) -> String {
    let [a, b] = numbers;
    let files = [
        (SOLUTION, &before.solution, &after.solution),
        (TESTS, &before.tests, &after.tests),
    ];
    files
        .into_iter()
        .filter(|(_, before, after)| before != after)
        .map(|(path, before, after)| {
            difference(before, after, &format!("{a}/{path}"), &format!("{b}/{path}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::recorded::fixture::{recorded, withheld};

    fn sources(solution: &str, tests: &str) -> Sources {
        Sources {
            solution: solution.to_owned(),
            tests: tests.to_owned(),
        }
    }

    #[test]
    fn a_diff_names_the_attempts_and_has_only_what_changed() {
        let before = sources("a = 1\nb = 2\n", "assert True\n");
        let after = sources("a = 1\nb = 3\n", "assert True\n");
        let text = differences([1, 3], &before, &after);
        assert_eq!(
            text,
            "--- 1/solution.py\n+++ 3/solution.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n"
        );
        assert_eq!(differences([1, 3], &before, &before), "");
    }

    #[tokio::test]
    async fn the_last_two_attempts_are_compared_unless_others_are_named() {
        let task = recorded();
        for wanted in [&[][..], &[2], &[1, 2]] {
            let compared = compare(&task, wanted).await.unwrap();
            assert_eq!(compared.numbers, [1, 2], "{wanted:?}");
            assert!(
                compared
                    .text
                    .starts_with("--- 1/solution.py\n+++ 2/solution.py\n")
                    && compared
                        .text
                        .contains("-    return 1\n+    return len(text.split())\n")
                    && !compared.text.contains("test_solution.py"),
                "{}",
                compared.text
            );
        }
        assert_eq!(compare(&task, &[2, 2]).await.unwrap().text, "");
    }

    #[tokio::test]
    async fn one_attempt_and_a_record_that_may_not_be_read_cannot_be_compared() {
        let mut task = recorded();
        task.documents.remove("documents/run-0002.json");
        for wanted in [&[][..], &[1], &[2]] {
            let absent = compare(&task, wanted).await.unwrap_err();
            assert!(absent.to_string().contains("1 attempt recorded"), "{absent}");
        }
        let absent = compare(&recorded(), &[1, 7]).await.unwrap_err();
        assert!(absent.to_string().contains("no attempt 7"), "{absent}");
        let absent = compare(&withheld(), &[]).await.unwrap_err();
        assert!(absent.to_string().contains("Secrets"), "{absent}");
    }
}
