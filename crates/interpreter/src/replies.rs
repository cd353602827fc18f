//! Outcomes of calls as they go to a worker: what is too large or too deep for it becomes an exception that the program can catch.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::{MOST_LEVELS, ReplyOutcome, WorkerLimits, WorkerReply};

/// Bytes of an exception's message that go to the program.
const MOST_MESSAGE: usize = 16 * 1024;

/// The outcomes of these calls, within the limits of the program: none larger than a value may be, and all together no larger than its
/// memory.
pub(crate) fn within(
    limits: &WorkerLimits,
    calls: &[(u32, String)],
    outcomes: Vec<ReplyOutcome>,
) -> serde_json::Result<Vec<WorkerReply<Box<RawValue>>>> {
    let mut rest = limits.memory_bytes;
    calls
        .iter()
        .zip(outcomes)
        .map(|((id, name), outcome)| {
            let outcome = encode(limits, name, outcome, &mut rest)?;
            Ok(WorkerReply { id: *id, outcome })
        })
        .collect()
}

fn encode(
    limits: &WorkerLimits,
    name: &str,
    outcome: ReplyOutcome,
    rest: &mut u64,
) -> serde_json::Result<ReplyOutcome<Box<RawValue>>> {
    let value = match outcome {
        ReplyOutcome::Raise { kind, message } => {
            return Ok(ReplyOutcome::Raise {
                kind: cut(kind, 100),
                message: cut(message, MOST_MESSAGE),
            });
        }
        ReplyOutcome::Return(value) => value,
    };
    if !is_within_levels(&value, MOST_LEVELS) {
        return Ok(raise(
            "ValueError",
            format!("the reply of {name} has more than {MOST_LEVELS} levels of lists and objects"),
        ));
    }
    let encoded = serde_json::value::to_raw_value(&value)?;
    let bytes = u64::try_from(encoded.get().len()).unwrap_or(u64::MAX);
    if bytes > limits.value_bytes {
        return Ok(raise(
            "ValueError",
            format!(
                "the reply of {name} has {bytes} bytes, more than the {} that a program takes; ask it for less",
                limits.value_bytes
            ),
        ));
    }
    let Some(left) = rest.checked_sub(bytes) else {
        return Ok(raise(
            "MemoryError",
            format!(
                "the reply of {name} has no room beside the others: together they are larger than the program's memory \
                 of {} bytes; await fewer calls at once",
                limits.memory_bytes
            ),
        ));
    };
    *rest = left;
    Ok(ReplyOutcome::Return(encoded))
}

fn raise(kind: &str, message: String) -> ReplyOutcome<Box<RawValue>> {
    ReplyOutcome::Raise {
        kind: kind.to_owned(),
        message,
    }
}

/// Reports whether no list or object lies deeper; it goes no deeper itself to see that.
fn is_within_levels(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Array(items), Some(below)) => items.iter().all(|item| is_within_levels(item, below)),
        (Value::Object(members), Some(below)) => {
            members.values().all(|member| is_within_levels(member, below))
        }
        _ => true,
    }
}

fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn replies(limits: &WorkerLimits, values: Vec<Value>) -> Vec<ReplyOutcome<Box<RawValue>>> {
        let calls: Vec<_> = (0..)
            .zip(["a", "b", "c"])
            .map(|(id, name)| (id, name.to_owned()))
            .collect();
        let outcomes = values.into_iter().map(ReplyOutcome::Return).collect();
        let replies = within(limits, &calls, outcomes).unwrap();
        replies.into_iter().map(|reply| reply.outcome).collect()
    }

    fn raised(outcome: &ReplyOutcome<Box<RawValue>>) -> (&str, &str) {
        match outcome {
            ReplyOutcome::Raise { kind, message } => (kind, message),
            ReplyOutcome::Return(value) => panic!("it returned {value}"),
        }
    }

    #[test]
    fn a_reply_that_is_too_large_or_too_deep_raises_in_the_program_and_names_its_tool() {
        let limits = WorkerLimits {
            value_bytes: 10,
            ..WorkerLimits::default()
        };
        let deep = (0..=MOST_LEVELS).fold(json!(1), |inner, _| json!([inner]));
        let outcomes = replies(&limits, vec![json!("0123456789"), deep, json!("01234567")]);
        let (kind, message) = raised(&outcomes[0]);
        assert_eq!(kind, "ValueError");
        assert!(message.contains("reply of a has 12 bytes"), "{message}");
        assert!(raised(&outcomes[1]).1.contains("100 levels"));
        assert!(matches!(&outcomes[2], ReplyOutcome::Return(value) if value.get() == "\"01234567\""));
    }

    #[test]
    fn replies_that_are_larger_than_the_memory_together_raise_for_those_that_have_no_room() {
        let limits = WorkerLimits {
            memory_bytes: 9,
            ..WorkerLimits::default()
        };
        let outcomes = replies(&limits, vec![json!("123456"), json!("12"), json!(7)]);
        assert!(matches!(outcomes[0], ReplyOutcome::Return(_)));
        assert_eq!(raised(&outcomes[1]).0, "MemoryError");
        assert!(matches!(outcomes[2], ReplyOutcome::Return(_)));
    }
}
