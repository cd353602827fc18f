//! A kustomization that takes the real tool.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::manifest::{self, ManifestDocument};
use super::KustomizeError;

/// Renders `folder` with the first tool that is there. `field` of `file` is what takes it.
pub(super) fn render(
    folder: &Path,
    file: PathBuf,
    field: String,
) -> Result<Vec<ManifestDocument>, KustomizeError> {
    for (tool, arguments) in [("kustomize", "build"), ("kubectl", "kustomize")] {
        let output = match Command::new(tool).arg(arguments).arg(folder).output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => {
                return Err(KustomizeError::Io {
                    path: PathBuf::from(tool),
                    source,
                });
            }
        };
        if output.status.success() {
            let name = format!("{} by {tool}", folder.display());
            return Ok(manifest::parse(&name, &String::from_utf8_lossy(&output.stdout))?);
        }
        return Err(KustomizeError::Tool {
            tool: tool.to_owned(),
            folder: folder.to_owned(),
            message: complaint(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    Err(KustomizeError::NeedsTool { file, field })
}

/// Returns what a tool says without its warnings, and without the frame of a log record, which says where in its source it was written.
fn complaint(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.starts_with("# Warning:"))
        .collect();
    let text = lines.join("\n");
    let Some((_, message)) = text.split_once("\"command failed\" err=") else {
        let text = text.trim();
        return text.strip_prefix("Error: ").unwrap_or(text).to_owned();
    };
    let message = message.trim();
    // Of several lines a record makes a block, of one a text in quotes.
    if let Some(block) = message
        .strip_prefix('<')
        .and_then(|block| block.strip_suffix('>'))
    {
        let lines: Vec<&str> = block
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        return lines.join("\n");
    }
    serde_json::from_str(message).unwrap_or_else(|_| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_said_without_the_frame_of_a_log_record() {
        for (stderr, said) in [
            (
                "E1123 07:20:20.048301    3973 run.go:72] \"command failed\" err=\"invalid Kustomization: json: unknown field \\\"resource\\\"\"\n",
                "invalid Kustomization: json: unknown field \"resource\"",
            ),
            (
                "# Warning: 'commonLabels' is deprecated.\nE1123 07:20:19.998065    3964 run.go:72] \"command failed\" err=<\n\ttrouble: `\n\tpath: nope.yaml\n\t`: no such file\n >\n",
                "trouble: `\npath: nope.yaml\n`: no such file",
            ),
            ("Error: no such file\n", "no such file"),
            ("killed\n", "killed"),
        ] {
            assert_eq!(complaint(stderr), said);
        }
    }
}
