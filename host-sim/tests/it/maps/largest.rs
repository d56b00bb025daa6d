use meshalloc::{Block, Cube, Grid, NodeId};
use meshalloc_host_sim::map::largest::largest_free;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// By trying all blocks.
fn most(machine: Grid, free: &[bool]) -> u32 {
    let nodes = || (0..machine.nodes()).map(NodeId);
    let blocks = nodes().flat_map(|first| {
        nodes().filter_map(move |extent| {
            let mut extent = machine.coordinates(extent)?;
            extent.iter_mut().for_each(|extent| *extent += 1);
            machine.block(&machine.coordinates(first)?, &extent)
        })
    });
    let all_free =
        |&block: &Block| nodes().all(|node| free[node.0 as usize] || !machine.holds(block, node));
    let areas = blocks.filter(all_free).map(|block| machine.area(block));
    areas.max().unwrap_or(0)
}

#[test]
fn the_largest_free_block_is_that_of_trying_all() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let cube = |k, n| Cube::new(k, n).unwrap().into();
    for machine in [
        cube(4, 3),
        cube(5, 2),
        cube(2, 6),
        cube(3, 3),
        cube(2, 1),
        cube(9, 1),
        Grid::mesh(&[6, 5]).unwrap(),
        Grid::mesh(&[4, 3, 4]).unwrap(),
        Grid::mesh(&[11]).unwrap(),
        Grid::new(&[3, 4, 1, 3], 0b0010).unwrap(),
    ] {
        for trial in 0..40 {
            let free: Vec<bool> = (0..machine.nodes())
                .map(|_| random.next_u32() % 40 >= trial)
                .collect();
            let largest = largest_free(machine, &free);
            let area = largest.map_or(0, |block| machine.area(block));
            assert_eq!(area, most(machine, &free), "{machine}");
            let holds = |node| largest.is_some_and(|block| machine.holds(block, node));
            let mut nodes = (0..machine.nodes()).map(NodeId);
            assert!(
                nodes.all(|node| free[node.0 as usize] || !holds(node)),
                "{machine}"
            );
        }
    }
}
