//! Why a command was not carried out.

use std::io;

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Failure {
    /// The line on standard error.
    Message(String),
    /// Standard output was closed by its reader; nothing is printed.
    OutputClosed,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Message(message)
    }
}

impl From<io::Error> for Failure {
    /// Of an error while writing to standard output.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::OutputClosed
        } else {
            Failure::Message(format!("standard output: cannot write: {error}"))
        }
    }
}
