//! A strategy of your own: *last fit* takes the free submesh whose base node comes last in
//! row-major order. The allocator checks each proposal before it takes effect.
//!
//! ```sh
//! cargo run -p meshalloc --example own_strategy
//! ```

use std::error::Error;

use meshalloc::{
    AllocateError, Allocator, AllocatorStorage, Block, Draft, Grid, Mesh, Refusal, Request, Site,
    Strategy, Submesh, storage,
};

/// Last fit on a two-dimensional mesh; it does not turn requests.
///
/// ```text
///   y
///   2  . . a a a      first a, 3 x 1; then b, 2 x 2, whose base node <3, 0> is
///   1  . . . b b      the last one from which 2 x 2 processors are free
///   0  . . . b b
///      0 1 2 3 4  x
/// ```
#[derive(Debug)]
struct LastFit {
    mesh: Mesh,
}

impl LastFit {
    /// The width and height of a request.
    fn sides(request: &Request) -> (u16, u16) {
        let extents = request.shape.extents();
        match extents[..] {
            [w, h, ..] => (w, h),
            [w] => (w, 1),
            [] => (1, 1),
        }
    }
}

impl Strategy for LastFit {
    fn demand(&self, _: &Grid, request: &Request) -> Result<u32, Refusal> {
        let (w, h) = LastFit::sides(request);
        if self.mesh.contains(Submesh::new(0, 0, w, h)) {
            Ok(u32::from(w) * u32::from(h))
        } else {
            Err(Refusal::NeverFits)
        }
    }

    fn propose(&mut self, site: &Site<'_>, request: &Request, draft: &mut Draft<'_, '_>) -> bool {
        let (w, h) = LastFit::sides(request);
        let machine = self.mesh.sides();
        let bases = (0..=machine.h - h).rev();
        let bases = bases.flat_map(|y| (0..=machine.w - w).rev().map(move |x| (x, y)));
        let mut places = bases.map(|(x, y)| Block::from(Submesh::new(x, y, w, h)));
        let place = places.find(|&place| site.occupancy.is_free(place));
        place.map(|place| draft.push(place)).is_some()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mesh = Mesh::new(8, 8)?;
    let mut storage: storage!(mesh 8 x 8, strategies [], blocks 16) = AllocatorStorage::new();
    let mut allocator = Allocator::with_strategy(storage.memory(), mesh.into(), LastFit { mesh })?;

    allocator.mark_faulty(Submesh::new(7, 7, 1, 1).into());
    let wide = allocator.allocate_checked(&Request::submesh(5, 2))?;
    let block = allocator.blocks(&wide)?.next();
    assert_eq!(block, Some(Submesh::new(2, 6, 5, 2).into()));

    let never = allocator.allocate_checked(&Request::submesh(9, 1));
    assert_eq!(never, Err(AllocateError::Refused(Refusal::NeverFits)));
    println!("{} processors are free", allocator.occupancy().free());
    assert_eq!(allocator.release(wide)?, 10);
    Ok(())
}
