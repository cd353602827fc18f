//! Workbooks, of both generations.
#![no_main]

use codegen_operator_fuzz::whole;

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    whole(bytes, if kind % 2 == 0 { "x.xlsx" } else { "x.xls" });
});
