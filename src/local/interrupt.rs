//! Ctrl-C and SIGTERM: the first asks the run to stop after the call in flight, the second leaves at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Exit code of a run that was interrupted.
pub const INTERRUPTED: i32 = 130;

/// Whether a run is asked to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
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
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Asks.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

/// Listens for signals in the background. `told` is called once, at the first signal.
pub fn listen(told: impl Fn() + Send + 'static) -> std::io::Result<Stop> {
    let (stopper, stop) = Stopper::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        next().await;
        stopper.request();
        told();
        next().await;
        // The second signal does not wait for the call in flight.
        std::process::exit(INTERRUPTED);
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

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
