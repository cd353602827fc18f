//! `serve-replies`: recorded replies behind the protocol of a model, so that a demonstration or a test needs no key.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use codegen_api::duration;
use codegen_model::ReplyServer;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Answer model calls from recorded replies, as an OpenAI-compatible server.
///
/// Equal requests get equal replies, so that any number of tasks may use it at once.
#[derive(Args)]
pub struct ServeReplies {
    /// JSON Lines as `kubectl-codegen local --record` writes them. `name=FILE` serves them under `/name/v1` instead of `/v1`;
    /// may be repeated.
    #[arg(long, value_name = "[NAME=]FILE", required = true, value_parser = source)]
    replies: Vec<Source>,
    /// Address to listen at; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Time that passes before each reply (`200ms`, `3s`).
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    latency: Duration,
}

/// Path of a recording and the name under which it is served.
#[derive(Clone)]
struct Source {
    name: Option<String>,
    file: PathBuf,
}

#[expect(clippy::unnecessary_wraps, reason = "clap takes functions that may fail")]
fn source(argument: &str) -> Result<Source, String> {
    Ok(match argument.split_once('=') {
        Some((name, file)) => Source {
            name: Some(name.to_owned()),
            file: file.into(),
        },
        None => Source {
            name: None,
            file: argument.into(),
        },
    })
}

/// Serves until SIGTERM or Ctrl-C.
pub fn run(command: &ServeReplies) -> anyhow::Result<()> {
    let mut server = ReplyServer::new(command.latency);
    for Source { name, file } in &command.replies {
        let recording =
            fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
        server
            .add(name.as_deref(), &recording)
            .with_context(|| format!("failed to serve {}", file.display()))?;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(server, command.listen))
}

async fn serve(server: ReplyServer, address: SocketAddr) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen at {address}"))?;
    let address = listener.local_addr()?;
    for base in server.base_paths() {
        writeln!(io::stdout().lock(), "http://{address}{base}")?;
    }
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            // Fails only where no handler can be installed; SIGTERM's was.
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    axum::serve(listener, server.router())
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}
