//! Work of the Pod that pushes outputs from a claim: each is compared with what the status of its run says, and sent as it is read. No link
//! is followed, and no file is held.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use super::{ClaimReader, Found, ReadError, ReadFile, is_link_or_socket};
use codegen_api::values::ValueType;
use codegen_core::causes::with_causes;
use codegen_core::run::artifact::{KIND, RUN, annotations, media_type, title};
use codegen_core::stage::Category;
use codegen_registry::{
    Access, Artifact, ArtifactFile, Credentials, FileContent, FileOnDisk, Pushed, Registry, RegistryError,
};
use codegen_sandbox::kubernetes::{
    ClaimSource, OutputToPush, PushAccess, PushReport, PushRequest, ReadSource,
};

/// Pushes what `request` names, with these credentials.
pub async fn push(request: &PushRequest, credentials: Credentials) -> PushReport {
    let mut files = Vec::new();
    // All of them before the first byte is sent: an artifact with some of the outputs is none.
    for output in &request.outputs {
        match (OutputReader { request, output }).files() {
            Ok(found) => files.extend(found),
            Err(report) => return report,
        }
    }
    match send(request, credentials, files).await {
        Ok(pushed) => PushReport::Pushed {
            digest: pushed.digest,
            uploaded_bytes: pushed.uploaded_bytes,
        },
        Err(error) => not_sent(&error),
    }
}

/// Returns the report of a registry's refusal: the remedies differ.
fn not_sent(error: &RegistryError) -> PushReport {
    match (error, error.category()) {
        (RegistryError::TooMany { .. }, _) => PushReport::TooMany(error.to_string()),
        (RegistryError::Refused { .. }, _) => PushReport::Unauthorized(error.to_string()),
        (_, Category::Configuration) => PushReport::Refused(error.to_string()),
        (_, Category::Infrastructure) => PushReport::Failed(with_causes(error)),
    }
}

async fn send(
    request: &PushRequest,
    credentials: Credentials,
    files: Vec<ArtifactFile>,
) -> Result<Pushed, RegistryError> {
    let registry = Registry::new(&access(&request.access, credentials)?)?;
    let artifact = Artifact {
        kind: KIND,
        files,
        annotations: request.annotations.clone(),
        owner: (RUN, request.owner.clone()),
    };
    registry.push_artifact(&request.reference, artifact).await
}

fn access(asked: &PushAccess, credentials: Credentials) -> Result<Access, RegistryError> {
    let setup = |text: &str| RegistryError::Setup(format!("{text:?} is not what the operator writes"));
    let origins = asked.trusted_origins.iter();
    let origins = origins.map(|text| text.parse().map_err(|_| setup(text)));
    let closed = asked.closed.iter();
    let closed = closed.map(|text| text.parse().map_err(|_| setup(text)));
    Ok(Access {
        insecure_hosts: asked.insecure.clone(),
        authorities: Vec::new(),
        certificates: asked.certificates.clone(),
        credentials,
        allow: asked.allow.clone(),
        trusted_origins: origins.collect::<Result<_, _>>()?,
        closed: closed.collect::<Result<_, _>>()?,
        proxies: asked.proxies.clone(),
    })
}

/// Reads one output.
struct OutputReader<'a> {
    request: &'a PushRequest,
    output: &'a OutputToPush,
}

impl OutputReader<'_> {
    /// Its files as they are pushed, once all of it is what the status says.
    fn files(&self) -> Result<Vec<ArtifactFile>, PushReport> {
        let (source, top) = (self.source(), Path::new(&self.output.name));
        let reader = ClaimReader::of_output(&source);
        let (what, files) = if source.is_dir {
            let files = self.folder(&reader, top)?;
            let found = files.iter().map(|file| {
                let place = top.join(&file.relative);
                self.file(&file.path(), place, &file.what)
            });
            (ReadFile::together(&files), found.collect())
        } else {
            let Found { what, .. } = reader.read_at(top).map_err(|error| self.failed(&error))?;
            let file = self.file("", top.to_owned(), &what);
            (what, vec![file])
        };
        self.compare(&what)?;
        Ok(files)
    }

    /// The files of a folder, in an order that follows from their names.
    fn folder(&self, reader: &ClaimReader<'_>, top: &Path) -> Result<Vec<ReadFile>, PushReport> {
        let (_, kind) = reader.open(top).map_err(|error| self.failed(&error))?;
        if kind != FileType::Directory {
            return Err(self.changed("it is not a folder"));
        }
        let mut files = reader.files(top).map_err(|error| self.failed(&error))?;
        files.sort_by(|one, other| one.relative.cmp(&other.relative));
        Ok(files)
    }

    fn source(&self) -> ClaimSource {
        ClaimSource {
            name: self.output.name.clone(),
            claim: self.request.written_to.claim.clone(),
            folder: self.request.folder.clone(),
            // A name of an output has no slash, so its place is the folder that is mounted.
            path: self.output.name.clone(),
            is_dir: self.output.type_ == ValueType::Dir,
            sha256: None,
        }
    }

    fn file(&self, path: &str, place: PathBuf, what: &ReadSource) -> ArtifactFile {
        let title = title(&self.output.file_name, path);
        let source = self.source();
        let open = move || open(&source, &place);
        ArtifactFile {
            media_type: media_type(self.output.type_, &title),
            title,
            content: FileContent::OnDisk(FileOnDisk {
                sha256: what.sha256.clone(),
                bytes: what.bytes,
                open: Arc::new(open),
            }),
            annotations: annotations(&self.output.name, self.output.type_),
        }
    }

    fn compare(&self, found: &ReadSource) -> Result<(), PushReport> {
        let OutputToPush { sha256, bytes, .. } = self.output;
        if found.bytes != *bytes {
            return Err(self.changed(&format!("it has {} bytes, the run wrote {bytes}", found.bytes)));
        }
        if found.sha256 != *sha256 {
            return Err(self.changed(&format!("it has sha256 {}, the run wrote {sha256}", found.sha256)));
        }
        Ok(())
    }

    fn changed(&self, what: &str) -> PushReport {
        let written_to = &self.request.written_to;
        let (claim, path) = (&written_to.claim, &written_to.path);
        let name = &self.output.name;
        PushReport::Changed(format!(
            "the output {name} is not what the program wrote, at {path}/{name} on the claim {claim}: {what}"
        ))
    }

    fn failed(&self, error: &ReadError) -> PushReport {
        match error {
            ReadError::Read { source, .. } if is_link_or_socket(source) => {
                self.changed("it is a link or a socket")
            }
            ReadError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                PushReport::Gone(self.output.name.clone())
            }
            // A link to a folder, in the place of a folder, is one as well.
            ReadError::Read { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                self.changed("it is not a folder")
            }
            ReadError::WrongKind { path, wanted, .. } => self.changed(&format!("{path} is not a {wanted}")),
            ReadError::TooLarge { .. } => {
                self.changed("it has more than 1 GiB, or than 10,000 files or folders")
            }
            ReadError::NotText { .. } => self.changed("a name in it is not UTF-8"),
            _ if error.is_passing() => PushReport::Failed(error.to_string()),
            _ => PushReport::Refused(error.to_string()),
        }
    }
}

/// Opens a file that was read before; no link that took its place is followed.
fn open(source: &ClaimSource, place: &Path) -> io::Result<File> {
    let opened = ClaimReader::of_output(source).open(place);
    match opened {
        Ok((file, FileType::RegularFile)) => Ok(file.into()),
        Ok(_) => Err(io::Error::other(format!(
            "{} is no file any more",
            place.display()
        ))),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
