//! Files with lines that are no records: real pandas, told as the schema module tells it, reads the records that the checks read.

use crate::cases::number_rules;
use crate::compare::{Case, differences};

fn tables() -> Vec<Case> {
    let table =
        |name: &str, text: &str, column| Case::new(name, "x.csv", text.as_bytes(), number_rules(column));
    let wide: Vec<_> = (0..230).map(|column| format!("c{column}")).collect();
    let wide = format!(
        "{}\n{}1\n{}-3\n",
        wide.join(","),
        "5,".repeat(229),
        "6,".repeat(229)
    );
    vec![
        table("comments", "# x, y\n# z\n\na,b\n1,x\n# half\n-3,y\n2,z\n", "a"),
        table(
            "comments above and their sign in values",
            "# x\n# z\na,b\n1,#f\n-3,#g\n2,h\n",
            "a",
        ),
        table("a marked header", "##x\n##y\n#a,b\n1,x\n-3,y\n", "#a"),
        table("a title", "Sales of 2026\n\na,b\n1,x\n-3,y\n2,z\n", "a"),
        table(
            "titles filled up with empty fields",
            "Sales,,\nMade,2026-01-02,\n,,\na,b,c\n1,x,2\n-3,y,4\n",
            "a",
        ),
        table("a title above records", "Sales of 2026\n1,2\n-3,4\n", "column_1"),
        table("a separator line", "sep=;\na;b\n1;x\n-3;y\n", "a"),
        table("units", "a,b\nkg,m/s\n1,2.5\n-3,3.5\n", "a"),
        table(
            "a header with a line break above units",
            "\"a\nin all\",b\nkg,m/s\n1,2.5\n-3,3.5\n",
            "b",
        ),
        table(
            "units below a title",
            "Sales of 2026\n\n# x\na,b\nkg,m/s\n1,2.5\n-3,3.5\n",
            "a",
        ),
        table("groups", ",x,x,y,y\nk,a,b,a,b\nm,1,2,3,4\nn,-3,1,2,3\n", "x a"),
        table(
            "merged groups",
            ",x,,y,\nk,a,b,a,b\nm,1,2,3,4\nn,-3,1,2,3\n",
            "y b",
        ),
        table(
            "groups and units",
            "Sales of 2026\n,x,,y,\nk,a,b,a,b\ns,kg,m,kg,m\n0,1,2,3,4\n1,-3,1,2,3\n",
            "x a",
        ),
        table("infinite numbers", "a,b\n1,x\ninf,y\n-Infinity,z\n-3,x\n", "a"),
        table(
            "telephone numbers",
            "a,b\n+41791234567,x\n+41797654321,y\n,z\n",
            "a",
        ),
        table("more columns than are described", &wide, "c229"),
        Case::new(
            "JSON as Python writes it",
            "x.json",
            b"[{\"a\":1.5},{\"a\":NaN},{\"a\":-3}]",
            number_rules("a"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn pandas_reads_the_records_that_the_checks_read_below_titles_and_comments() {
    let found = differences(&tables()).await;
    assert!(found.is_empty(), "{found}");
}
