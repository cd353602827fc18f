//! `ready`: whether an operator can work, asked over the network. `helm test` runs it.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use codegen_api::duration::parse;

/// Pause between two questions.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ask an operator whether it can work, and wait until it can. Exit code 1 when it cannot: what it lacks is printed.
#[derive(Args)]
pub struct Ready {
    /// Where it listens (`http://codegen-operator.codegen-system:8080`).
    url: String,
    /// How long to wait for it (`90s`, `5m`).
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse)]
    timeout: Duration,
}

/// Asks until it is ready.
pub fn run(command: &Ready) -> anyhow::Result<ExitCode> {
    // The error is that a provider is there already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(wait(command))
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "its only output")]
async fn wait(command: &Ready) -> anyhow::Result<ExitCode> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let url = format!("{}/readyz", command.url.trim_end_matches('/'));
    let end = tokio::time::Instant::now() + command.timeout;
    loop {
        let why = match ask(&client, &url).await {
            Ok(None) => {
                println!("the operator at {} is ready", command.url);
                return Ok(ExitCode::SUCCESS);
            }
            Ok(Some(why)) => why,
            Err(error) => format!("{error:#}"),
        };
        // No pause that would end after the time is over.
        if tokio::time::Instant::now() + ASK_AGAIN >= end {
            eprintln!("the operator at {} is not ready: {}", command.url, why.trim());
            return Ok(ExitCode::FAILURE);
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Asks why it is not ready; `None` when it is.
async fn ask(client: &reqwest::Client, url: &str) -> anyhow::Result<Option<String>> {
    let answer = client.get(url).send().await.context("no answer")?;
    let is_ready = answer.status().is_success();
    let why = answer.text().await.context("no whole answer")?;
    Ok((!is_ready).then_some(why))
}
