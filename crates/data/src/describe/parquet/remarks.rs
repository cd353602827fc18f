//! Remarks on a Parquet file that is not as its footer says, or not read whole.

use crate::format::parquet::ParquetFile;
use crate::format::shape::LISTED_PLACES;
use crate::remark::Remark;

use super::super::arrow::finer_remark;
use super::{Part, Reading};

/// Adds remarks on the faults of the records that were read.
pub(super) fn fault_remarks(file: &ParquetFile, reading: &Reading, remarks: &mut Vec<Remark>) {
    for fault in reading.faults.iter().take(LISTED_PLACES) {
        remarks.push(format!("not readable: {fault}").into());
    }
    if reading.faults.len() > LISTED_PLACES {
        remarks.push(format!("row groups that are not readable: {}", reading.faults.len()).into());
    }
    remarks.extend(count_remark(file, reading));
    column_remarks(file, reading, remarks);
}

/// Says that the footer counts other rows than there are.
fn count_remark(file: &ParquetFile, reading: &Reading) -> Option<Remark> {
    let footer_total = u64::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0);
    if reading.total == footer_total && reading.miscounted.is_empty() {
        return None;
    }
    let groups: Vec<_> = reading
        .miscounted
        .iter()
        .take(LISTED_PLACES)
        .map(usize::to_string)
        .collect();
    let place = if groups.is_empty() {
        String::new()
    } else {
        format!(" (row groups with another count: {})", groups.join(", "))
    };
    let total = reading.total;
    Some(format!("its footer says {footer_total} rows, but it holds {total}{place}").into())
}

/// Adds remarks on odd values of single columns.
fn column_remarks(file: &ParquetFile, reading: &Reading, remarks: &mut Vec<Remark>) {
    let leaves = &file.leaves()[reading.columns.clone()];
    let names = |positions: &mut dyn Iterator<Item = usize>| -> Vec<&str> {
        let listed = positions.take(LISTED_PLACES);
        listed.map(|position| leaves[position].path.as_str()).collect()
    };
    let counted = |counts: &[u64]| names(&mut (0..counts.len()).filter(|position| counts[*position] > 0));
    let short = counted(&reading.missing_records);
    if !short.is_empty() {
        let text = format!(
            "columns with fewer values than the file has rows: {}",
            short.join(", ")
        );
        remarks.push(Remark::naming(text, short));
    }
    let lossy = counted(&reading.lossy);
    if !lossy.is_empty() {
        let text = format!(
            "{} values are not valid UTF-8, in: {}; read with replacement characters",
            reading.lossy.iter().sum::<u64>(),
            lossy.join(", ")
        );
        remarks.push(Remark::naming(text, lossy));
    }
    let finer = reading.finer.iter();
    remarks.extend(finer_remark(
        finer.map(|position| leaves[*position].path.as_str()),
    ));
}

/// Says that there is no record.
pub(super) fn empty_remark(records: u64, remarks: &mut Vec<Remark>) {
    if records == 0 {
        remarks.push("it has columns and no rows".into());
    }
}

/// Names the part of the file that the statistics are of, where they are not of the whole file.
pub(super) fn share_remark(file: &ParquetFile, read: u64, total: u64, parts: &[(u64, Part)]) -> String {
    let groups: Vec<_> = parts
        .iter()
        .take(LISTED_PLACES)
        .map(|(_, part)| (part.group + 1).to_string())
        .collect();
    let more = if parts.len() > LISTED_PLACES { ", ..." } else { "" };
    format!(
        "not read whole: missing values and extremes of columns without lists are those that the footer gives, all other statistics are of {read} of {total} rows, in row groups {}{more} of {}",
        groups.join(", "),
        file.metadata().num_row_groups()
    )
}
