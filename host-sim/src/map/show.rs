//! The options of commands that draw pictures, and the files that these go into.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::ValueHint;

use super::{LinkMap, Map, svg, terminal};
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
        file::check_ending(path, "the picture is written as SVG", &["svg"])?;
        match file::check(path, Product::Picture, replace) {
            Ok(()) => Ok(PictureFile(path.to_owned())),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Draws into it what was measured.
    pub(crate) fn draw(&self, picture: &Picture) -> Result<(), Failure> {
        Ok(self.write(&plot::svg(picture)?.to_string())?)
    }

    /// The line about it below the results.
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

/// Where the picture of a `--plot` goes.
#[derive(Args, Clone, Debug)]
pub(crate) struct PictureArgs {
    /// The file of the picture (SVG); its folder is made if it does not exist [default: out/ and
    /// the kind of picture, such as out/map.svg]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "plot")]
    plot_output: Option<PathBuf>,
}

impl PictureArgs {
    /// The file of a picture of this kind, if a kind is given.
    pub(crate) fn path(&self, kind: Option<&str>) -> Option<PathBuf> {
        kind.map(|kind| {
            let given = self.plot_output.clone();
            given.unwrap_or_else(|| PathBuf::from(format!("out/{kind}.svg")))
        })
    }

    /// Opens the file before the work begins, so that an error comes at once.
    pub(crate) fn show(
        &self,
        kind: Option<&str>,
        on_terminal: bool,
        replace: ReplaceArgs,
    ) -> Result<Option<Show>, String> {
        let path = self.path(kind);
        let file = path.map(|path| PictureFile::open(&path, replace));
        Ok(file.transpose()?.map(|file| Show { file, on_terminal }))
    }
}

/// The error where no messages are sent.
pub(crate) const NO_LINKS: &str =
    "--plot links requires jobs that send messages (expected --pattern)";

/// A file for a picture. The terminal gets one too if `on_terminal`.
#[derive(Debug)]
pub(crate) struct Show {
    file: PictureFile,
    on_terminal: bool,
}

impl Show {
    /// Draws the maps; `subtitle` has the parameters that all of them share.
    pub(crate) fn maps(
        self,
        maps: &[Map],
        subtitle: &str,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.file.write(&svg::svg(maps, subtitle)?)?;
        if self.on_terminal {
            writeln!(output)?;
            let mut drawn = Vec::new();
            terminal::draw(maps, terminal::Look::of_stdout(), &mut drawn)?;
            output.write_all(&coloured(drawn))?;
            writeln!(output, "{}", self.file.line("map"))?;
        }
        Ok(())
    }

    pub(crate) fn drawn(
        self,
        kind: &str,
        svg: &str,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.file.write(svg)?;
        if self.on_terminal {
            writeln!(output, "\n{}", self.file.line(kind))?;
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
