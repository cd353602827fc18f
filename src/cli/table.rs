//! Lists: columns for people, names and documents for scripts.

use comfy_table::presets::NOTHING;
use comfy_table::{Row, Table};
use serde_json::{Value, json};

use super::args::ListFormat;
use super::text::{cut, single_line};

/// Blanks between columns, as kubectl has them.
const GAP: u16 = 3;
/// Text in a column of which nothing is to be said.
pub(super) const NONE: &str = "<none>";

/// A list in every form that it may be asked for in.
pub(super) struct Listing {
    /// Names of the columns.
    pub header: Vec<&'static str>,
    /// A row for each item.
    pub rows: Vec<Vec<String>>,
    /// Names that `-o name` prints, one of each item.
    pub names: Vec<String>,
    /// The items for scripts.
    pub items: Vec<Value>,
}

impl Listing {
    /// The list as it is printed. `about` is what a document says besides its items.
    #[must_use]
    pub fn print(&self, format: ListFormat, about: &Value) -> String {
        match format {
            ListFormat::Table | ListFormat::Wide => columns(&self.header, &self.rows),
            ListFormat::Name => lines(&self.names),
            ListFormat::Json => {
                let text = serde_json::to_string_pretty(&self.document(about)).unwrap_or_default();
                text + "\n"
            }
            ListFormat::Yaml => serde_saphyr::to_string(&self.document(about)).unwrap_or_default(),
        }
    }

    fn document(&self, about: &Value) -> Value {
        let mut document = json!({"apiVersion": "v1", "kind": "List"});
        if let (Value::Object(all), Value::Object(about)) = (&mut document, about) {
            all.extend(about.clone());
        }
        document["items"] = self.items.clone().into();
        document
    }
}

/// One line a name, whatever the name holds.
fn lines(names: &[String]) -> String {
    names.iter().map(|name| single_line(name) + "\n").collect()
}

/// Columns under a header. Cells may be somebody else's text: each is one line, and a terminal obeys nothing of it.
#[must_use]
pub(super) fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(Row::from(header.to_vec()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| single_line(cell)).collect();
        table.add_row(Row::from(cells));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.trim_fmt() + "\n"
}

/// The text of a cell, cut to `columns` characters unless the list is wide.
#[must_use]
pub(super) fn cell(text: &str, columns: usize, format: ListFormat) -> String {
    match format {
        ListFormat::Wide => single_line(text),
        _ => cut(text, columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        Listing {
            header: vec!["NAME", "STAGE"],
            rows: vec![
                vec!["a".to_owned(), "Succeeded".to_owned()],
                vec!["long-name\u{1b}[2J\nSTAGE".to_owned(), String::new()],
            ],
            names: vec!["task/a".to_owned(), "task/b\nc".to_owned()],
            items: vec![json!({"name": "a"})],
        }
    }

    #[test]
    fn columns_stand_below_each_other_and_a_hostile_cell_stays_a_cell() {
        let text = listing().print(ListFormat::Table, &Value::Null);
        assert_eq!(
            text,
            "NAME                  STAGE\na                     Succeeded\nlong-name [2J STAGE\n"
        );
    }

    #[test]
    fn names_are_a_line_each_and_documents_read_back() {
        let about = json!({"attempt": 2});
        assert_eq!(listing().print(ListFormat::Name, &about), "task/a\ntask/b c\n");
        let json: Value = serde_json::from_str(&listing().print(ListFormat::Json, &about)).unwrap();
        assert_eq!(
            (&json["kind"], &json["attempt"], &json["items"][0]["name"]),
            (&json!("List"), &json!(2), &json!("a"))
        );
        let yaml: Value = serde_saphyr::from_str(&listing().print(ListFormat::Yaml, &about)).unwrap();
        assert_eq!(yaml, json);
    }
}
