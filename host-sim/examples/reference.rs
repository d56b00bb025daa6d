//! Writes the reference pages, man pages and JSON Schemas into a folder: `cargo xtask reference`.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.ok_or_else(|| io::Error::other("expected a folder"))?;
    meshalloc_host_sim::reference::write(Path::new(&folder))
}
