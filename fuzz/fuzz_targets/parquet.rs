//! Parquet: the footer, its statistics and the pages.
#![no_main]

use codegen_operator_fuzz::whole;

codegen_operator_fuzz::target!(|bytes| whole(bytes, "x.parquet"));
