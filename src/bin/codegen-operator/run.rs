//! `run`: the operator itself.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use codegen_operator::controller::config::{OperatorConfig, limit_of_container};
use codegen_operator::controller::operate::{Identity, operate};
use codegen_operator::controller::telemetry::logging::{self, LogFormat};

/// Run the operator: reconciles the tasks of a cluster until it is asked to stop.
///
/// The cluster is the one that it runs in, or that of KUBECONFIG. SIGTERM ends it in order: no further model call starts, and
/// those in flight are finished and recorded.
#[derive(Args)]
pub struct Run {
    /// Configuration file (YAML); without it every default holds.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of this process, which no other may have: that of its Pod. Default: a new one.
    #[arg(long, env = "POD_NAME")]
    name: Option<String>,
    /// Namespace of the lease.
    #[arg(long, env = "POD_NAMESPACE", default_value = "default")]
    namespace: String,
    /// The operator's own image, where the configuration file names none: build Jobs push with it.
    #[arg(long, env = "OPERATOR_IMAGE", value_name = "IMAGE")]
    operator_image: Option<String>,
    /// The admission policy that holds names in decisions to those of the requests, where the configuration file names none.
    #[arg(long, env = "APPROVAL_POLICY", value_name = "NAME")]
    approval_policy: Option<String>,
    /// Secret in that namespace with keys that environments are signed with. Where there is none, a key is made in NAME-0000000001.
    #[arg(
        long,
        env = "SIGNING_SECRET",
        value_name = "NAME",
        default_value = "codegen-operator-signing"
    )]
    signing_secret: String,
    /// What log records look like. `auto`: text on a terminal, JSON elsewhere. `RUST_LOG` says how much (default: info).
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    log_format: LogFormat,
}

/// Runs the operator; the exit code is 1 when its leadership was lost.
pub fn run(command: Run) -> anyhow::Result<ExitCode> {
    // The error is that a provider is there already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = match &command.config {
        Some(file) => OperatorConfig::read(file)?,
        None => OperatorConfig::default(),
    };
    // The file goes before the environment, which the chart sets for every installation.
    config.operator_image = config.operator_image.or(command.operator_image);
    let policy = command.approval_policy.filter(|name| !name.is_empty());
    config.approvals.admission_policy = config.approvals.admission_policy.or(policy);
    let identity = Identity {
        name: command
            .name
            .unwrap_or_else(|| format!("codegen-operator-{:08x}", fastrand::u32(..))),
        namespace: command.namespace,
        signing_secret: command.signing_secret,
        program: std::env::current_exe().context("cannot find this program")?,
    };
    let filter = std::env::var("RUST_LOG").ok();
    logging::init(command.log_format, filter.as_deref()).map_err(anyhow::Error::msg)?;
    if let Some(shortage) = limit_of_container().and_then(|limit| config.shortage(limit)) {
        tracing::warn!("{shortage}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let leads = runtime.block_on(operate(config, identity))?;
    Ok(if leads {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
