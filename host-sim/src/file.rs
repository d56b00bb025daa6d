//! Replaces files as a whole: at any time a reader of a regular file finds the old content or the
//! new content. An [`Output`] is a file that a command writes, checked before its work begins.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tempfile::NamedTempFile;

use crate::html;

/// Replaces a file by way of a temporary file in the same folder, and brings both the file and its
/// name to the disk. If the path is not a regular file (but a pipe, a terminal, a symbolic link),
/// it is written in place. Makes the folder if need be. After an error the old regular file is
/// still there.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(content))
}

/// The same as [`write`], with content that `fill` writes piece by piece.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_special(path) {
        return fill(&mut File::create(path)?);
    }
    let mut file = temporary(path)?;
    // Files without a lock are those of commands that were killed. Not every folder has locks.
    let _ = file.as_file().try_lock();
    fill(&mut file)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(path)
}

/// Brings the name of a new file to the disk, against a loss of power, where folders can be opened.
pub(crate) fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder_of(file))?.sync_all()?;
    }
    Ok(())
}

/// A file for data that will become a part of `path`. It is on the same disk, if `path` is a
/// regular file. The file has no name, so it disappears even if the process is killed.
pub(crate) fn part(path: &Path) -> io::Result<File> {
    if is_special(path) {
        tempfile::tempfile()
    } else {
        tempfile::tempfile_in(folder_of(path))
    }
}

/// How the names of temporary files begin.
const TEMPORARY: &str = ".host-sim-";
/// A temporary file that was not changed for this long, and has no lock, is abandoned.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes the temporary files of commands that were killed.
pub(crate) fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            continue;
        }
        let changed = entry.metadata().and_then(|known| known.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        let file = OpenOptions::new().append(true).open(entry.path());
        if age.is_some_and(|age| age > ABANDONED) && file.is_ok_and(|file| file.try_lock().is_ok())
        {
            // Another command may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The message about an existing file that the program did not write.
const FOREIGN: &str =
    "it is there, and host-sim did not write it (expected another file, or --replace)";

/// The kinds of files that the program writes. It recognises its own files by marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Results (CSV or JSON).
    Results,
    /// A picture (SVG).
    Picture,
    /// A page (HTML).
    Page,
    /// Single jobs: a table, or a log.
    Jobs,
    /// A script for Slurm.
    Script,
}

impl Product {
    /// Bytes of a file in which its marks are.
    const HEAD: u64 = 1 << 14;

    const fn name(self) -> &'static str {
        match self {
            Product::Results => "results",
            Product::Picture => "picture",
            Product::Page => "page",
            Product::Jobs => "jobs",
            Product::Script => "script",
        }
    }

    /// Texts of which one is at the beginning of every such file, and of no other.
    const fn marks(self) -> &'static [&'static str] {
        const SVG: &str = "0\" xmlns=\"http://www.w3.org/2000/svg\">\n<rect x=\"0\" y=\"0\" ";
        const JSON: &str = "{\n  \"program\": \"host-sim\"";
        const ARRAY_SCRIPT: &str = "# Runs the points of one shard";
        const MERGE_SCRIPT: &str = "# Writes the results of the points";
        const LOG_OF_JOBS: &str = "; Installation: host-sim ";
        match self {
            Product::Results => &["strategy,metric,mean,low,high,", "_low,", JSON],
            Product::Picture => &[SVG],
            Product::Page => &[html::GENERATOR],
            Product::Jobs => &[",requested_extents,held,blocks,", LOG_OF_JOBS],
            Product::Script => &[ARRAY_SCRIPT, MERGE_SCRIPT],
        }
    }

    /// Whether the program wrote this file; an empty one has nothing to lose.
    fn is_in(self, path: &Path) -> io::Result<bool> {
        let mut head = Vec::new();
        File::open(path)?.take(Self::HEAD).read_to_end(&mut head)?;
        let head = String::from_utf8_lossy(&head);
        Ok(head.is_empty() || self.marks().iter().any(|mark| head.contains(mark)))
    }
}

/// The option about files of others.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReplaceArgs {
    /// Replace files that host-sim did not write
    #[arg(long = "replace", help_heading = "Where and how")]
    pub(crate) foreign: bool,
}

/// A file that a command is to write.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) path: PathBuf,
    product: Product,
}

impl Output {
    /// Checks, before the work begins, that the file can be written; makes its folder if need be.
    pub(crate) fn open(
        path: &Path,
        product: Product,
        replace: ReplaceArgs,
    ) -> Result<Self, String> {
        let path = path.to_owned();
        let output = Output { path, product };
        match check(&output.path, product, replace) {
            Ok(()) => Ok(output),
            Err(error) => Err(output.failed(&error)),
        }
    }

    pub(crate) fn write(&self, content: impl AsRef<[u8]>) -> Result<(), String> {
        let written = write(&self.path, content.as_ref());
        written.map_err(|error| self.failed(&error))
    }

    pub(crate) fn failed(&self, error: &io::Error) -> String {
        let (path, name) = (self.path.display(), self.product.name());
        format!("{path}: cannot write the {name}: {error}")
    }

    /// The line about the file below the results.
    pub(crate) fn line(&self, kind: &str) -> String {
        format!("{kind}: {}", self.path.display())
    }
}

fn is_special(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|known| !known.is_file())
}

/// Checks, before the work, that [`write`] is expected to succeed; makes the folder. A file that
/// the program did not write is an error, unless such files are to be replaced.
fn check(path: &Path, product: Product, replace: ReplaceArgs) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(known) if !known.is_file() => Ok(()),
        Ok(_) if !replace.foreign && !product.is_in(path)? => {
            Err(io::Error::new(ErrorKind::AlreadyExists, FOREIGN))
        }
        Ok(_) if path.is_symlink() => OpenOptions::new().append(true).open(path).map(drop),
        _ => {
            temporary(path)?;
            remove_abandoned(folder_of(path));
            Ok(())
        }
    }
}

/// Whether the files of these options are different ones: if two are the same, one would replace
/// the other. A path that is not a regular file, such as a pipe, may be named twice.
pub(crate) fn distinct(paths: &[(&str, Option<&Path>)]) -> Result<(), String> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for &(option, path) in paths {
        let Some(path) = path else { continue };
        if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            continue;
        }
        let place = place(path);
        if let Some((earlier, _)) = seen.iter().find(|(_, other)| *other == place) {
            return Err(format!(
                "{option} {} is the file of {earlier}, too (expected another file)",
                path.display()
            ));
        }
        seen.push((option, place));
    }
    Ok(())
}

/// Whether the files of `others` are different ones, as for [`distinct`], and differ from those in
/// `read`, which are only read and may be named twice.
pub(crate) fn spare(
    read: &[(&str, &Path)],
    others: &[(&str, Option<&Path>)],
) -> Result<(), String> {
    distinct(others)?;
    read.iter().try_for_each(|&(key, path)| {
        let option = format!("--{key}");
        distinct(&[&[(&*option, Some(path))], others].concat())
    })
}

/// The canonical path of a file that exists, or is to be made.
fn place(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let of_folder = || {
        let folder = folder_of(path).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let whole = path.canonicalize().ok();
    whole.or_else(of_folder).unwrap_or_else(absolute)
}

pub(crate) fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

pub(crate) fn folder_of(file: &Path) -> &Path {
    let parent = file.parent();
    let folder = parent.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        // The same permissions as for any new file: the mask of the process applies.
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.txt");
        check(&path, Product::Page, ReplaceArgs::default()).unwrap();
        assert!(!path.exists());
        write(&path, b"long content").unwrap();
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
        assert!(check(folder.path(), Product::Page, ReplaceArgs::default()).is_err());
        assert!(write(&path.join("c"), b"").is_err());
    }

    #[test]
    fn the_same_file_under_two_names_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("there"), "").unwrap();
        fs::create_dir(path("inner")).unwrap();
        for (one, other, same) in [
            ("there", "there", true),
            ("there", "inner/../there", true),
            ("new", "./new", true),
            ("new", "inner/../new", true),
            ("missing/new", "missing/./new", true),
            ("new", "inner/new", false),
            ("there", "new", false),
        ] {
            let [one, other] = [one, other].map(path);
            let outcome = distinct(&[("--one", Some(&one)), ("--other", Some(&other))]);
            assert_eq!(outcome.is_err(), same, "{one:?} {other:?} {outcome:?}");
        }
        if cfg!(unix) {
            let null = Some(Path::new("/dev/null"));
            assert_eq!(distinct(&[("--one", null), ("--other", null)]), Ok(()));
        }
    }

    #[test]
    fn temporary_files_of_killed_commands_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let make = |name: &str, age: u64| {
            let file = File::create(path(name)).unwrap();
            let changed = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(changed).unwrap();
            file
        };
        make(".host-sim-killed", 120);
        make(".host-sim-new", 10);
        make("results.csv", 120);
        let used = make(".host-sim-used", 120);
        used.lock().unwrap();
        check(&path("jobs.csv"), Product::Jobs, ReplaceArgs::default()).unwrap();
        let names = fs::read_dir(folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, [".host-sim-new", ".host-sim-used", "results.csv"]);
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.svg");
        let [keep, replace] = [false, true].map(|foreign| ReplaceArgs { foreign });
        for (content, is_own) in [
            ("", true),
            ("<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>", false),
            ("notes about host-sim", false),
        ] {
            fs::write(&path, content).unwrap();
            let checked = check(&path, Product::Picture, keep);
            assert_eq!(checked.is_ok(), is_own, "{content:?}");
            check(&path, Product::Picture, replace).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "link"].map(|name| folder.path().join(name));
        symlink("target", &link).unwrap();
        let replace = ReplaceArgs { foreign: true };
        for content in ["to no file yet", "short"] {
            check(&link, Product::Page, replace).unwrap();
            write(&link, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), content);
            assert!(link.is_symlink() && !target.is_symlink());
        }
        let to_folder = folder.path().join("to-folder");
        symlink(".", &to_folder).unwrap();
        assert!(check(&to_folder, Product::Page, replace).is_err());
    }
}
