//! Tables in XML and HTML: what repeats in a document, and how pandas reads it. The document itself is described as text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read as _};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::format::catching;
use crate::source::{Encoding, Source};

/// Most of a document that is read for its structure, bytes: of HTML it is held.
const LARGEST_HTML: u64 = 8 * 1024 * 1024;
const LARGEST_XML: u64 = 256 * 1024 * 1024;
/// Different elements of XML that are counted, by their paths.
const MOST_PATHS: usize = 1_000;
/// Levels of XML at which records are looked for.
const DEEPEST: usize = 8;
/// Names that are listed.
const LISTED_NAMES: usize = 12;
const LONGEST_NAME: usize = 60;
/// Tables of HTML whose size is told.
const LISTED_TABLES: usize = 5;

/// A remark on the tables of a document; `None` where it has none.
pub(super) fn remark(source: &Source, encoding: Encoding, kind: &str) -> io::Result<Option<String>> {
    let input = source.open_decoded(encoding)?;
    match kind {
        "XML" => xml(input.take(LARGEST_XML)),
        "HTML" => {
            let mut text = Vec::new();
            input.take(LARGEST_HTML).read_to_end(&mut text)?;
            Ok(html(&String::from_utf8_lossy(&text)))
        }
        _ => Ok(None),
    }
}

/// What is known of the elements of one path.
#[derive(Default)]
struct Elements {
    count: u64,
    fields: BTreeSet<String>,
}

/// The elements of an XML document by their paths.
#[derive(Default)]
struct Outline {
    path: Vec<String>,
    elements: BTreeMap<Vec<String>, Elements>,
    namespace: Option<String>,
}

impl Outline {
    fn open(&mut self, tag: &BytesStart<'_>) {
        let name = name_of(tag.local_name().into_inner());
        if self.path.is_empty() {
            let namespace = tag.try_get_attribute("xmlns").ok().flatten();
            self.namespace = namespace.map(|found| name_of(&found.value));
        }
        let is_recorded = |outline: &Self, path: &[String]| {
            outline.elements.len() < MOST_PATHS || outline.elements.contains_key(path)
        };
        if !self.path.is_empty() && self.path.len() < DEEPEST && is_recorded(self, &self.path) {
            let parent = self.elements.entry(self.path.clone()).or_default();
            parent.fields.insert(name.clone());
        }
        self.path.push(name);
        if self.path.len() <= DEEPEST && is_recorded(self, &self.path) {
            let element = self.elements.entry(self.path.clone()).or_default();
            element.count += 1;
            for attribute in tag.attributes().with_checks(false).flatten().take(LISTED_NAMES) {
                let name = name_of(attribute.key.into_inner());
                if !name.starts_with("xmlns") {
                    element.fields.insert(format!("@{name}"));
                }
            }
        }
    }

    /// The elements that repeat with fields of their own, nearest to the root; of several the most frequent.
    fn records(&self) -> Option<(&[String], &Elements)> {
        let repeated = self
            .elements
            .iter()
            .filter(|(path, element)| path.len() > 1 && element.count > 1 && !element.fields.is_empty());
        repeated
            .min_by_key(|(path, element)| (path.len(), u64::MAX - element.count))
            .map(|(path, element)| (path.as_slice(), element))
    }

    fn remark(&self) -> Option<String> {
        let (path, element) = self.records()?;
        let root = path.first()?;
        let steps = &path[1..];
        let record = steps.last()?;
        let fields: Vec<&str> = element
            .fields
            .iter()
            .take(LISTED_NAMES)
            .map(String::as_str)
            .collect();
        let more = if element.fields.len() > LISTED_NAMES {
            ", ..."
        } else {
            ""
        };
        let (prefix, namespaces) = match &self.namespace {
            Some(uri) => ("x:", format!(", namespaces={{\"x\": \"{uri}\"}}")),
            None => ("", String::new()),
        };
        let steps: Vec<String> = steps.iter().map(|step| format!("{prefix}{step}")).collect();
        Some(format!(
            "its root {root} holds {} elements {record} with {}{more}: pandas.read_xml(path, xpath=\"./{}\"{namespaces}) reads them as rows (package lxml)",
            element.count,
            fields.join(", "),
            steps.join("/")
        ))
    }
}

fn name_of(name: &str) -> String {
    name[..name.floor_char_boundary(LONGEST_NAME)].to_owned()
}

/// What repeats in XML, and where it is not well-formed.
fn xml(input: impl io::Read) -> io::Result<Option<String>> {
    let mut reader = Reader::from_reader(BufReader::new(input));
    reader.config_mut().expand_empty_elements = true;
    let mut outline = Outline::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => outline.open(&tag),
            Ok(Event::End(_)) => {
                outline.path.pop();
            }
            Ok(Event::Eof) => return Ok(outline.remark()),
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) => {
                return Err(io::Error::new(error.kind(), error.to_string()));
            }
            Err(_) => {
                return Ok(Some(
                    "it is not well-formed XML, and pandas.read_xml fails at it".to_owned(),
                ));
            }
        }
    }
}

/// The tables of HTML by their size.
fn html(text: &str) -> Option<String> {
    let tables = catching(|| tables(text)).ok()?;
    let listed: Vec<String> = tables
        .iter()
        .take(LISTED_TABLES)
        .map(|(rows, columns)| format!("{rows} x {columns}"))
        .collect();
    let more = if tables.len() > LISTED_TABLES { ", ..." } else { "" };
    (!tables.is_empty()).then(|| {
        format!(
            "its tables (table elements): {}, of so many rows and columns: {}{more}; pandas.read_html(path) returns a list of them (package lxml)",
            tables.len(),
            listed.join(", ")
        )
    })
}

/// Rows and most cells of a row, for each table with cells; those of a table in another count for the inner one.
fn tables(text: &str) -> Vec<(usize, usize)> {
    let Ok(document) = tl::parse(text, tl::ParserOptions::default()) else {
        return Vec::new();
    };
    let mut tables: Vec<(usize, usize)> = Vec::new();
    let mut cells = 0;
    // In the order of the document: one pass, however deep it nests.
    for tag in document.nodes().iter().filter_map(tl::Node::as_tag) {
        let name = tag.name().as_utf8_str().to_ascii_lowercase();
        match (name.as_str(), tables.last_mut()) {
            ("table", _) => {
                tables.push((0, 0));
                cells = 0;
            }
            ("tr", Some(table)) => {
                table.0 += 1;
                cells = 0;
            }
            ("td" | "th", Some(table)) => {
                cells += 1;
                table.1 = table.1.max(cells);
            }
            _ => {}
        }
    }
    tables.retain(|(rows, columns)| *rows > 0 && *columns > 0);
    tables
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::records(
        "<?xml version=\"1.0\"?><orders><order id=\"1\"><city>K</city></order><order id=\"2\"/></orders>",
        Some(
            "its root orders holds 2 elements order with @id, city: pandas.read_xml(path, xpath=\"./order\") reads them as rows (package lxml)"
        )
    )]
    #[case::deeper(
        "<?xml version=\"1.0\"?><a><b><r><x>1</x></r><r><x>2</x></r></b></a>",
        Some(
            "its root a holds 2 elements r with x: pandas.read_xml(path, xpath=\"./b/r\") reads them as rows (package lxml)"
        )
    )]
    #[case::in_a_namespace(
        "<?xml version=\"1.0\"?><a xmlns=\"urn:a\"><r><x>1</x></r><r><x>2</x></r></a>",
        Some(
            "its root a holds 2 elements r with x: pandas.read_xml(path, xpath=\"./x:r\", namespaces={\"x\": \"urn:a\"}) reads them as rows (package lxml)"
        )
    )]
    #[case::settings("<?xml version=\"1.0\"?><config><host>a</host><port>1</port></config>", None)]
    #[case::broken(
        "<?xml version=\"1.0\"?><a><b></a>",
        Some("it is not well-formed XML, and pandas.read_xml fails at it")
    )]
    fn what_repeats_in_xml_is_said(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(xml(text.as_bytes()).unwrap().as_deref(), expected);
    }

    #[rstest]
    #[case("<html><table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table></html>", Some((2, 2)))]
    #[case("<html><TABLE><TBODY><TR><TD>1</TD></TR></TBODY></TABLE></html>", Some((1, 1)))]
    #[case("<html><table></table><p>no rows</p></html>", None)]
    #[case("<html><!-- <table><tr><td>1</td></tr></table> --></html>", None)]
    fn tables_of_html_are_counted(#[case] text: &str, #[case] expected: Option<(usize, usize)>) {
        assert_eq!(tables(text).first().copied(), expected);
    }
}
