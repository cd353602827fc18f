use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(number: u32, tool: &str, id: u32) -> Call {
    let arguments = json!({"id": id});
    Call {
        number,
        tool: tool.to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
    }
}

fn ended(call: Call, value: Value) -> JournalEntry {
    JournalEntry::Ended(CallEnd {
        is_refused: false,
        call,
        outcome: CallOutcome::Returned(value),
        is_copy: false,
        started_at: String::new(),
        ended_at: String::new(),
    })
}

#[test]
fn a_call_that_has_ended_is_answered_and_one_in_flight_is_said_to_be() {
    let journal = Journal::new([
        JournalEntry::Begun(call(1, "refund", 7)),
        ended(call(1, "refund", 7), json!("done")),
        JournalEntry::Begun(call(2, "refund", 8)),
    ]);
    let outcome = CallOutcome::Returned(json!("done"));
    assert_eq!(
        journal.find(&call(1, "refund", 7)),
        Ok(JournalLookup::Ended(&outcome))
    );
    assert_eq!(journal.find(&call(2, "refund", 8)), Ok(JournalLookup::InFlight));
    assert_eq!(journal.find(&call(3, "refund", 8)), Ok(JournalLookup::New));
}

#[test]
fn calls_that_a_person_refused_and_copies_are_not_made_and_those_in_flight_are() {
    let with = |change: fn(&mut CallEnd), number| match ended(call(number, "refund", number), json!(1)) {
        JournalEntry::Ended(mut ended) => {
            change(&mut ended);
            JournalEntry::Ended(ended)
        }
        other => other,
    };
    let journal = Journal::new([
        with(|_| {}, 1),
        with(|ended| ended.is_copy = true, 2),
        with(|ended| ended.is_refused = true, 3),
        JournalEntry::Begun(call(4, "pay", 4)),
        JournalEntry::Begun(call(5, "refund", 5)),
    ]);
    let expected = BTreeMap::from([("pay".to_owned(), 1), ("refund".to_owned(), 2)]);
    assert_eq!(journal.made_by_tool(), expected);
    let in_flight: Vec<u32> = journal.in_flight().map(|call| call.number).collect();
    assert_eq!(in_flight, [4, 5]);
}

#[test]
fn another_call_in_the_place_of_a_recorded_one_names_both() {
    let journal = Journal::new([ended(call(1, "refund", 7), json!(null))]);
    let error = journal.find(&call(1, "refund", 8)).unwrap_err().to_string();
    assert!(
        error.contains("refund(id=7)") && error.contains("refund(id=8)"),
        "{error}"
    );
    assert!(journal.find(&call(1, "rate", 7)).is_err());
}

#[test]
fn what_a_call_came_to_stays_as_it_was_first_recorded() {
    let mut journal = Journal::new([ended(call(1, "rate", 7), json!(1))]);
    journal.add(ended(call(1, "rate", 7), json!(2)));
    journal.add(JournalEntry::Begun(call(1, "rate", 7)));
    let outcome = CallOutcome::Returned(json!(1));
    assert_eq!(
        journal.find(&call(1, "rate", 7)),
        Ok(JournalLookup::Ended(&outcome))
    );
    assert_eq!(journal.ended().count() + journal.in_flight().count(), 1);
}

#[test]
fn a_call_that_was_withdrawn_is_as_if_it_had_not_been_begun() {
    let journal = Journal::new([
        JournalEntry::Begun(call(1, "refund", 7)),
        JournalEntry::Withdrawn(call(1, "refund", 7)),
    ]);
    assert_eq!(journal.find(&call(1, "refund", 7)), Ok(JournalLookup::New));
}

#[test]
fn an_entry_survives_serialization() {
    for entry in [
        JournalEntry::Begun(call(1, "a", 1)),
        ended(call(2, "b", 2), json!({"x": [1, null]})),
    ] {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            serde_json::from_str::<JournalEntry>(&text).unwrap(),
            entry,
            "{text}"
        );
    }
}

#[test]
fn a_later_program_gets_what_a_tool_that_acts_once_gave_the_earlier_one_as_often_as_it_was_called() {
    let first = Journal::new([
        ended(call(1, "refund", 7), json!("a")),
        ended(call(2, "refund", 7), json!("b")),
        ended(call(3, "rate", 7), json!(1)),
        JournalEntry::Begun(call(4, "refund", 9)),
    ]);
    let effect = |tool: &str| {
        if tool == "rate" {
            Effect::ReadOnly
        } else {
            Effect::Once
        }
    };
    let mut earlier = Earlier::of([&first], effect);
    assert_eq!(earlier.take(&call(1, "refund", 7)), Some(json!("a")));
    assert_eq!(earlier.take(&call(2, "refund", 7)), Some(json!("b")));
    assert_eq!(earlier.take(&call(3, "refund", 7)), None);
    assert_eq!(
        earlier.take(&call(1, "rate", 7)),
        None,
        "what changes nothing is asked again"
    );
    assert_eq!(
        earlier.take(&call(1, "refund", 9)),
        None,
        "nobody knows what it came to"
    );
}

proptest! {
    #[test]
    fn a_journal_answers_every_call_that_it_was_given_and_no_other(ids in prop::collection::vec(0_u32..5, 0..20)) {
        let entries = ids.iter().zip(1..).map(|(id, number)| ended(call(number, "tool", *id), json!(number)));
        let journal = Journal::new(entries);
        for (id, number) in ids.iter().zip(1..) {
            let outcome = CallOutcome::Returned(json!(number));
            prop_assert_eq!(journal.find(&call(number, "tool", *id)), Ok(JournalLookup::Ended(&outcome)));
            prop_assert!(journal.find(&call(number, "tool", id + 1)).is_err());
        }
        let next = u32::try_from(ids.len()).unwrap() + 1;
        prop_assert_eq!(journal.find(&call(next, "tool", 0)), Ok(JournalLookup::New));
    }
}
