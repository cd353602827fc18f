//! Words for what leaves this machine with the first call of a task's model.

use codegen_api::common::Exposure;
use codegen_core::task::Task;
use codegen_data::profile::{Content, SampleProfile, TableProfile};

/// The address, and what of each sample goes there; `None` where no data does.
pub(super) fn shown(task: &Task, profiles: &[SampleProfile]) -> Option<String> {
    let samples: Vec<String> = profiles.iter().map(|sample| of_sample(task, sample)).collect();
    if samples.is_empty() {
        return None;
    }
    let (address, exposure) = (&task.model.base_url, task.exposure.as_str());
    let samples = samples.join("; ");
    Some(format!(
        "to {address}: the prompt; {samples} (exposure {exposure})"
    ))
}

fn of_sample(task: &Task, sample: &SampleProfile) -> String {
    let name = &sample.file_name;
    let tables: &[TableProfile] = match &sample.content {
        Content::Table(table) => std::slice::from_ref(table),
        Content::Sheets(tables) => tables,
        Content::Text(_) => return format!("{name}: its lines by their form"),
        Content::Opaque(kind) => return format!("{name}: its name, that it is a {kind}"),
    };
    let columns: u64 = tables.iter().map(|table| table.column_count).sum();
    let records: u64 = tables.iter().map(|table| table.records).sum();
    let most = u64::try_from(task.max_sample_rows)
        .unwrap_or(u64::MAX)
        .min(records);
    let (values, rows) = match task.exposure {
        Exposure::SchemaOnly => ("no values", String::new()),
        Exposure::Statistics => ("statistics, no rows", String::new()),
        Exposure::RedactedRows => (
            "statistics",
            format!(", up to {most} of {records} rows with letters and digits masked"),
        ),
        Exposure::Rows => ("statistics", format!(", up to {most} of {records} rows")),
    };
    format!("{name}: {columns} columns, {values}{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_data_is_said_with_its_address_and_exposure() {
        let mut task = codegen_core::test_support::task();
        task.model.base_url = "https://models.example/v1".to_owned();
        task.max_sample_rows = 20;
        let sample: SampleProfile = serde_json::from_value(serde_json::json!({
            "name": "sales", "fileName": "sales.csv", "format": "CSV", "bytes": 9, "compression": null, "encoding": null,
            "remarks": [], "content": {"opaque": "PNG image"},
        }))
        .unwrap();
        assert_eq!(shown(&task, &[]), None);
        let opaque = "to https://models.example/v1: the prompt; sales.csv: its name, that it is a PNG image (exposure Rows)";
        assert_eq!(shown(&task, &[sample]).as_deref(), Some(opaque));
    }
}
