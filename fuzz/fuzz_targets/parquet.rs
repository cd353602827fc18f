//! Parquet: the footer, its statistics and the pages.
#![no_main]

use codegen_operator_fuzz::whole;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| whole(bytes, "x.parquet"));
