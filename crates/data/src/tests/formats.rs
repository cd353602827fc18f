//! Files of formats that people have, each with what must be said of it, beside honest ones of which nothing must.

use std::path::Path;

use rstest::rstest;

use crate::context::render;
use crate::describe::{DescribeOptions, describe_source};
use crate::exposure::{Exposed, ExposedJoins, Exposure};
use crate::profile::{Content, SampleProfile};
use crate::schema::infer_all;
use crate::schema::pandera::to_pandera;
use crate::source::{Compression, Source};

fn profile(file_name: &str) -> SampleProfile {
    named(file_name, file_name)
}

/// The profile of a file that is given under another name.
fn named(file: &str, file_name: &str) -> SampleProfile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata/formats");
    let source = Source::path(&folder.join(file));
    describe_source(&source, "sample", file_name, &DescribeOptions::default()).unwrap()
}

/// The context without its first word, which is the name of the sample.
fn context(profile: &SampleProfile) -> String {
    let exposed = Exposed::new(profile.clone(), Exposure::Rows);
    render(&[exposed], &ExposedJoins::default(), 4_000, 100).text
}

/// The remarks of a file.
fn remarks(profile: &SampleProfile) -> Vec<&str> {
    profile.remarks.iter().map(|remark| &**remark).collect()
}

/// The body of the function that reads a file.
fn reader(profile: &SampleProfile) -> String {
    let schemas = infer_all(profile, &[]);
    let code = to_pandera(&schemas, &[]);
    let start = code.find("def read_sample").unwrap();
    let end = code[start..].find("\n\n\n").unwrap();
    code[start..start + end].to_owned()
}

#[rstest]
#[case("sales.csv.gz", Compression::Gzip)]
#[case("sales.csv.bz2", Compression::Bzip2)]
#[case("sales.csv.xz", Compression::Xz)]
#[case("sales.csv.zst", Compression::Zstd)]
#[case("sales.csv.zip", Compression::Zip)]
#[case("stored.zip", Compression::Zip)]
fn a_table_is_read_however_it_is_compressed(#[case] file_name: &str, #[case] compression: Compression) {
    let found = profile(file_name);
    assert_eq!(found.compression, Some(compression));
    let heading = format!("{}-compressed CSV, 12 rows, 3 columns\n", compression.name());
    assert!(context(&found).contains(&heading), "{}", context(&found));
    let needed =
        (compression == Compression::Zstd).then_some("to read zstd data pandas needs the package zstandard");
    assert_eq!(remarks(&found), Vec::from_iter(needed));
}

#[test]
fn a_name_that_says_another_compression_is_remarked() {
    let remark = "bzip2-compressed, which its name does not say (pandas: compression=\"bz2\")";
    assert_eq!(remarks(&named("sales.csv.bz2", "sales.csv.gz")), [remark]);
    assert_eq!(remarks(&named("sales.csv.bz2", "sales.csv")), [remark]);
    assert_eq!(
        remarks(&named("german.csv", "german.csv.xz"))[0],
        "named .xz, but not compressed (pandas: compression=None)"
    );
}

#[rstest]
#[case("two-frames.csv.zst")]
#[case("two-streams.csv.bz2")]
fn members_one_after_another_are_one_table(#[case] file_name: &str) {
    assert_eq!(profile(file_name).tables().next().unwrap().records, 13);
}

#[rstest]
#[case("several.zip", "it holds 2 files, and pandas reads an archive of one")]
#[case(
    "bzip2-inside.zip",
    "its file is compressed in a way that not every reader knows"
)]
fn an_archive_that_is_not_unpacked_says_why(#[case] file_name: &str, #[case] remark: &str) {
    let found = profile(file_name);
    assert_eq!(found.content, Content::Opaque("a ZIP archive".to_owned()));
    assert!(remarks(&found)[0].starts_with(remark), "{:?}", remarks(&found));
}

#[rstest]
#[case("japanese.csv", "Shift-JIS", "cp932", "りんご")]
#[case("chinese.csv", "GB18030", "gb18030", "城市")]
#[case("russian.csv", "Windows-1251", "cp1251", "Новосибирск")]
#[case("polish.csv", "Latin-2", "iso8859-2", "Wrocław")]
#[case("german.csv", "Latin-1", "latin-1", "München")]
fn an_encoding_that_nothing_names_is_guessed_and_called_a_guess(
    #[case] file_name: &str,
    #[case] name: &str,
    #[case] python: &str,
    #[case] word: &str,
) {
    let found = profile(file_name);
    let remark = remarks(&found)[0];
    let guess = format!("read as {name} (Python: encoding=\"{python}\"), which is a guess; next best ");
    assert!(remark.contains(&guess), "{remark}");
    assert!(context(&found).contains(word), "{}", context(&found));
    assert!(
        reader(&found).contains(&format!("encoding=\"{python}\"")),
        "{}",
        reader(&found)
    );
}

#[test]
fn an_encoding_that_is_sure_is_no_guess() {
    let found = profile("japanese-utf8.csv");
    assert_eq!(remarks(&found), Vec::<&str>::new());
    assert!(context(&found).contains("りんご"));
}

#[test]
fn lines_that_are_utf8_among_others_are_named() {
    let found = profile("mixed.csv");
    assert_eq!(
        remarks(&found)[1],
        "its lines are in different encodings: 1 (line 3) are valid UTF-8, whose characters come out wrong as Latin-1; decode line by line, UTF-8 first"
    );
    let honest = profile("german.csv");
    assert_eq!(remarks(&honest).len(), 1, "{:?}", remarks(&honest));
}

#[test]
fn a_quote_that_takes_in_rows_is_remarked_with_its_line() {
    let found = profile("open-quote.csv");
    let remark = "a quote that opens on line 3 takes in what looks like further rows: 2";
    assert!(
        remarks(&found).iter().any(|found| found.starts_with(remark)),
        "{:?}",
        remarks(&found)
    );
    assert_eq!(remarks(&profile("notes.csv")), Vec::<&str>::new());
}

#[rstest]
#[case("concatenated.json", "JSON values one after another, 3 records, 2 paths")]
#[case("pretty.json", "JSON values one after another, 3 records, 2 paths")]
fn json_values_one_after_another_are_records(#[case] file_name: &str, #[case] heading: &str) {
    let found = profile(file_name);
    assert!(context(&found).contains(heading), "{}", context(&found));
    assert!(remarks(&found)[0].starts_with("several JSON values one after another"));
    assert!(reader(&found).contains("decoder.raw_decode(content, position)"));
    // The name does not decide.
    let as_lines = named(file_name, "x.jsonl");
    assert!(
        context(&as_lines).contains("3 records, 2 paths"),
        "{}",
        context(&as_lines)
    );
}

#[test]
fn one_json_document_on_several_lines_is_one() {
    let found = profile("one.json");
    assert!(
        context(&found).contains("JSON array, 2 records"),
        "{}",
        context(&found)
    );
    assert_eq!(remarks(&found), Vec::<&str>::new());
}

#[rstest]
#[case("orders.xml")]
#[case("page.html")]
#[case("report.txt")]
#[case("settings.toml")]
#[case("settings.ini")]
fn a_text_that_is_no_table_is_described_by_its_lines(#[case] file_name: &str) {
    let found = profile(file_name);
    assert!(context(&found).contains(": text, "), "{}", context(&found));
    assert_eq!(remarks(&found), Vec::<&str>::new());
}

#[rstest]
#[case("shop.sqlite", "sqlite3 -header -csv")]
#[case("numbers.avro", "package fastavro")]
#[case("sales.orc", "pandas.read_orc(path)")]
#[case("stream.arrows", "pyarrow.ipc.open_stream(path)")]
fn a_format_that_is_no_table_here_says_how_a_program_reads_it(#[case] file_name: &str, #[case] words: &str) {
    let found = profile(file_name);
    let told = context(&found);
    assert!(told.contains(words), "{told}");
}

#[test]
fn a_feather_file_is_a_table() {
    insta::assert_snapshot!(context(&profile("sales.feather")));
}

#[test]
fn every_type_of_arrow_is_read_and_named() {
    insta::assert_snapshot!(context(&profile("types.arrow")));
}

#[rstest]
#[case("sales.csv.zst")]
#[case("sales.csv.zip")]
#[case("sales.feather")]
#[case("pretty.json")]
fn the_module_reads_a_file_as_it_is_packed(#[case] file_name: &str) {
    let name = format!("reader_of_{file_name}");
    insta::assert_snapshot!(name, reader(&profile(file_name)));
}

#[rstest]
#[case(Compression::Gzip)]
#[case(Compression::Bzip2)]
#[case(Compression::Xz)]
#[case(Compression::Zstd)]
#[case(Compression::Zip)]
fn json_lines_are_opened_as_they_are_packed(#[case] compression: Compression) {
    let bytes = compression.pack(b"{\"a\":1}\n{\"a\":2}\n", "x.jsonl").unwrap();
    let file_name = format!("x.jsonl{}", compression.ending());
    let found = describe_source(
        &Source::bytes(&bytes),
        "sample",
        &file_name,
        &DescribeOptions::default(),
    )
    .unwrap();
    let name = format!("json_lines_in_{}", compression.pandas_name());
    insta::assert_snapshot!(name, reader(&found));
}
