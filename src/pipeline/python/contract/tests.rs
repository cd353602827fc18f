//! Programs that meet the contract, and programs that do not.

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
    said(source, &inputs, &outputs)
}

fn said(source: &str, inputs: &[Input], outputs: &[Output]) -> Vec<String> {
    let found = violations(&Module::parse(source).unwrap(), inputs, outputs);
    found.iter().map(ToString::to_string).collect()
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
#[case(
    "    for option in load_options():\n        parser.add_argument('--' + option.name)\n    # data max_rows"
)]
#[case("    parser.add_argument(*OPTIONS['data'])\n    parser.add_argument(*OPTIONS['max_rows'])")]
#[case("    add = parser.add_argument\n    add('--data')\n    add('--max_rows', type=int)")]
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
#[case("    results = {'mean': 1, 'report': 'x'}\n    write_all(results, sys.argv[-1])")]
#[case("    write_output('mean', 1)\n    write_output('report', 'x')")]
#[case("    for field in dataclasses.fields(Result(mean=1, report='')):\n        save(field.name)")]
#[case(
    "    base = os.environ.get('OUT', '/var/outputs')\n    save(os.path.join(base, name) for name in ('mean', 'report'))"
)]
#[case(
    "    open('/var/outputs/report.csv', 'w')\n    os.rename('/var/outputs/report.csv', folder / 'report')\n    mean = save(folder)"
)]
#[case(
    "    if not OUT.exists():\n        OUT.mkdir()\n    (OUT / 'mean').touch()\n    (OUT / 'report').touch()"
)]
fn the_contract_accepts_outputs_written_in_several_ways(#[case] writes: &str) {
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
#[case(
    "    open('/var/outputs/mean', 'w')",
    "The name of the output `report` stands nowhere"
)]
#[case(
    "    open('/var/outputs/mean', 'w')\n    open('reports', 'w')",
    "The name of the output `report` stands nowhere"
)]
fn missing_outputs_are_named(#[case] writes: &str, #[case] message: &str) {
    let found = found(&program(OPTIONS, writes));
    assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
}

#[rstest]
#[case("    shutil.rmtree('/var/outputs')", "deleted or replaced")]
#[case("    shutil.rmtree(OUT, ignore_errors=True)", "deleted or replaced")]
#[case("    shutil.rmtree('/var/outputs/')", "deleted or replaced")]
#[case("    os.rmdir(OUT)", "deleted or replaced")]
#[case("    OUT.rmdir()", "deleted or replaced")]
#[case("    os.rename('/var/outputs', '/tmp/x')", "deleted or replaced")]
#[case("    shutil.move(str(OUT), '/tmp/x')", "deleted or replaced")]
#[case("    os.system('rm -rf /var/outputs/*')", "deleted or replaced")]
#[case(
    "    import subprocess\n    subprocess.run(['rm', '-rf', '/var/outputs'])",
    "deleted or replaced"
)]
fn the_output_folder_is_left_alone(#[case] writes: &str, #[case] message: &str) {
    let found = found(&program(OPTIONS, &format!("{WRITES}\n{writes}")));
    assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
}

#[test]
fn another_folder_may_be_deleted() {
    let writes = format!(
        "{WRITES}\n    shutil.rmtree('/tmp/work')\n    '/var/outputs'.replace('b', 'c')\n    Path('/tmp/x').mkdir()\n    \
         for folder in ('/var/outputs', '/tmp/x'):\n        clean(folder)\n\n\
         def clean(folder):\n    if folder != '/var/outputs':\n        shutil.rmtree(folder)"
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
    let found = said(&source, &[input("strict", ValueType::Bool)], &[]);
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
    for kind in [ValueType::Dir, ValueType::File] {
        assert_eq!(said(source, &[], &[output("charts", kind)]), Vec::<String>::new());
    }
}

#[test]
fn without_inputs_and_outputs_no_argparse_is_needed() {
    let source = "def main():\n    print(1)\nif __name__ == '__main__':\n    main()\n";
    assert_eq!(said(source, &[], &[]), Vec::<String>::new());
}

#[rstest]
#[case("print(1)\n", &["into functions", "under `if __name__"])]
#[case("def main():\n    pass\nmain()\n", &["under `if __name__", "Line 3: `main` is called"])]
#[case("import sys\ndef main():\n    pass\nsys.exit(main())\nif __name__ == '__main__':\n    main()\n", &["Line 4: `main` is called"])]
#[case("import argparse\nargs = argparse.ArgumentParser().parse_args()\ndef main():\n    pass\nif __name__ == '__main__':\n    main()\n", &["Line 2: `parse_args` is called"])]
#[case("import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\ndef main():\n    pass\nif __name__ == '__main__':\n    main()\n", &["Line 3: `parse_args` is called"])]
#[case("def load():\n    return 1\nTABLE = load()\nif __name__ == '__main__':\n    print(TABLE)\n", &[])]
#[case("TABLE = {}\ndef register(name, reader):\n    TABLE[name] = reader\nregister('csv', open)\nif __name__ == '__main__':\n    print(TABLE)\n", &[])]
#[case("class App:\n    def run(self):\n        print(1)\nif __name__ == '__main__':\n    App().run()\n", &[])]
#[case("import sys\nif sys.version_info < (3, 9):\n    sys.exit('too old')\ndef main():\n    pass\nif 'main' in __name__:\n    main()\n", &[])]
#[case("def run():\n    return start()\ndef start():\n    return parser().parse_args()\nRESULT = run()\nif __name__ == '__main__':\n    run()\n", &["Line 5: `run` is called"])]
fn the_module_can_be_imported(#[case] source: &str, #[case] messages: &[&str]) {
    let found = said(source, &[], &[]);
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
