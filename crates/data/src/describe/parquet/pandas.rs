//! Notes of pandas on a data frame in the footer: kinds of columns that Parquet has no type for.

use crate::describe::pandas_index::parsed;
use crate::format::parquet::ParquetFile;
use crate::format::shape::LISTED_PLACES;
use crate::profile::ColumnProfile;
use crate::remark::Remark;

/// The entry of pandas in the footer.
pub(super) fn metadata(file: &ParquetFile) -> Option<&str> {
    let entries = file.metadata().file_metadata().key_value_metadata();
    entries
        .into_iter()
        .flatten()
        .find(|entry| entry.key == "pandas")
        .and_then(|entry| entry.value.as_deref())
}

pub(super) fn is_column(file: &ParquetFile, name: &str) -> bool {
    file.leaves().iter().any(|leaf| leaf.path == name)
}

/// Columns that are more to pandas than to Parquet.
pub(super) struct PandasKinds {
    /// Lengths of time, which are whole numbers in the file: column and unit.
    durations: Vec<(String, String)>,
    /// Moments of a time zone, which are in UTC in the file: column and zone.
    zones: Vec<(String, String)>,
}

impl PandasKinds {
    pub(super) fn of(file: &ParquetFile) -> Self {
        let mut kinds = Self {
            durations: Vec::new(),
            zones: Vec::new(),
        };
        let metadata = parsed(metadata(file)).unwrap_or_default();
        for column in metadata["columns"].as_array().into_iter().flatten() {
            let name = ["field_name", "name"]
                .iter()
                .find_map(|key| column[*key].as_str());
            let Some(name) = name.filter(|name| is_column(file, name)) else {
                continue;
            };
            let unit = column["numpy_type"]
                .as_str()
                .and_then(|type_| type_.strip_prefix("timedelta64[")?.strip_suffix(']'));
            if let Some(unit) = unit.filter(|unit| matches!(*unit, "s" | "ms" | "us" | "ns")) {
                kinds.durations.push((name.to_owned(), unit.to_owned()));
            }
            if let Some(zone) = column["metadata"]["timezone"]
                .as_str()
                .filter(|zone| is_zone(zone))
            {
                kinds.zones.push((name.to_owned(), zone.to_owned()));
            }
        }
        kinds
    }

    /// Declares lengths of time as such.
    pub(super) fn apply(&self, columns: &mut [ColumnProfile]) {
        for column in columns {
            let unit = self.durations.iter().find(|(name, _)| *name == column.name);
            if let Some((_, unit)) = unit
                && column.declared.as_deref() == Some("int64")
            {
                column.declared = Some(format!("duration[{unit}]"));
                column.times = None;
            }
        }
    }

    /// Returns remarks on everything that the types of the file do not say.
    pub(super) fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for (name, unit) in self.durations.iter().take(LISTED_PLACES) {
            let text = format!("lengths of time, in the file as whole numbers of {unit}, in: {name}");
            remarks.push(Remark::naming(text, [name.as_str()]));
        }
        let is_local = |zone: &str| !matches!(zone, "UTC" | "+00:00" | "Etc/UTC");
        for (name, zone) in self
            .zones
            .iter()
            .filter(|(_, zone)| is_local(zone))
            .take(LISTED_PLACES)
        {
            let text = format!(
                "moments that pandas reads in the time zone {zone}, and that are in UTC here, in: {name}"
            );
            remarks.push(Remark::naming(text, [name.as_str()]));
        }
        remarks
    }
}

/// Reports whether a text has the form of a time zone (`Europe/Zurich`, `+01:00`): nothing else is repeated.
fn is_zone(text: &str) -> bool {
    text.len() <= 40
        && text.chars().all(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '/' | '_' | '+' | '-' | ':')
        })
}
