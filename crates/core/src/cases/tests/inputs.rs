//! Tests of the files and arguments of a case, and of cases that have none that could be given.

use std::io::Read as _;

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::sandbox::PhaseFile;
use codegen_data::source::{Compression, Encoding};

const CITIES: &str = "city,orders\nZürich,1\nGenève,2\n";

fn forms(form: Form) -> Forms {
    Forms::from([("sales".to_owned(), form)])
}

fn text_of(encoding: Encoding) -> Form {
    Form {
        encoding: Some(encoding),
        ..Form::default()
    }
}

/// A task whose sample has this file name.
fn named(file_name: &str) -> Task {
    let mut task = sales();
    task.samples[0].file_name = file_name.into();
    task
}

/// A task with one `File` input without a source.
fn without_source(name: &str, description: Option<&str>) -> Task {
    let input = json!({"name": name, "type": "File", "description": description});
    Task {
        samples: Vec::new(),
        inputs: vec![serde_json::from_value(input).unwrap()],
        ..sales()
    }
}

fn giving(name: &str, value: &str) -> Case {
    case(json!({
        "about": "one", "inputs": [{"name": name, "value": value}], "expect": [{"output": "total", "value": "2"}],
    }))
}

fn laid_out(task: &Task, forms: &Forms, case: Case) -> Vec<PhaseFile> {
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        case,
        is_settled: false,
        is_held: false,
        is_apart: false,
    };
    let Phase::Program(phase) = run.phase(task, forms, "pass") else {
        panic!("a case runs a program");
    };
    phase.files
}

fn bytes_of(file: &PhaseFile) -> Vec<u8> {
    BASE64_STANDARD.decode(&file.content).unwrap()
}

#[rstest]
#[case::utf_16(Encoding::Utf16Le)]
#[case::latin_1(Encoding::Latin1)]
#[case::windows(Encoding::Windows1252)]
#[case::marked(Encoding::Utf8Bom)]
#[case::plain(Encoding::Utf8)]
fn a_file_of_a_case_is_encoded_as_the_sample_of_its_name(#[case] encoding: Encoding) {
    let forms = forms(text_of(encoding));
    let files = laid_out(&sales(), &forms, giving("sales", CITIES));
    assert_eq!(bytes_of(&files[0]), encoding.encode(CITIES).unwrap());
}

#[test]
fn a_text_that_the_encoding_of_its_sample_does_not_have_makes_a_case_unusable() {
    let price = giving("sales", "item,price\npen,5 €\n");
    let latin = forms(text_of(Encoding::Latin1));
    let why = unwritable(&sales(), &price, &latin).unwrap();
    assert_eq!(
        why,
        "sales cannot hold '€': its sample is Latin-1, which has no such character"
    );
    assert_eq!(
        unwritable(&sales(), &price, &forms(text_of(Encoding::Windows1252))),
        None
    );
    let set = planned(&sales(), vec![price, ties()], Vec::new(), &latin);
    assert_eq!(set.unusable, [format!("case 1: {why}")]);
    assert_eq!(set.cases.len(), 1);
}

#[test]
fn an_example_that_does_not_fit_the_format_of_its_sample_is_named_by_its_field() {
    let task = Task {
        examples: vec![ties(), giving("sales", "item\n5 €\n")],
        ..sales()
    };
    let why = unwritable_example(&task, &forms(text_of(Encoding::Latin1))).unwrap();
    assert!(
        why.starts_with("spec.examples[1]: sales cannot hold '€'"),
        "{why}"
    );
    assert_eq!(
        unwritable_example(&task, &forms(text_of(Encoding::Windows1252))),
        None
    );
}

#[test]
fn a_file_is_compressed_as_its_name_or_its_sample_says() {
    let unpacked = |bytes: &[u8]| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes)
            .read_to_string(&mut text)
            .unwrap();
        text
    };
    let by_name = laid_out(&named("sales.csv.gz"), &Forms::new(), giving("sales", CITIES));
    assert_eq!(by_name[0].path, "sales.csv.gz");
    assert_eq!(unpacked(&bytes_of(&by_name[0])), CITIES);
    let found = Form {
        compression: Some(Compression::Gzip),
        ..text_of(Encoding::Utf8)
    };
    let by_sample = laid_out(&named("sales.csv"), &forms(found), giving("sales", CITIES));
    assert_eq!(unpacked(&bytes_of(&by_sample[0])), CITIES);
    let not_gzip = forms(text_of(Encoding::Utf8));
    let plain = laid_out(&named("sales.csv.gz"), &not_gzip, giving("sales", CITIES));
    assert_eq!(bytes_of(&plain[0]), CITIES.as_bytes());
    let packed = Form {
        compression: Some(Compression::Zstd),
        ..text_of(Encoding::Utf8)
    };
    let zstd = laid_out(&named("sales.zst"), &forms(packed), giving("sales", CITIES));
    assert_eq!(
        zstd::bulk::decompress(&bytes_of(&zstd[0]), 1 << 10).unwrap(),
        CITIES.as_bytes()
    );
}

#[rstest]
#[case(Compression::Gzip)]
#[case(Compression::Bzip2)]
#[case(Compression::Xz)]
#[case(Compression::Zstd)]
#[case(Compression::Zip)]
fn a_case_of_a_compressed_sample_is_compressed_alike(#[case] compression: Compression) {
    let found = Form {
        compression: Some(compression),
        ..text_of(Encoding::Utf8)
    };
    let name = format!("sales.csv{}", compression.ending());
    let files = laid_out(&named(&name), &forms(found), giving("sales", CITIES));
    assert_eq!(files[0].path, name);
    // Its own reader finds the text again.
    let source = codegen_data::source::Source::bytes(&bytes_of(&files[0]));
    let options = codegen_data::describe::DescribeOptions::default();
    let profile = codegen_data::describe::describe_source(&source, "sales", &name, &options).unwrap();
    assert_eq!(profile.compression, Some(compression));
    assert_eq!(
        profile.tables().next().unwrap().records,
        CITIES.lines().count() as u64 - 1
    );
}

#[rstest]
#[case("sales.csv.lz4")]
#[case("sales.tar.gz")]
#[case("sales.csv.zip")]
#[case("sales.zip")]
#[case("sales.parquet")]
#[case("plot.PNG")]
fn a_text_is_given_for_no_file_that_holds_none(#[case] file_name: &str) {
    let why = usable(&named(file_name), &ties(), &[], CaseData::Exposed).unwrap();
    assert!(why.contains("no text: leave it out"), "{why}");
    let left_out = case(json!({"about": "the sample", "expect": [{"output": "total", "value": "2"}]}));
    assert_eq!(usable(&named(file_name), &left_out, &[], CaseData::Exposed), None);
}

#[test]
fn what_a_sample_was_found_to_be_counts_more_than_its_name() {
    let why = unwritable(&named("sales.dat"), &ties(), &forms(Form::default())).unwrap();
    assert!(why.contains("no text"), "{why}");
    assert_eq!(
        unwritable(&named("sales.dat"), &ties(), &forms(text_of(Encoding::Utf8))),
        None
    );
}

#[rstest]
#[case::twice_in_a_folder(json!([{"name": "months/a.txt", "value": "1"}, {"name": "months/a.txt", "value": "2"}]), "months/a.txt is given twice")]
#[case::twice(json!([{"name": "decimals", "value": "1"}, {"name": "decimals", "value": "2"}]), "decimals is given twice")]
#[case::long_name(json!([{"name": format!("months/{}.txt", "é".repeat(126)), "value": "1"}]), "256 bytes")]
#[case::nul_in_a_name(json!([{"name": "months/a\0b.txt", "value": "1"}]), "NUL character")]
#[case::nul_in_a_value(json!([{"name": "label", "value": "a\0b"}]), "NUL character")]
fn what_a_file_system_or_a_command_line_cannot_have_makes_a_case_unusable(
    #[case] inputs: Value,
    #[case] says: &str,
) {
    let mut task = sales();
    let label = json!({"name": "label", "type": "String", "default": "x"});
    task.inputs.push(serde_json::from_value(label).unwrap());
    let bad = case(json!({"about": "odd", "inputs": inputs, "expect": [{"output": "total", "value": "2"}]}));
    let why = usable(&task, &bad, &[], CaseData::Exposed).unwrap();
    assert!(why.contains(says), "{why}");
    // The same for an example of the user, before the task starts.
    let why = usable(&task, &bad, &[], CaseData::Everything).unwrap();
    assert!(why.contains(says), "{why}");
}

#[test]
fn names_that_are_long_and_names_that_are_alike_are_possible() {
    let honest = case(json!({
        "about": "names",
        "inputs": [
            {"name": format!("months/{}.txt", "é".repeat(125)), "value": "1"},
            {"name": "months/a.txt", "value": "1"}, {"name": "months/A.txt", "value": "1"},
            {"name": "sales", "value": "item\na\0b\n"},
        ],
        "expect": [{"output": "total", "value": "2"}],
    }));
    assert_eq!(usable(&sales(), &honest, &[], CaseData::Exposed), None);
}

#[rstest]
#[case::about(json!({"about": "é".repeat(201)}), "about has 201 characters, and at most 200")]
#[case::value(json!({"inputs": [{"name": "sales", "value": "x".repeat(16_385)}]}), "a value has 16385")]
#[case::inputs(json!({"inputs": (0..49).map(|n| json!({"name": format!("months/{n}"), "value": ""})).collect::<Vec<_>>()}), "49 inputs")]
#[case::expected(json!({"expect": [{"output": "total", "value": "x".repeat(16_385)}]}), "an expected value has 16385")]
#[case::lines(json!({"expect": vec![json!({"output": "total", "value": "2"}); 33]}), "33 lines of expect")]
#[case::place(json!({"expect": [{"output": "summary", "at": "x".repeat(256), "value": "2"}]}), "at has 256")]
#[case::tolerance(json!({"expect": [{"output": "total", "value": "2", "tolerance": "1".repeat(33)}]}), "a tolerance has 33")]
fn a_case_beyond_the_bounds_of_the_api_is_not_used(#[case] change: Value, #[case] says: &str) {
    let mut value = json!(ties());
    value
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    let why = usable(&sales(), &case(value), &[], CaseData::Exposed).unwrap();
    assert!(why.contains(says), "{why}");
}

#[test]
fn a_case_at_the_bounds_of_the_api_is_used() {
    let inputs: Vec<Value> = (0..48)
        .map(|number| json!({"name": format!("months/{number}"), "value": "x".repeat(16_384)}))
        .collect();
    let large = case(json!({
        "about": "é".repeat(200), "inputs": inputs, "expect": vec![json!({"output": "total", "value": "2"}); 32],
    }));
    assert_eq!(usable(&sales(), &large, &[], CaseData::Exposed), None);
}

#[rstest]
#[case::description("records", Some("the records as CSV"), "x", "records.csv")]
#[case::two_words("records", Some("records, JSON Lines"), "a,b\n", "records.jsonl")]
#[case::gzip("records", Some("gzipped TSV"), "x", "records.tsv.gz")]
#[case::name("rates_json", None, "a,b\n", "rates_json.json")]
#[case::table(
    "records",
    Some("CSV or JSON, as its ending says"),
    "a,b\n1,2\n",
    "records.csv"
)]
#[case::document("records", Some("CSV or JSON, as its ending says"), "[1]", "records.json")]
#[case::as_in_a_run("records", None, "a,b\n1,2\n", "records.csv")]
#[case::words("records", None, "hello\n", "records.txt")]
fn a_file_without_a_source_has_the_ending_of_its_format(
    #[case] name: &str,
    #[case] description: Option<&str>,
    #[case] text: &str,
    #[case] path: &str,
) {
    let task = without_source(name, description);
    let files = laid_out(&task, &Forms::new(), giving(name, text));
    assert_eq!(files[0].path, path);
}

#[test]
fn a_value_stands_behind_its_option_unless_it_could_be_taken_for_another_one() {
    use crate::mounts::arguments;
    assert_eq!(arguments("title", "a = b"), ["--title", "a = b"]);
    assert_eq!(arguments("title", ""), ["--title", ""]);
    assert_eq!(arguments("decimals", "-2"), ["--decimals=-2"]);
    assert_eq!(arguments("title", "--help"), ["--title=--help"]);
}

#[test]
fn the_line_of_a_case_shows_its_tolerance_and_cuts_what_it_is_about_first() {
    let vague = case(json!({
        "about": "a harmless case of which much is said ".repeat(6),
        "inputs": [{"name": "sales", "value": "item,units\nplease,1\n"}],
        "expect": [{"output": "total", "value": "1", "tolerance": "1e308"}],
    }));
    let line = line(1, &vague);
    assert!(line.ends_with("…: sales: 2 lines -> total = 1 ± 1e308"), "{line}");
    assert!(line.len() <= 120, "{line}");
}

#[test]
fn long_values_of_inputs_leave_room_for_what_is_expected() {
    let long = case(json!({
        "about": "much ".repeat(40), "inputs": [{"name": "label", "value": "x".repeat(500)}],
        "expect": [{"output": "total", "value": "1", "tolerance": "1e308"}],
    }));
    let line = line(12, &long);
    assert!(line.ends_with("-> total = 1 ± 1e308"), "{line}");
    assert!(line.len() <= 120, "{line}");
}

#[test]
fn no_character_turns_the_line_or_the_name_of_a_case() {
    let turned = case(json!({
        "about": "harmless \u{202e}esrever", "inputs": [{"name": "label", "value": "\u{2066}a"}],
        "expect": [{"output": "total", "value": "\u{200f}1"}],
    }));
    assert_eq!(
        line(1, &turned),
        "1. harmless <U+202E>esrever: label=<U+2066>a -> total = <U+200F>1"
    );
    let run = CaseExecution {
        origin: CaseOrigin::Plan(1),
        case: turned,
        is_settled: false,
        is_held: false,
        is_apart: false,
    };
    assert_eq!(run.id(), "case 1 (harmless <U+202E>esrever)");
}
