//! Quantities of CPU and memory as Kubernetes writes them, in the forms that manifests need: `500m`, `1.5`, `512Mi`.

/// A text that is no quantity of the kind asked for.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// Not an amount of CPU.
    #[error(
        "{0:?} is not an amount of CPU: write cores like \"1\" or \"1.5\", or thousandths of one like 500m"
    )]
    Cpu(String),
    /// Not an amount of memory.
    #[error(
        "{0:?} is not an amount of memory: write bytes with a suffix (Ki, Mi, Gi, Ti, k, M, G, T), like 512Mi or 1Gi"
    )]
    Memory(String),
}

const MEMORY_SUFFIXES: [(&str, f64); 8] = [
    ("Ki", 1024.0),
    ("Mi", 1024.0 * 1024.0),
    ("Gi", 1024.0 * 1024.0 * 1024.0),
    ("Ti", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
];

/// Reads an amount of CPU in cores: `500m` is 0.5.
pub fn cpus(text: &str) -> Result<f64, QuantityError> {
    let (number, divisor) = text
        .strip_suffix('m')
        .map_or((text, 1.0), |number| (number, 1000.0));
    decimal(number)
        .map(|number| number / divisor)
        .filter(|cpus| *cpus > 0.0)
        .ok_or_else(|| QuantityError::Cpu(text.to_owned()))
}

/// Reads an amount of memory in bytes, rounded up: `1Gi` is 1,073,741,824.
pub fn bytes(text: &str) -> Result<u64, QuantityError> {
    let (number, factor) = MEMORY_SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| text.strip_suffix(suffix).map(|number| (number, *factor)))
        .unwrap_or((text, 1.0));
    // Rounded up: a limit below what was asked for could end a program.
    let bytes = decimal(number).map(|number| (number * factor).ceil());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    bytes
        // Below 2^53, up to which a float holds every whole number.
        .filter(|bytes| (1.0..9.0e15).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| QuantityError::Memory(text.to_owned()))
}

/// A number of digits with at most one point between them; neither signs nor exponents.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let inside = !text.starts_with('.') && !text.ends_with('.');
    (plain && inside).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", 1.0)]
    #[case("1.5", 1.5)]
    #[case("500m", 0.5)]
    #[case("2500m", 2.5)]
    fn cpu_is_read_in_cores(#[case] text: &str, #[case] cores: f64) {
        assert!((cpus(text).unwrap() - cores).abs() < f64::EPSILON);
    }

    #[rstest]
    #[case("1Gi", 1_073_741_824)]
    #[case("512Mi", 536_870_912)]
    #[case("1.5Ki", 1_536)]
    #[case("1G", 1_000_000_000)]
    #[case("100", 100)]
    #[case("0.5k", 500)]
    fn memory_is_read_in_bytes(#[case] text: &str, #[case] expected: u64) {
        assert_eq!(bytes(text), Ok(expected));
    }

    #[rstest]
    fn what_is_no_amount_of_cpu_is_refused(
        #[values("", "m", "0", "0m", "1Gi", "-1", "1.", ".5", "1e3", "nan", "inf", "1 ")] text: &str,
    ) {
        assert_eq!(
            cpus(text).unwrap_err().to_string(),
            format!(
                "{text:?} is not an amount of CPU: write cores like \"1\" or \"1.5\", or thousandths of one like 500m"
            )
        );
    }

    #[rstest]
    fn what_is_no_amount_of_memory_is_refused(
        #[values("", "Gi", "0", "0Gi", "1GB", "1gi", "-1Gi", "500m", "1e3", "9000000Gi", "inf")] text: &str,
    ) {
        assert_eq!(
            bytes(text).unwrap_err().to_string(),
            format!(
                "{text:?} is not an amount of memory: write bytes with a suffix (Ki, Mi, Gi, Ti, k, M, G, T), like 512Mi or 1Gi"
            )
        );
    }
}
