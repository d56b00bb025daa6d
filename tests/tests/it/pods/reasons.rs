//! Why jobs wait on a pod of small cubes.

use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Configuration, Controller, Description as Described, Flags, Grid, Reason, Request,
};
use meshalloc_tests::pods::{Aligned, Cubes, Form};
use meshalloc_tests::{convert, exhaustive};

use super::{CUBES, has_rings, named};
use crate::reasons::{SCHEDULERS, compare};

#[test]
fn reasons_on_cubes_are_those_of_the_naive_form() {
    let grid = Grid::torus(&[4, 4, 4]).expect("a torus");
    let machine = Described::new(grid)
        .and_then(|machine| machine.with_cube(&[2, 2, 2]))
        .expect("eight cubes");
    let model = convert::grid(grid);
    let cube = [2; 3];
    let naive = Cubes::new(&model, &cube, Aligned::new(&[1; 3], true));
    let fits = |busy: &[bool], request: &Request| {
        let (named, demanded) = named(request, 3);
        let is_busy = |node: u32| busy[node as usize];
        let rotates = request.may_rotate();
        let accepts =
            |form: &Form, sides: &[u32]| has_rings(rotates, &cube, &named, &demanded, form, sides);
        let place = naive.place(&named, rotates, false, &is_busy, &accepts);
        place.is_some()
    };
    // Not a number of processors.
    let has_shape = |request: &&Request| !request.flags.contains(Flags::CHIPS);
    let needs = |request: &Request| Some(request).filter(has_shape).map(|it| it.shape.area());
    let mut counts = [0; Reason::ALL.len()];
    for scheduler in SCHEDULERS {
        let configuration = Configuration {
            machine: grid,
            strategy: CUBES,
            scheduler,
        };
        let mut storage = HeapStorage::new(Needs::described(CUBES, &machine, 24), 24);
        let memory = storage.memory().describing(&machine);
        let mut controller = Controller::new(memory, configuration).expect("it is served");
        let states = exhaustive(2_500, 900);
        compare(&mut controller, states, 5, (&needs, &fits), &mut counts);
    }
    let seen = counts.iter().filter(|&&count| count > 0).count();
    assert!(seen >= 6, "{counts:?}");
}
