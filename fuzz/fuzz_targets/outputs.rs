//! Outputs of every type, as a program may leave them.
#![no_main]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use codegen_data::outputs::{Declared, OutputContent, parse};

const DECLARED: [&str; 16] = [
    r#"{"name":"o","type":"String"}"#,
    r#"{"name":"o","type":"Int"}"#,
    r#"{"name":"o","type":"Float"}"#,
    r#"{"name":"o","type":"Bool"}"#,
    r#"{"name":"o","type":"Datetime"}"#,
    r#"{"name":"o","type":"Timedelta"}"#,
    r#"{"name":"o","type":"Dir"}"#,
    r#"{"name":"o","type":"File"}"#,
    r#"{"name":"o","type":"File","format":"CSV"}"#,
    r#"{"name":"o","type":"File","format":"TSV"}"#,
    r#"{"name":"o","type":"File","format":"JSON"}"#,
    r#"{"name":"o","type":"File","format":"JSONLines"}"#,
    r#"{"name":"o","type":"File","format":"Parquet"}"#,
    r#"{"name":"o","type":"File","format":"Excel"}"#,
    r#"{"name":"o","type":"File","format":"Text"}"#,
    r#"{"name":"o","type":"File","format":"Binary"}"#,
];

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let declared = DECLARED[usize::from(*kind) % DECLARED.len()];
    let output: Declared = serde_json::from_str(declared).expect("a declared output");
    let content = OutputContent::File(BASE64_STANDARD.encode(bytes));
    let value = parse(&output, &content);
    let text = serde_json::to_string(&value).expect("plain data");
    let read: Result<_, _> = serde_json::from_str(&text).expect("read as it was written");
    assert_eq!(value, read);
    if let Err(fault) = value {
        assert!(fault.to_string().len() < 4_096, "{fault}");
    }
});
