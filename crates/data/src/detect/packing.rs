//! Remarks on the compression of a file.

use crate::source::{Compression, LARGEST_UNPACKED, UnpackFault};

/// Oddities of the packing of a file. `archive` says why an archive is not unpacked.
pub(super) struct PackingOddities<'a> {
    /// Its compression, where it is unpacked.
    pub compression: Option<Compression>,
    /// Fault for which unpacking stopped early.
    pub fault: Option<UnpackFault>,
    /// Reason for which it is an archive that is not unpacked.
    pub archive: Option<&'a str>,
}

impl PackingOddities<'_> {
    /// Its remarks; of a file that holds `content` bytes.
    pub(super) fn remarks(&self, content: u64, file_name: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        let named = Compression::of_name(file_name).map(|(_, compression)| compression);
        match (self.compression, named) {
            (Some(found), named) if named != Some(found) => remarks.push(format!(
                "{}-compressed, which its name does not say (pandas: compression=\"{}\")",
                found.name(),
                found.pandas_name()
            )),
            (None, Some(named)) if content > 0 && self.archive.is_none() => remarks.push(format!(
                "named {}, but not compressed (pandas: compression=None)",
                named.ending()
            )),
            _ => {}
        }
        if self.compression == Some(Compression::Zstd) {
            remarks.push("to read zstd data pandas needs the package zstandard".to_owned());
        }
        if let (Some(compression), Some(fault)) = (self.compression, self.fault) {
            remarks.push(fault.remark(compression));
        }
        remarks.extend(self.archive.map(str::to_owned));
        remarks
    }

    /// Names the content of the file, where nothing of it could be unpacked or it is too large.
    pub(super) fn unread(&self, content: u64) -> Option<String> {
        let name = self.compression?.name();
        match self.fault? {
            UnpackFault::TooLarge => Some(format!(
                "{name} data that unpacks to more than {} GiB",
                LARGEST_UNPACKED >> 30
            )),
            _ if content == 0 => Some(format!("{name} data")),
            _ => None,
        }
    }
}
