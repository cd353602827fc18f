//! Real files of eight kinds: what is true of each was found with pandas, and a reader of the context alone is asked.

use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::support::{examples, expect_code};

/// The context of one file, alone under the default budget.
fn context_of(file: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-codegen"))
        .args(["context", "-o", "json"])
        .arg(examples().join(file))
        .output()
        .unwrap();
    expect_code(&output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A question that the text must answer, and the words in which one of its lines does; `…` stands for further words.
type Answer = (&'static str, &'static str);

fn is_answered(text: &str, words: &str) -> bool {
    text.lines().any(|line| {
        let mut rest = line;
        words.split(" … ").all(|part| match rest.split_once(part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    })
}

const PENGUINS: &[Answer] = &[
    ("how many rows", "CSV, 344 rows, 8 columns"),
    ("where the masses lie", "body_mass_g int 2700..6300"),
    (
        "how many masses are missing, and how that is written",
        "body_mass_g int … 2 \"NA\"",
    ),
    (
        "how many penguins have no sex",
        "sex text … male 168, female 165 … 11 \"NA\"",
    ),
    (
        "which species there are",
        "species text … Adelie 152, Gentoo 124, Chinstrap 68",
    ),
    (
        "how a row is written",
        "Adelie,Torgersen,39.1,18.7,181,3750,male,2007",
    ),
    (
        "how a row without values is written",
        "Adelie,Torgersen,NA,NA,NA,NA,NA,2007",
    ),
];
const AIR_QUALITY: &[Answer] = &[
    ("what separates the fields", "separated by ';'"),
    ("how many rows", "270 rows, 17 columns"),
    ("where a sensor's values lie", "PT08.S1(CO) int -200..2040"),
    (
        "what stands for a value that was not measured",
        "NO2(GT) int -200..194",
    ),
    ("whether rows are empty", "Time text … 6 empty"),
    ("which columns have no name", "(no name) empty … 270 empty"),
    ("how a row is written", "10/03/2004;18.00.00;2,6;1360;150;11,9;"),
    ("what stands before the decimals", "decimal comma"),
    ("where the temperatures lie", "T float -200..38,3"),
    (
        "from which day on, to which",
        "Date text … 10/03/2004..26/08/2004",
    ),
    ("whether rows repeat", "5 records equal to an earlier one"),
];
const MUNICIPALITIES: &[Answer] = &[
    ("how it is encoded", "encoding=\"latin-1\""),
    ("what separates the fields", "separated by ';'"),
    ("how many rows", "128 rows, 23 columns"),
    (
        "which codes begin with zeros",
        "Codice Regione text … leading zeros",
    ),
    (
        "what identifies a municipality",
        "Codice Comune formato alfanumerico text … unique … leading zeros",
    ),
    (
        "how many have no name in another language",
        "Denominazione altra lingua text … 105 empty",
    ),
    (
        "that Naples would be read as missing",
        "Sigla automobilistica text … 1 \"NA\"",
    ),
    (
        "that codes have blanks around them",
        "values with blanks around them in: Progressivo del Comune (2)",
    ),
    (
        "the exact name of a column with a line break",
        "territoriale sovracomunale \\n(valida a fini statistici) text",
    ),
    ("how a row is written", "01;201;001; 001 ;001001;Agliè;Agliè;;1;"),
    (
        "that points in the population may stand between thousands",
        "Popolazione legale 2011 … thousands",
    ),
];
const PINGUINE: &[Answer] = &[
    ("how it is encoded", "encoding=\"latin-1\""),
    (
        "how it is written",
        "CSV separated by ';', decimal comma, 115 rows, 17 columns",
    ),
    (
        "where the lengths of bills lie, and how many are missing",
        "Schnabellänge (mm) float 34,4..55,8 mean 43.77 … 1 \"NA\"",
    ),
    (
        "where the masses lie",
        "Körpermasse (g) int 2900..5950 mean 4182.46",
    ),
    (
        "what looks like a date",
        "Tag des ersten Eis text, dates %d.%m.%Y 09.11.2007..01.12.2009",
    ),
    (
        "how many have no sex",
        "Geschlecht text … weiblich 58, männlich 55 … 2 \"NA\"",
    ),
    ("how many have no remark", "Bemerkung text … 96 empty"),
    (
        "how many isotopes are missing",
        "Delta 15 N (o/oo) float 7,63452..10,02544 … 6 \"NA\"",
    ),
    (
        "how a row is written",
        "PAL0708;1;Adeliepinguin (Pygoscelis adeliae);Anvers;Torgersen;erwachsen, erstes Ei;N1A1;ja;11.11.2007;39,1;",
    ),
];
const UNEMPLOYMENT: &[Answer] = &[
    ("how it is written", "TSV, 3218 rows, 2 columns"),
    ("what identifies a county", "id int 1001..72153 … unique"),
    ("how rates are written", "1001\t.097"),
];
const EARTHQUAKES: &[Answer] = &[
    ("how it is written", "JSON Lines, 60 records"),
    ("where the magnitudes lie", "properties.mag float 0.2..5.6"),
    ("what identifies an earthquake", "id text … unique"),
    ("how many have no alert", "properties.alert text … 59 \"null\""),
    (
        "which kinds of event",
        "properties.type text … earthquake 57, explosion 3",
    ),
    ("where the coordinates are", "geometry.coordinates[] float"),
    (
        "how a record is written",
        "{\"type\":\"Feature\",\"properties\":{\"mag\":",
    ),
    ("when they were", "properties.time int … 2018-02-06"),
];
const EXECUTIVE: &[Answer] = &[
    ("how it is written", "JSON array, 80 records"),
    (
        "from when to when they were born",
        "bio.birthday date 1732-02-22..1984-08-02 … unique",
    ),
    (
        "which terms there are",
        "terms[].type text … prez 69, viceprez 62",
    ),
    ("when terms began", "terms[].start date 1789-04-21..2025-01-20"),
    (
        "how many have a bioguide",
        "id.bioguide text … in 67 of 80 records",
    ),
    (
        "what identifies a person",
        "id.govtrack int 300008..456876 … unique",
    ),
];
const BIRDSTRIKES: &[Answer] = &[
    (
        "how it is written",
        "Parquet (ZSTD), 1250 rows, 9 columns, 2 row groups",
    ),
    ("from when to when", "flight_date date 1990-01-08..2002-07-24"),
    ("where the costs lie", "cost_usd int32 0..7043545 mean 11013.27"),
    ("where the speeds lie", "speed_knots float64 0..320 mean 154.04"),
    ("how many have no speed", "speed_knots float64 … 403 \"null\""),
    ("how many were damaged", "damage bool … False 1128, True 122"),
    (
        "which sizes",
        "size categories of string … Small 613, Medium 542, Large 95",
    ),
];
const DEATHS: &[Answer] = &[
    (
        "where the table begins",
        "sheet \"arts\", 10 rows, 6 columns, header in row 5",
    ),
    (
        "that something stands below it",
        "sheet \"arts\" has text below its table … rows 16 to 19",
    ),
    ("where the ages of artists lie", "Age int 53..99"),
    (
        "where the other table begins",
        "sheet \"other\" … header in row 5",
    ),
    (
        "that something stands above it",
        "sheet \"other\" has rows with values above its table: 4",
    ),
    ("where the ages of others lie", "Age int 41..95"),
    (
        "how a row stands in the sheet",
        "Vera Rubin,scientist,88,TRUE,1928-07-23,2016-12-25",
    ),
];
const ACCESS: &[Answer] = &[
    ("how many lines", "120 lines"),
    (
        "how every line is built",
        "120x <ip> - - [<time>] \"<method> <path> <protocol>\" <int>",
    ),
    (
        "from when to when",
        "17/May/2015:10:05:00 +0000..17/May/2015:11:05:59 +0000",
    ),
    (
        "how a line is written",
        "83.149.9.216 - - [17/May/2015:10:05:03 +0000] \"GET /",
    ),
];

#[rstest]
#[case::csv_with_missing_values("penguins/penguins.csv", PENGUINS)]
#[case::semicolons_and_decimal_commas("data/air-quality.csv", AIR_QUALITY)]
#[case::latin_1("data/municipalities.csv", MUNICIPALITIES)]
#[case::latin_1_with_decimal_commas_and_missing_values("data/pinguine.csv", PINGUINE)]
#[case::tsv("data/unemployment.tsv", UNEMPLOYMENT)]
#[case::json_lines("data/earthquakes.jsonl", EARTHQUAKES)]
#[case::nested_json("data/executive.json", EXECUTIVE)]
#[case::parquet("data/birdstrikes.parquet", BIRDSTRIKES)]
#[case::workbook("data/deaths.xlsx", DEATHS)]
#[case::log("data/access.log", ACCESS)]
fn a_reader_of_the_context_alone_finds_the_answers(#[case] file: &str, #[case] answers: &[Answer]) {
    let document = context_of(file);
    let text = document["text"].as_str().unwrap();
    let missing: Vec<_> = answers
        .iter()
        .filter(|(_, words)| !is_answered(text, words))
        .collect();
    assert!(missing.is_empty(), "not answered: {missing:#?}\n{text}");
    assert!(document["estimatedTokens"].as_u64().unwrap() <= 4000, "{text}");
    let name = file.rsplit('/').next().unwrap().replace(['.', '-'], "_");
    insta::assert_snapshot!(name, text);
}
