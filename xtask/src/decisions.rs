//! `cargo xtask decisions COMMIT`: whether the simulator decides as it did at another commit, after
//! a change that must not change decisions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use meshalloc::{Cube, Grid, Mesh, StrategyKind};

use crate::command::{Cmd, root, target_dir};

/// What is compared. Names and options are those that both commits have. Strategies that no line
/// names run as [`OTHERS`] says.
const RUNS: &[&str] = &[
    "run --mesh 32x32 --strategy ff,as,fsl,naive,buddy,fs,bf,bl,fo,flex,asff --load 0.4 --jobs 4000",
    "run --mesh 64x48 --strategy ff,as,fsl,naive,fs,bf,bl,fo,flex,asff --sizes exponential \
     --scheduler modified-fcfs:dynamic --load 0.5 --jobs 3000",
    "run --mesh 100x37 --strategy ff,as,fsl,naive,bl --scheduler modified-fcfs:count --load 0.4 --jobs 3000",
    "run --mesh 16x16 --strategy fo,as,naive --scheduler bypass-queue:20 --load 0.9 --jobs 3000",
    "run --mesh 130x70 --strategy random,l-shape,neighbor,multiple-buddy,paging,parallel-layout,curve --load 0.6 --jobs 1000",
    "run --mesh 128x64 --strategy binary-tree,static-binary-tree,dynamic-binary-tree,compact-binary-tree,\
     independent-binary-tree,independent-static-binary-tree,independent-dynamic-binary-tree,\
     dependent-binary-tree,dependent-static-binary-tree,dependent-dynamic-binary-tree --load 0.6 --jobs 1000",
    "run --mesh 48x40 --strategy l-shape,neighbor,least-expected-blocking,leb-estimates --load 0.6 --jobs 1000",
    "run --cube k=4,n=3 --strategy tc,tree-collapsing-printed,free-list,sniffing,partner --tasks 100",
    "run --cube k=2,n=10 --strategy tc,tree-collapsing-printed,free-list,sniffing,partner --load 0.4 --jobs 1000 \
     --scheduler bypass-queue:50",
    "run --cube k=5,n=3 --strategy tc,tree-collapsing-printed,sniffing --load 0.4 --jobs 2000",
];

/// How strategies run that no line of [`RUNS`] names, each on the first machine that it serves.
const OTHERS: [&str; 2] = [
    "run --mesh 16x16 --load 0.6 --jobs 1000",
    "run --cube k=4,n=3 --load 0.4 --jobs 1000",
];

const PAPERS: [&str; 3] = ["chang-mohapatra", "chuang-wu", "kim-yoon"];

/// The options of `cargo xtask decisions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The commit to compare with
    commit: String,

    /// Compare the tables of the reproduced papers, too, but for search times; takes some minutes
    #[arg(long)]
    papers: bool,
}

/// Builds the simulator at both commits and compares what it decides.
///
/// # Errors
///
/// When one of them cannot be built or run, or they differ.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = target_dir().join("decisions");
    let source = folder.join("source");
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    Cmd::new("git clone --quiet --no-checkout")
        .arg(root().display().to_string())
        .arg(source.display().to_string())
        .run()?;
    Cmd::new("git -C")
        .arg(source.display().to_string())
        .args("checkout --quiet")
        .arg(&options.commit)
        .run()?;
    let build = |manifest: PathBuf, target: &Path| -> Result<PathBuf> {
        Cmd::new("cargo build --release --package meshalloc-host-sim --manifest-path")
            .arg(manifest.display().to_string())
            .arg("--target-dir")
            .arg(target.display().to_string())
            .run()?;
        Ok(target.join("release").join("host-sim"))
    };
    let before = build(source.join("Cargo.toml"), &folder.join("target"))?;
    let now = build(root().join("Cargo.toml"), &target_dir())?;

    let mut differences = 0;
    let mut report = |same: bool, what: &str| {
        println!("{}  {what}", if same { "same     " } else { "different" });
        differences += u32::from(!same);
    };
    let mut runs: Vec<String> = RUNS.iter().copied().map(String::from).collect();
    runs.extend(others(&before)?);
    for line in &runs {
        let hashes = |program: &Path| -> Result<Vec<String>> {
            let output = Cmd::at(program)
                .args(line)
                .args("--replications 2 --format json")
                .output()?;
            let hashes: Vec<String> = output
                .lines()
                .filter(|line| line.contains("\"decision_hash\""))
                .map(|line| line.trim().trim_end_matches(',').to_owned())
                .collect();
            match hashes.is_empty() {
                true => bail!("no decision hash in the results of `{line}`"),
                false => Ok(hashes),
            }
        };
        report(hashes(&before)? == hashes(&now)?, line);
    }
    for paper in PAPERS.into_iter().filter(|_| options.papers) {
        let tables = |program: &Path, name: &str| -> Result<Vec<(String, Vec<u8>)>> {
            let output = folder.join(name).join(paper);
            if output.exists() {
                fs::remove_dir_all(&output)?;
            }
            Cmd::at(program)
                .args("reproduce")
                .arg(paper)
                .arg("--output")
                .arg(output.display().to_string())
                .run()?;
            let mut tables = Vec::new();
            for entry in fs::read_dir(&output)? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                // Search times differ from run to run.
                if name.ends_with(".csv") && !name.ends_with("-time.csv") {
                    let table = fs::read(&path).with_context(|| path.display().to_string())?;
                    tables.push((name.into_owned(), table));
                }
            }
            tables.sort();
            Ok(tables)
        };
        let (before, now) = (tables(&before, "before")?, tables(&now, "now")?);
        report(
            before.len() == now.len(),
            &format!("{paper}: the number of tables"),
        );
        for ((name, before), (_, now)) in before.iter().zip(&now) {
            report(before == now, &format!("{paper}: {name}"));
        }
    }
    match differences {
        0 => Ok(()),
        _ => bail!("{differences} differ from {}", options.commit),
    }
}

/// A run for each strategy that no line of [`RUNS`] names and that the other commit has.
fn others(before: &Path) -> Result<Vec<String>> {
    let list = Cmd::at(before)
        .args("list strategies --format json")
        .output()?;
    let machines: [Grid; 2] = [Mesh::new(16, 16)?.grid(), Cube::new(4, 3)?.grid()];
    let is_named = |kind: &StrategyKind| {
        let info = kind.info();
        let words = RUNS.iter().flat_map(|line| line.split([' ', ',']));
        let mut names = words.map(|word| word.split(':').next().unwrap_or(word));
        names.any(|name| name == info.name || info.aliases.contains(&name))
    };
    let run = |kind: StrategyKind| {
        let serves = |machine: &Grid| kind.serves().includes(machine);
        let line = OTHERS[machines.iter().position(serves)?];
        Some(format!("{line} --strategy {}", kind.name()))
    };
    let unnamed = StrategyKind::built().filter(|kind| !is_named(kind));
    let known = unnamed.filter(|kind| list.contains(&format!("\"{}\"", kind.name())));
    Ok(known.filter_map(run).collect())
}
