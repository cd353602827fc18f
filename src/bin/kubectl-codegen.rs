//! `kubectl-codegen`: tasks on this machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    codegen_operator::cli::run(std::env::args_os())
}
