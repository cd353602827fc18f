//! Schemas, and the constraints that Pandera has checks for, as a Python module.

mod constraints;

use std::fmt::Write as _;

use super::{Schema, SchemaColumn};
use crate::checks::rule::ColumnCheck;

const HEAD: &str = "\
\"\"\"How the samples are read, their inferred types, and the constraints on their columns.

    frame = NAME_schema.validate(read_NAME(path))
    NAME_constraints.validate(frame, lazy=True)
\"\"\"
";

/// A Python string literal.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

const fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Prints schemas as one Python module: for each sample `read_<name>(path)`, `<name>_schema` with types and nullability,
/// and, where a check names one of its columns, `<name>_constraints`.
#[must_use]
pub fn to_pandera(schemas: &[Schema], checks: &[ColumnCheck]) -> String {
    let reads_json = schemas.iter().any(|schema| schema.reader.contains("json."));
    let json = if reads_json { "import json\n\n" } else { "" };
    let mut code = format!("{HEAD}\n{json}import pandas\nimport pandera.pandas as pa\n");
    for schema in schemas {
        print_schema(schema, &mut code);
        code.push_str(&constraints::constraints(schema, checks));
    }
    let left_out = constraints::left_out(schemas, checks);
    if !left_out.is_empty() {
        let _ = writeln!(code, "\n{left_out}");
    }
    code
}

fn print_schema(schema: &Schema, code: &mut String) {
    let Schema {
        sample,
        columns,
        reader,
        ..
    } = schema;
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
        let _ = writeln!(
            code,
            "        {}: pa.Column({dtype}, nullable={}),",
            literal(name),
            truth(*nullable)
        );
    }
    code.push_str("    },\n    strict=False,\n    coerce=True,\n)\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::rule::Rule;
    use crate::describe::{DescribeOptions, describe_source};
    use crate::schema::infer;
    use crate::source::Source;

    #[test]
    fn types_and_nullability_are_printed_and_no_values() {
        let text = "id;price;day;zip\n1;2.5;2026-01-01;007\n2;;2026-01-02;008\n";
        let source = Source::bytes(text.as_bytes());
        let profile = describe_source(&source, "s", "s.csv", &DescribeOptions::default()).unwrap();
        let found = infer(&profile).unwrap();
        insta::assert_snapshot!(to_pandera(&[found], &[]), @r#"
        """How the samples are read, their inferred types, and the constraints on their columns.

            frame = NAME_schema.validate(read_NAME(path))
            NAME_constraints.validate(frame, lazy=True)
        """

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

    fn schema(name: &str, text: &str) -> Schema {
        let source = Source::bytes(text.as_bytes());
        infer(&describe_source(&source, name, "x.csv", &DescribeOptions::default()).unwrap()).unwrap()
    }

    #[test]
    fn a_module_imports_what_its_readers_use() {
        let module = |text: &str, file_name: &str| {
            let source = Source::bytes(text.as_bytes());
            let profile = describe_source(&source, "s", file_name, &DescribeOptions::default()).unwrap();
            to_pandera(&[infer(&profile).unwrap()], &[])
        };
        assert!(module("[{\"a\": 1}]", "s.json").contains("\n\nimport json\n\nimport pandas\n"));
        assert!(!module("a,b\n1,json.load\n", "s.csv").contains("import json"));
    }

    #[test]
    fn constraints_stand_beside_the_schemas_of_the_samples_that_have_their_column() {
        let schemas = [
            schema("orders", "quantity,zip\n1,007\n"),
            schema("stock", "quantity\nmany\n"),
        ];
        let check = |column: &str, rule: Rule| ColumnCheck::new(0, column, rule);
        let checks = [
            check("quantity", Rule::GreaterThan(0.into())),
            check("quantity", Rule::NotNull),
            check("zip", Rule::Regex("[0-9]{3}".into())),
            check("zip", Rule::Regex(r"a\b{start}".into())),
            check("total\n", Rule::LessThan(9.into())),
        ];
        let code = to_pandera(&schemas, &checks);
        let constraints: Vec<&str> = code
            .split("\n\n\n")
            .filter(|part| part.contains("_constraints ="))
            .collect();
        insta::assert_snapshot!(constraints.join("\n\n"), @r##"
        orders_constraints = pa.DataFrameSchema(
            {
                "quantity": pa.Column(
                    checks=[
                        pa.Check.greater_than(0),
                    ],
                    nullable=False,
                ),
                "zip": pa.Column(
                    checks=[
                        pa.Check.str_matches("(?=)(?:[0-9]{3})\\Z"),
                        # Not here: zip matches a\b{start}
                    ],
                    nullable=True,
                ),
            },
            strict=False,
        )

        stock_constraints = pa.DataFrameSchema(
            {
                "quantity": pa.Column(
                    checks=[
                        # Not here: quantity greater than 0
                    ],
                    nullable=False,
                ),
            },
            strict=False,
        )
        "##);
        assert!(
            code.ends_with("\n# Of no column above: total  less than 9\n"),
            "{code}"
        );
    }
}
