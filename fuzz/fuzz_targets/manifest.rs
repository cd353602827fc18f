//! Manifests: YAML and JSON of several documents, and the task that one of them may be.
#![no_main]

use codegen_operator::local::manifest::parse;

codegen_operator_fuzz::target!(|bytes| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let file = if kind % 2 == 0 { "task.yaml" } else { "task.json" };
    match parse(file, text) {
        Ok(documents) => {
            for document in documents {
                let _ = (
                    document.kind(),
                    document.api_version(),
                    document.name(),
                    document.namespace(),
                );
            }
        }
        Err(error) => assert!(error.to_string().starts_with(file), "{error}"),
    }
});
