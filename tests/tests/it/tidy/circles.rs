//! No two files of core, of the simulator and its command line, or of xtask need each other, apart
//! from a module and its own parts; nor do two folders of core.
//!
//! A file needs another one if a path in it leads there: `use crate::grid::Grid` leads to the file
//! in which `Grid` is, through the re-exports of the modules on the way.

use std::collections::{BTreeMap, BTreeSet};

/// Paths from the root of a package: `grid::topology::Grid`.
type Paths = Vec<String>;

/// The code of every file in a folder by the path of its module, without comments and without the
/// unit tests at its end and in files of their own.
fn modules(folder: &str) -> BTreeMap<String, String> {
    let mut files = Vec::new();
    super::files(&super::root().join(folder), &["rs"], &mut files);
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let is_test = |name: &str| name.ends_with("tests.rs") || name.contains("/tests/");
    let files = files.iter().filter(|(name, _)| !is_test(name));
    let modules = files.map(|(name, text)| {
        let name = name.trim_start_matches(folder).trim_start_matches('/');
        let name = name.trim_end_matches(".rs");
        let name = name.trim_end_matches("/mod").replace('/', "::");
        let code: Vec<_> = text.lines().filter(is_code).collect();
        let code = code.join("\n");
        let end = code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len());
        (name, code[..end].to_owned())
    });
    modules.collect()
}

/// Adds all paths of the tree at the beginning of a text, `a::{b, c::d}`, and returns the rest.
fn tree<'t>(text: &'t str, before: &str, paths: &mut Paths) -> &'t str {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let (path, rest) = text.split_at(text.find(|c| !is_path(c)).unwrap_or(text.len()));
    let path = format!("{before}{path}");
    let Some(mut rest) = rest.strip_prefix('{') else {
        paths.push(path);
        return rest;
    };
    while !rest.trim_start().starts_with('}') {
        rest = tree(rest.trim_start(), &path, paths);
        // `as NAME`
        rest = rest.trim_start_matches(|c| c != ',' && c != '}');
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    rest.trim_start().strip_prefix('}').expect("the tree's end")
}

/// The paths in the code of a module that begin with one of these words.
fn paths(code: &str, beginnings: &[&str]) -> Paths {
    let mut paths = Vec::new();
    for beginning in beginnings {
        for (at, _) in code.match_indices(beginning) {
            let is_inside = code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            if !is_inside {
                tree(&code[at..], "", &mut paths);
            }
        }
    }
    paths
}

/// A path of a module as one from the root.
fn from_root(module: &str, path: &str) -> String {
    let mut module: Vec<_> = module.split("::").collect();
    let mut rest = path;
    if let Some(path) = rest.strip_prefix("crate::") {
        return path.to_owned();
    }
    while let Some(path) = rest.strip_prefix("super::") {
        module.pop();
        rest = path;
    }
    module.push(rest.strip_prefix("self::").unwrap_or(rest));
    module.join("::")
}

#[test]
fn no_files_need_each_other() {
    for (folder, edges_min) in [
        ("core/src", 300),
        ("host-sim/sim/src", 300),
        ("host-sim/papers/src", 30),
        ("host-sim/src", 150),
        ("xtask/src", 40),
    ] {
        let modules = modules(folder);
        let needs = needs_of_files(&modules);
        let edges: usize = needs.values().map(BTreeSet::len).sum();
        assert!(
            edges > edges_min,
            "only {edges} needs were found in {folder}"
        );
        assert_no_circle(folder, needs);
    }
}

#[test]
fn no_folders_need_each_other() {
    let modules = modules("core/src");
    // A folder is a module that has parts.
    let folder = |module: &str| {
        let (folder, _) = module.split_once("::").unwrap_or((module, ""));
        let is_folder = |other: &String| other.starts_with(&format!("{folder}::"));
        modules.keys().any(is_folder).then(|| folder.to_owned())
    };
    let mut needs: Needs = BTreeMap::new();
    for (module, others) in needs_of_files(&modules) {
        let Some(own) = folder(&module) else {
            continue;
        };
        let others = others.iter().filter_map(|other| folder(other));
        let others = others.filter(|other| *other != own).collect::<Vec<_>>();
        needs.entry(own).or_default().extend(others);
    }
    let edges: usize = needs.values().map(BTreeSet::len).sum();
    assert!(edges > 20, "only {edges} needs between folders");
    assert_no_circle("core/src", needs);
}

/// What each file or folder needs of the others.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// The files that each file needs, apart from its own parts and those of which it is one.
fn needs_of_files(modules: &BTreeMap<String, String>) -> Needs {
    // Where an item is that a module re-exports.
    let mut moved = BTreeMap::new();
    for (module, code) in modules {
        for exports in code.split("\npub").skip(1) {
            let exports = exports
                .trim_start_matches("(crate)")
                .trim_start_matches("(super)");
            let Some(exports) = exports.strip_prefix(" use ") else {
                continue;
            };
            let mut found = Vec::new();
            tree(exports, "", &mut found);
            for path in found {
                let name = path.rsplit("::").next().expect("a name").to_owned();
                moved.insert(format!("{module}::{name}"), from_root(module, &path));
            }
        }
    }
    let file = |mut path: String| {
        // The module of the item, which a re-export may have named.
        loop {
            let parts: Vec<_> = path.split("::").collect();
            let ends = 1..=parts.len();
            let starts = ends.map(|end| parts[..end].join("::"));
            match starts.clone().find_map(|start| moved.get(&start)) {
                Some(other) if *other != path => path = other.clone(),
                _ => return starts.rev().find(|start| modules.contains_key(start)),
            }
        }
    };
    let is_root = |module: &str| module == "lib" || module == "main";
    let mut needs = Needs::new();
    for (module, code) in modules.iter().filter(|(module, _)| !is_root(module)) {
        let is_part = |one: &str, other: &str| one.starts_with(&format!("{other}::"));
        let others = paths(code, &["crate::", "super::", "self::"]).into_iter();
        let others = others.filter_map(|path| file(from_root(module, &path)));
        let is_other =
            |other: &String| other != module && !is_part(other, module) && !is_part(module, other);
        needs.insert(module.clone(), others.filter(is_other).collect());
    }
    needs
}

/// Fails if some of these need each other.
fn assert_no_circle(folder: &str, mut needs: Needs) {
    // Those without needs are taken away until none is left, or only circles and what needs them.
    loop {
        let known: BTreeSet<_> = needs.keys().cloned().collect();
        let before = needs.len();
        needs.retain(|_, others| others.iter().any(|other| known.contains(other)));
        if needs.len() == before {
            break;
        }
    }
    // The same from above.
    loop {
        let needed: BTreeSet<_> = needs.values().flatten().cloned().collect();
        let before = needs.len();
        needs.retain(|module, _| needed.contains(module));
        if needs.len() == before {
            break;
        }
    }
    let circles = needs.iter().map(|(module, others)| {
        let others: Vec<_> = others
            .iter()
            .filter(|it| needs.contains_key(it.as_str()))
            .collect();
        format!("{module} needs {others:?}")
    });
    let circles: Vec<_> = circles.collect();
    assert!(
        circles.is_empty(),
        "in {folder} there are circles:\n{}",
        circles.join("\n")
    );
}
