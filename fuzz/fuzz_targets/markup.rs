//! Texts with tables in them: XML, HTML, columns of fixed width, settings.
#![no_main]

use codegen_operator_fuzz::whole;

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let opening: &[u8] = match kind % 4 {
        0 => b"<?xml version=\"1.0\"?>",
        1 => b"<html>",
        _ => b"",
    };
    let text = [opening, bytes].concat();
    whole(&text, if kind % 2 == 0 { "x.xml" } else { "x.txt" });
});
