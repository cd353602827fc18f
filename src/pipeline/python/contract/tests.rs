//! Programs that keep the contract, and programs that do not.

use super::*;
use rstest::rstest;

fn input(name: &str, type_: ValueType) -> Input {
    Input {
        name: name.to_owned(),
        type_,
        default: None,
        example: None,
        description: None,
        source: None,
    }
}

fn output(name: &str, type_: ValueType) -> Output {
    serde_json::from_value(serde_json::json!({"name": name, "type": type_})).unwrap()
}

fn found(source: &str) -> Vec<String> {
    let inputs = [input("data", ValueType::File), input("max_rows", ValueType::Int)];
    let outputs = [
        output("mean", ValueType::Float),
        output("report", ValueType::File),
    ];
    violations(&Module::parse(source).unwrap(), &inputs, &outputs)
}

/// A program around its options and its writes.
fn program(options: &str, writes: &str) -> String {
    format!(
        "import argparse\nimport os\nimport shutil\nfrom pathlib import Path\n\nOUT = Path('/var/outputs')\nNAMES = ['data', 'max_rows']\n\n\
         def main():\n    parser = argparse.ArgumentParser()\n{options}\n    args = parser.parse_args()\n{writes}\n\n\
         if __name__ == '__main__':\n    main()\n"
    )
}

const OPTIONS: &str = "    parser.add_argument('--data', required=True)\n    parser.add_argument('-m', '--max_rows', type=int, default=3)";
const WRITES: &str =
    "    Path('/var/outputs/mean').write_text('1')\n    open('/var/outputs/report', 'w').close()";

#[test]
fn a_plain_program_keeps_the_contract() {
    assert_eq!(found(&program(OPTIONS, WRITES)), Vec::<String>::new());
}

#[rstest]
#[case("    for name in NAMES:\n        parser.add_argument(f'--{name}', required=True)")]
#[case(
    "    for name, kind in [('data', str), ('max_rows', int)]:\n        parser.add_argument('--' + name, type=kind)"
)]
#[case("    for option in ('--data', '--max_rows'):\n        parser.add_argument(option)")]
#[case(
    "    group = parser.add_argument_group('g')\n    group.add_argument('--data')\n    group.add_argument('--max_rows', dest='n')"
)]
fn options_may_be_declared_in_several_ways(#[case] options: &str) {
    assert_eq!(found(&program(options, WRITES)), Vec::<String>::new());
}

#[rstest]
#[case("    (OUT / 'mean').write_text('1')\n    (OUT / 'report').write_bytes(b'')")]
#[case(
    "    for name in ['mean', 'report']:\n        with open(f'/var/outputs/{name}', 'w') as f:\n            f.write('1')"
)]
#[case(
    "    results = {'mean': 1, 'report': 'x'}\n    for name, value in results.items():\n        (OUT / name).write_text(str(value))"
)]
#[case("    out = '/var/outputs'\n    open(os.path.join(out, 'mean'), 'w')\n    open(out + '/report', 'w')")]
#[case(
    "    def write(name, value):\n        (OUT / name).write_text(str(value))\n    write('mean', 1)\n    write('report', 'x')"
)]
#[case(
    "    os.makedirs('/var/outputs', exist_ok=True)\n    OUT.mkdir(parents=True, exist_ok=True)\n    open(OUT / 'mean')\n    open(OUT / 'report')"
)]
#[case(
    "    if os.path.exists('/var/outputs/mean'):\n        os.remove('/var/outputs/mean')\n    open(OUT / 'report')"
)]
fn outputs_may_be_written_in_several_ways(#[case] writes: &str) {
    assert_eq!(found(&program(OPTIONS, writes)), Vec::<String>::new());
}

#[rstest]
#[case(
    "    parser.add_argument('--data')\n    parser.add_argument('--max-rows')",
    "declares `--max-rows`; write `--max_rows` exactly"
)]
#[case("    parser.add_argument('--max_rows')", "The option `--data` is missing")]
#[case(
    "    parser.add_argument('data')\n    parser.add_argument('--max_rows')",
    "The option `--data` is missing"
)]
fn missing_options_are_named(#[case] options: &str, #[case] message: &str) {
    let found = found(&program(options, WRITES));
    assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
}

#[rstest]
#[case(
    "    open('/var/outputs/mean', 'w')\n    open('/var/outputs/report.csv', 'w')",
    "without an ending, but the program writes `/var/outputs/report.csv`"
)]
#[case("    open('/var/outputs/mean', 'w')", "The output `report` is not written")]
#[case(
    "    open('/var/outputs/mean', 'w')\n    open('report', 'w')",
    "The output `report` is not written"
)]
fn missing_outputs_are_named(#[case] writes: &str, #[case] message: &str) {
    let found = found(&program(OPTIONS, writes));
    assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
}

#[rstest]
#[case("    shutil.rmtree('/var/outputs')", "deletes or replaces")]
#[case("    shutil.rmtree(OUT, ignore_errors=True)", "deletes or replaces")]
#[case("    shutil.rmtree('/var/outputs/')", "deletes or replaces")]
#[case("    os.rmdir(OUT)", "deletes or replaces")]
#[case("    OUT.rmdir()", "deletes or replaces")]
#[case("    os.rename('/var/outputs', '/tmp/x')", "deletes or replaces")]
#[case("    shutil.move(str(OUT), '/tmp/x')", "deletes or replaces")]
#[case("    os.system('rm -rf /var/outputs/*')", "deletes or replaces")]
#[case(
    "    import subprocess\n    subprocess.run(['rm', '-rf', '/var/outputs'])",
    "deletes or replaces"
)]
#[case("    os.mkdir('/var/outputs')", "which exists")]
#[case("    os.makedirs(OUT)", "which exists")]
#[case("    OUT.mkdir(exist_ok=False)", "which exists")]
#[case("    Path('/var/outputs').mkdir(parents=True)", "which exists")]
fn the_output_folder_is_left_alone(#[case] writes: &str, #[case] message: &str) {
    let found = found(&program(OPTIONS, &format!("{WRITES}\n{writes}")));
    assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
}

#[test]
fn another_folder_may_be_deleted() {
    let writes = format!(
        "{WRITES}\n    shutil.rmtree('/tmp/work')\n    'a'.replace('b', 'c')\n    Path('/tmp/x').mkdir()"
    );
    assert_eq!(found(&program(OPTIONS, &writes)), Vec::<String>::new());
}

#[rstest]
#[case("action='store_true'", Some("takes a value"))]
#[case("action=argparse.BooleanOptionalAction", Some("takes a value"))]
#[case("type=bool", Some("`type=bool` makes every text true"))]
#[case("type=to_bool", None)]
#[case("type=lambda text: text == 'true'", None)]
fn a_boolean_option_takes_a_value(#[case] how: &str, #[case] message: Option<&str>) {
    let source = program(&format!("    parser.add_argument('--strict', {how})"), "");
    let found = violations(
        &Module::parse(&source).unwrap(),
        &[input("strict", ValueType::Bool)],
        &[],
    );
    assert_eq!(found.len(), usize::from(message.is_some()), "{found:?}");
    assert!(
        message.is_none_or(|message| found[0].contains(message)),
        "{found:?}"
    );
}

#[test]
fn a_folder_is_written_by_its_files() {
    let source =
        "def main():\n    open('/var/outputs/charts/a.png', 'wb')\nif __name__ == '__main__':\n    main()\n";
    let module = Module::parse(source).unwrap();
    assert_eq!(
        violations(&module, &[], &[output("charts", ValueType::Dir)]),
        Vec::<String>::new()
    );
    assert_eq!(
        violations(&module, &[], &[output("charts", ValueType::File)]).len(),
        1
    );
}

#[test]
fn without_inputs_and_outputs_no_argparse_is_needed() {
    let module =
        Module::parse("def main():\n    print(1)\nif __name__ == '__main__':\n    main()\n").unwrap();
    assert_eq!(violations(&module, &[], &[]), Vec::<String>::new());
}

#[rstest]
#[case("print(1)\n", &["into functions", "under `if __name__"])]
#[case("def main():\n    pass\nmain()\n", &["under `if __name__", "Line 3 calls `main`"])]
#[case("import sys\ndef main():\n    pass\nsys.exit(main())\nif __name__ == '__main__':\n    main()\n", &["Line 4 calls `sys.exit`"])]
#[case("import argparse\nargs = argparse.ArgumentParser().parse_args()\ndef main():\n    pass\nif __name__ == '__main__':\n    main()\n", &["Line 2 calls `parse_args`"])]
#[case("import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\ndef main():\n    pass\nif __name__ == '__main__':\n    main()\n", &["Line 3 calls `parse_args`"])]
#[case("def load():\n    return 1\nTABLE = load()\nif __name__ == '__main__':\n    print(TABLE)\n", &[])]
fn the_module_can_be_imported(#[case] source: &str, #[case] messages: &[&str]) {
    let found = violations(&Module::parse(source).unwrap(), &[], &[]);
    assert_eq!(found.len(), messages.len(), "{found:?}");
    assert!(
        found
            .iter()
            .zip(messages)
            .all(|(found, message)| found.contains(message)),
        "{found:?}"
    );
}

#[test]
fn options_without_argparse_are_one_violation() {
    let source = "import sys\ndef main():\n    Path('/var/outputs/mean')\n    Path('/var/outputs/report')\nif __name__ == '__main__':\n    main()\n";
    let found = found(source);
    assert!(
        found.len() == 1 && found[0].contains("`--data`, `--max_rows`"),
        "{found:?}"
    );
}
