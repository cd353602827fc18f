//! The command line of what is reached on this machine.

use clap::Args;

use codegen_egress::AllowedHost;

/// What is reached besides the public internet.
#[derive(Args, Debug, Default, Clone)]
#[command(next_help_heading = "Network")]
pub struct NetworkArgs {
    /// A host, an address or a range that may be reached although it is not of the public internet (`files.lan:8080`, `127.0.0.1:11434`,
    /// `10.1.0.0/16`): by downloads, and by programs whose task opens the network. May be repeated.
    #[arg(long, value_name = "HOST[:PORT]|CIDR")]
    pub allow_host: Vec<AllowedHost>,
}
