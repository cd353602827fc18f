//! Part of a program's contract that is plain without a run: the name of each option and output stands somewhere in it.
//!
//! By which parser, helper or loop it gets there is left to the runs.

use codegen_api::values::{Input, Output};

/// Finds the options and outputs that a program names nowhere, each as a sentence for the model.
#[must_use]
pub fn unnamed(source: &str, inputs: &[Input], outputs: &[Output]) -> Vec<String> {
    let options = inputs.iter().filter(|input| !is_named(source, &input.name));
    let options = options.map(|Input { name, .. }| {
        format!(
            "The option `--{name}` stands nowhere in the program; declare it with `parser.add_argument(\"--{name}\", ...)`."
        )
    });
    let outputs = outputs.iter().filter(|output| !is_named(source, &output.name));
    let outputs = outputs.map(|Output { name, .. }| {
        format!("The output `{name}` stands nowhere in the program; write it to `/var/outputs/{name}`.")
    });
    options.chain(outputs).collect()
}

/// Reports whether a name stands in the source, with underscores or hyphens: a field `max_rows` may become the option `--max-rows`.
fn is_named(source: &str, name: &str) -> bool {
    let spellings = [name.to_owned(), name.replace('-', "_"), name.replace('_', "-")];
    spellings.iter().any(|name| source.contains(name.as_str()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn found(source: &str) -> Vec<String> {
        let input = json!({"name": "max_rows", "type": "Int"});
        let output = json!({"name": "summary", "type": "File"});
        unnamed(
            source,
            &[serde_json::from_value(input).unwrap()],
            &[serde_json::from_value(output).unwrap()],
        )
    }

    #[rstest]
    #[case::literally("parser.add_argument('--max_rows')\nopen('/var/outputs/summary', 'w')\n")]
    #[case::from_fields("class Options:\n    max_rows: int\n\n\nclass Result:\n    summary: str\n")]
    #[case::with_hyphens("options = {'max-rows': int}\nwrite(out / 'summary.part')\n")]
    fn a_program_that_names_its_options_and_outputs_is_taken_however_it_does(#[case] source: &str) {
        assert_eq!(found(source), [""; 0]);
    }

    #[test]
    fn what_a_program_names_nowhere_is_said_with_what_to_write() {
        assert_eq!(
            found("print(1)\n"),
            [
                "The option `--max_rows` stands nowhere in the program; declare it with `parser.add_argument(\"--max_rows\", ...)`.",
                "The output `summary` stands nowhere in the program; write it to `/var/outputs/summary`."
            ]
        );
    }
}
