//! Every type of input and output, with a program that reads and writes it.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::task::{Done, ScriptedTask, indented};

const SUITE: &str = "import solution\n\n\ndef test_double():\n    assert solution.double(2) == 4\n";

/// A program with these options that runs `body`.
fn program(options: &[&str], body: &str) -> String {
    let options: Vec<String> = options
        .iter()
        .map(|option| format!("parser.add_argument({option})"))
        .collect();
    let options = indented(&options.join("\n"));
    let body: String = indented(body);
    format!(
        "import argparse\nimport json\nimport os\nfrom pathlib import Path\n\n\ndef double(x):\n    return x * 2\n\n\n\
         def main():\n    parser = argparse.ArgumentParser()\n{options}    args = parser.parse_args()\n{body}\n\n\
         if __name__ == \"__main__\":\n    main()\n"
    )
}

/// Runs a program with one input, whose `body` writes the text output `/var/outputs/o`.
fn with_input(input: &Value, option: &str, body: &str) -> Done {
    ScriptedTask::new(json!({"inputs": [input], "outputs": [{"name": "o", "type": "String"}]}))
        .config_map(
            "rates",
            &json!({"rates.json": "{\"x\": 1}", "b.txt": "B", "a.txt": "A"}),
        )
        .code(&program(&[option], body))
        .tests(SUITE)
        .run()
}

#[rstest]
#[case::plain("plain")]
#[case::spaces(" two  words ")]
#[case::quotes("a\"b'c")]
#[case::beyond_ascii("ünï😀")]
#[case::an_option_of_itself("--text")]
#[case::a_short_option("-x")]
#[case::a_dash("-")]
#[case::empty("")]
#[case::an_equals_sign("a=b")]
#[case::a_shell("$(id) `id` ; *")]
#[case::a_line_break("one\ntwo")]
fn a_text_arrives_as_it_stands_in_the_manifest(
    #[case] text: &str,
    #[values("default", "example")] given: &str,
) {
    let done = with_input(
        &json!({"name": "text", "type": "String", given: text}),
        "'--text', required=True",
        "Path('/var/outputs/o').write_text(json.dumps(args.text))",
    )
    .succeeded();
    let echo: String = serde_json::from_str(&done.file("outputs/o")).unwrap();
    assert_eq!(echo, text);
}

#[rstest]
#[case("Int", "-7", "int", "-7")]
#[case("Int", "+7", "int", "7")]
#[case(
    "Int",
    "123456789012345678901234567890",
    "int",
    "123456789012345678901234567890"
)]
#[case("Float", "0.5", "float", "0.5")]
#[case("Float", "-1.5e-3", "float", "-0.0015")]
#[case("Float", "-.5", "float", "-0.5")]
#[case("Bool", "true", "str", "true")]
#[case("Bool", "false", "str", "false")]
fn a_number_or_a_truth_value_arrives_as_what_it_is(
    #[case] type_: &str,
    #[case] text: &str,
    #[case] python: &str,
    #[case] expected: &str,
) {
    let done = with_input(
        &json!({"name": "value", "type": type_, "default": text}),
        &format!("'--value', type={python}"),
        "Path('/var/outputs/o').write_text(str(args.value))",
    )
    .succeeded();
    assert_eq!(done.file("outputs/o"), expected);
}

#[test]
fn a_file_lies_at_its_name_and_at_its_name_with_the_ending() {
    let done = with_input(
        &json!({"name": "table", "type": "File", "source": {"configMapKeyRef": {"name": "rates", "key": "rates.json"}}}),
        "'--table'",
        "assert Path('/var/inputs/table').read_text() == Path(args.table).read_text()\n\
         assert not os.access(args.table, os.W_OK)\nPath('/var/outputs/o').write_text(args.table)",
    )
    .succeeded();
    assert_eq!(done.file("outputs/o"), "/var/inputs/table.json");
}

#[test]
fn a_folder_holds_every_key_of_its_config_map() {
    let done = with_input(
        &json!({"name": "tables", "type": "Dir", "source": {"configMapRef": {"name": "rates"}}}),
        "'--tables'",
        "names = sorted(os.listdir(args.tables))\nPath('/var/outputs/o').write_text(' '.join([args.tables, *names]))",
    )
    .succeeded();
    assert_eq!(
        done.file("outputs/o").replace("tables/ ", "tables "),
        "/var/inputs/tables a.txt b.txt rates.json"
    );
}

#[rstest]
#[case("String", None, " two words\n", " two words\n")]
#[case("Int", None, "-42\n", "-42\n")]
#[case("Float", None, "1.5", "1.5")]
#[case("Bool", None, "false", "false")]
#[case("Datetime", None, "2026-01-12T07:55:00+01:00", "2026-01-12T07:55:00+01:00")]
#[case("Datetime", None, "2026-01-12T07:55:00", "2026-01-12T07:55:00")]
#[case("Timedelta", None, "P1DT2H", "P1DT2H")]
#[case("Timedelta", None, "93600.5", "93600.5")]
#[case("File", Some(("CSV", ".csv")), "a,b\n1,\"x\ny\"\n", "a,b\n1,\"x\ny\"\n")]
#[case("File", Some(("TSV", ".tsv")), "a\tb\n1\t2\n", "a\tb\n1\t2\n")]
#[case("File", Some(("JSON", ".json")), "{}", "{}")]
#[case("File", Some(("JSONLines", ".jsonl")), "{}\n[]\n", "{}\n[]\n")]
#[case("File", Some(("Text", ".txt")), "text", "text")]
#[case("File", Some(("Binary", ".bin")), "bytes", "bytes")]
#[case("File", None, "anything", "anything")]
fn an_output_of_every_type_is_published(
    #[case] type_: &str,
    #[case] format: Option<(&str, &str)>,
    #[case] text: &str,
    #[case] expected: &str,
) {
    let mut output = json!({"name": "o", "type": type_});
    if let Some((format, _)) = format {
        output["format"] = json!(format);
    }
    let body = format!("Path('/var/outputs/o').write_text({})", Value::from(text));
    let done = ScriptedTask::new(json!({"outputs": [output]}))
        .code(&program(&[], &body))
        .tests(SUITE)
        .run()
        .succeeded();
    let ending = format.map_or("", |(_, ending)| ending);
    assert_eq!(done.file(&format!("outputs/o{ending}")), expected);
}

#[test]
fn a_folder_of_outputs_is_published_with_its_folders() {
    let body = "Path('/var/outputs/o/inner').mkdir(parents=True)\nPath('/var/outputs/o/inner/x.txt').write_text('x')";
    let done = ScriptedTask::new(json!({"outputs": [{"name": "o", "type": "Dir"}]}))
        .code(&program(&[], body))
        .tests(SUITE)
        .run()
        .succeeded();
    assert_eq!(done.file("outputs/o/inner/x.txt"), "x");
}

#[test]
fn an_input_without_a_value_means_no_rehearsal_and_the_status_names_it() {
    let done = with_input(
        &json!({"name": "who", "type": "String"}),
        "'--who', required=True",
        "Path('/var/outputs/o').write_text(args.who)",
    )
    .succeeded();
    let rehearsal = done.status()["rehearsal"].clone();
    assert_eq!(rehearsal["result"], "Skipped");
    assert!(
        rehearsal["message"].as_str().unwrap().contains("input who"),
        "{rehearsal}"
    );
}

#[test]
fn a_task_of_a_prompt_alone_succeeds() {
    let done = ScriptedTask::new(json!({}))
        .code(&program(&[], "print(double(2))"))
        .tests(SUITE)
        .run()
        .succeeded();
    assert_eq!(done.status()["rehearsal"]["result"], "Passed");
}

#[rstest]
#[case("a.csv", "x,y\n1,2\n")]
#[case("a.tsv", "x\ty\n1\t2\n")]
#[case("a.json", "[{\"x\": 1}]")]
#[case("a.jsonl", "{\"x\": 1}\n{\"x\": 2}\n")]
#[case("a.txt", "some words\nin lines\n")]
#[case("a.log", "2026-01-01 INFO start\n")]
fn a_sample_of_every_text_format_is_a_file_of_the_program(#[case] file: &str, #[case] text: &str) {
    let done = ScriptedTask::new(json!({
        "samples": [{"name": "data", "inline": text, "fileName": file}],
        "outputs": [{"name": "o", "type": "String"}],
    }))
    .code(&program(
        &["'--data', default='/var/inputs/data'"],
        "Path('/var/outputs/o').write_text(args.data + '|' + Path(args.data).read_text())",
    ))
    .tests(SUITE)
    .run()
    .succeeded();
    let ending = file.trim_start_matches('a');
    assert_eq!(done.file("outputs/o"), format!("/var/inputs/data{ending}|{text}"));
}
