//! The command line of the simulator; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshalloc_host_sim::cli::main()
}
