//! Arrow files: the footer, dictionaries and record batches.
#![no_main]

use codegen_operator_fuzz::whole;

codegen_operator_fuzz::target!(|bytes| whole(bytes, "x.arrow"));
