//! `push-layout`: pushes the image that a builder left on disk. The second container of a build Job runs it, alone with the credentials.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use codegen_core::lock::Lock;
use codegen_core::stage::Category;
use codegen_egress::EgressEntry;
use codegen_registry::{
    Access, Credentials, Existing, ImageLayout, LayoutLimits, Pushed, Registry, RegistryError, read_installed,
};
use codegen_sandbox::kubernetes::folder_sha256;
use codegen_sandbox::{PACKAGE_LAYER, judge_layer};
use serde_json::json;

/// The registry or the layout failed in a way that a second try may get over.
const TRY_AGAIN: u8 = 1;
/// Only a change of settings helps.
const CHANGE_SETTINGS: u8 = 3;

/// Push an OCI image layout, unless the tag is there, and write what the registry then holds.
///
/// Every blob is verified before anything is uploaded. The result is one line of JSON: `digest`, `adopted`, `uploadedBytes`,
/// or `category` and `message` of what went wrong. Exit code 1 means that another try may help, 3 that settings must change.
#[derive(Args)]
pub struct PushLayout {
    /// Folder of the layout.
    layout: PathBuf,
    /// Where to push it (`registry.example/environments:3f2a`).
    reference: String,
    /// Push even if the tag is there, and move it.
    #[arg(long)]
    replace: bool,
    /// Leave the tag as it is, and push by the digest alone.
    #[arg(long, conflicts_with = "replace")]
    untagged: bool,
    /// Credentials, as a Secret of type kubernetes.io/dockerconfigjson holds them.
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// A further certificate authority, PEM; may be repeated.
    #[arg(long, value_name = "FILE")]
    authority: Vec<PathBuf>,
    /// A registry that is spoken to without TLS (`registry.example:5000`); may be repeated.
    #[arg(long, value_name = "HOST")]
    insecure_registry: Vec<String>,
    /// An origin (`https://auth.example.com`) besides its own that the registry may send to, for a token or a blob; may be repeated.
    #[arg(long, value_name = "ORIGIN")]
    trusted_origin: Vec<EgressEntry>,
    /// What was installed, a requirements file (`# Python 3.12.4 on x86_64`, then `six==1.17.0 --hash=sha256:...`): becomes annotations of the manifest.
    #[arg(long, value_name = "FILE")]
    installed: Option<PathBuf>,
    /// The only folder that the last layer may write to (`/opt/codegen`), for an image whose last layer is its pip packages.
    #[arg(long, value_name = "FOLDER")]
    environment: Option<String>,
    /// Folder with what the image was built from.
    #[arg(long, value_name = "FOLDER", requires = "built_from_sha256")]
    built_from: Option<PathBuf>,
    /// Digest that this folder must have: of its files' names and contents.
    #[arg(long, value_name = "HEX")]
    built_from_sha256: Option<String>,
    /// Largest image, all blobs together.
    #[arg(long, value_name = "BYTES", default_value_t = LayoutLimits::default().bytes)]
    max_bytes: u64,
    /// Where the result goes, beside standard output (`/dev/termination-log`).
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

/// Pushes; the exit code says whether another try may help.
pub fn run(command: &PushLayout) -> anyhow::Result<ExitCode> {
    // The error is that a provider is there already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (line, code) = match runtime.block_on(push(command)) {
        Ok(pushed) => (serde_json::to_value(pushed)?, ExitCode::SUCCESS),
        Err(error) => {
            let code = match error.category() {
                Category::Infrastructure => TRY_AGAIN,
                Category::Configuration => CHANGE_SETTINGS,
            };
            let line = json!({"category": error.category(), "message": error.to_string()});
            (line, ExitCode::from(code))
        }
    };
    writeln!(io::stdout().lock(), "{line}")?;
    // The kubelet takes the container's last words from this file.
    if let Some(file) = &command.result {
        std::fs::write(file, line.to_string())?;
    }
    Ok(code)
}

/// Somebody may have put another object in the place of the one with the files, which then was built.
fn check_layout_files(command: &PushLayout) -> Result<(), RegistryError> {
    let (Some(folder), Some(wanted)) = (&command.built_from, &command.built_from_sha256) else {
        return Ok(());
    };
    let found = files_sha256(folder)
        .map_err(|error| RegistryError::Setup(format!("cannot read {}: {error}", folder.display())))?;
    if found == *wanted {
        return Ok(());
    }
    Err(RegistryError::Image {
        reference: command.reference.clone(),
        reason: format!(
            "was not built from what the operator wrote: somebody has replaced the ConfigMap that is mounted at {}; see who may write \
             such objects there",
            folder.display()
        ),
    })
}

fn files_sha256(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What the kubelet keeps there for itself.
        if !name.starts_with("..") {
            files.push((name, std::fs::read(entry.path())?));
        }
    }
    let files = files.iter();
    Ok(folder_sha256(
        files.map(|(name, content)| (name.as_str(), content.as_slice())),
    ))
}

/// Refuses what a package wrote outside of its environment: it would start every Pod of the image, with the key of its report.
fn check_packages(
    command: &PushLayout,
    layout: &ImageLayout,
    installed: Option<&Lock>,
) -> Result<(), RegistryError> {
    let Some(environment) = &command.environment else {
        return Ok(());
    };
    let (layer, is_packed) = layout.last_layer()?;
    let fault = judge_layer(io::BufReader::new(layer), is_packed, environment, installed);
    let fault = fault.unwrap_or_else(|error| Some(format!("cannot be read: {error}")));
    fault.map_or(Ok(()), |why| {
        Err(RegistryError::Image {
            reference: command.reference.clone(),
            reason: format!(
                "is not pushed: {PACKAGE_LAYER} {why}. Find the package that brings it, take it out of image.basePackages or say in the \
                 prompt what to use in its place, and tell whoever runs the package index"
            ),
        })
    })
}

async fn push(command: &PushLayout) -> Result<Pushed, RegistryError> {
    // Before the credentials are even read.
    check_layout_files(command)?;
    let credentials = match &command.credentials {
        Some(file) => {
            let bytes = std::fs::read(file)
                .map_err(|error| RegistryError::Setup(format!("cannot read {}: {error}", file.display())))?;
            Credentials::from_docker_config(&bytes)
                .map_err(|error| RegistryError::Setup(error.to_string()))?
        }
        None => Credentials::default(),
    };
    let registry = Registry::new(&Access {
        insecure_hosts: command.insecure_registry.clone(),
        authorities: command.authority.clone(),
        credentials,
        trusted_origins: command.trusted_origin.clone(),
        ..Access::default()
    })?;
    let limits = LayoutLimits {
        bytes: command.max_bytes,
    };
    // Everything is verified before the first byte is sent.
    let mut layout = ImageLayout::open(&command.layout, limits)?;
    let installed = command.installed.as_deref().map(read_installed);
    check_packages(
        command,
        &layout,
        installed.as_ref().and_then(|installed| installed.as_ref().ok()),
    )?;
    match installed {
        Some(Ok(installed)) => layout.annotate(&installed)?,
        // The manifest says nothing then; whoever reads the image reports that.
        Some(Err(why)) => writeln!(
            io::stderr().lock(),
            "what is installed in the image is not written down: {why}"
        )
        .unwrap_or_default(),
        None => {}
    }
    let existing = match (command.replace, command.untagged) {
        (true, _) => Existing::Replace,
        (false, true) => Existing::Leave,
        (false, false) => Existing::Adopt,
    };
    registry.push(&layout, &command.reference, existing).await
}
