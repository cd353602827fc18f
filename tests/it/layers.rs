//! Floors and circles that Cargo does not see: the modules of the operator's own crate, and the files inside of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use rstest::rstest;

const ORDER: [&str; 3] = ["local", "controller", "cli"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn modules_used(source: &str) -> Vec<String> {
    let single = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let group = Regex::new(r"\bcrate::\{([^}]*)").unwrap();
    let mut used: Vec<String> = single
        .captures_iter(source)
        .map(|found| found[1].to_owned())
        .collect();
    for found in group.captures_iter(source) {
        used.extend(
            found[1]
                .split(',')
                .map(|part| part.trim().split("::").next().unwrap_or_default().to_owned()),
        );
    }
    used
}

#[test]
fn the_library_declares_its_modules_in_order_of_dependency() {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: Vec<&str> = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(declared, ORDER);
}

/// A crate, and crates that must not be reached from it.
#[rstest]
#[case::data("data", &["kube", "k8s-openapi", "reqwest", "axum", "codegen-api"])]
#[case::decisions("core", &["reqwest", "axum", "tokio", "codegen-model", "codegen-ledger"])]
#[case::engine("engine", &["kube", "axum", "codegen-sources"])]
fn a_crate_depends_on_nothing_above_it(#[case] name: &str, #[case] above: &[&str]) {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let own = manifest.split("[dependencies]").nth(1).unwrap();
    let own = own.split("[dev-dependencies]").next().unwrap();
    for name in above {
        let is_named = own
            .lines()
            .any(|line| line.split(['.', ' ']).next() == Some(name));
        assert!(!is_named, "{name}");
    }
}

#[test]
fn no_module_uses_one_below_it() {
    let mut downwards = Vec::new();
    for (rank, module) in ORDER.iter().enumerate() {
        let mut files = Vec::new();
        sources(&root().join("src").join(module), &mut files);
        assert!(!files.is_empty(), "{module} has no source");
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            for used in modules_used(&source) {
                let below = ORDER
                    .iter()
                    .position(|name| *name == used)
                    .is_some_and(|other| other > rank);
                if below {
                    downwards.push(format!("{} uses {used}", file.display()));
                }
            }
        }
    }
    assert!(downwards.is_empty(), "{downwards:#?}");
}

#[test]
fn decisions_do_no_input_or_output_and_read_no_clock() {
    let forbidden = Regex::new(
        r"\basync fn\b|\.await\b|\bstd::(fs|net|process|env)\b|\btokio::|\breqwest::|Timestamp::now|SystemTime::now|Instant::now",
    )
    .unwrap();
    for name in ["api", "core"] {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name), &mut files);
        for file in files {
            let is_of_tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
            if file.iter().any(is_of_tests) {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            let found: Vec<&str> = forbidden.find_iter(code).map(|m| m.as_str()).collect();
            assert!(found.is_empty(), "{}: {found:?}", file.display());
        }
    }
}

#[test]
fn the_check_itself_sees_both_forms_of_import() {
    let used =
        modules_used("use crate::cli::x;\nuse crate::{controller::y, events};\nlet a = crate::local::run();");
    assert_eq!(used, ["cli", "local", "controller", "events"]);
}

/// Names of the modules around a file's and of its own; none of the root.
type Module = Vec<String>;

/// A name that a file brings in, and the path that it stands for.
type Import = (String, Vec<String>);

/// What is compiled for tests alone: a module of its own, or something with a body.
static FOR_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    let item = r"(?:pub(?:\([^)]*\))? )?(?:mod (\w+);|use [^;]*;|[^{;]*(?:;|\{.*?^\}))";
    Regex::new(&format!(r"(?ms)^#\[cfg\(test\)\]\s+{item}")).unwrap()
});
static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").unwrap());
static IMPORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse ([\w:{}*,\s]+);").unwrap());
static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap());

/// The code of a file without comments and without what is compiled for tests alone, and the modules that are.
fn without_tests(source: &str) -> (String, Vec<String>) {
    let code = COMMENT.replace_all(source, "");
    let modules = FOR_TESTS.captures_iter(&code).filter_map(|found| found.get(1));
    let modules = modules.map(|name| name.as_str().to_owned()).collect();
    (FOR_TESTS.replace_all(&code, "").into_owned(), modules)
}

/// The paths of a tree of imports, each after the name that it has from there on.
fn unfold(before: &str, tree: &str, found: &mut Vec<(String, String)>) {
    let Some((head, branches)) = tree.split_once('{') else {
        let (path, renamed) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = format!("{before}{}", path.trim());
        let path = path.trim_end_matches("::self");
        let name = match renamed.trim() {
            "" => path.rsplit("::").next().unwrap(),
            renamed => renamed,
        };
        found.push((name.to_owned(), path.to_owned()));
        return;
    };
    let mut depth = 0;
    let ends = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    let branches = branches.trim_end().strip_suffix('}').unwrap().split(ends);
    for branch in branches.filter(|branch| !branch.trim().is_empty()) {
        unfold(&format!("{before}{}", head.trim()), branch, found);
    }
}

/// A path as it is from the root of the crate on.
fn absolute(module: &[String], path: &str) -> Vec<String> {
    let mut steps = path.split("::").map(str::trim).peekable();
    let mut whole = module.to_vec();
    if steps.next_if_eq(&"crate").is_some() {
        whole.clear();
    }
    steps.next_if_eq(&"self");
    while steps.next_if_eq(&"super").is_some() {
        whole.pop();
    }
    whole.extend(steps.map(str::to_owned));
    whole
}

/// What a file imports, and what it names by its whole path.
fn imports(module: &[String], code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for tree in IMPORT.captures_iter(code) {
        unfold("", &tree[1], &mut found);
    }
    for path in PATH.find_iter(&IMPORT.replace_all(code, "")) {
        unfold("", path.as_str(), &mut found);
    }
    let found = found.into_iter();
    found
        .map(|(name, path)| (name, absolute(module, &path)))
        .collect()
}

/// The files that a path leads to: the one that it names, and those that this one has the name from.
fn passed(files: &BTreeMap<Module, Vec<Import>>, mut path: Vec<String>) -> Vec<Module> {
    let mut passed = Vec::new();
    loop {
        let is_file = |end: &usize| files.contains_key(&path[..*end]);
        let end = (0..=path.len()).rev().find(is_file).unwrap();
        let file = path[..end].to_vec();
        let from_another = path.get(end).and_then(|name| {
            let mut imports = files[&file].iter();
            imports.find(|(imported, to)| imported == name && !to.starts_with(&path[..=end]))
        });
        let seen = passed.contains(&file);
        passed.push(file);
        match from_another {
            Some((_, to)) if !seen => path = [to, &path[end + 1..]].concat(),
            _ => return passed,
        }
    }
}

/// Each circle of files by the imports that tie it. A file and those of its submodules are one thing.
fn cycles(sources: &BTreeMap<Module, String>) -> Vec<Vec<String>> {
    let mut files: BTreeMap<Module, Vec<Import>> = BTreeMap::new();
    let mut of_tests: BTreeSet<Module> = BTreeSet::new();
    for (module, source) in sources {
        let (code, modules) = without_tests(source);
        of_tests.extend(modules.into_iter().map(|name| [&module[..], &[name]].concat()));
        files.insert(module.clone(), imports(module, &code));
    }
    files.retain(|module, _| !of_tests.iter().any(|tests| module.starts_with(tests)));
    let mut edges: BTreeMap<&Module, BTreeMap<Module, BTreeSet<&str>>> = BTreeMap::new();
    for (module, imports) in &files {
        let from = edges.entry(module).or_default();
        for (name, path) in imports {
            let mut passed = passed(&files, path.clone());
            passed.retain(|to| !to.starts_with(module) && !module.starts_with(to));
            for to in passed {
                from.entry(to).or_default().insert(name);
            }
        }
    }
    let mut reached: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for start in edges.keys() {
        let (all, mut next) = (reached.entry(*start).or_default(), vec![*start]);
        while let Some(module) = next.pop() {
            next.extend(edges[module].keys().filter(|to| all.insert(*to)));
        }
    }
    let mut circles: BTreeMap<BTreeSet<&Module>, Vec<String>> = BTreeMap::new();
    for (from, all) in &edges {
        let together = |to: &&Module| reached[*to].contains(*from);
        let circle: BTreeSet<&Module> = reached[from].iter().copied().filter(together).collect();
        for (to, names) in all.iter().filter(|(to, _)| circle.contains(to)) {
            let tie = format!("{} uses {names:?} of {}", from.join("/"), to.join("/"));
            circles.entry(circle.clone()).or_default().push(tie);
        }
    }
    circles.into_values().collect()
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_cycle() {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let mut roots: Vec<PathBuf> = crates.map(|entry| entry.unwrap().path().join("src")).collect();
    roots.push(root().join("src"));
    for root in roots {
        let mut files = Vec::new();
        sources(&root, &mut files);
        let sources = files.iter().filter_map(|file| {
            let path = file.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Module = path
                .iter()
                .map(|part| part.to_str().unwrap().to_owned())
                .collect();
            module.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
            let is_program = module.first().is_some_and(|first| first == "bin");
            (!is_program).then(|| (module, fs::read_to_string(file).unwrap()))
        });
        let circles = cycles(&sources.collect());
        assert!(circles.is_empty(), "{}: {circles:#?}", root.display());
    }
}

#[test]
fn a_cycle_is_found_through_nested_imports_and_reexported_names() {
    let files = [
        ("", "mod one;\nmod other;\nmod third;\n"),
        (
            "one",
            "use crate::{\n    other::{self, deep::{Deep, Deeper as D}},\n    third,\n};\n",
        ),
        (
            "other",
            "mod deep;\npub use deep::Deep;\nuse super::third::Third;\n",
        ),
        ("other::deep", "pub struct Deep(super::super::third::Fourth);\n"),
        (
            "third",
            "// use crate::other::Deep;\npub use super::passed::Third;\n",
        ),
        (
            "passed",
            "use super::one;\n\n#[cfg(test)]\nmod tests {\n    use crate::other::Deep;\n}\n",
        ),
    ];
    let module = |name: &str| {
        name.split("::")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let files = files.map(|(name, source)| (module(name), source.to_owned()));
    let expected = [
        "one uses {\"other\"} of other",
        "one uses {\"D\", \"Deep\"} of other/deep",
        "one uses {\"third\"} of third",
        "other uses {\"Third\"} of passed",
        "other uses {\"Third\"} of third",
        "other/deep uses {\"Fourth\"} of third",
        "passed uses {\"one\"} of one",
        "third uses {\"Third\"} of passed",
    ];
    assert_eq!(cycles(&files.into()), [expected]);
}

/// The rooms of the controller from the ground up, as `src/controller/mod.rs` draws them.
const ROOMS: [&str; 15] = [
    "telemetry",
    "process",
    "record",
    "sources",
    "schedule",
    "context",
    "control",
    "approvals",
    "claims",
    "isolation",
    "pooled_model",
    "tasks",
    "runs",
    "code_mode",
    "operate",
];

/// What stands beside the rooms and uses none of them.
const BESIDE_ROOMS: [&str; 5] = ["api", "config", "error", "hold", "selector"];

#[test]
fn a_room_of_the_controller_uses_those_below_it() {
    let controller = root().join("src/controller");
    let absolute = Regex::new(r"\bcrate::controller::([a-z_]+)").unwrap();
    let relative = Regex::new(r"(?m)^use super::([a-z_]+)").unwrap();
    let rank = |room: &str| ROOMS.iter().position(|name| *name == room);
    let mut files = Vec::new();
    sources(&controller, &mut files);
    let mut upwards = Vec::new();
    let mut seen = 0;
    for file in files {
        let path = file.strip_prefix(&controller).unwrap();
        let room = path.iter().next().unwrap().to_string_lossy();
        let room = room.trim_end_matches(".rs");
        if ["mod", "tests"].contains(&room) {
            continue;
        }
        let own = rank(room);
        assert!(
            own.is_some() || BESIDE_ROOMS.contains(&room),
            "{} is no room, nor beside them",
            file.display()
        );
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_of_the_ground = path.components().count() == 1;
        let used = absolute.captures_iter(code);
        for used in used.chain(relative.captures_iter(code).filter(|_| is_of_the_ground)) {
            seen += 1;
            if rank(&used[1]).is_some_and(|other| own.is_none_or(|own| other > own)) {
                upwards.push(format!("{} uses {}", file.display(), &used[1]));
            }
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
    assert!(seen > 100, "{seen}");
}
