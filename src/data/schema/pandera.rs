//! Schemas as Pandera code that their files pass.

use std::fmt::Write as _;

use super::{Schema, SchemaColumn};

/// A Python string literal.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Prints schemas as one Python module: for each sample `read_<name>(path)` and `<name>_schema`.
#[must_use]
pub fn to_pandera(schemas: &[Schema]) -> String {
    let mut code = String::from("import json\n\nimport pandas\nimport pandera.pandas as pa\n");
    for Schema {
        sample,
        columns,
        reader,
    } in schemas
    {
        let _ = write!(
            code,
            "\n\ndef read_{sample}(path):\n    {reader}\n\n\n{sample}_schema = pa.DataFrameSchema(\n    {{\n"
        );
        for SchemaColumn {
            name,
            dtype,
            nullable,
            ..
        } in columns
        {
            let dtype = dtype.as_deref().map_or("None".to_owned(), literal);
            let nullable = if *nullable { "True" } else { "False" };
            let _ = writeln!(
                code,
                "        {}: pa.Column({dtype}, nullable={nullable}),",
                literal(name)
            );
        }
        code.push_str("    },\n    strict=False,\n    coerce=True,\n)\n");
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::describe::{Options, describe_source};
    use crate::data::schema::infer;
    use crate::data::source::Source;

    #[test]
    fn types_and_nullability_are_printed_and_no_values() {
        let text = "id;price;day;zip\n1;2.5;2026-01-01;007\n2;;2026-01-02;008\n";
        let source = Source::bytes(text.as_bytes());
        let profile = describe_source(&source, "s", "s.csv", &Options::default()).unwrap();
        let found = infer(&profile).unwrap();
        insta::assert_snapshot!(to_pandera(&[found]), @r#"
        import json

        import pandas
        import pandera.pandas as pa


        def read_s(path):
            return pandas.read_csv(path, index_col=False, sep=";", dtype={"id": "Int64", "price": "Float64", "zip": "string"}, parse_dates=["day"], date_format="ISO8601")


        s_schema = pa.DataFrameSchema(
            {
                "id": pa.Column("Int64", nullable=False),
                "price": pa.Column("Float64", nullable=True),
                "day": pa.Column("datetime64[ns]", nullable=False),
                "zip": pa.Column("string", nullable=False),
            },
            strict=False,
            coerce=True,
        )
        "#);
    }
}
