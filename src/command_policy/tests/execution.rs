//! What is executed of a command, by the harness's own file, beside what bash does with the same text.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::corpora::{BENIGN, command, lines, rules};
use super::machine::{Machine, Outcome};
use crate::{Class, judge};

const GRAMMAR: &str = include_str!("../testdata/grammar.list");

/// What depends on the moment or the machine.
const VARYING: [&str; 16] = [
    "<(sort a)",
    "pydoc",
    "help(",
    "date",
    "free",
    "ps aux",
    "df ",
    "time ",
    "du ",
    "uptime",
    "nohup",
    "stat ",
    "-mmin",
    "cProfile",
    "timeit",
    "find /",
];

fn script(text: &str) -> Value {
    let judged = judge(text, &rules());
    assert_eq!(judged.class, Class::Safe, "{text}: {}", judged.reason);
    serde_json::to_value(judged.parsed).unwrap()
}

fn compare<'a>(machine: &Machine, texts: impl Iterator<Item = &'a str>) -> (usize, Vec<String>) {
    let rules = rules();
    let (mut count, mut differing) = (0, Vec::new());
    for line in texts {
        let text = command(line);
        let judged = judge(&text, &rules);
        if judged.class != Class::Safe || VARYING.iter().any(|word| text.contains(word)) {
            continue;
        }
        count += 1;
        machine.lay_out();
        let expected = machine.by_bash(&text);
        machine.lay_out();
        let found = machine.executed(&serde_json::to_value(judged.parsed).unwrap(), 30.0);
        if found != expected {
            let only = |one: &Outcome, other: &Outcome| {
                let mut files = one.files.clone();
                files.retain(|file| !other.files.contains(file));
                format!("{} {:?} {files:?}", one.status, one.output)
            };
            let (bash, ours) = (only(&expected, &found), only(&found, &expected));
            differing.push(format!("{line}\n  bash {bash}\n  ours {ours}"));
        }
    }
    (count, differing)
}

#[test]
fn what_agents_write_does_what_bash_would_do() {
    let machine = Machine::new();
    let (count, differing) = compare(&machine, lines(BENIGN));
    assert!(count > 300, "{count}");
    assert!(
        differing.is_empty(),
        "{} of {count}:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn the_grammar_means_what_it_means_to_bash() {
    let machine = Machine::new();
    let denied = |line: &&str| judge(&command(line), &rules()).class != Class::Safe;
    let denied: Vec<&str> = lines(GRAMMAR).filter(denied).collect();
    assert!(denied.is_empty(), "{}", denied.join("\n"));
    let (count, differing) = compare(&machine, lines(GRAMMAR));
    assert!(
        differing.is_empty(),
        "{} of {count}:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn a_link_that_a_program_made_leads_nowhere() {
    let machine = Machine::new();
    machine.lay_out();
    let outside = machine.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(format!("{outside}/secret.txt"), "kept\n").unwrap();
    std::os::unix::fs::symlink(&outside, machine.path("workspace/link")).unwrap();
    std::os::unix::fs::symlink(format!("{outside}/secret.txt"), machine.path("workspace/file")).unwrap();
    for text in [
        "echo x > link/secret.txt",
        "echo x > file",
        "echo x >> file",
        "cat < file",
        "cat < link/secret.txt",
        "cd link && echo x > secret.txt",
        "for f in link/*; do echo x > \"$f\"; done",
        // Programs follow links where they are not kept from it.
        "cp a.txt link/secret.txt",
        "cp a.txt file",
        "tee file < a.txt",
        "tee -a link/secret.txt < a.txt",
        "sort a.txt -o file",
        "sort a.txt --output=file",
        "sort a.txt --output=link/secret.txt",
        "sort -ufofile a.txt",
        "shuf -ofile a.txt",
        "iconv -f latin1 -t utf-8 -ofile a.txt",
        "cp --target-directory=link a.txt",
        "mv -tlink a.txt",
        "n=$(echo 1); sed -i \"${n}d\" file",
        "sed -i s/kept/gone/ link/secret.txt",
        "rm link/secret.txt",
        "mv link/secret.txt taken.txt",
        "gzip link/secret.txt",
        "tar xf old.tar -C link",
    ] {
        let found = machine.executed(&script(text), 10.0);
        assert_ne!((text, found.status), (text, 0));
        let kept = fs::read_to_string(format!("{outside}/secret.txt")).unwrap();
        assert_eq!((text, kept.as_str()), (text, "kept\n"));
    }
    // Beside them, files and folders that are none.
    let found = machine.executed(
        &script("echo x > old/inner.txt && cat < old/inner.txt && cd old && ls *"),
        10.0,
    );
    assert_eq!((found.status, found.output.as_str()), (0, "x\ninner.txt"));
}

/// Commands with a value that is found out when it would be an option, a path outside or commands.
const HOSTILE_VALUES: &[&str] = &[
    "x=$(echo -oscript.py); sort \"$x\" a.txt",
    "x=$(echo '-o script.py'); sort $x a.txt",
    "x=$(echo 'b.txt -o script.py'); sort $x",
    "x=$(echo 2 -o script.py); sort -k $x a.txt",
    "echo -oscript.py | while read -r x; do sort \"$x\" a.txt || exit; done",
    "for x in $(echo --output=script.py); do sort $x a.txt; done",
    "x=$(true); sort \"$x\" -o script.py",
    "x=$(echo -delete); find \"$x\"",
    "x=$(echo '('); find $x",
    "x=$(echo 'x -delete'); find . -name $x",
    "x=$(echo '1 BEGIN{print}'); awk -v n=$x 1 a.txt",
    "read -r x < words.txt; y=$(false) && x=\"a$?\"; rm \"$x\"",
    "x=$(echo -oscript.py); y=$(false) && x=\"a$?\"; sort \"$x\" a.txt",
    "x=$(printf ' script.py'); rm ./a?txt$x",
    "read -r x < words.txt; rm \"$x\"",
    "read -r x < words.txt; rm -f $x",
    "read -r x < words.txt; sort a.txt -o \"$x\"",
    "read -r x < words.txt; cp a.txt \"$x\"",
    "read -r x < words.txt; mv a.txt \"$x\"",
    "read -r x < words.txt; tee \"$x\" < a.txt",
    "read -r x < words.txt; sed -i s/kept/gone/ \"$x\"",
    "read -r x < words.txt; gzip \"$x\"",
    "read -r x < words.txt; python \"$x\"",
    "read -r x < words.txt; echo x > \"$x\"",
    "read -r x < words.txt; cat < \"$x\"",
    "x=$(echo ../outside/secret.txt); rm \"./$x\"",
    "x=$(echo ../outside/secret.txt); echo x >> \"./$x\"",
    "x=$(pwd); rm -rf \"$x\"",
    "x=$(echo '1e touch made;'); sed \"${x}p\" a.txt",
    "x=$(echo '1w made'); sed -n \"${x}p\" a.txt",
    "x=$(printf '1e touch made\\n'); y=$(echo \"$x\"; echo); sed -n \"$y,${x}p\" a.txt",
    "x=$(echo 's/a/touch made/e;'); sed -n \"${x}p\" a.txt",
    "x=$(echo -f); sed \"${x}p\" a.txt",
    "x=$(echo '1p -i'); sed ${x}d script.py",
    "x=$(echo -i); sed ${x}d script.py",
    "x=$(echo ..); rm -rf \"$x\"",
    "x=$(echo ../outside); tar xf old.tar -C \"$x\"",
    "x=$(echo 'y[$(touch made)]'); echo $((x + 1))",
    "x=$(echo 1+1); echo $((x + 1))",
    "x=$(echo y); y=$(echo 1); echo $((x + 1))",
    "x=$(echo 'y[$(touch made)]'); [[ $x -eq 0 ]]",
    "x=$(echo 'y[$(touch made)]'); [ \"$x\" -eq 0 ]",
    // What is known of a variable is not what it was before a loop, a redirection that fails, or a value that there is none of.
    "x=a.txt; while true; do rm \"$x\" || exit; \"read\" x; done < words.txt",
    "for x in b.t*; do while true; do rm \"$x\" || exit; \\read x; done < words.txt; done",
    "x=$(echo -delete); for f in a.t*; do { x=\"$f\"; } > nothing/x; find \"$x\"; done",
    "x=$(echo -delete); y=$(echo z); for f in a.t*; do n=$((y)) x=\"$f\"; find \"$x\"; done",
    "x=$(echo -delete); for f in a.t*; do [ -d \"$f\" ] && x=\"$f\"; find \"$x\"; done",
    "x=$(echo -delete); for f in a.t*; do if false; then x=\"$f\"; fi; find \"$x\"; done",
    "x=$(echo -delete); for f in a.t*; do (x=\"$f\"); find \"$x\"; done",
    "x=a.txt; x=$(echo -delete) y=\"$x\"; find \"$y\"",
    "x=$(echo -delete); for i in 1 2; do for j in 1 2; do break 2; done; x=a.txt; done; find \"$x\"",
    "x=$(echo -delete); for i in 1 2; do for j in 1 2; do continue 2; done; x=a.txt; done; find \"$x\"",
    "x=$(echo -delete); for i in a; do while true; do for j in 1; do break 3; done; done; x=a.txt; done; find \"$x\"",
    "x=$(echo -delete); for f in a.t*; do x=\"$f\" | cat; find \"$x\"; done",
    "x=$(echo -delete); for f in a.t*; do y=$(x=\"$f\"); find \"$x\"; done",
    "x=$(echo -delete); for f in a.t*; do for x in \"$f\"*.nothing; do true; done; x=$(echo -delete); find \"$x\"; done",
];

#[test]
fn a_value_becomes_no_option_and_no_path_outside() {
    let machine = Machine::new();
    machine.lay_out();
    let outside = machine.path("outside");
    fs::create_dir(&outside).unwrap();
    let secret = format!("{outside}/secret.txt");
    fs::write(&secret, "kept\n").unwrap();
    fs::write(machine.path("workspace/words.txt"), format!("{secret}\n")).unwrap();
    for text in HOSTILE_VALUES {
        let found = machine.executed(&script(text), 10.0);
        assert_ne!((text, found.status), (text, 0), "{}", found.output);
        assert!(found.output.contains("bash: "), "{text}: {}", found.output);
        let kept = [secret.clone(), machine.path("workspace/script.py")];
        let kept = kept.map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(
            (text, kept),
            (text, ["kept\n".to_owned(), "print('from a script')\n".to_owned()])
        );
        assert!(!Path::new(&machine.path("workspace/made")).exists(), "{text}");
    }
    // Beside them, values that are what they should be.
    let text = "for f in $(ls *.csv); do sort -o sorted.txt $f && sed -i s/k/m/ \"$f\" && rm -f \"./$f\"; done; cat sorted.txt";
    let found = machine.executed(&script(text), 10.0);
    assert_eq!(
        (found.status, found.output.as_str()),
        (
            0,
            "east,Dan,300\nnorth,Ann,120\nnorth,Cid,45.5\nregion,name,amount\nsouth,Bob,80"
        )
    );
}

#[test]
fn what_is_unpacked_lies_below_the_folder_whatever_the_archive_says() {
    let machine = Machine::new();
    machine.lay_out();
    let outside = machine.path("outside");
    fs::create_dir(&outside).unwrap();
    let secret = format!("{outside}/secret.txt");
    let pack = "import io, sys, tarfile, zipfile\n\
                outside = sys.argv[1]\n\
                def tar(name, *members):\n\
                \x20   with tarfile.open(name, 'w') as archive:\n\
                \x20       for path, link in members:\n\
                \x20           member = tarfile.TarInfo(path)\n\
                \x20           if link:\n\
                \x20               member.type, member.linkname = tarfile.SYMTYPE, link\n\
                \x20               archive.addfile(member)\n\
                \x20           else:\n\
                \x20               member.size = 1\n\
                \x20               archive.addfile(member, io.BytesIO(b'x'))\n\
                tar('absolute.tar', (outside + '/secret.txt', None))\n\
                tar('upwards.tar', ('../outside/secret.txt', None))\n\
                tar('link.tar', ('link', outside), ('link/secret.txt', None))\n\
                tar('far.tar', ('link', '../outside'), ('link/secret.txt', None))\n\
                for name, to in (('one.tar', outside), ('one-far.tar', '../outside')):\n\
                \x20   tar(name, ('link', to))\n\
                tar('two.tar', ('link/secret.txt', None))\n\
                with zipfile.ZipFile('upwards.zip', 'w') as archive:\n\
                \x20   archive.writestr('../outside/secret.txt', 'x')\n\
                with zipfile.ZipFile('link.zip', 'w') as archive:\n\
                \x20   member = zipfile.ZipInfo('link')\n\
                \x20   member.create_system, member.external_attr = 3, 0o120777 << 16\n\
                \x20   archive.writestr(member, outside)\n\
                \x20   archive.writestr('link/secret.txt', 'x')\n";
    fs::write(machine.path("workspace/pack.py"), pack).unwrap();
    let packed = machine.executed(&script(&format!("python pack.py {outside}")), 10.0);
    assert_eq!(packed.status, 0, "{}", packed.output);
    for archive in ["absolute.tar", "upwards.tar", "link.tar", "far.tar"] {
        fs::write(&secret, "kept\n").unwrap();
        machine.executed(&script(&format!("tar xf {archive}")), 10.0);
        assert_eq!(
            (archive, fs::read_to_string(&secret).unwrap().as_str()),
            (archive, "kept\n")
        );
        fs::remove_file(machine.path("workspace/link")).ok();
    }
    // A link of one archive, and what another writes through it.
    for text in [
        "tar xf one.tar; tar xf two.tar",
        "tar xf one-far.tar; tar xf two.tar",
        "tar xf one.tar && tee link/secret.txt < a.txt",
        "unzip -qo link.zip; tee link/secret.txt < a.txt",
        "unzip -qo link.zip; tar xf two.tar",
    ] {
        fs::write(&secret, "kept\n").unwrap();
        machine.executed(&script(text), 10.0);
        assert_eq!(
            (text, fs::read_to_string(&secret).unwrap().as_str()),
            (text, "kept\n")
        );
        fs::remove_file(machine.path("workspace/link")).ok();
        fs::remove_dir_all(machine.path("workspace/link")).ok();
    }
    for archive in ["upwards.zip", "link.zip"] {
        fs::write(&secret, "kept\n").unwrap();
        machine.executed(&script(&format!("unzip -o {archive}")), 10.0);
        assert_eq!(
            (archive, fs::read_to_string(&secret).unwrap().as_str()),
            (archive, "kept\n")
        );
    }
}

#[test]
fn a_pattern_matches_nothing_outside_and_no_option() {
    let machine = Machine::new();
    machine.lay_out();
    fs::write(machine.path("workspace/-dash.py"), "").unwrap();
    let found = machine.executed(&script("echo /etc/pass* ../*; echo *.py"), 10.0);
    assert_eq!(
        found.output,
        "/etc/pass* ../*\n./-dash.py script.py solution.py test_solution.py"
    );
}

#[test]
fn what_a_pattern_matches_is_no_sign_of_an_expression() {
    let machine = Machine::new();
    machine.lay_out();
    fs::write(machine.path("workspace/!"), "").unwrap();
    fs::write(machine.path("workspace/kept.csv"), "").unwrap();
    let found = machine.executed(&script("ls *"), 10.0);
    assert!(found.output.contains("./!"), "{}", found.output);
}

#[test]
fn a_program_with_a_time_of_its_own_ends_with_its_script() {
    let machine = Machine::new();
    machine.lay_out();
    let (report, _) = machine.report(&script("timeout 60 sleep 50.125"), 0.5);
    assert_eq!(report["end"], "timedOut");
    let is_there = fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .any(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.windows(6).any(|part| part == b"50.125")
        });
    assert!(!is_there);
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let machine = Machine::new();
    machine.lay_out();
    let (report, _) = machine.report(&script("echo begun; sleep 60 | cat; echo never"), 0.5);
    assert_eq!(
        (&report["end"], &report["output"]),
        (&json!("timedOut"), &json!("begun\n"))
    );
    let found = machine.executed(
        &script("timeout 0.2 sleep 60; echo $?; timeout 20 echo fast"),
        30.0,
    );
    assert_eq!(found.output, "124\nfast");
}

#[test]
fn of_a_long_output_the_start_and_the_end_stay() {
    let machine = Machine::new();
    machine.lay_out();
    let (report, _) = machine.report(&script("seq 1 400000"), 30.0);
    assert_eq!(report["bytes"], 2_688_895);
    let (head, tail) = (
        report["output"].as_str().unwrap(),
        report["tail"].as_str().unwrap(),
    );
    assert!(head.starts_with("1\n2\n") && tail.ends_with("399999\n400000\n"));
    assert_eq!((head.len(), tail.len()), (1 << 18, 3 << 18));
    let omitted = &report["omitted"];
    assert_eq!(
        usize::try_from(omitted["bytes"].as_u64().unwrap()).unwrap() + head.len() + tail.len(),
        2_688_895
    );
}

#[test]
fn a_number_of_thousands_of_digits_is_an_error_of_its_command_alone() {
    let machine = Machine::new();
    machine.lay_out();
    let text = "x=$(seq -s '' 3000); [ \"$x\" -eq 1 ]; echo $?; [[ $x -eq 1 ]]; echo $?; echo \"$((x + 1))\"; echo $?";
    let found = machine.executed(&script(text), 10.0);
    let lines: Vec<&str> = found.output.lines().filter(|line| line.len() < 10).collect();
    assert_eq!(lines, ["2", "1", "1"], "{}", found.output);
}

#[test]
fn a_path_that_is_read_from_commands_is_there_for_a_test_in_the_harness() {
    let machine = Machine::new();
    machine.lay_out();
    let text = "for i in $(seq 300); do [ -e <(echo a) ] || echo none; done; echo <(echo a) > /dev/null; cat <(echo b)";
    let found = machine.executed(&script(text), 60.0);
    assert_eq!(found.output, "b");
}

#[test]
fn a_listed_program_that_is_not_installed_is_not_found() {
    let machine = Machine::new();
    machine.lay_out();
    let mut missing = script("tree; echo $?");
    let missing_tree = missing.to_string().replace("/tree", "/tree-that-is-not-there");
    missing = serde_json::from_str(&missing_tree).unwrap();
    let found = machine.executed(&missing, 10.0);
    assert_eq!(found.output, "bash: tree: command not found\n127");
}
