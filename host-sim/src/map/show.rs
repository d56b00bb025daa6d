//! Where commands draw pictures of runs: into files, and on the terminal.

use std::io::Write;

use super::{Map, Plot, svg, terminal};
use crate::failure::Failure;
use crate::file::Output;

/// Where a picture of a run goes: into a file, and on the terminal.
#[derive(Debug)]
pub(crate) struct Show<'f> {
    pub(crate) file: Option<&'f Output>,
    pub(crate) on_terminal: bool,
}

impl<'f> Show<'f> {
    /// An error where the picture would be seen nowhere.
    pub(crate) fn of(
        file: Option<&'f Output>,
        plot: Plot,
        on_terminal: bool,
    ) -> Result<Self, String> {
        let is_seen = on_terminal && matches!(plot, Plot::Map(_));
        if file.is_none() && !is_seen {
            return Err(format!("--draw {plot} requires --output FILE.svg"));
        }
        Ok(Show { file, on_terminal })
    }

    /// Draws the maps; `subtitle` has the parameters that all of them share.
    pub(crate) fn maps(
        self,
        maps: &[Map],
        subtitle: &str,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        if let Some(file) = self.file {
            file.write(&svg::svg(maps, subtitle)?)?;
        }
        if self.on_terminal {
            writeln!(output)?;
            terminal::print(maps, output)?;
        }
        self.line("map", output)
    }

    /// Writes a picture that the terminal cannot show into its file.
    pub(crate) fn drawn(
        self,
        kind: &str,
        svg: Result<String, String>,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        if let Some(file) = self.file {
            file.write(svg?)?;
        }
        self.line(kind, output)
    }

    fn line(&self, kind: &str, output: &mut dyn Write) -> Result<(), Failure> {
        if let (Some(file), true) = (self.file, self.on_terminal) {
            writeln!(output, "{}", file.line(kind))?;
        }
        Ok(())
    }
}
