//! `cargo xtask panics`: where the image can panic, compared with the list of places for which it
//! is argued that they do not.
//!
//! The list is `firmware/panics.txt`. A panic is a branch to one of core's functions that begin
//! one; the instructions of the linked image are read for such branches, so what the optimiser has
//! removed does not count, and what a dependency brings does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::command::root;
use crate::{image, setup};

/// The options of `cargo xtask panics`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the counts into the list; functions that are not in it go to its end, to be argued.
    #[arg(long)]
    update: bool,
}

const LIST: &str = "firmware/panics.txt";
/// Stands above what has no argument yet.
const OPEN: &str = "# Not argued:";

/// The features of the smallest image and of the one with everything.
const IMAGES: [(&str, &str); 2] = [
    (
        "meshalloc/first-fit,meshalloc/fcfs",
        "--no-default-features",
    ),
    ("journal", ""),
];

/// For each function the branches to a panic, in each image.
type Counts = BTreeMap<String, [usize; IMAGES.len()]>;

/// Builds the images, counts and compares.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::target(image::MAIN.target)?;
    let mut found = Counts::new();
    for (at, (features, others)) in IMAGES.into_iter().enumerate() {
        let command = image::build_command(image::MAIN, features).args(others);
        image::build(image::MAIN, &command)?;
        let data = fs::read(image::path())?;
        for (function, count) in count(&data)? {
            found.entry(function).or_default()[at] = count;
        }
    }
    for (at, (features, _)) in IMAGES.into_iter().enumerate() {
        let counts = found
            .values()
            .map(|counts| counts[at])
            .filter(|&count| count > 0);
        let (functions, places) = counts.fold((0, 0), |(f, p), count| (f + 1, p + count));
        println!("{features}: {places} places in {functions} functions");
    }
    let path = root().join(LIST);
    let list = fs::read_to_string(&path).with_context(|| format!("{LIST} cannot be read"))?;
    if options.update {
        fs::write(&path, updated(&list, &found))?;
        println!("{LIST} is written");
        return Ok(());
    }
    let wrong = differences(&list, &found)?;
    if !wrong.is_empty() {
        bail!(
            "{}\nIf these do not happen, say why in {LIST}: cargo xtask panics --update",
            wrong.join("\n")
        );
    }
    println!("every place is in {LIST}");
    Ok(())
}

/// The functions and counts of a line of the list; `None` for a comment.
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

/// What the list does not have.
fn differences(list: &str, found: &Counts) -> Result<Vec<String>> {
    let mut listed = Counts::new();
    for text in list.lines().take_while(|text| *text != OPEN) {
        listed.extend(line(text)?.map(|(function, counts)| (function.to_owned(), counts)));
    }
    let more = found.iter().filter_map(|(function, counts)| {
        let known = listed.get(function).copied().unwrap_or_default();
        let grown = counts
            .iter()
            .zip(known)
            .any(|(&count, known)| count > known);
        grown.then(|| format!("{function}: {counts:?} places to panic, {known:?} in the list"))
    });
    Ok(more.collect())
}

/// The list with these counts.
fn updated(list: &str, found: &Counts) -> String {
    let mut open: BTreeSet<&String> = found.keys().collect();
    let mut lines = Vec::new();
    for text in list.lines() {
        match line(text) {
            Ok(Some((function, _))) => {
                if let Some((function, counts)) = found.get_key_value(function) {
                    open.remove(function);
                    lines.push(row(function, counts));
                }
            }
            _ => lines.push(text.to_owned()),
        }
    }
    if !open.is_empty() && !lines.iter().any(|line| line == OPEN) {
        lines.extend([String::new(), OPEN.to_owned()]);
    }
    lines.extend(
        open.into_iter()
            .map(|function| row(function, &found[function])),
    );
    lines.join("\n") + "\n"
}

fn row(function: &str, counts: &[usize; IMAGES.len()]) -> String {
    let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
    format!("{} {function}", counts.join(" "))
}

/// A function of the image.
struct Function {
    name: String,
    /// Where the branches in it go that leave it.
    targets: Vec<u32>,
}

/// For each function the branches to where a panic begins.
fn count(data: &[u8]) -> Result<BTreeMap<String, usize>> {
    let functions = functions(data)?;
    // What the linker's outliner has cut out of several functions belongs to those that branch to
    // it.
    let is_outlined = |function: &Function| function.name.starts_with("OUTLINED_FUNCTION");
    let mut begins: BTreeSet<u32> = functions
        .iter()
        .filter(|(_, function)| begins_panic(&function.name))
        .map(|(&at, _)| at)
        .collect();
    if begins.is_empty() {
        bail!("no function that begins a panic is in the image: have their names changed?");
    }
    loop {
        let more = functions.iter().filter(|(at, function)| {
            is_outlined(function)
                && !begins.contains(at)
                && function
                    .targets
                    .iter()
                    .any(|target| begins.contains(target))
        });
        let more: Vec<u32> = more.map(|(&at, _)| at).collect();
        if more.is_empty() {
            break;
        }
        begins.extend(more);
    }
    let mut counts = BTreeMap::new();
    for (at, function) in &functions {
        if begins.contains(at) {
            continue;
        }
        let places = function
            .targets
            .iter()
            .filter(|target| begins.contains(target));
        let places = places.count();
        if places > 0 {
            *counts.entry(function.name.clone()).or_insert(0) += places;
        }
    }
    Ok(counts)
}

/// Whether this is a function with which a panic begins: none of them returns.
fn begins_panic(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or_default();
    name.starts_with("core::panicking::")
        || name.starts_with("core::")
            && (last.starts_with("panic_") || last.ends_with("_fail") || last.ends_with("_failed"))
        || name == "_defmt_panic"
}

/// The functions of an image by their addresses.
fn functions(data: &[u8]) -> Result<BTreeMap<u32, Function>> {
    let file = ElfFile32::<Endianness>::parse(data)?;
    let mut functions = BTreeMap::new();
    // Where code ends and constants begin, in the middle of a section: `$t`, `$d`.
    let mut kinds: BTreeMap<u32, bool> = BTreeMap::new();
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or_default();
        if name.starts_with("$t") || name.starts_with("$d") {
            kinds.insert(symbol.address() as u32, name.starts_with("$t"));
        }
    }
    for section in file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text)
    {
        let (start, code) = (section.address() as u32, section.data()?);
        for symbol in file.symbols() {
            // The lowest bit says that it is Thumb code.
            let at = symbol.address() as u32 & !1;
            let (begin, len) = (at.wrapping_sub(start) as usize, symbol.size() as usize);
            let Some(code) = code.get(begin..begin.saturating_add(len)) else {
                continue;
            };
            if symbol.kind() != SymbolKind::Text || len == 0 {
                continue;
            }
            let is_code = |at: u32| kinds.range(..=at).next_back().is_none_or(|(_, &code)| code);
            let own = at..at + len as u32;
            let targets = branches(at, code, is_code).filter(|target| !own.contains(target));
            let name = rustc_demangle::demangle(symbol.name()?);
            let function = Function {
                name: format!("{name:#}"),
                targets: targets.collect(),
            };
            functions.insert(at, function);
        }
    }
    Ok(functions)
}

/// Where the long branches of Thumb-2 code go: `bl`, `b.w` with and without a condition (encodings
/// T1, T4 and T3).
fn branches(at: u32, code: &[u8], is_code: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
    let mut place = 0;
    std::iter::from_fn(move || {
        loop {
            let half = |place: usize| {
                let bytes = code.get(place..)?.first_chunk::<2>()?;
                Some(u32::from(u16::from_le_bytes(*bytes)))
            };
            let first = half(place)?;
            let here = at + place as u32;
            place += 2;
            if !is_code(here) || first < 0xe800 {
                continue;
            }
            let second = half(place)?;
            place += 2;
            if let Some(offset) = branch(first, second) {
                return Some(here.wrapping_add(4).wrapping_add_signed(offset));
            }
        }
    })
}

/// The offset of a branch, if these two half words are one.
fn branch(first: u32, second: u32) -> Option<i32> {
    let sign = first >> 10 & 1;
    let (j1, j2) = (second >> 13 & 1, second >> 11 & 1);
    let low = second & 0x7ff;
    let (number, bits) = match (first >> 11, second >> 12 & 0b1101) {
        (0b11110, 0b1101 | 0b1001) => {
            let (i1, i2) = (1 ^ j1 ^ sign, 1 ^ j2 ^ sign);
            (
                sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | low << 1,
                25,
            )
        }
        // What has a condition of 14 or 15 is another instruction.
        (0b11110, 0b1000) if first >> 6 & 0b1111 < 14 => (
            sign << 20 | j2 << 19 | j1 << 18 | (first & 0x3f) << 12 | low << 1,
            21,
        ),
        _ => return None,
    };
    let unused = 32 - bits;
    Some((number << unused).cast_signed() >> unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_go_where_the_disassembler_says() {
        // bl 0x8004ab4 at 0x8002614, b.w 0x8008088 at 0x8000482, bne.w 0x110 at 0x100.
        for (at, halves, target) in [
            (0x0800_2614, [0xf002, 0xfa4e], 0x0800_4ab4),
            (0x0800_0482, [0xf007, 0xbe01], 0x0800_8088),
            (0x0000_0100, [0xf040, 0x8006], 0x0000_0110),
        ] {
            let code = halves.map(u16::to_le_bytes);
            let found: Vec<u32> = branches(at, code.as_flattened(), |_| true).collect();
            assert_eq!(found, [target]);
        }
        // nop; dmb, which looks like a branch with a condition; a constant that looks like a call.
        let code = [0x00, 0xbf, 0xbf, 0xf3, 0x5f, 0x8f, 0x02, 0xf0, 0x4e, 0xfa];
        let code_ends = |at: u32| at < 0x106;
        assert_eq!(branches(0x100, &code, code_ends).count(), 0);
    }

    #[test]
    fn the_list_has_an_argument_for_every_function_that_it_names() {
        let list = fs::read_to_string(root().join(LIST)).unwrap();
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
