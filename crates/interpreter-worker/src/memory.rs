//! The memory of the program that runs at the moment, as the allocator counts it.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY};

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// From here on, what is allocated counts against so many bytes.
pub(crate) fn limit(bytes: u64) -> io::Result<()> {
    /// 32 MiB lie between the limit, where the program gets a `MemoryError`, and the end of the process, instead of 4 MiB: a list
    /// that doubles would pass both at once.
    const WIDE: bool = true;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    LIMIT.store(bytes, Relaxed);
    monty_alloc::set_limit(Some(bytes), WIDE).map_err(io::Error::other)
}

/// The program is over: its value is sent whatever is left of its memory.
pub(crate) fn lift() -> io::Result<()> {
    LIMIT.store(usize::MAX, Relaxed);
    monty_alloc::set_limit(None, false).map_err(io::Error::other)
}

/// Reports whether so many bytes more are within the limit.
pub(crate) fn has_room(bytes: usize) -> bool {
    bytes <= room()
}

/// Bytes that are left.
pub(crate) fn room() -> usize {
    let live = LIVE_MEMORY
        .load(Relaxed)
        .saturating_sub(BASELINE_MEMORY.load(Relaxed));
    LIMIT.load(Relaxed).saturating_sub(live)
}
