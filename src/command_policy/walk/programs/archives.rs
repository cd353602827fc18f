//! Archives and files that are packed: where they are written to, and where what is in them is.

use super::{Call, check_path, check_target, checks, several};
use crate::denial::Denial;
use crate::options::{Parsed, Value};
use crate::rules::SafeRule;
use crate::scope::Scope;
use crate::script::{Argument, Check, Requirement};

/// The arguments of tar in the form that options have elsewhere (`xzf FILE` as `-xzf FILE`), with a `:` in a name of a file being one, which
/// would be a machine to ask by a program.
pub(super) fn plain_arguments(call: &Call<'_>) -> Result<Vec<Argument>, Denial> {
    let mut arguments = call.arguments.clone();
    if call.name != "tar" {
        return Ok(arguments);
    }
    if let Some(Argument::Text(letters)) = arguments.first_mut()
        && !letters.starts_with('-')
    {
        let valued = letters.find(['f', 'C']);
        if valued.is_some_and(|at| at + 1 < letters.len()) {
            return Err(refused(
                "tar",
                "its letters in another order: write f last, as in tar xzf FILE",
            ));
        }
        letters.insert(0, '-');
    }
    arguments.insert(0, "--force-local".into());
    Ok(arguments)
}

pub(super) fn check(rule: &SafeRule, call: &Call<'_>, scope: &Scope) -> Result<Vec<Check>, Denial> {
    let parsed = rule.options.parse(call.name, &call.arguments)?;
    let required = match call.name {
        "tar" => tar(&parsed, scope)?,
        "zip" => target_of("zip", parsed.operands.first().copied(), scope)?,
        "unzip" => unzip(&parsed, scope)?,
        "split" => split(&parsed, scope)?,
        name => packed(name, &parsed, scope)?,
    };
    checks::of(call.name, &call.arguments, &required, scope)
}

/// Where a link in an archive may lead to: below the folder that it is unpacked in.
const LINKS: &str = r"--transform=flags=RHs;s,^/*,./,;s,\.\.,__,g";

/// tar makes no link that leads elsewhere, whatever an archive says.
pub(super) fn confine_links(call: &mut Call<'_>, mut checks: Vec<Check>) -> Vec<Check> {
    if call.name == "tar" {
        call.arguments.insert(0, LINKS.into());
        for check in &mut checks {
            check.argument += 1;
        }
    }
    checks
}

type Required<'a> = Vec<(&'a Argument, Requirement)>;

fn tar<'a>(parsed: &Parsed<'a>, scope: &Scope) -> Result<Required<'a>, Denial> {
    let creates = parsed.has(&["c", "create"]);
    let extracts = parsed.has(&["x", "extract", "get"]);
    let lists = parsed.has(&["t", "list"]);
    if u8::from(creates) + u8::from(extracts) + u8::from(lists) != 1 {
        return Err(refused("tar", "anything but one of -c, -x and -t"));
    }
    // Where a name of a file could be read as an option by other implementations.
    let could_be_option = |operand: &&Argument| operand.is_pattern() && operand.beginning().0.is_empty();
    if parsed.operands.iter().any(could_be_option) {
        return Err(refused(
            "tar",
            "a pattern that could match an option: begin it with ./",
        ));
    }
    let folder = value(parsed, &["C", "directory"], "tar")?;
    if creates {
        let file = value(parsed, &["f", "file"], "tar")?;
        return target_of("tar", file.filter(|file| file.text() != Some("-")), scope);
    }
    if lists || parsed.has(&["O", "to-stdout"]) {
        return Ok(Vec::new());
    }
    unpacked("tar", folder, scope)
}

fn unzip<'a>(parsed: &Parsed<'a>, scope: &Scope) -> Result<Required<'a>, Denial> {
    if parsed.has(&["l", "p", "t", "v"]) {
        return Ok(Vec::new());
    }
    unpacked("unzip", value(parsed, &["d"], "unzip")?, scope)
}

/// The parts are named by what stands there, or `x`, and letters after it.
fn split<'a>(parsed: &Parsed<'a>, scope: &Scope) -> Result<Required<'a>, Denial> {
    if parsed.operands.iter().any(|operand| operand.is_pattern()) {
        return Err(several("split"));
    }
    match parsed.operands.get(1) {
        Some(prefix) if scope.is_unknown(prefix) => {
            check_target("split", prefix, Requirement::Below, scope)?;
            Ok(vec![(*prefix, Requirement::Below)])
        }
        prefix => {
            let forms = prefix.map_or_else(|| vec!["x".to_owned()], |prefix| scope.outlines(prefix));
            for form in forms {
                check_path("split", &format!("{form}aa"), scope)?;
            }
            Ok(Vec::new())
        }
    }
}

/// gzip and its like write beside each file, and remove it.
fn packed<'a>(name: &str, parsed: &Parsed<'a>, scope: &Scope) -> Result<Required<'a>, Denial> {
    // Of xz and bzip2 the last of these letters counts.
    let unpacks = parsed.has(&["d", "decompress", "uncompress"]);
    let prints =
        parsed.has(&["c", "stdout", "to-stdout"]) || !unpacks && parsed.has(&["l", "list", "t", "test"]);
    if name.ends_with("cat") || prints {
        return Ok(Vec::new());
    }
    let mut required = Vec::new();
    for operand in &parsed.operands {
        required.extend(target_of(name, Some(*operand), scope)?);
    }
    Ok(required)
}

/// What is unpacked lies below a folder, or where the script is.
fn unpacked<'a>(program: &str, folder: Option<&'a Argument>, scope: &Scope) -> Result<Required<'a>, Denial> {
    if folder.is_none() {
        check_path(program, ".", scope)?;
    }
    target_of(program, folder, scope)
}

fn target_of<'a>(program: &str, path: Option<&'a Argument>, scope: &Scope) -> Result<Required<'a>, Denial> {
    let Some(path) = path else { return Ok(Vec::new()) };
    check_target(program, path, Requirement::Writable, scope)?;
    Ok(vec![(path, Requirement::Writable)])
}

/// The value of an option, which is given once and as a word of its own.
fn value<'a>(parsed: &Parsed<'a>, names: &[&str], program: &str) -> Result<Option<&'a Argument>, Denial> {
    let mut given = parsed
        .options
        .iter()
        .filter(|given| names.contains(&given.name.as_str()));
    match (given.next().map(|given| &given.value), given.next()) {
        (None, _) => Ok(None),
        (Some(Some(Value::Word(word))), None) => Ok(Some(word)),
        _ => Err(refused(
            program,
            &format!(
                "-{} twice, or with its value in the same word: write it once, as in -{} VALUE",
                names[0], names[0]
            ),
        )),
    }
}

fn refused(program: &str, what: &str) -> Denial {
    Denial::new(
        "archives",
        format!("{program} is not run with {what}; or use Python for it (tarfile, zipfile, gzip, shutil)"),
    )
}
