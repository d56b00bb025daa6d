//! `cargo xtask decisions COMMIT`: whether the simulator decides as it did at another commit, after
//! a change that must not change decisions.
//!
//! These runs are longer than those of `host-sim/tests/it/golden/decisions.golden`, which every
//! test run compares.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::shell::{root, target_dir};

/// What is compared. Both commits have the names and options.
const RUNS: &[&str] = &[
    "--mesh 32x32 --strategy ff,as,fsl,naive,buddy,fs,bf,bl,fo,flex,asff --load 0.4 --jobs 4000",
    "--mesh 64x48 --strategy ff,as,fsl,naive,fs,bf,bl,fo,flex,asff --sizes exponential \
     --scheduler modified-fcfs:dynamic --load 0.5 --jobs 3000",
    "--mesh 100x37 --strategy ff,as,fsl,naive,bl --scheduler modified-fcfs:count --load 0.4 \
     --jobs 3000",
    "--mesh 16x16 --strategy fo,as,naive --scheduler bypass-queue:20 --load 0.9 --jobs 3000",
    "--mesh 16x16 --strategy all --load 0.6 --jobs 1000",
    "--mesh 130x70 --strategy random,l-shape,neighbor,multiple-buddy,paging,parallel-layout,curve \
     --load 0.6 --jobs 1000",
    "--mesh 128x64 --strategy binary-tree,static-binary-tree,dynamic-binary-tree,\
     compact-binary-tree,independent-binary-tree,independent-static-binary-tree,\
     independent-dynamic-binary-tree,dependent-binary-tree,dependent-static-binary-tree,\
     dependent-dynamic-binary-tree --load 0.6 --jobs 1000",
    "--mesh 48x40 --strategy l-shape,neighbor,least-expected-blocking,leb-estimates --load 0.6 \
     --jobs 1000",
    "--cube k=4,n=3 --strategy tc,tree-collapsing-printed,free-list,sniffing,partner --tasks 100",
    "--cube k=4,n=3 --strategy all --load 0.4 --jobs 1000",
    "--cube k=2,n=10 --strategy tc,tree-collapsing-printed,free-list,sniffing,partner --load 0.4 \
     --jobs 1000 --scheduler bypass-queue:50",
    "--cube k=5,n=3 --strategy tc,tree-collapsing-printed,sniffing --load 0.4 --jobs 2000",
];

/// The options of `cargo xtask decisions`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The commit to compare with
    commit: String,
}

/// Builds the simulator at both commits and compares its decisions, strategy by strategy.
///
/// # Errors
///
/// When one of them cannot be built or run, or they differ.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let folder = root().join(target_dir()).join("decisions");
    let source = folder.join("source");
    sh.remove_path(&source)?;
    let commit = &options.commit;
    cmd!(sh, "git clone --quiet --no-checkout . {source}").run()?;
    cmd!(sh, "git -C {source} checkout --quiet {commit}").run()?;
    let build = |source: &Path, target: PathBuf| -> Result<PathBuf> {
        let _inside = sh.push_dir(source);
        let build = cmd!(
            sh,
            "cargo build --release --package meshalloc-host-sim --target-dir {target}"
        );
        build.run()?;
        Ok(target.join("release/host-sim"))
    };
    let before = build(&source, folder.join("target"))?;
    let now = build(root(), root().join(target_dir()))?;
    let mut differences = 0;
    for line in RUNS {
        let hashes = |program: &Path| -> Result<Vec<(String, String)>> {
            let words = line.split_whitespace();
            let run = cmd!(
                sh,
                "{program} run {words...} --replications 2 --format json"
            );
            let printed: Value = serde_json::from_str(&run.quiet().read()?)?;
            let results = printed["results"].as_array().context("no results")?;
            let text = |result: &Value, key| result[key].as_str().unwrap_or("missing").to_owned();
            let pairs = results.iter();
            Ok(pairs
                .map(|it| (text(it, "strategy"), text(it, "decision_hash")))
                .collect())
        };
        let (before, now) = (hashes(&before)?, hashes(&now)?);
        ensure!(
            !before.is_empty() && !now.is_empty(),
            "no decision hash in the results of {line}"
        );
        // A strategy that only one of them has is not compared.
        for (strategy, hash) in &before {
            let other = now.iter().find(|(other, _)| other == strategy);
            let is_same = other.is_none_or(|(_, other)| other == hash && hash != "missing");
            println!(
                "{}  {strategy} {line}",
                if is_same { "same     " } else { "different" }
            );
            differences += u32::from(!is_same);
        }
    }
    ensure!(differences == 0, "{differences} differ from {commit}");
    Ok(())
}
