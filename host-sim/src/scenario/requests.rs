//! The machine and what jobs ask of it: options that belong to one kind of machine, and strategies that do.

use clap::Args;
use meshalloc::{Cube, Machine, MachineKind, Mesh, StrategyKind};

use super::{MESH_DEFAULT, sizes, task_distribution};
use crate::names;
use crate::workload::{Requests, SizeDistribution, Subcubes, Submeshes, TaskDistribution};

/// The options of commands that run a synthetic workload.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RequestArgs {
    /// Columns and rows of the mesh, 1 to 1024 each [default: 64x64]
    #[arg(long, value_name = "WxH", value_parser = names::mesh)]
    pub(crate) mesh: Option<Mesh>,

    /// A k-ary n-cube in place of a mesh: k at least 2, n at least 1, k^n at most 65536
    #[arg(long, value_name = "k=K,n=N", value_parser = names::cube, conflicts_with_all = ["mesh", "sizes"])]
    pub(crate) cube: Option<Cube>,

    /// Distribution of the side lengths of jobs, over 1 to the mesh's sides; `host-sim list` shows
    /// them [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = sizes)]
    pub(crate) sizes: Option<SizeDistribution>,

    /// On a cube: distribution of the number of dimensions of jobs, 1 to n: uniform or normal
    /// [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = task_distribution)]
    pub(crate) dims: Option<TaskDistribution>,

    /// On a cube: distribution of the radices of jobs, 2 to k: uniform or normal [default: uniform]
    #[arg(long, value_name = "NAME", value_parser = task_distribution)]
    pub(crate) radices: Option<TaskDistribution>,
}

impl RequestArgs {
    /// What they come to, defaults filled in.
    ///
    /// # Errors
    ///
    /// When an option is about the other kind of machine.
    pub(crate) fn requests(&self) -> Result<Requests, String> {
        if let Some(cube) = self.cube {
            return Ok(Requests::Subcubes(Subcubes {
                cube,
                dims: self.dims.unwrap_or_default(),
                radices: self.radices.unwrap_or_default(),
            }));
        }
        for (given, key) in [
            (self.dims.is_some(), "dims"),
            (self.radices.is_some(), "radices"),
        ] {
            if given {
                return Err(format!("{key} is about cubes (expected cube beside it)"));
            }
        }
        let mesh = match self.mesh {
            Some(mesh) => mesh,
            None => names::mesh(MESH_DEFAULT)?,
        };
        let sizes = self.sizes.unwrap_or(SizeDistribution::Uniform);
        Ok(Requests::Submeshes(Submeshes::new(mesh, sizes)))
    }
}

/// The strategy of a command that names none.
pub(crate) fn default_strategy(machine: Machine) -> StrategyKind {
    match machine.kind() {
        MachineKind::Cube => StrategyKind::TreeCollapsing,
        _ => StrategyKind::FirstFit,
    }
}

/// The strategies of a command, each once, `default` where none is named.
///
/// # Errors
///
/// When one is for the other kind of machine: which kind it is for, and which strategies would do.
pub(crate) fn strategies(
    machine: Machine,
    named: Option<&[StrategyKind]>,
    default: &[StrategyKind],
) -> Result<Vec<StrategyKind>, String> {
    let mut strategies = Vec::new();
    for &strategy in named.unwrap_or(default) {
        check_kind(machine, strategy)?;
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    Ok(strategies)
}

/// Whether the strategy is for machines of this kind.
///
/// # Errors
///
/// When it is for another.
pub(crate) fn check_kind(machine: Machine, strategy: StrategyKind) -> Result<(), String> {
    let kind = machine.kind();
    let made_for = strategy.info().machine;
    if made_for == kind {
        return Ok(());
    }
    let suitable = StrategyKind::built().filter(|strategy| strategy.info().machine == kind);
    let suitable: Vec<_> = suitable.map(StrategyKind::name).collect();
    let option = match made_for {
        MachineKind::Cube => "--cube in place of --mesh, or one of these",
        _ => "--mesh in place of --cube, or one of these",
    };
    Err(format!(
        "the strategy {strategy} is for a {made_for}, not for a {kind} (expected {option}: {})",
        suitable.join(", ")
    ))
}

/// The distributions of requests as results record them: options and their values. The ranges of sides are not among
/// them.
pub(crate) fn distributions(requests: &Requests) -> Vec<(&'static str, String)> {
    match requests {
        Requests::Submeshes(submeshes) => vec![("sizes", submeshes.sizes.to_string())],
        Requests::Subcubes(subcubes) => vec![
            ("dims", subcubes.dims.to_string()),
            ("radices", subcubes.radices.to_string()),
        ],
    }
}
