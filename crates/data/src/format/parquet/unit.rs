//! Resolutions of times.

use parquet::basic::TimeUnit;

/// Resolution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Thousandths of a second.
    Millis,
    /// Millionths.
    Micros,
    /// Billionths.
    Nanos,
}

impl Unit {
    pub(super) const fn of(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::MILLIS => Self::Millis,
            TimeUnit::MICROS => Self::Micros,
            TimeUnit::NANOS => Self::Nanos,
        }
    }

    pub(super) const fn per_second(self) -> i64 {
        match self {
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }

    pub(super) const fn digits(self) -> usize {
        match self {
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }
}
