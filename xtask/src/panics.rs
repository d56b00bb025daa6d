//! `cargo xtask panics`: the places where the image can panic, compared with the list of places
//! that are argued never to panic.
//!
//! The list is `firmware/panics.txt`. A panic is a call of one of core's functions that begin one.
//! The calls are read from the linked image, in which the linker leaves a list of all calls. So
//! code that the optimiser has removed does not count, and code of dependencies does.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use object::read::elf::ElfFile32;
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolKind,
    elf,
};

use crate::image::{Image, MAIN, ONE_OF_EACH};
use crate::setup;
use crate::shell::shell;

/// The options of `cargo xtask panics`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the counts into the list; functions that are not in it go to its end, to be argued
    #[arg(long)]
    pub(crate) update: bool,
}

const LIST: &str = "firmware/panics.txt";
/// The comment above functions without an argument yet.
const OPEN: &str = "# Not argued:";

/// The features of the smallest image and of the one with everything.
const IMAGES: [&str; 2] = [ONE_OF_EACH, "default,journal"];

/// For each function the calls that begin a panic, in each image.
type Counts = BTreeMap<String, [usize; IMAGES.len()]>;

/// Builds the images, counts and compares.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::target(MAIN.target)?;
    let mut found = Counts::new();
    for (at, features) in IMAGES.into_iter().enumerate() {
        let counts = count(&Image::build(MAIN, features)?.elf()?)?;
        let places: usize = counts.values().sum();
        println!("{features}: {places} places in {} functions", counts.len());
        for (function, count) in counts {
            found.entry(function).or_default()[at] = count;
        }
    }
    let list = shell().read_file(LIST)?;
    if options.update {
        shell().write_file(LIST, updated(&list, &found))?;
        println!("{LIST} is written");
        return Ok(());
    }
    let wrong = differences(&list, &found)?.join("\n");
    ensure!(
        wrong.is_empty(),
        "{wrong}\nIf these do not happen, say why in {LIST}: cargo xtask panics --update"
    );
    println!("every place is in {LIST}");
    Ok(())
}

/// The function and counts of a line of the list; `None` for a comment.
fn line(text: &str) -> Result<Option<(&str, [usize; IMAGES.len()])>> {
    if text.starts_with('#') || text.trim().is_empty() {
        return Ok(None);
    }
    let mut words = text.splitn(IMAGES.len() + 1, ' ');
    let mut counts = [0; IMAGES.len()];
    for count in &mut counts {
        let word = words.next().unwrap_or_default();
        *count = word.parse().with_context(|| format!("{LIST}: {text}"))?;
    }
    Ok(Some((words.next().unwrap_or_default(), counts)))
}

/// The differences from the list.
fn differences(list: &str, found: &Counts) -> Result<Vec<String>> {
    let argued = list.lines().take_while(|text| *text != OPEN);
    let listed = argued.filter_map(|text| line(text).transpose());
    let listed: BTreeMap<&str, _> = listed.collect::<Result<_>>()?;
    let more = found.iter().filter_map(|(function, counts)| {
        let known = listed.get(function.as_str()).copied().unwrap_or_default();
        let has_grown = counts
            .iter()
            .zip(known)
            .any(|(&count, known)| count > known);
        let text = format!("{function}: {counts:?} places to panic, {known:?} in the list");
        has_grown.then_some(text)
    });
    Ok(more.collect())
}

/// The list with these counts.
fn updated(list: &str, found: &Counts) -> String {
    let row = |function: &String| {
        let counts = found[function].map(|count| count.to_string());
        format!("{} {function}", counts.join(" "))
    };
    let mut open: BTreeSet<&String> = found.keys().collect();
    let mut lines = Vec::new();
    for text in list.lines() {
        match line(text) {
            Ok(Some((function, _))) => {
                if let Some((function, _)) = found.get_key_value(function) {
                    open.remove(function);
                    lines.push(row(function));
                }
            }
            _ => lines.push(text.to_owned()),
        }
    }
    if !open.is_empty() && !lines.iter().any(|line| line == OPEN) {
        lines.extend([String::new(), OPEN.to_owned()]);
    }
    lines.extend(open.into_iter().map(row));
    lines.join("\n") + "\n"
}

/// The relocations of branches.
const BRANCHES: [elf::RelocationType; 3] = [
    elf::R_ARM_THM_PC22,
    elf::R_ARM_THM_JUMP24,
    elf::R_ARM_THM_JUMP19,
];

/// For each function of an image the calls that begin a panic.
fn count(image: &ElfFile32<'_, Endianness>) -> Result<BTreeMap<String, usize>> {
    // The lowest bit of an address says that it is Thumb code.
    let place = |address: u64| address & !1;
    let mut names = BTreeMap::new();
    for function in image.symbols() {
        if function.kind() == SymbolKind::Text && function.size() > 0 {
            let name = format!("{:#}", rustc_demangle::demangle(function.name()?));
            names.insert(place(function.address()), (name, function.size()));
        }
    }
    let function = |at: u64| {
        let (start, (_, size)) = names.range(..=at).next_back()?;
        (at < start + size).then_some(*start)
    };
    // The branches from one function to another, each place once.
    let mut places = BTreeMap::new();
    for (at, relocation) in image.sections().flat_map(|section| section.relocations()) {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            continue;
        };
        if let (true, RelocationTarget::Symbol(to)) =
            (BRANCHES.contains(&r_type), relocation.target())
        {
            places.insert(at, place(image.symbol_by_index(to)?.address()));
        }
    }
    let places = places.into_iter();
    let branches = places.filter_map(|(from, to)| Some((function(from)?, function(to)?)));
    let branches: Vec<(u64, u64)> = branches.filter(|(from, to)| from != to).collect();
    let begins = names.iter().filter(|(_, (name, _))| begins_panic(name));
    let mut begins: BTreeSet<u64> = begins.map(|(&at, _)| at).collect();
    ensure!(
        !begins.is_empty(),
        "the image has no function that begins a panic: other names?"
    );
    // Code that the compiler has cut out of several functions belongs to those that branch to it.
    loop {
        let known = begins.len();
        let outlined = branches.iter().filter(|(from, to)| {
            begins.contains(to) && names[from].0.starts_with("OUTLINED_FUNCTION")
        });
        let outlined: Vec<u64> = outlined.map(|&(from, _)| from).collect();
        begins.extend(outlined);
        if begins.len() == known {
            break;
        }
    }
    let mut counts = BTreeMap::new();
    for (from, to) in &branches {
        if begins.contains(to) && !begins.contains(from) {
            *counts.entry(names[from].0.clone()).or_insert(0) += 1;
        }
    }
    Ok(counts)
}

/// Whether this is a function with which a panic begins: none of them returns.
fn begins_panic(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or_default();
    let ends = last.starts_with("panic_") || last.ends_with("_fail") || last.ends_with("_failed");
    name.starts_with("core::panicking::")
        || name.starts_with("core::") && ends
        || name == "_defmt_panic"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_an_argument_for_every_function_that_it_names() {
        let list = shell().read_file(LIST).unwrap();
        assert!(!list.lines().any(|line| line == OPEN));
    }

    #[test]
    fn a_place_that_is_not_in_the_list_is_reported_and_added() {
        let list = "# Why.\n1 2 a\n0 1 gone\n";
        let found = Counts::from([("a".to_owned(), [1, 3]), ("b::c<d, e>".to_owned(), [0, 1])]);
        assert_eq!(differences(list, &found).unwrap().len(), 2);
        let updated = updated(list, &found);
        assert_eq!(
            updated,
            format!("# Why.\n1 3 a\n\n{OPEN}\n0 1 b::c<d, e>\n")
        );
        // It has no argument yet.
        assert_eq!(differences(&updated, &found).unwrap().len(), 1);
        assert!(differences("1 x a", &found).is_err());
    }
}
