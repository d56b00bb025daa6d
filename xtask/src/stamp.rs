//! Stamps of steps that have passed, in the target folder: a hash of the files that a step depends
//! on. A clean clone has none.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::PathBuf;

use anyhow::Result;

use crate::shell::{cmd, root, target_dir};

/// What every step depends on.
const ALWAYS: &[&str] = &[
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "rust-toolchain.toml",
    "xtask",
];

pub(crate) struct Stamp {
    file: PathBuf,
    /// `None` where there is nothing to compare.
    hash: Option<String>,
}

impl Stamp {
    /// The stamp of a step that depends on these files and folders, on the manifests, on xtask and
    /// on variables of this project; of no use without files, or outside a clone.
    pub(crate) fn of(step: &str, files: &[&str]) -> Result<Self> {
        let name = step.replace(|sign: char| !sign.is_ascii_alphanumeric(), "-");
        let file = root().join(target_dir()).join("stamps").join(name);
        let paths = ALWAYS.iter().chain(files);
        // Also files that git does not know yet, but none that it ignores.
        let list = cmd!("git ls-files --cached --others --exclude-standard -- {paths...}");
        let list = list.quiet().ignore_stderr().read();
        let hash = match list {
            Ok(list) if !files.is_empty() => Some(hash(list.lines())),
            _ => None,
        };
        Ok(Stamp { file, hash })
    }

    /// Whether the step has passed with these files.
    pub(crate) fn is_green(&self) -> bool {
        self.hash.is_some() && fs::read_to_string(&self.file).ok() == self.hash
    }

    /// Before the step: it counts as not passed until it has.
    pub(crate) fn remove(&self) -> Result<()> {
        if self.file.exists() {
            Ok(fs::remove_file(&self.file)?)
        } else {
            Ok(())
        }
    }

    /// After the step has passed.
    pub(crate) fn write(&self) -> Result<()> {
        let Some(hash) = &self.hash else {
            return Ok(());
        };
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(&self.file, hash)?)
    }
}

fn hash<'f>(files: impl Iterator<Item = &'f str>) -> String {
    let mut hasher = DefaultHasher::new();
    let variables = env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("MESHALLOC_") || name.starts_with("PROPTEST_") || name == "RUSTFLAGS"
    });
    let mut variables: Vec<_> = variables.collect();
    variables.sort();
    variables.hash(&mut hasher);
    for file in files {
        // `None` for one that was removed.
        let content = fs::read(root().join(file)).ok();
        (file, content).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_green_until_one_of_its_files_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "a").unwrap();
        let stamp = || Stamp {
            file: folder.path().join("stamp"),
            hash: Some(hash([file.to_str().unwrap()].into_iter())),
        };
        assert!(!stamp().is_green());
        stamp().write().unwrap();
        assert!(stamp().is_green());
        stamp().remove().unwrap();
        assert!(!stamp().is_green(), "it is under way");
        stamp().write().unwrap();
        fs::write(&file, "b").unwrap();
        assert!(!stamp().is_green());
        stamp().write().unwrap();
        fs::remove_file(&file).unwrap();
        assert!(!stamp().is_green());
    }

    #[test]
    fn a_stamp_needs_files() {
        assert!(Stamp::of("a step", &[]).unwrap().hash.is_none());
        let [core, docs] = ["core", "docs"].map(|folder| Stamp::of("a step", &[folder]).unwrap());
        assert!(core.hash.is_some());
        assert_ne!(core.hash, docs.hash);
        assert!(core.file.ends_with("stamps/a-step"));
    }
}
