//! The machine of a scenario, and the strategies that serve it.

use meshalloc::{Grid, Shape, StrategyKind};

use crate::error::SettingError;
use crate::machine::{Described, MachineSource};
use crate::names;
use crate::scenario::table::{Scenario, StrategyChoice};

/// The sides of the mesh of a scenario that names no machine.
pub const MESH_DEFAULT: Shape = Shape::sides(64, 64);

/// The settings that name a machine.
const OF_MACHINE: [&str; 3] = ["mesh", "torus", "machine"];

impl Scenario {
    /// Whether a machine is named.
    pub fn is_machine_named(&self) -> bool {
        self.first_of(&OF_MACHINE).is_some()
    }

    /// The description of the machine, if it has one; an error when the machine's file has no
    /// description.
    pub fn description(&self) -> Result<Option<Described>, SettingError> {
        let Some(source) = &self.machine else {
            return Ok(None);
        };
        let read = source.read().map(|(_, described)| described);
        read.map_err(|error| SettingError::unquoted(&["machine"], &error))
    }

    /// The machine that is named, or else the default; `description` comes from
    /// [`Scenario::description`].
    ///
    /// # Errors
    ///
    /// When there is no machine with these sides.
    pub fn grid(&self, description: Option<&Described>) -> Result<Grid, SettingError> {
        if let Some(description) = description {
            return Ok(*description.description.grid());
        }
        if let Some(MachineSource::Grid(grid)) = self.machine {
            return Ok(grid);
        }
        let (key, sides, grid) = match self.torus {
            Some(sides) => ("torus", sides, Grid::torus(&sides.extents())),
            None => {
                let sides = self.mesh.unwrap_or(MESH_DEFAULT);
                ("mesh", sides, Grid::mesh(&sides.extents()))
            }
        };
        grid.map_err(|error| SettingError::new(&[key], format!("`{key}` {sides}: {error}")))
    }

    /// Names this machine in its usual way. A mesh that wraps nowhere or everywhere is named by its
    /// sides.
    pub(super) fn name_machine(&mut self, machine: Grid) {
        if self.is_described() {
            return;
        }
        let dimensions = machine.dimensions();
        let wraps = (0..dimensions).filter(|&dimension| machine.wraps(dimension));
        let sides = Shape::new(machine.sides()).ok();
        (self.mesh, self.torus, self.machine) = match wraps.count() {
            0 => (sides, None, None),
            count if count == dimensions && !machine.is_written_high_first() => (None, sides, None),
            _ => (None, None, Some(MachineSource::Grid(machine))),
        };
    }

    /// Whether the machine is one with a description.
    pub(super) fn is_described(&self) -> bool {
        let source = self.machine.as_ref();
        source.is_some_and(|source| !matches!(source, MachineSource::Grid(_)))
    }

    /// Checks that the settings of jobs go with the machine: jobs on a cube have their own
    /// settings.
    pub(super) fn check_cube(&self, machine: Grid) -> Result<(), SettingError> {
        let (wrong, expected): (&[_], _) = if machine.is_written_high_first() {
            let of_others = &["side-lengths", "side-range", "processors", "mix", "model"];
            (of_others, "`dims` or `radices` on a cube")
        } else {
            (&["dims", "radices"], "a cube, such as 4-ary 3-cube")
        };
        let Some((key, _)) = self.first_of(wrong) else {
            return Ok(());
        };
        let Some((by, named)) = self.first_of(&OF_MACHINE) else {
            let reason =
                format!("`{key}` requires a cube (expected `machine` such as 4-ary 3-cube)");
            return Err(SettingError::new(&[key, "machine"], reason));
        };
        let named = named.as_str().unwrap_or_default().replace('`', "'");
        let reason = format!("`{key}` contradicts `{by}` {named} (expected {expected})");
        Err(SettingError::new(&[key, by], reason))
    }

    /// The strategies, each once, in the order in which they were named first.
    pub(super) fn strategies(
        &mut self,
        machine: Grid,
        description: Option<&Described>,
    ) -> Result<Vec<StrategyKind>, SettingError> {
        let default = || vec![StrategyChoice::One(default_strategy(machine, description))];
        let named = self.strategy.get_or_insert_with(default);
        let strategies = named.iter().flat_map(|&choice| match choice {
            StrategyChoice::All => suitable(machine, description).collect(),
            StrategyChoice::One(kind) => vec![kind],
        });
        let strategies = names::each_once(strategies);
        for &strategy in &strategies {
            check_serves(machine, description, strategy)?;
        }
        let named = strategies.iter().copied().map(StrategyChoice::One);
        self.strategy = Some(named.collect());
        Ok(strategies)
    }
}

/// The strategy of a command that names none.
fn default_strategy(machine: Grid, description: Option<&Described>) -> StrategyKind {
    let cubes = StrategyKind::Cubes { fold: false };
    let of_description = [cubes, StrategyKind::Torus3d].into_iter();
    let mut of_description = of_description.filter(|kind| {
        kind.is_built()
            && description
                .is_some_and(|description| kind.serves_described(&description.description))
    });
    match of_description.next() {
        Some(strategy) => strategy,
        None if machine.is_written_high_first() => StrategyKind::TreeCollapsing,
        None => StrategyKind::FirstFit,
    }
}

/// Whether the strategy serves the machine, which may have a description.
pub fn serves(machine: Grid, description: Option<&Described>, strategy: StrategyKind) -> bool {
    match description {
        Some(description) => strategy.serves_described(&description.description),
        None => strategy.serves().includes(&machine),
    }
}

/// The strategies of this build that serve the machine.
fn suitable(machine: Grid, description: Option<&Described>) -> impl Iterator<Item = StrategyKind> {
    StrategyKind::built().filter(move |&kind| serves(machine, description, kind))
}

/// Checks that the strategy serves the machine.
fn check_serves(
    machine: Grid,
    description: Option<&Described>,
    strategy: StrategyKind,
) -> Result<(), SettingError> {
    if serves(machine, description, strategy) {
        return Ok(());
    }
    let suitable: Vec<_> = suitable(machine, description)
        .map(StrategyKind::name)
        .collect();
    let suitable = suitable.join(", ");
    let grid = machine;
    let machine = match description {
        Some(description) => format!("{}, a {machine}", description.name.replace('`', "'")),
        None => machine.to_string(),
    };
    let wrong = match strategy.serves() {
        serves if !serves.includes(&grid) => format!("serves {serves}, not {machine}"),
        // The strategy serves the grid, so the reason is the alignment of its slices.
        _ => format!("does not align its slices, which {machine}, requires"),
    };
    let reason = format!("`strategy` {strategy} {wrong} (expected one of {suitable})");
    Err(SettingError::new(&["strategy"], reason))
}
