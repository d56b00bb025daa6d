//! The allocator alone, for a program that has its own names and queue: it takes and returns
//! processors.
//!
//! ```sh
//! cargo run -p meshalloc --example allocator
//! ```

use std::error::Error;

use meshalloc::{
    Allocator, AllocatorStorage, Mesh, Refusal, Request, StrategyKind, Submesh, storage,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut storage: storage!(mesh 16 x 16, strategies [AdaptiveScan], allocations 32) =
        AllocatorStorage::new();
    let machine = Mesh::new(16, 16)?.into();
    let mut allocator = Allocator::new(storage.memory(), machine, StrategyKind::AdaptiveScan)?;

    // A faulty processor is never given away.
    allocator.mark_faulty(Submesh::new(0, 0, 1, 1).into());
    let wide = allocator.allocate(&Request::submesh(15, 6))?;
    let block = allocator.blocks(&wide)?.next();
    assert_eq!(block, Some(Submesh::new(1, 0, 15, 6).into()));

    // Adaptive scan turns a request that does not fit as it is.
    let tall = allocator.allocate(&Request::submesh(10, 16))?;
    println!("{} processors are free", allocator.occupancy().free());

    // What cannot be granted now differs from what can never be.
    let now = allocator.allocate(&Request::submesh(12, 12)).unwrap_err();
    let never = allocator.allocate(&Request::submesh(17, 1)).unwrap_err();
    assert_eq!((now, never), (Refusal::TooFewFree, Refusal::NeverFits));
    assert!(now.is_temporary() && !never.is_temporary());

    assert_eq!(allocator.release(tall)? + allocator.release(wide)?, 250);
    assert_eq!(allocator.occupancy().free(), 255);
    Ok(())
}
