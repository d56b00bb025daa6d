//! The pages of `docs/reference/` are those of this build.

use std::env;
use std::fs;
use std::path::Path;

use meshalloc_host_sim::reference;

/// With `MESHALLOC_REFRESH_GOLDEN=1` the pages are written anew.
#[test]
fn pages_are_up_to_date() {
    let present = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    for (name, text) in reference::pages().unwrap() {
        let page = present.join(name);
        if env::var_os("MESHALLOC_REFRESH_GOLDEN").is_some() {
            fs::write(&page, &text).unwrap();
        }
        let is_same = fs::read_to_string(&page).unwrap() == text;
        assert!(is_same, "`cargo xtask docs` writes {}", page.display());
    }
}
