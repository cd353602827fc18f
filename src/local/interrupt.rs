//! Ctrl-C, SIGTERM and the end of the terminal: the first asks the run to stop after the call in flight, the second leaves at once.

use std::fs;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use codegen_tools::kill_servers;

/// Exit code of a run that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// Signal that a run is asked to stop.
#[derive(Clone, Debug)]
pub struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Asked to stop: no new call, build or test run may start.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when the run is asked to stop; never when nobody can ask any more.
    pub async fn requested(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Asks a run to stop.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// A pair of the asking and the asked side.
    #[must_use]
    pub fn new() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), StopSignal(receiver))
    }

    /// Asks.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

/// Listens for signals in the background. `told` is called once, at the first signal.
pub fn listen(told: impl Fn() + Send + 'static) -> std::io::Result<StopSignal> {
    let (stopper, stop) = Stopper::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let status = fs::read_to_string(STATUS).unwrap_or_default();
    let hangup = heeds_hangup(&status).then(|| signal(SignalKind::hangup()));
    let mut hangup = hangup.transpose()?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = received(hangup.as_mut()) => {}
            }
        };
        next().await;
        // Before the run may end for it.
        told();
        stopper.request();
        next().await;
        // The second signal does not wait for the call in flight. Servers have groups of their own, which no terminal ends.
        kill_servers();
        std::process::exit(INTERRUPTED);
    });
    Ok(stop)
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// File with the kernel's description of this process, on Linux.
const STATUS: &str = "/proc/self/status";

/// Reports whether the end of the terminal ends this process, by its status: `nohup` has it ignored, and whoever listens would undo that.
/// Where nothing says so, nobody listens.
fn heeds_hangup(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::at_a_terminal("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\n", true)]
    #[case::after_nohup("SigIgn:\t0000000000001001\n", false)]
    #[case::not_on_linux("", false)]
    fn the_end_of_a_terminal_is_heeded_unless_somebody_has_it_ignored(
        #[case] status: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(heeds_hangup(status), expected);
    }

    #[tokio::test]
    async fn a_request_reaches_every_holder() {
        let (stopper, mut stop) = Stopper::new();
        let other = stop.clone();
        assert!(!other.is_requested());
        stopper.request();
        stop.requested().await;
        assert!(other.is_requested());
    }
}
