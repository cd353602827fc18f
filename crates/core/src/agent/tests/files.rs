//! Files of the workspace: read, written, edited, and changed by commands.

use super::*;

#[test]
fn a_file_is_read_with_numbers_of_its_lines() {
    let text = "line 1\nline 2\nline 3\nline 4\nline 5\n";
    let read = (
        "Read",
        json!({"file_path": "/sandbox/a/b.txt", "offset": 2, "limit": 2}),
    );
    assert_eq!(
        last(&[write("./a//b.txt", text), read]),
        ("     2\tline 2\n     3\tline 3\n".to_owned(), false)
    );
}

#[rstest]
#[case::missing("b.py", json!({"old_string": "a", "new_string": "b"}), "b.py does not exist")]
#[case::not_there("a.py", json!({"old_string": "z", "new_string": "b"}), "was not found")]
#[case::not_unique("a.py", json!({"old_string": "x", "new_string": "b"}), "stands 2 times")]
#[case::nothing("a.py", json!({"old_string": "", "new_string": "b"}), "old_string is empty")]
#[case::the_same("a.py", json!({"old_string": "x", "new_string": "x"}), "nothing would change")]
fn an_edit_that_cannot_be_made_says_why(#[case] path: &str, #[case] mut input: Value, #[case] why: &str) {
    input["file_path"] = path.into();
    let (text, is_error) = last(&[write("a.py", "x = x"), ("Edit", input)]);
    assert!(is_error && text.contains(why), "{text}");
}

#[test]
fn all_places_are_edited_where_that_is_meant() {
    let edit = json!({"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": true});
    let results = results_of(&[
        write("a.py", "x = x"),
        ("Edit", edit),
        ("Read", json!({"file_path": "a.py"})),
    ]);
    assert_eq!(results[2].0, "     1\ty = y\n");
}

#[test]
fn a_file_that_a_command_has_changed_is_read_again_before_it_is_edited() {
    let edit = (
        "Edit",
        json!({"file_path": "a.py", "old_string": "y", "new_string": "z"}),
    );
    let mut session = AgentSession::default();
    session.begin(
        2,
        reply(&[
            write("a.py", "x"),
            ("Bash", json!({"command": "sed -i s/x/y/ a.py"})),
            edit.clone(),
        ]),
    );
    assert!(
        matches!(session.proceed(Timestamp::UNIX_EPOCH).pending, Pending::Commands(commands) if commands.len() == 1)
    );
    let run = serde_json::from_value(json!({"results": [{"exit": 0}], "changes": {"a.py": "eQ=="}})).unwrap();
    session.ran(run, 1, None, Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    let told = session.proceed(Timestamp::UNIX_EPOCH).results;
    assert!(
        told[0].is_error && told[0].text.contains("read it again"),
        "{}",
        told[0].text
    );
    session.begin(3, reply(&[("Read", json!({"file_path": "a.py"})), edit]));
    let told = session.proceed(Timestamp::UNIX_EPOCH).results;
    assert!(!told[1].is_error, "{}", told[1].text);
    assert_eq!(session.workspace().text("a.py"), Ok("z"));
}

#[rstest]
#[case::outside("/etc/passwd")]
#[case::a_sample("/var/inputs/penguins.csv")]
#[case::beside("/sandbox2/a.py")]
#[case::above("../a.py")]
#[case::above_within("a/../../b.py")]
#[case::a_folder("a/")]
#[case::nothing("")]
#[case::a_control_character("a\u{0}.py")]
fn what_is_no_file_of_the_workspace_is_refused(#[case] path: &str) {
    for call in [write(path, "x"), ("Read", json!({"file_path": path}))] {
        let (text, is_error) = last(&[call]);
        assert!(is_error && text.contains("no file of the workspace"), "{text}");
    }
}

#[test]
fn the_workspace_has_an_end() {
    let mut workspace = Workspace::default();
    for number in 0..MAX_FILES {
        workspace.put(&number.to_string(), Vec::new()).unwrap();
    }
    let why = workspace.put("one-more", Vec::new()).unwrap_err();
    assert!(why.contains("no more are taken"), "{why}");
    assert!(
        last(&[write("big", &"x".repeat(MAX_BYTES + 1))])
            .0
            .contains("was not written")
    );
    let whole = write("big", &"x".repeat(MAX_BYTES));
    assert!(!last(&[whole.clone(), whole]).1, "a file takes its own place");
}

#[rstest]
#[case::below_a_file("data/a.csv", "data/a.csv was not written: data is a file")]
#[case::below_a_file_of_a_folder("x/y/z", "x/y/z was not written: x/y is a file")]
#[case::at_a_folder("x", "x was not written: x is a folder, with x/y in it")]
#[case::of_a_long_name(&"n".repeat(256), "longer than 255 bytes")]
fn a_file_that_cannot_lie_beside_the_others_is_refused(#[case] path: &str, #[case] why: &str) {
    let before = [
        write("data", "1"),
        write("x-", "2"),
        write("x/y", "3"),
        write("x/y", "4"),
    ];
    let calls: Vec<_> = before
        .into_iter()
        .map(|call| (call, false))
        .chain([(write(path, "5"), true)])
        .collect();
    let written: Vec<_> = calls.iter().map(|(call, _)| call.clone()).collect();
    let results = results_of(&written);
    for ((_, is_refused), (text, is_error)) in calls.iter().zip(&results) {
        assert_eq!(is_error, is_refused, "{text}");
    }
    assert!(results[4].0.contains(why), "{}", results[4].0);
}

#[test]
fn an_edit_that_would_fill_the_memory_is_refused_before_it_is_made() {
    let edit =
        json!({"file_path": "a", "old_string": "x", "new_string": "y".repeat(1 << 20), "replace_all": true});
    let results = results_of(&[write("a", &"x".repeat(MAX_BYTES)), ("Edit", edit)]);
    assert!(
        results[1].1 && results[1].0.contains("would have 1099511627776 bytes"),
        "{}",
        results[1].0
    );
}

#[test]
fn a_file_that_is_renamed_in_a_full_workspace_is_still_there() {
    let mut workspace = Workspace::default();
    workspace.put("z", vec![b'z'; MAX_BYTES - MAX_FILES + 1]).unwrap();
    for number in 1..MAX_FILES {
        workspace.put(&format!("{number:03}"), vec![b'x']).unwrap();
    }
    let content = workspace.get("z").map(<[u8]>::to_vec);
    let changes = BTreeMap::from([("a".to_owned(), content.clone()), ("z".to_owned(), None)]);
    workspace.change(changes);
    assert_eq!(workspace.get("a"), content.as_deref());
    assert_eq!(workspace.get("z"), None);
}

#[test]
fn a_file_that_has_no_room_for_its_change_stays_as_it_was() {
    let mut workspace = Workspace::default();
    workspace.put("a", b"before".to_vec()).unwrap();
    workspace.change(BTreeMap::from([(
        "a".to_owned(),
        Some(vec![b'x'; MAX_BYTES + 1]),
    )]));
    assert_eq!(workspace.text("a"), Ok("before"));
}
