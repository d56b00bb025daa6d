//! Spares that take the places of cubes in their rows.

use std::collections::VecDeque;

use meshalloc::Block;

use super::units::{Effect, Units};

/// Cubes in rows along dimension 0. At first the last cube of each row is a spare. A *place* has
/// the number of the cube that is in it at first.
#[derive(Clone, Debug)]
pub(super) struct Spares {
    units: Units,
    roles: Vec<Role>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Place(u32),
    Spare,
    Failed,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// Cubes that work and are in no place. Cubes that have been spares for longer come first.
    spares: VecDeque<u32>,
    /// Places that are down, in the order in which they went down.
    down: VecDeque<u32>,
}

impl Spares {
    pub(super) fn new(units: Units) -> Self {
        let in_row = units.in_row();
        let is_spare = |unit: u32| unit % in_row == in_row - 1;
        let role = |unit| {
            if is_spare(unit) {
                Role::Spare
            } else {
                Role::Place(unit)
            }
        };
        let roles = (0..units.count()).map(role).collect();
        let row = |number| Row {
            spares: [number * in_row + in_row - 1].into(),
            down: VecDeque::new(),
        };
        Spares {
            roles,
            rows: (0..units.count() / in_row).map(row).collect(),
            units,
        }
    }

    /// The blocks of the cubes that are spares at first. These cubes are not places.
    pub(super) fn kept(&self) -> Vec<Block> {
        let in_row = self.units.in_row();
        let rows = 1..=self.rows.len() as u32;
        rows.map(|row| self.units.block(row * in_row - 1)).collect()
    }

    pub(super) fn fail(&mut self, unit: u32) -> Effect {
        let row = &mut self.rows[(unit / self.units.in_row()) as usize];
        match std::mem::replace(&mut self.roles[unit as usize], Role::Failed) {
            Role::Place(place) => match row.spares.pop_front() {
                Some(spare) => {
                    self.roles[spare as usize] = Role::Place(place);
                    Effect::Interrupts(self.units.block(place))
                }
                None => {
                    row.down.push_back(place);
                    Effect::Down(self.units.block(place))
                }
            },
            Role::Spare => {
                row.spares.retain(|&spare| spare != unit);
                Effect::Nothing
            }
            Role::Failed => Effect::Nothing,
        }
    }

    pub(super) fn repair(&mut self, unit: u32) -> Effect {
        let row = &mut self.rows[(unit / self.units.in_row()) as usize];
        match row.down.pop_front() {
            Some(place) => {
                self.roles[unit as usize] = Role::Place(place);
                Effect::Up(self.units.block(place))
            }
            None => {
                self.roles[unit as usize] = Role::Spare;
                row.spares.push_back(unit);
                Effect::Nothing
            }
        }
    }
}
