//! Shows that the confinement holds: makes one call that a program must never make.

use std::fs::File;
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::Command;
use std::thread;

use crate::confine;

/// Bytes of memory that the probe is confined to.
const MEMORY: u64 = 64 * 1024 * 1024;

/// Makes the call. It comes back only where nothing stopped it.
pub(crate) fn run(call: &str, is_confined: bool) -> Result<(), String> {
    // Another descriptor than the pipes, as if this process had inherited it.
    let inherited = File::open("/proc/self/status").map_err(|error| error.to_string())?;
    if is_confined {
        confine::enter(MEMORY).map_err(|error| error.to_string())?;
    }
    let made = match call {
        "open" => File::open("/proc/self/environ").map(drop),
        "socket" => UdpSocket::bind(("127.0.0.1", 0)).map(drop),
        "fork" => Command::new("/proc/self/exe").arg("usage").output().map(drop),
        "thread" => thread::Builder::new().spawn(|| {}).map(drop),
        "descriptor" => (&inherited).read(&mut [0; 16]).map(drop),
        _ => return Err(format!("there is no probe of {call}")),
    };
    made.map_err(|error| error.to_string())
}
