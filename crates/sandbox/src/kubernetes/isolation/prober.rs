//! Program inside of a control or a canary: it knocks at targets, says which answered, and may listen for the others.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::Probed;

/// Path from which the kubelet takes a container's last words.
pub const LAST_WORDS: &str = "/dev/termination-log";
/// Time that one knock has: enough for one lost packet. Whoever is blocked stays silent that long.
const KNOCK: Duration = Duration::from_millis(1500);
/// Some clusters close, or open, the network of a new Pod a moment after it has started.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);

/// Answer that ends the knocking at a target before the patience does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hoped {
    /// That of the target: this is a control.
    Answer,
    /// None: this is a canary.
    Silence,
}

/// Knocks at every target (name and address) at the same time. A refusal is no answer: policies are enforced that way, too.
#[must_use]
pub fn probe(targets: &[(String, String)], hoped: Hoped) -> Probed {
    let reached: BTreeSet<String> = thread::scope(|scope| {
        let knocking: Vec<_> = targets
            .iter()
            .map(|(name, address)| (name, scope.spawn(move || is_reached(address, hoped))))
            .collect();
        let answered = knocking
            .into_iter()
            // A thread that panicked counts as one that was answered: it must not make a policy look enforced.
            .filter_map(|(name, knocked)| knocked.join().unwrap_or(true).then(|| name.clone()));
        answered.collect()
    });
    Probed { reached }
}

fn is_reached(address: &str, hoped: Hoped) -> bool {
    let end = Instant::now() + PATIENCE;
    loop {
        let answers = answers(address);
        let is_as_hoped = answers == (hoped == Hoped::Answer);
        // A canary that is answered and a control that is not knock again: a policy may be enforced late, and a network may come up late.
        if is_as_hoped || Instant::now() + PAUSE >= end {
            return answers;
        }
        thread::sleep(PAUSE);
    }
}

fn answers(address: &str) -> bool {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().into_iter().flatten().collect();
    addresses
        .iter()
        .any(|address| TcpStream::connect_timeout(address, KNOCK).is_ok())
}

/// Leaves what was found as the container's last words.
///
/// # Errors
/// The file cannot be written.
pub fn write_report(found: &Probed, file: &Path) -> io::Result<()> {
    std::fs::write(file, serde_json::to_vec(found)?)
}

/// Takes every connection and ends it, until the process is ended.
///
/// # Errors
/// The port is taken.
pub fn listen(port: u16) -> io::Result<()> {
    // The socket of IPv6 takes IPv4 too, where the node has IPv6.
    let listener = TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)))?;
    writeln!(io::stdout(), "listening on {port}")?;
    for connection in listener.incoming() {
        drop(connection);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_reached_and_a_closed_port_is_not() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let open = listener.local_addr().unwrap().to_string();
        let closed = {
            let gone = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            gone.local_addr().unwrap().to_string()
        };
        let control = probe(&[("open".to_owned(), open.clone())], Hoped::Answer);
        assert_eq!(control.reached, BTreeSet::from(["open".to_owned()]));
        let canary = probe(&[("closed".to_owned(), closed)], Hoped::Silence);
        assert_eq!(canary.reached, BTreeSet::new());
        let canary = probe(&[("open".to_owned(), open)], Hoped::Silence);
        assert_eq!(canary.reached, BTreeSet::from(["open".to_owned()]));
    }
}
