//! Location of the binary of the workers.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Error;

const NAME: &str = "codegen-interpreter";
const VARIABLE: &str = "CODEGEN_INTERPRETER";

/// The binary: the path that was given, else the variable's, else beside this program or one folder above (where Cargo has the
/// binaries while it runs tests and examples), else on `PATH`.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, Error> {
    let named = given.map(Path::to_path_buf).or_else(|| {
        env::var_os(VARIABLE)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    });
    let candidates = match named {
        Some(path) => vec![path],
        None => installed(env::current_exe().ok().as_deref(), env::var_os("PATH").as_deref()),
    };
    first_file(&candidates).ok_or_else(|| Error::BinaryMissing {
        name: NAME,
        searched: listed(&candidates),
        variable: VARIABLE,
    })
}

fn installed(executable: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Vec<PathBuf> {
    let name = format!("{NAME}{}", env::consts::EXE_SUFFIX);
    let beside = executable
        .iter()
        .flat_map(|program| program.ancestors().skip(1).take(2))
        .map(|folder| folder.join(&name));
    let on_path = path
        .iter()
        .flat_map(env::split_paths)
        // A relative entry would mean whatever folder this process is in.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name));
    beside.chain(on_path).collect()
}

fn first_file(candidates: &[PathBuf]) -> Option<PathBuf> {
    candidates.iter().find(|path| path.is_file()).cloned()
}

/// The first places, and how many more there are: a `PATH` may be long.
fn listed(candidates: &[PathBuf]) -> String {
    const MOST: usize = 3;
    let first: Vec<String> = candidates
        .iter()
        .take(MOST)
        .map(|path| path.display().to_string())
        .collect();
    match candidates.len().saturating_sub(MOST) {
        0 => first.join(", "),
        more => format!("{} and {more} more folders of PATH", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_finds_the_interpreter_beside_it_before_path() {
        let found = installed(
            Some(Path::new("/opt/codegen/bin/tool")),
            Some("/usr/bin:relative".as_ref()),
        );
        let expected = [
            "/opt/codegen/bin/codegen-interpreter",
            "/opt/codegen/codegen-interpreter",
            "/usr/bin/codegen-interpreter",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn a_missing_interpreter_is_an_error_that_says_how_to_get_it_in_every_way_that_programs_ship() {
        let error = find(Some(Path::new("/nowhere/codegen-interpreter"))).unwrap_err();
        let message = error.to_string();
        for part in [
            "/nowhere/codegen-interpreter",
            "archive",
            "kubectl krew upgrade codegen",
            "make install",
            "cargo build -p codegen-interpreter-worker",
            "Dockerfile",
            "CODEGEN_INTERPRETER",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_long_path_is_listed_by_its_first_folders() {
        let many: Vec<PathBuf> = (0..9).map(|n| PathBuf::from(format!("/{n}"))).collect();
        assert_eq!(listed(&many), "/0, /1, /2 and 6 more folders of PATH");
    }
}
