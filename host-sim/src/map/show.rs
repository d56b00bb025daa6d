//! The options of commands that draw pictures, and the files that these go into.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{LinkMap, Map, Plot, svg, terminal};
use crate::failure::Failure;
use crate::file::{self, Product, ReplaceArgs};
use crate::plot::{self, Picture};
use crate::printable::coloured;

/// A file for a picture, looked at before the work that it shows and written after it.
#[derive(Debug)]
pub(crate) struct PictureFile(PathBuf);

impl PictureFile {
    /// Whether the file can be written; makes its folder if need be.
    pub(crate) fn open(path: &Path, replace: ReplaceArgs) -> Result<Self, String> {
        match file::check(path, Product::Picture, replace) {
            Ok(()) => Ok(PictureFile(path.to_owned())),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Draws the picture into the file.
    pub(crate) fn draw(&self, picture: &Picture) -> Result<(), Failure> {
        Ok(self.write(&plot::svg(picture)?.to_string())?)
    }

    /// The line about the file below the results.
    pub(crate) fn line(&self, kind: &str) -> String {
        format!("{kind}: {}", self.0.display())
    }

    pub(crate) fn write(&self, svg: &str) -> Result<(), String> {
        file::write(&self.0, svg.as_bytes()).map_err(|error| failed(&self.0, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot write the picture: {error}", path.display())
}

/// The error about a picture of links if no job sends messages.
pub(crate) const NO_LINKS: &str =
    "--draw links requires jobs that send messages (expected --pattern)";

/// Where a picture of a run goes: into a file, and on the terminal.
#[derive(Debug)]
pub(crate) struct Show {
    pub(crate) file: Option<PictureFile>,
    pub(crate) on_terminal: bool,
}

impl Show {
    /// An error where the picture would be seen nowhere.
    pub(crate) fn of(
        file: Option<PictureFile>,
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
        if let Some(file) = &self.file {
            file.write(&svg::svg(maps, subtitle)?)?;
        }
        if self.on_terminal {
            writeln!(output)?;
            let mut drawn = Vec::new();
            terminal::draw(maps, terminal::Look::of_stdout(), &mut drawn)?;
            output.write_all(&coloured(drawn))?;
        }
        self.line("map", output)
    }

    pub(crate) fn drawn(
        self,
        kind: &str,
        svg: &str,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        if let Some(file) = &self.file {
            file.write(svg)?;
        }
        self.line(kind, output)
    }

    fn line(&self, kind: &str, output: &mut dyn Write) -> Result<(), Failure> {
        if let (Some(file), true) = (&self.file, self.on_terminal) {
            writeln!(output, "{}", file.line(kind))?;
        }
        Ok(())
    }

    pub(crate) fn links(
        self,
        maps: &[LinkMap],
        subtitle: &str,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.drawn("links", &svg::svg(maps, subtitle)?, output)
    }
}
