//! The pipe to the host: whole frames in, whole frames out.

use std::io;

use codegen_interpreter::protocol::{LENGTH_BYTES, to_frame};
use rustix::io::{Errno, read, write};
use serde::Serialize;

/// Content that came over the pipe.
pub(crate) enum Received {
    /// A message.
    Message(Vec<u8>),
    /// A message that was larger than it may be; it was read past.
    TooLarge,
    /// The host is gone.
    End,
}

/// Reads the next message, which may have so many bytes.
pub(crate) fn receive(most_bytes: usize) -> io::Result<Received> {
    let mut length = [0; LENGTH_BYTES];
    if !fill(&mut length)? {
        return Ok(Received::End);
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > most_bytes {
        return Ok(if skip(length)? {
            Received::TooLarge
        } else {
            Received::End
        });
    }
    let mut message = vec![0; length];
    Ok(if fill(&mut message)? {
        Received::Message(message)
    } else {
        Received::End
    })
}

/// Sends a message.
pub(crate) fn send(message: &impl Serialize) -> io::Result<()> {
    let frame = to_frame(message)?;
    let mut rest = frame.as_slice();
    while !rest.is_empty() {
        match write(rustix::stdio::stdout(), rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fills the buffer, and reports whether there were so many bytes.
fn fill(mut buffer: &mut [u8]) -> io::Result<bool> {
    while !buffer.is_empty() {
        match read(rustix::stdio::stdin(), &mut *buffer) {
            Ok(0) => return Ok(false),
            Ok(got) => buffer = &mut buffer[got..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

fn skip(mut bytes: usize) -> io::Result<bool> {
    let mut scratch = [0; 4096];
    while bytes > 0 {
        let next = bytes.min(scratch.len());
        if !fill(&mut scratch[..next])? {
            return Ok(false);
        }
        bytes -= next;
    }
    Ok(true)
}
