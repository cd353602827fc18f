//! Compressed files other than gzip: damaged ones, and whole ones around any content.
#![no_main]

use codegen_data::source::Compression;
use codegen_operator_fuzz::whole;

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let all = [
        Compression::Bzip2,
        Compression::Xz,
        Compression::Zstd,
        Compression::Zip,
    ];
    let compression = all[usize::from(*kind) / 2 % all.len()];
    let name = format!("x.csv{}", compression.ending());
    if kind % 2 == 0 {
        whole(bytes, &name);
    } else {
        whole(&compression.pack(bytes, "x.csv").expect("memory takes every byte"), &name);
    }
});
