//! The image: the control processor of this package on a board.
//!
//! - `boards/` has a module for each board; a feature `board-*` chooses one. It gives the image an
//!   implementation of [`Board`](meshalloc_firmware::Board), an entry point and a reset.
//! - This file is the same for all of them: the memory of the controller, its configuration after a
//!   reset, and the memory that outlives a reset. `crash.rs` logs crashes.
//! - The main loop is in the library ([`meshalloc_firmware::board`]), where the tests drive it.
//!
//! **Reset**: after any reset the server serves a 64 x 64 mesh, first fit, FCFS, unless it has a
//! journal. An image without first fit has the first of its strategies, and if that does not serve
//! the mesh, a 16-ary 3-cube. An image that was built for a described machine (`MESHALLOC_MACHINE`)
//! serves that machine only.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod boards;
#[cfg(target_os = "none")]
mod crash;
#[cfg(all(target_os = "none", feature = "board-nucleo-f446re", feature = "qemu"))]
mod instructions;

/// The image runs on a board; on a host the program names the table of boards and fails.
#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "meshalloc-firmware is an image for a board: build it with a feature board-* for the target \
         that firmware/src/boards.rs names"
    );
    std::process::ExitCode::from(2)
}

#[cfg(target_os = "none")]
mod image {
    #[cfg(not(feature = "qemu"))]
    use defmt_rtt as _;
    #[cfg(feature = "qemu")]
    use defmt_semihosting as _;

    #[cfg(described)]
    use meshalloc::Description;
    use meshalloc::storage::Needs;
    use meshalloc::{Configuration, Controller, SchedulerKind, Storage, StrategyKind};
    #[cfg(not(described))]
    use meshalloc::{Cube, Grid, Mesh};
    use meshalloc_firmware::board::{Board, Kept};
    #[cfg(feature = "journal")]
    use meshalloc_firmware::board::{NoJournal, REGIONS};
    #[cfg(feature = "journal")]
    use meshalloc_firmware::journal::Recovered;
    #[cfg(feature = "journal")]
    use meshalloc_firmware::keeping::durable::Durable;
    use meshalloc_firmware::{BUILD, Processor, SOFTWARE};
    use static_cell::ConstStaticCell;

    use crate::boards;

    /// Jobs, waiting and running together: `MESHALLOC_JOBS` at the time of the build.
    const JOBS: usize = match usize::from_str_radix(env!("MESHALLOC_JOBS"), 10) {
        Ok(jobs) => jobs,
        Err(_) => panic!("MESHALLOC_JOBS: expected a number of jobs"),
    };
    /// The memory that the strategies of this image need on machines of 4,096 processors: a mesh of
    /// 64 x 64, and any grid whose node numbers lie in one row, such as a torus of 16 x 16 x 16.
    #[cfg(not(described))]
    const NEEDS: Needs = Needs::of_build(&[MESH, CUBE], JOBS);

    #[cfg(not(described))]
    const AT_RESET: Configuration = Configuration {
        machine: if first_built().serves().includes(&MESH) {
            MESH
        } else {
            CUBE
        },
        strategy: first_built(),
        scheduler: first_built_scheduler(),
    };

    /// The only machine that is served: `MESHALLOC_MACHINE` at the time of the build.
    #[cfg(described)]
    static MACHINE: Description = DESCRIBED;
    #[cfg(described)]
    const DESCRIBED: Description = match Description::preset(env!("MESHALLOC_MACHINE")) {
        Some(machine) => machine,
        None => panic!(
            "MESHALLOC_MACHINE: expected tpu-v3, tpu-v4, tpu-v5e, tpu-v6e, tpu-v5p, tpu-v7x, \
             trn2-ultra or galaxy"
        ),
    };
    #[cfg(described)]
    const NEEDS: Needs = Needs::of_described(&DESCRIBED, JOBS);
    #[cfg(described)]
    const AT_RESET: Configuration = Configuration {
        machine: *DESCRIBED.grid(),
        strategy: first_built(),
        scheduler: first_built_scheduler(),
    };

    #[cfg(not(described))]
    const MESH: Grid = match Mesh::new(64, 64) {
        Ok(mesh) => mesh.grid(),
        Err(_) => panic!("64 x 64 is a mesh"),
    };
    #[cfg(not(described))]
    const CUBE: Grid = match Cube::new(16, 3) {
        Ok(cube) => cube.grid(),
        Err(_) => panic!("16^3 is a cube"),
    };

    /// The first strategy of this image that serves its machine, in the order of core's table.
    const fn first_built() -> StrategyKind {
        let mut rest = StrategyKind::ALL;
        while let [kind, others @ ..] = rest {
            if kind.is_built() && may_serve(*kind) {
                return *kind;
            }
            rest = others;
        }
        panic!("an image needs a strategy: none of meshalloc's strategy features is on")
    }

    #[cfg(described)]
    const fn may_serve(kind: StrategyKind) -> bool {
        kind.serves_described(&DESCRIBED)
    }

    #[cfg(not(described))]
    const fn may_serve(kind: StrategyKind) -> bool {
        let serves = kind.serves();
        serves.includes(&MESH) || serves.includes(&CUBE)
    }

    /// The first scheduler of this image, in the order of core's table.
    const fn first_built_scheduler() -> SchedulerKind {
        let mut rest = SchedulerKind::ALL;
        while let [kind, others @ ..] = rest {
            if kind.is_built() {
                return *kind;
            }
            rest = others;
        }
        panic!("an image needs a scheduler: none of meshalloc's scheduler features is on")
    }

    type ImageStorage =
        Storage<{ NEEDS.words }, JOBS, { NEEDS.scratch }, { NEEDS.blocks }, { NEEDS.list }>;

    /// Made at compile time, so that it does not pass through the stack.
    static STORAGE: ConstStaticCell<ImageStorage> = ConstStaticCell::new(Storage::new());

    /// The start-up code leaves this section alone, and nothing else is ever stored there.
    #[expect(unsafe_code, reason = "the name of a section is an unsafe attribute")]
    // SAFETY: atomic integers have no invalid values, and memory at power on may hold any.
    #[unsafe(link_section = ".uninit.KEPT")]
    static KEPT: Kept = Kept::new();

    defmt::timestamp!("{=u64:ms}", boards::now_ms());

    #[boards::entry]
    fn main() -> ! {
        defmt::info!("meshalloc {=str} ({=str})", SOFTWARE, BUILD);
        let made = &mut make(boards::start());
        #[cfg(not(feature = "journal"))]
        let processor = made;
        // The value is used where it is, as a copy would take stack.
        #[cfg(feature = "journal")]
        let processor = match made {
            Ok((processor, recovered)) => {
                processor.restore(*recovered, &KEPT);
                processor
            }
            Err(error) => defmt::panic!("no journal: {}", error),
        };
        #[cfg(all(feature = "board-nucleo-f446re", feature = "qemu"))]
        crate::instructions::run(processor);
        #[cfg(not(all(feature = "board-nucleo-f446re", feature = "qemu")))]
        processor.run()
    }

    #[cfg(not(feature = "journal"))]
    type Made<B> = Processor<'static, B>;
    #[cfg(feature = "journal")]
    type Made<B> = Result<
        (
            Processor<'static, B, Durable<<B as Board>::Flash, REGIONS>>,
            Recovered,
        ),
        NoJournal,
    >;

    // A value takes more stack while it is made than afterwards. The functions below give that
    // stack back before the processor is at work.

    #[inline(never)]
    fn make<B: Board>(board: B) -> Made<B> {
        #[cfg(not(feature = "journal"))]
        let make = Processor::new;
        #[cfg(feature = "journal")]
        let make = Processor::open;
        make(board, make_controller(), &KEPT)
    }

    #[inline(never)]
    fn make_controller() -> Controller<'static> {
        let memory = STORAGE.take().memory();
        #[cfg(described)]
        let memory = memory.describing(&MACHINE);
        match Controller::new(memory, AT_RESET) {
            Ok(controller) => controller,
            Err(_) => defmt::panic!("no room for the machine"),
        }
    }
}
