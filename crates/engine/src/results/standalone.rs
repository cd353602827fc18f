//! Files for running the program without this operator: pinned packages, a Dockerfile, a script.

use std::fmt::Write as _;

use serde_json::{Value, json};

use codegen_api::image::default_base;
use codegen_api::values::{Input, ValueType};
use codegen_core::lock::Lock;
use codegen_core::progress::{BuiltImage, Progress};
use codegen_core::task::Task;
use codegen_sandbox::HASH_SEED;

/// Packages with the versions that the tests passed with.
const REQUIREMENTS: &str = "requirements.txt";
/// The same with the digests of the archives that were installed, which are for one version of Python and one platform.
pub(super) const LOCK: &str = "requirements.lock";
/// Script that starts the program.
const LAUNCHER: &str = "launcher.py";
/// It runs the program with another folder in the place of `/var/outputs`; follows what computes the order of its sets.
const LAUNCHER_TEXT: &str = include_str!("launcher.py");

/// The pip that installs: of earlier ones a package may write outside of its environment, by the name of a script.
const PIP: &str = "pip==26.1.2";

/// The files by path; none where there never was an environment.
pub(super) fn files(task: &Task, progress: &Progress, lock: Option<&[u8]>) -> Vec<(&'static str, String)> {
    let Some(built) = &progress.build.built else {
        return Vec::new();
    };
    let lock = lock.and_then(|bytes| Lock::parse(std::str::from_utf8(bytes).ok()?));
    vec![
        (REQUIREMENTS, requirements(built)),
        ("Dockerfile", dockerfile(task, built, lock.as_ref())),
        (LAUNCHER, launcher(&task.inputs)),
        ("run.sh", script(task, built)),
    ]
}

fn requirements(built: &BuiltImage) -> String {
    let mut text = format!("# Installed with Python {} when the tests ran.\n", built.python);
    for package in &built.resolved {
        let _ = writeln!(text, "{package}");
    }
    text
}

fn dockerfile(task: &Task, built: &BuiltImage, lock: Option<&Lock>) -> String {
    let mut text = format!(
        "# docker build -t {name} . && docker run --rm -v \"$PWD/out:/var/outputs\" {name} --help\n",
        name = task.name
    );
    let Base {
        image: base,
        has_the_python,
    } = base(task, built);
    let lock = lock.filter(|_| has_the_python);
    let platform = lock.map_or_else(String::new, |lock| {
        format!("--platform=linux/{} ", docker_architecture(&lock.architecture))
    });
    if !has_the_python && !has_python(built, &task.image.python_version) {
        let _ = writeln!(
            text,
            "# The tests ran with Python {}. Where this image has another one, run them again in it.",
            built.python
        );
    }
    let _ = writeln!(text, "FROM {platform}{base}");
    let system = system_packages(task, built);
    if task.image.reference.is_none() && !system.is_empty() {
        let _ = writeln!(
            text,
            "RUN apt-get update \\\n && apt-get install -y --no-install-recommends {} \\\n && rm -rf /var/lib/apt/lists/*",
            system.join(" ")
        );
    }
    text.push_str("WORKDIR /program\n");
    if lock.is_some() {
        let _ = writeln!(
            text,
            "COPY {LOCK} .\nRUN pip install --no-cache-dir {PIP} \\\n && pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes -r {LOCK}"
        );
    } else if task.image.reference.is_none() {
        let _ = writeln!(
            text,
            "COPY {REQUIREMENTS} .\nRUN pip install --no-cache-dir {PIP} \\\n && pip install --no-cache-dir -r {REQUIREMENTS}"
        );
    }
    let _ = writeln!(
        text,
        "COPY solution.py .\nCOPY {LAUNCHER} .\nRUN mkdir -p /var/inputs /var/outputs\n\
         ENTRYPOINT [\"python\", \"/program/{LAUNCHER}\", \"/var/outputs\"]"
    );
    text
}

/// Base of an image of one's own.
struct Base {
    image: String,
    /// True where it has the Python that the tests ran with.
    has_the_python: bool,
}

fn base(task: &Task, built: &BuiltImage) -> Base {
    let wanted = &task.image.python_version;
    // An image that the user already had holds its packages.
    if let Some(reference) = &task.image.reference {
        return Base {
            image: reference.clone(),
            has_the_python: false,
        };
    }
    if has_python(built, wanted) {
        return Base {
            image: task.image.base.clone(),
            has_the_python: true,
        };
    }
    // A laptop may have another Python than the one that the task asks for. The tests are about that one.
    let ran_with = minor_version(&built.python).filter(|_| task.image.base == default_base(wanted));
    match ran_with {
        Some(version) => Base {
            image: default_base(&version),
            has_the_python: true,
        },
        None => Base {
            image: task.image.base.clone(),
            has_the_python: false,
        },
    }
}

/// `3.11` of `3.11.7 (3.12 was asked for)`.
fn minor_version(python: &str) -> Option<String> {
    let mut parts = python.split(['.', ' ']);
    let (major, minor) = (parts.next()?, parts.next()?);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| format!("{major}.{minor}"))
}

/// Reports whether the environment has the Python that the task asks for.
fn has_python(built: &BuiltImage, wanted: &str) -> bool {
    let rest = built.python.strip_prefix(wanted);
    // With the dot, for 3.1 is not 3.12.
    rest.is_some_and(|rest| rest.starts_with('.') && !rest.contains(' '))
}

/// The architecture that the archives are for, as images name it.
fn docker_architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn system_packages(task: &Task, built: &BuiltImage) -> Vec<String> {
    let mut all = [
        built.packages.apt.as_slice(),
        task.image.base_system_packages.as_slice(),
    ]
    .concat();
    all.sort();
    all.dedup();
    all
}

/// The launcher with the options of the program in it.
fn launcher(inputs: &[Input]) -> String {
    let options: serde_json::Map<String, Value> = inputs
        .iter()
        .map(|input| {
            let is_file = matches!(input.type_, ValueType::File | ValueType::Dir);
            // A file's default is its sample, which is not there.
            let default = input.default.as_ref().filter(|_| !is_file);
            (input.name.clone(), json!([is_file, default]))
        })
        .collect();
    // As text, twice: a string of JSON is one of Python.
    let text = Value::from(Value::from(options).to_string()).to_string();
    format!("{}{}", HASH_SEED.1, LAUNCHER_TEXT.replace("__OPTIONS__", &text))
}

fn script(task: &Task, built: &BuiltImage) -> String {
    let options: Vec<String> = task.inputs.iter().map(option).collect();
    let system = system_packages(task, built);
    let needs = if system.is_empty() {
        String::new()
    } else {
        format!(", and the Debian packages {}", system.join(" "))
    };
    format!(
        r#"#!/bin/sh
# Runs solution.py with plain Python: no container, none of a sandbox's limits.
#
#   sh run.sh OUTPUT-FOLDER {options}
#
# What the program writes to /var/outputs goes to OUTPUT-FOLDER: this runs a copy of it with the one path in the place of the other. A
# program that puts the path together from parts, such as Path("/var") / "outputs", still writes to /var/outputs.
#
# Needs Python {python} (another one with PYTHON=...){needs}. The first run makes a virtual environment beside this script.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
usage="usage: sh run.sh OUTPUT-FOLDER {options}"
case "${{1:-}}" in
  -h | --help) echo "$usage" && exit ;;
  "" | -*) echo "$usage" >&2 && exit 2 ;;
esac
if [ ! -e "$here/.venv/complete" ]; then
  "${{PYTHON:-python3}}" -m venv --clear "$here/.venv"
  "$here/.venv/bin/python" -m pip install --quiet --disable-pip-version-check {PIP}
  "$here/.venv/bin/python" -m pip install --quiet --requirement "$here/{REQUIREMENTS}"
  touch "$here/.venv/complete"
fi
exec "$here/.venv/bin/python" "$here/{LAUNCHER}" "$@"
"#,
        options = options.join(" "),
        python = built.python,
    )
}

/// An option as a usage line shows it.
fn option(input: &Input) -> String {
    let value = match input.type_ {
        ValueType::String => "TEXT",
        ValueType::Int => "INT",
        ValueType::Float => "FLOAT",
        ValueType::Bool => "true|false",
        ValueType::Datetime => "DATETIME",
        ValueType::Timedelta => "TIMEDELTA",
        ValueType::File => "FILE",
        ValueType::Dir => "FOLDER",
    };
    format!("--{} {value}", input.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegen_core::test_support::{image, task};

    #[test]
    fn an_image_of_ones_own_is_made_of_the_same_archives_where_its_python_is_the_same() {
        let lock = Lock::parse("# Python 3.12.1 on aarch64\nsix==1.17.0\n").unwrap();
        let (mut task, mut built) = (task(), image(&["six"]));
        task.image.reference = None;
        task.image.python_version = "3.12".into();
        let made = dockerfile(&task, &built, Some(&lock));
        assert!(
            made.contains("FROM --platform=linux/arm64 ")
                && made.contains("--require-hashes -r requirements.lock"),
            "{made}"
        );
        task.image.base = "registry.example.com/python:own".into();
        for python in [
            "3.11.7 (3.12 was asked for)",
            "3.12.1 (3.1 was asked for)",
            "3.120.1",
        ] {
            built.python = python.into();
            let made = dockerfile(&task, &built, Some(&lock));
            assert!(
                made.contains("pip install --no-cache-dir -r requirements.txt"),
                "{made}"
            );
            assert!(
                made.contains(&format!("# The tests ran with Python {python}.")),
                "{made}"
            );
            assert!(!made.contains("--platform"), "{made}");
        }
    }

    #[test]
    fn an_image_of_ones_own_has_the_python_that_the_tests_ran_with() {
        let lock = Lock::parse("# Python 3.11.7 on x86_64\nsix==1.17.0\n").unwrap();
        let (mut task, mut built) = (task(), image(&["six"]));
        task.image.reference = None;
        task.image.python_version = "3.12".into();
        task.image.base = default_base("3.12");
        built.python = "3.11.7 (3.12 was asked for)".into();
        let made = dockerfile(&task, &built, Some(&lock));
        assert!(
            made.contains(&format!("FROM --platform=linux/amd64 {}\n", default_base("3.11")))
                && made.contains("--require-hashes"),
            "{made}"
        );
    }

    #[test]
    fn an_older_pip_is_replaced_before_it_installs_anything() {
        let lock = Lock::parse("# Python 3.12.1 on aarch64\nsix==1.17.0\n").unwrap();
        let (mut task, built) = (task(), image(&["six"]));
        task.image.reference = None;
        let made = [
            dockerfile(&task, &built, Some(&lock)),
            dockerfile(&task, &built, None),
            script(&task, &built),
        ];
        for text in made {
            let first = text.split_once("pip install ").unwrap().1.lines().next().unwrap();
            assert!(first.contains(PIP), "{text}");
        }
    }

    #[test]
    fn the_script_asks_for_a_folder_and_takes_no_option_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("run.sh");
        std::fs::write(&script, super::script(&task(), &image(&["six"]))).unwrap();
        for (argument, code) in [("--help", 0), ("-h", 0), ("", 2), ("--decimals", 2)] {
            let done = std::process::Command::new("sh")
                .arg(&script)
                .arg(argument)
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert_eq!(done.status.code(), Some(code), "{argument}");
            let said = if code == 0 { &done.stdout } else { &done.stderr };
            assert!(said.starts_with(b"usage: sh run.sh OUTPUT-FOLDER"), "{argument}");
        }
        // Neither a folder named like an option nor an environment was made.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// The folder of a task with this program, and its script run with `out` as the output folder.
    fn ran(program: &str, options: &[&str]) -> (tempfile::TempDir, std::process::Output) {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join(".venv/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        std::fs::write(folder.path().join(".venv/complete"), "").unwrap();
        std::fs::write(bin.join("python"), "#!/bin/sh\nexec python3 \"$@\"\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("python"), executable).unwrap();
        std::fs::write(folder.path().join("solution.py"), program).unwrap();
        let script = folder.path().join("run.sh");
        std::fs::write(&script, super::script(&task(), &image(&[]))).unwrap();
        let launcher = super::launcher(&declared());
        std::fs::write(folder.path().join(LAUNCHER), launcher).unwrap();
        let done = std::process::Command::new("sh")
            .arg(&script)
            .arg("out")
            .args(options)
            .current_dir(folder.path())
            .env("TMPDIR", folder.path().join("tmp"))
            .env_remove("PYTHONHASHSEED")
            .output()
            .unwrap();
        (folder, done)
    }

    fn declared() -> Vec<Input> {
        let options = json!([
            {"name": "start", "type": "String"}, {"name": "sales", "type": "File"},
            {"name": "greeting", "type": "String", "default": "it's \"so\""},
        ]);
        serde_json::from_value(options).unwrap()
    }

    const POOL: &str = "import argparse\nimport multiprocessing\nimport os\nimport sys\n\n\ndef double(x):\n    return 2 * x\n\n\n\
         if __name__ == \"__main__\":\n    parser = argparse.ArgumentParser()\n    parser.add_argument(\"--start\")\n    parser.add_argument(\"--sales\")\n    parser.add_argument(\"--greeting\")\n    \
         start = parser.parse_args().start\n    with multiprocessing.get_context(start).Pool(2) as pool:\n        \
         total = sum(pool.map(double, [1, 2, 3]))\n    with open(\"/var/outputs/total\", \"w\") as file:\n        \
         file.write(f\"{total} {os.environ['PYTHONHASHSEED']}\")\n    sys.exit(total)\n";

    #[test]
    fn the_script_runs_a_program_that_starts_processes_with_its_own_functions() {
        for start in ["fork", "spawn", "forkserver"] {
            let (folder, done) = ran(POOL, &["--start", start]);
            let stderr = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(12), "{start}: {stderr}");
            let total = std::fs::read_to_string(folder.path().join("out/total")).unwrap();
            let (total, seed) = total.split_once(' ').unwrap();
            assert_eq!(total, "12", "{start}");
            seed.parse::<u32>().unwrap();
            // The copy that it ran is gone.
            assert_eq!(std::fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
        }
    }
    #[test]
    fn the_order_of_sets_follows_from_the_inputs_and_not_from_where_they_lie() {
        let seed = |options: &[&str], sales: &str| {
            let elsewhere = tempfile::tempdir().unwrap();
            let path = elsewhere.path().join("sales.csv");
            std::fs::write(&path, sales).unwrap();
            let file = format!("--sales={}", path.display());
            let (folder, done) = ran(POOL, &[options, &[&file]].concat());
            let total = std::fs::read_to_string(folder.path().join("out/total"));
            total.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)))
        };
        let first = seed(&["--start", "fork"], "a\n");
        assert_eq!(first, seed(&["--start=fork"], "a\n"));
        // A default that is given as well changes nothing.
        assert_eq!(
            first,
            seed(&["--greeting", "it's \"so\"", "--start", "fork"], "a\n")
        );
        assert_ne!(first, seed(&["--start", "fork"], "b\n"));
        assert_ne!(first, seed(&["--greeting", "other", "--start", "fork"], "a\n"));
    }
}
