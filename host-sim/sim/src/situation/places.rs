//! Where a request fits now: its [places](Situation::places), and [room](Situation::room) for each
//! legal shape.

use std::collections::{BTreeMap, BTreeSet};

use meshalloc::{ConfigureError, Description, Flags, Request, Shape, SliceRule, Slices, Tolerance};

use super::Situation;
use super::boxes::{Owner, boxes, nodes, orders};
use super::twin::Twin;

/// How much of one request fits now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// How often the strategy grants it before it refuses, if no job ends.
    pub times: u32,
    /// The places among which the strategy chooses for one slice; `None` where it does not choose
    /// a box: its jobs hold several blocks, or a slice may be folded, or the request demands rings.
    pub places: Option<u32>,
}

impl Situation<'_> {
    /// How much of a request fits now, without faulty processors.
    ///
    /// A place is a box of free processors, of the sides that the strategy gives and the
    /// description of the machine allows there. Strategies that look only at some places, such as
    /// frame sliding and buddies, choose among fewer.
    ///
    /// # Errors
    ///
    /// When this build does not serve the machine with the strategy.
    pub fn room(&self, request: &Request) -> Result<Room, ConfigureError> {
        let mut storage = self.storage();
        let mut twin = self.present_twin(&mut storage)?;
        let request = &request.with_tolerance(Tolerance::NONE);
        let places = self.places(&mut twin, request);
        let mut times = 0;
        while let Ok(held) = twin.allocator.allocate(request) {
            let blocks: Vec<_> = twin.allocator.blocks(&held).into_iter().flatten().collect();
            let released = twin.allocator.release(held);
            debug_assert!(released.is_ok(), "it was just granted");
            twin.hold(&blocks);
            times += 1;
        }
        Ok(Room { times, places })
    }

    /// The legal shapes of a machine whose description lists them, or gives the numbers of which
    /// their sides are multiples; the smallest shape first. If slices may be turned, each shape is
    /// there in one order of its sides. Empty if any shape is legal.
    pub fn legal_shapes(&self) -> Vec<Shape> {
        let Some(description) = self.description else {
            return Vec::new();
        };
        let listed = description.shapes().iter();
        let mut all: Vec<Vec<u16>> = listed.map(|shape| shape.extents().to_vec()).collect();
        if let Some(multiple) = description.multiple() {
            add_multiples(multiple, description.chips_max(), &mut Vec::new(), &mut all);
        }
        let mut ordered = BTreeMap::new();
        for extents in all {
            let mut key = extents.clone();
            if description.rotates() {
                key.sort_unstable();
            }
            let shape = Shape::new(&extents).ok();
            let is_legal = |&shape: &Shape| {
                let checked = description.check(self.configuration.strategy, &Request::new(shape));
                checked.is_ok()
            };
            if let Some(shape) = shape.filter(is_legal) {
                // A shape as the description lists it, or with the shortest side first.
                ordered.entry((shape.area(), key)).or_insert(shape);
            }
        }
        ordered.into_values().collect()
    }

    /// The places of one slice of a request, in a twin that holds what the jobs hold.
    fn places(&self, twin: &mut Twin<'_>, request: &Request) -> Option<u32> {
        let machine = &self.configuration.machine;
        let SliceRule::Box { turns, .. } = self.configuration.strategy.into() else {
            return None;
        };
        // On a cube the first extent of a shape does not belong to dimension 0.
        let is_reversed = machine.is_written_high_first() && !turns;
        if is_reversed || request.flags.intersects(Flags::ALL_RINGS) {
            return None;
        }
        let request = request.with_slices(Slices::ONE);
        let Ok(given) = twin.allocator.demand(&request) else {
            return Some(0);
        };
        let rotates = self.description.is_none_or(Description::rotates);
        let mut all = BTreeSet::new();
        for least in orders(
            machine,
            request.shape,
            turns && rotates && request.may_rotate(),
        ) {
            add_larger(machine.sides(), &least, given, &mut Vec::new(), &mut all);
        }
        // If this is false, the strategy gives each free box of these sides, and need not be asked.
        let is_checked = self.description.is_some() || given != request.shape.area();
        let owners = self.owners();
        let is_free = |node: meshalloc::NodeId| owners[node.0 as usize] == Owner::Free;
        let free = all.iter().flat_map(|extents| boxes(machine, extents));
        let free = free.filter(|&block| nodes(machine, block).all(is_free));
        let given = free.filter(|&block| !is_checked || twin.gives(block));
        Some(given.count() as u32)
    }
}

/// Adds all extents whose product is `area` and that are at least the extents `least`.
fn add_larger(
    sides: &[u16],
    least: &[u16],
    area: u32,
    begun: &mut Vec<u16>,
    all: &mut BTreeSet<Vec<u16>>,
) {
    let (Some(&from), Some(&to)) = (least.get(begun.len()), sides.get(begun.len())) else {
        if area == 1 {
            all.insert(begun.clone());
        }
        return;
    };
    for extent in (from..=to).filter(|&extent| area.is_multiple_of(extent.into())) {
        begun.push(extent);
        add_larger(sides, least, area / u32::from(extent), begun, all);
        begun.pop();
    }
}

/// Adds all extents that are multiples of these and whose product is at most `most`.
fn add_multiples(multiple: &[u16], most: u32, begun: &mut Vec<u16>, all: &mut Vec<Vec<u16>>) {
    let Some(&step) = multiple.get(begun.len()) else {
        all.push(begun.clone());
        return;
    };
    let extents = (step..=u16::MAX).step_by(usize::from(step.max(1)));
    for extent in extents.take_while(|&extent| u32::from(extent) <= most) {
        begun.push(extent);
        add_multiples(multiple, most / u32::from(extent), begun, all);
        begun.pop();
    }
}
