//! Compressed files: damaged ones, and whole ones around any content.
#![no_main]

use std::io::Write as _;

use codegen_operator_fuzz::whole;
use flate2::Compression;
use flate2::write::GzEncoder;

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    if kind % 2 == 0 {
        whole(bytes, "x.csv.gz");
        return;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes every byte");
    whole(&encoder.finish().expect("memory takes every byte"), "x.csv.gz");
});
