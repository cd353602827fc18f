//! Where the streams of a command go.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoHereDocument, IoRedirect, Word};

use super::Walk;
use crate::denial::Denial;
use crate::paths::{NOWHERE, is_readable, is_writable};
use crate::scope::Scope;
use crate::script::{Argument, Redirection, Target};
use crate::words;

impl Walk<'_> {
    /// Settles one redirection, which may be two (`&>`).
    pub(super) fn redirection(
        &mut self,
        redirection: &IoRedirect,
        scope: &Scope,
    ) -> Result<Vec<Redirection>, Denial> {
        match redirection {
            IoRedirect::File(stream, kind, target) => {
                self.file(*stream, kind, target, scope).map(|one| vec![one])
            }
            IoRedirect::OutputAndError(target, append) => {
                let kind = if *append {
                    IoFileRedirectKind::Append
                } else {
                    IoFileRedirectKind::Write
                };
                let target = words::quoted(&target.value, scope, self)?;
                Ok(vec![
                    Redirection {
                        stream: 1,
                        to: output(&kind, target, scope)?,
                    },
                    Redirection {
                        stream: 2,
                        to: Target::Duplicate(1),
                    },
                ])
            }
            IoRedirect::HereDocument(stream, document) => Ok(vec![Redirection {
                stream: number(*stream, 0)?,
                to: Target::Data(self.here_document(document, scope)?),
            }]),
            IoRedirect::HereString(stream, word) => Ok(vec![Redirection {
                stream: number(*stream, 0)?,
                to: Target::Data(with_line_end(words::value(&word.value, scope, self)?)),
            }]),
        }
    }

    fn here_document(&mut self, document: &IoHereDocument, scope: &Scope) -> Result<Argument, Denial> {
        let text = if document.remove_tabs {
            document
                .doc
                .value
                .split_inclusive('\n')
                .map(|line| line.trim_start_matches('\t'))
                .collect()
        } else {
            document.doc.value.clone()
        };
        words::document(&text, document.requires_expansion, scope, self)
    }

    fn file(
        &mut self,
        stream: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        scope: &Scope,
    ) -> Result<Redirection, Denial> {
        use IoFileRedirectKind::{
            Append, Clobber, DuplicateInput, DuplicateOutput, Read, ReadAndWrite, Write,
        };
        let word = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => word.clone(),
            IoFileRedirectTarget::Fd(stream) => Word::new(&stream.to_string()),
            IoFileRedirectTarget::ProcessSubstitution(from, subshell) if matches!(kind, Read) => {
                let statements = self.process(from, subshell, scope)?;
                return Ok(Redirection {
                    stream: number(stream, 0)?,
                    to: Target::Process(statements),
                });
            }
            IoFileRedirectTarget::ProcessSubstitution(..) => {
                return Err(Denial::syntax(
                    "only < <(...) reads from commands: write a pipe, as in COMMAND | COMMAND",
                ));
            }
        };
        let (default, to) = match kind {
            Read => (0, read(words::quoted(&word.value, scope, self)?, scope)?),
            Write | Append | Clobber => (1, output(kind, words::quoted(&word.value, scope, self)?, scope)?),
            DuplicateOutput if matches!(word.value.as_str(), "1" | "2") => {
                (1, Target::Duplicate(u8::from(word.value == "2") + 1))
            }
            DuplicateOutput | DuplicateInput | ReadAndWrite => {
                return Err(Denial::syntax(
                    "only 2>&1 and 1>&2 join streams, and no stream is closed or both read and written: write &> FILE for both outputs",
                ));
            }
        };
        Ok(Redirection {
            stream: number(stream, default)?,
            to,
        })
    }
}

fn with_line_end(argument: Argument) -> Argument {
    match argument {
        Argument::Text(text) => Argument::Text(text + "\n"),
        Argument::Parts(mut parts) => {
            parts.push(crate::script::Part::Text("\n".to_owned()));
            Argument::Parts(parts)
        }
    }
}

fn number(stream: Option<i32>, default: u8) -> Result<u8, Denial> {
    let number = stream.map_or(Some(default), |stream| u8::try_from(stream).ok());
    number
        .filter(|number| *number <= 2)
        .ok_or_else(|| Denial::syntax("only the streams 0, 1 and 2 are redirected: leave the others out"))
}

/// The forms of a target. Of one that is not settled it is the folder: it is opened below those that redirections stay in, or not at all.
fn forms(target: &Argument, scope: &Scope) -> Result<Vec<String>, Denial> {
    if target.begins_with_output() {
        return Err(Denial::syntax(
            "a redirection does not go where $(...) says: write the path, or let it begin with a folder, as in /tmp/$(...)",
        ));
    }
    if scope.is_unknown(target) {
        return Ok(Scope::literal_folder(target)
            .map(str::to_owned)
            .into_iter()
            .collect());
    }
    Ok(scope.outlines(target))
}

fn read(target: Argument, scope: &Scope) -> Result<Target, Denial> {
    let refused = |path: &String| path != NOWHERE && !is_readable(path, &scope.folders);
    if let Some(path) = forms(&target, scope)?.into_iter().find(refused) {
        return Err(Denial::path(format!(
            "{path} is not read by a redirection: use cat {path} |, or a file of /sandbox, /var/inputs, /var/outputs or /tmp"
        )));
    }
    Ok(Target::Read(target))
}

fn output(kind: &IoFileRedirectKind, target: Argument, scope: &Scope) -> Result<Target, Denial> {
    match target.text() {
        Some("/dev/stdout") => return Ok(Target::Duplicate(1)),
        Some("/dev/stderr") => return Ok(Target::Duplicate(2)),
        Some(NOWHERE) => return Ok(Target::Write(target)),
        _ => {}
    }
    let refused = |path: &String| path.is_empty() || !is_writable(path, &scope.folders);
    if let Some(path) = forms(&target, scope)?.into_iter().find(refused) {
        return Err(Denial::path(format!(
            "{path} is not written: write to a file of /sandbox, /var/outputs or /tmp"
        )));
    }
    Ok(match kind {
        IoFileRedirectKind::Append => Target::Append(target),
        _ => Target::Write(target),
    })
}
