//! Check that the memory of the operator's container holds what its configuration lets it take.

use std::path::Path;

use super::OperatorConfig;
use codegen_data::worker;

/// The operator itself, without the processes that it starts.
const OWN: u64 = 256 * 1024 * 1024;
/// File in which the kernel says what a container may take.
const CONTROL_GROUP: &str = "/sys/fs/cgroup/memory.max";

/// Returns the memory limit of this process's container in bytes; `None` where nothing limits it.
#[must_use]
pub fn limit_of_container() -> Option<u64> {
    std::fs::read_to_string(Path::new(CONTROL_GROUP))
        .ok()?
        .trim()
        .parse()
        .ok()
}

impl OperatorConfig {
    /// Returns what to change where a container with this limit does not hold what runs at once.
    #[must_use]
    pub fn shortage(&self, limit: u64) -> Option<String> {
        let readers = self.limits.max_readers as u64 * worker::ChildLimits::default().memory_bytes;
        let programs =
            (self.code_mode.max_interpreters as u64).saturating_mul(self.code_mode.interpreter_memory.0);
        let needed = OWN.saturating_add(readers).saturating_add(programs);
        let mebibytes = |bytes: u64| format!("{}Mi", bytes.div_ceil(1024 * 1024));
        (needed > limit).then(|| {
            format!(
                "the container may take {}, and the operator ({}), limits.maxReaders ({}) and \
                 codeMode.maxInterpreters times codeMode.interpreterMemory ({}) may take {} together, at which the kernel would end it: \
                 raise resources.limits.memory, or lower one of the last three",
                mebibytes(limit),
                mebibytes(OWN),
                mebibytes(readers),
                mebibytes(programs),
                mebibytes(needed),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_and_programs_are_counted_with_the_rest_and_a_container_that_is_too_small_is_said() {
        let mut config = OperatorConfig::default();
        let limit = 1536 * 1024 * 1024;
        assert_eq!(config.shortage(limit), None, "the chart's");
        config.code_mode.interpreter_memory.0 += 1;
        let shortage = config.shortage(limit).unwrap();
        for part in [
            "1536Mi",
            "limits.maxReaders (768Mi)",
            "codeMode.interpreterMemory (513Mi)",
            "resources.limits.memory",
        ] {
            assert!(shortage.contains(part), "{shortage}");
        }
    }
}
