//! The pages of `docs/reference/` are those of this build.

use std::env;
use std::fs;
use std::path::Path;

use crate::program::host_sim_in;

/// With `MESHALLOC_REFRESH_GOLDEN=1` the pages are written anew.
#[test]
fn pages_are_up_to_date() {
    let present = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    let folder = tempfile::tempdir().unwrap();
    host_sim_in(folder.path(), "reference .").good();
    let names = |folder: &Path| -> Vec<_> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&present), names(folder.path()));
    for name in names(folder.path()) {
        let text = fs::read_to_string(folder.path().join(&name)).unwrap();
        let page = present.join(&name);
        if env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
            fs::write(&page, &text).unwrap();
        }
        let is_same = fs::read_to_string(&page).unwrap() == text;
        assert!(is_same, "`cargo xtask docs` writes {}", page.display());
    }
}
