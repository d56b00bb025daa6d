//! The table of strategies, with an entry for each. All other lists of strategies are made from the
//! table.

/// Passes the table to the macro `$make`.
///
/// `mod NAME = "FEATURE" { .. }` has the strategies whose code is in the file NAME, and the cargo
/// feature that builds the file.
///
/// An entry has the strategy's documentation, its [`StrategyKind`](super::StrategyKind) and its
/// name. `decides` says how the strategy decides:
///
/// - `facts`: the fields of [`Facts`](super::Facts) that are not the default;
/// - `keeps`: the type of the data that the strategy keeps between decisions
///   ([`Keeps`](super::keeps::Keeps)), and how the data is made. Most strategies keep nothing;
/// - `demand`: a function of the request and the grid, in `demand.rs` or in the file of the
///   strategy; `of machine` passes the description as well;
/// - `place`: the function of the file that finds the block of a contiguous strategy. Its arguments
///   are the data that the strategy keeps, the [`Site`](super::Site), the workspace, the request
///   and the draft. Any other strategy has `propose`, which writes into the draft and returns
///   whether it found a place.
///
/// Arguments in parentheses follow the others. They may name parameters of the strategy and items
/// of its file; `grid` is the machine.
///
/// Then come the abbreviations in the papers, the machines that the strategy serves
/// ([`Serves`](super::Serves)), whether it is complete, what a job holds
/// ([`Contiguity`](super::Contiguity)), the memory that the strategy needs
/// ([`StrategyMemory`](super::workspace::StrategyMemory)), how it lays a shape
/// ([`SliceRule`](crate::SliceRule)), and its source. The place of an entry is the strategy's
/// number on the wire, so new entries go to the end.
///
/// # Parameters
///
/// Most strategies take no parameters. The others have, after the kind, its fields, each with its
/// default: `{ seed: u64 = 0 }`. Numbers are `u64`. The machines served may depend on the
/// parameters: `MultiplesOf { exponent }`.
///
/// `forms` lists how the strategy is written with parameters:
/// `"random:seed=SEED" { seed: value } in 1..=u64::MAX`. The capitals at the end stand for a whole
/// number in the range, which the fields call `value`; a form without capitals has no range. No
/// field is fractional: a ratio is a number of parts, a power of ten, and its text is a decimal or
/// a fraction: `"..:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000`. A choice among names
/// is a field with its own type and a form for each name.
///
/// `$dollar` is passed on to macros that define a macro from the table.
macro_rules! table {
    ($make:ident $($dollar:tt)?) => { $make! { (value grid $($dollar)?)
        mod first_fit = "first-fit" {
            /// First fit.
            FirstFit = "first-fit" {
                decides: {
                    facts: { recognizes: AsNamed, blocks_unmarked: unmarked_max(grid) },
                    keeps: Bounds = Bounds, demand: as_named, place: first(AsNamed),
                },
                aliases: ["ff"], serves: AnyGrid, complete: false, holds: OneBlock, needs: Scratch,
                lays: Box { turns: false, rings: true },
                source: "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected \
                    Parallel Computers, J. Parallel and Distributed Computing 16"
            }
        }
        mod adaptive_scan = "adaptive-scan" {
            /// Adaptive scan.
            AdaptiveScan = "adaptive-scan" {
                decides: {
                    facts: { recognizes: AnyOrientation, blocks_unmarked: unmarked_max(grid) },
                    keeps: Bounds = Bounds, demand: in_any_order, place: first(AnyOrder),
                },
                aliases: ["as"], serves: AnyGrid, complete: true, holds: OneBlock, needs: Scratch,
                lays: Box { turns: true, rings: true },
                source: "Ding and Bhuyan 1993, An Adaptive Submesh Allocation Strategy for \
                    Two-Dimensional Mesh Connected Systems, Int. Conf. on Parallel Processing II"
            }
        }
        mod free_submesh_list = "free-submesh-list" {
            /// Free submesh list.
            FreeSubmeshList = "free-submesh-list" {
                decides: {
                    facts: { recognizes: AnyOrientation, blocks_unmarked: usize::MAX },
                    keeps: FreeSubmeshList = FreeSubmeshList::new(grid),
                    demand: in_any_order, propose: propose,
                },
                aliases: ["fsl"], serves: MeshOrFewDimensions, complete: true, holds: OneBlock,
                needs: List, lays: Box { turns: true, rings: true },
                source: "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for \
                    Mesh-Connected Multicomputers"
            }
        }
        mod naive = "naive" {
            /// Naive, non-contiguous.
            Naive = "naive" {
                decides: { facts: { takes_any: true }, demand: processors, propose: propose },
                aliases: [], serves: AnyGrid, complete: true, holds: Processors, needs: Nothing,
                lays: Anywhere,
                source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation \
                    Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and \
                    Distributed Systems 8(7)"
            }
        }
        mod buddy = "buddy" {
            /// Two-dimensional buddy.
            Buddy = "buddy" {
                decides: { facts: { blocks_unmarked: PENDING_MAX }, demand: square, place: place },
                aliases: ["2db"], serves: PowerOfTwoMesh, complete: false, holds: OneBlock,
                needs: Scratch, lays: Box { turns: true, rings: false },
                source: "Li and Cheng 1991, A Two-Dimensional Buddy System for Dynamic Resource \
                    Allocation in a Partitionable Mesh Connected System, J. Parallel and \
                    Distributed Computing 12"
            }
        }
        mod frame_sliding = "frame-sliding" {
            /// Frame sliding.
            FrameSliding = "frame-sliding" {
                decides: { facts: { finds_again: FromFirstFree }, demand: as_named, place: place },
                aliases: ["fs"], serves: Mesh, complete: false, holds: OneBlock, needs: Nothing,
                lays: Box { turns: false, rings: true },
                source: "Chuang and Tzeng 1991, An Efficient Submesh Allocation Strategy for Mesh \
                    Computer Systems, Int. Conf. on Distributed Computing Systems"
            }
        }
        mod best_fit = "best-fit" {
            /// Best fit.
            BestFit = "best-fit" {
                decides: { facts: { recognizes: AsNamed }, demand: as_named, place: best(AsNamed, BusyNeighbours) },
                aliases: ["bf"], serves: MeshOrAnyGrid, complete: false, holds: OneBlock,
                needs: Scratch, lays: Box { turns: false, rings: true },
                source: "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected \
                    Parallel Computers, J. Parallel and Distributed Computing 16"
            }
        }
        mod busy_list = "busy-list" {
            /// Busy list.
            BusyList = "busy-list" {
                decides: {
                    facts: { recognizes: AnyOrientation }, demand: in_any_order, place: best(AnyOrder, Boundary),
                },
                aliases: ["bl"], serves: MeshOrAnyGrid, complete: true, holds: OneBlock,
                needs: Scratch, lays: Box { turns: true, rings: true },
                source: "Sharma and Pradhan 1993, A Fast and Efficient Strategy for Submesh \
                    Allocation in Mesh-Connected Parallel Computers, IEEE Symp. on Parallel and \
                    Distributed Processing"
            }
        }
        mod shapes = "shapes" {
            /// Fixed orientation.
            FixedOrientation = "fixed-orientation" {
                decides: {
                    facts: { recognizes: AlongLonger, blocks_unmarked: unmarked_max(grid) },
                    keeps: Bounds = Bounds,
                    demand: first_fitting(along_longer), place: first(of(along_longer)),
                },
                aliases: ["fo"], serves: Mesh, complete: false, holds: OneBlock, needs: Scratch,
                lays: Box { turns: true, rings: false },
                source: "Chang and Mohapatra, An Integrated Processor Management Scheme for the \
                    Mesh-Connected Multicomputer Systems"
            }
            /// Flexible folding.
            FlexFold = "flex-fold" {
                decides: {
                    facts: { recognizes: AnyOrientation, blocks_unmarked: unmarked_max(grid) },
                    keeps: Bounds = Bounds, demand: first_fitting(folds), place: first(of(folds)),
                },
                aliases: ["flex"], serves: Mesh, complete: true, holds: OneBlock, needs: Scratch,
                lays: Box { turns: true, rings: false },
                source: "Gupta and Jayendran 1996, A Flexible Processor Allocation Strategy for \
                    Mesh Connected Parallel Systems, Int. Conf. on Parallel Processing"
            }
            /// All shapes first fit.
            AllShapes = "all-shapes" {
                decides: {
                    facts: { recognizes: AnyOrientation, blocks_unmarked: unmarked_max(grid) },
                    keeps: Bounds = Bounds,
                    demand: first_fitting(all_shapes), place: first(of(all_shapes)),
                },
                aliases: ["asff"], serves: Mesh, complete: true, holds: OneBlock, needs: Scratch,
                lays: Box { turns: true, rings: false },
                source: "Ababneh, Bani-Mohammad and Ould-Khaoua 2010, All Shapes Contiguous \
                    Submesh Allocation for 2D Mesh Multicomputers, Int. J. of Parallel, Emergent \
                    and Distributed Systems 25(5)"
            }
        }
        mod tree_collapsing = "tree-collapsing" {
            /// Extended tree collapsing, complete.
            TreeCollapsing = "tree-collapsing" {
                decides: {
                    facts: { recognizes: AnyOrientation },
                    keeps: FailedSearches = FailedSearches::default(),
                    demand: in_every_order, place: place(requested),
                },
                aliases: ["tc"], serves: AnyGrid, complete: true, holds: OneBlock,
                needs: TwiceScratch, lays: Box { turns: true, rings: false },
                source: "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors"
            }
            /// Extended tree collapsing, as printed.
            TreeCollapsingPrinted = "tree-collapsing-printed" {
                decides: {
                    keeps: FailedSearches = FailedSearches::default(),
                    demand: left_to_right, place: place_left_to_right,
                },
                aliases: [], serves: AnyGrid, complete: false, holds: OneBlock, needs: TwiceScratch,
                lays: Box { turns: false, rings: false },
                source: "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors"
            }
            /// Free list.
            FreeList = "free-list" {
                decides: {
                    keeps: FailedSearches = FailedSearches::default(),
                    demand: of_other(rounded), place: place(rounded),
                },
                aliases: [], serves: PowerOfTwoCube, complete: false, holds: OneBlock,
                needs: TwiceScratch, lays: Box { turns: true, rings: false },
                source: "Chen and King 1993, An Efficient Dynamic Processor Allocation Scheme for \
                    K-ary n-cube Multicomputers, Int. Conf. on Parallel and Distributed Systems"
            }
            /// Sniffing.
            Sniffing = "sniffing" {
                decides: {
                    keeps: FailedSearches = FailedSearches::default(),
                    demand: of_other(cubic), place: place_cubic,
                },
                aliases: [], serves: Cube, complete: false, holds: OneBlock, needs: TwiceScratch,
                lays: Box { turns: true, rings: false },
                source: "Gautam and Chaudhary 1993, Subcube Allocation Strategies in a K-ary \
                    N-cube, ISCA Int. Conf. on Parallel and Distributed Computing Systems"
            }
            /// k-ary partner.
            Partner = "partner" {
                decides: {
                    keeps: FailedSearches = FailedSearches::default(),
                    demand: whole_dimensions, place: place_whole_dimensions,
                },
                aliases: [], serves: Cube, complete: false, holds: OneBlock, needs: TwiceScratch,
                lays: Box { turns: true, rings: false },
                source: "Windisch, Lo and Bose 1995, Contiguous and Non-Contiguous Processor \
                    Allocation Algorithms for K-ary n-cubes, Int. Conf. on Parallel Processing II"
            }
        }
        mod random = "random" {
            /// Random.
            Random {
                /// The seed of the random numbers. For 0, the default, the simulator derives a seed
                /// for each replication ([`StrategyKind::seeded`]).
                seed: u64 = 0,
            } = "random" {
                decides: {
                    facts: { takes_any: true }, keeps: Draws = Draws::new(seed),
                    demand: processors, propose: propose,
                },
                aliases: [], serves: AnyGrid, complete: true, holds: Processors, needs: Nothing,
                lays: Anywhere,
                forms: "random:seed=SEED" { seed: value } in 1..=u64::MAX,
                source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation \
                    Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and \
                    Distributed Systems 8(7)"
            }
        }
        mod l_shape = "l-shape" {
            /// L-shaped submeshes.
            LShape = "l-shape" {
                decides: { demand: rectangle_or_ell, propose: propose },
                aliases: ["lssa"], serves: Mesh, complete: true, holds: TwoBlocks,
                needs: TwiceScratch, lays: InBlocks,
                source: "Seo and Kim 2003, Improving System Performance in Contiguous Processor \
                    Allocation for Mesh-Connected Parallel Systems, J. of Systems and Software \
                    67(1)"
            }
        }
        mod neighbor = "neighbor" {
            /// Neighbour allocation.
            Neighbor = "neighbor" {
                decides: {
                    facts: { recognizes: AsNamedIfFixed },
                    demand: processors_or_shape, propose: propose,
                },
                aliases: ["nas"], serves: Mesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Connected,
                source: "Alshdefat 2019, An Efficient Processor Allocation Algorithm for 2D Mesh \
                    Connected Multicomputers, Master's thesis, Al al-Bayt University"
            }
        }
        mod multiple_buddy = "multiple-buddy" {
            /// Multiple buddy.
            MultipleBuddy = "multiple-buddy" {
                decides: { facts: { takes_any: true }, demand: processors, propose: propose },
                aliases: ["mbs"], serves: Mesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation \
                    Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and \
                    Distributed Systems 8(7)"
            }
        }
        mod paging = "paging" {
            /// Paging.
            Paging {
                /// In which order pages are taken.
                order: PageOrder = PageOrder::RowMajor,
                /// A page has 2^exponent processors along each dimension. With an exponent above 0
                /// pages have internal fragmentation: a job may hold more processors than it
                /// requests, but by less than a page.
                exponent: u64 = 0,
            } = "paging" {
                decides: {
                    facts: { takes_any: exponent == 0 },
                    demand: pages(exponent), propose: propose(order, exponent),
                },
                aliases: [], serves: MultiplesOf { exponent }, complete: true, holds: Processors,
                needs: Scratch, lays: Anywhere,
                forms: "paging:snake" { order: PageOrder::Snake, exponent: 0 },
                    "paging:snake=EXPONENT" { order: PageOrder::Snake, exponent: value } in 0..=20,
                    "paging:row-major=EXPONENT"
                        { order: PageOrder::RowMajor, exponent: value } in 0..=20,
                source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation \
                    Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and \
                    Distributed Systems 8(7)"
            }
        }
        mod binary_tree = "binary-tree" {
            /// Binary tree.
            BinaryTree = "binary-tree" {
                decides: { demand: processors, propose: propose(Form::One, Order::LeftFirst) },
                aliases: ["bt"], serves: HalvableMesh, complete: false, holds: Processors,
                needs: Scratch, lays: Anywhere,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Static binary tree.
            StaticBinaryTree {
                /// How many free processors the halves of a rectangle may differ by.
                tolerance: u64 = 256,
            } = "static-binary-tree" {
                decides: {
                    demand: processors, propose: propose(Form::One, Order::Tolerance(tolerance)),
                },
                aliases: ["sbt"], serves: HalvableMesh, complete: false, holds: Processors,
                needs: Scratch, lays: Anywhere,
                forms: "static-binary-tree:TOLERANCE" { tolerance: value } in 0..=1_048_576,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Dynamic binary tree.
            DynamicBinaryTree {
                /// The share of a rectangle's processors that its halves may differ by, in
                /// millionths.
                ratio: u64 = 500_000,
            } = "dynamic-binary-tree" {
                decides: { demand: processors, propose: propose(Form::One, Order::Ratio(ratio)) },
                aliases: ["dbt"], serves: HalvableMesh, complete: false, holds: Processors,
                needs: Scratch, lays: Anywhere,
                forms: "dynamic-binary-tree:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Independent binary tree.
            IndependentBinaryTree = "independent-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(INDEPENDENT, Order::LeftFirst),
                },
                aliases: ["ind-bt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Independent static binary tree.
            IndependentStaticBinaryTree {
                /// How many free processors the halves of a rectangle may differ by.
                tolerance: u64 = 256,
            } = "independent-static-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(INDEPENDENT, Order::Tolerance(tolerance)),
                },
                aliases: ["ind-sbt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                forms: "independent-static-binary-tree:TOLERANCE"
                    { tolerance: value } in 0..=1_048_576,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Independent dynamic binary tree.
            IndependentDynamicBinaryTree {
                /// The share of a rectangle's processors that its halves may differ by, in
                /// millionths.
                ratio: u64 = 500_000,
            } = "independent-dynamic-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(INDEPENDENT, Order::Ratio(ratio)),
                },
                aliases: ["ind-dbt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                forms: "independent-dynamic-binary-tree:RATIO" per 1_000_000
                    { ratio: value } in 0..=1_000_000,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Dependent binary tree.
            DependentBinaryTree = "dependent-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(DEPENDENT, Order::LeftFirst),
                },
                aliases: ["d-bt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Dependent static binary tree.
            DependentStaticBinaryTree {
                /// How many free processors the halves of a rectangle may differ by.
                tolerance: u64 = 256,
            } = "dependent-static-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(DEPENDENT, Order::Tolerance(tolerance)),
                },
                aliases: ["d-sbt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                forms: "dependent-static-binary-tree:TOLERANCE"
                    { tolerance: value } in 0..=1_048_576,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Dependent dynamic binary tree.
            DependentDynamicBinaryTree {
                /// The share of a rectangle's processors that its halves may differ by, in
                /// millionths.
                ratio: u64 = 500_000,
            } = "dependent-dynamic-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(DEPENDENT, Order::Ratio(ratio)),
                },
                aliases: ["d-dbt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: TwiceScratch, lays: Anywhere,
                forms: "dependent-dynamic-binary-tree:RATIO" per 1_000_000
                    { ratio: value } in 0..=1_000_000,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
            /// Spatially compact binary tree.
            CompactBinaryTree = "compact-binary-tree" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(Form::First, Order::LeftFirst),
                },
                aliases: ["scbt"], serves: HalvableMesh, complete: true, holds: Processors,
                needs: Scratch, lays: Anywhere,
                source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
            }
        }
        mod parallel_layout = "parallel-layout" {
            /// Parallel layout.
            ParallelLayout = "parallel-layout" {
                decides: { facts: { takes_any: true }, demand: processors, propose: propose },
                aliases: ["plas"], serves: Mesh, complete: true, holds: Processors, needs: Scratch,
                lays: Anywhere,
                source: "Mache, Lo, Livingston and Garg 1999, The Impact of Spatial Layout of \
                    Jobs on Parallel I/O Performance, Workshop on I/O in Parallel and Distributed \
                    Systems"
            }
        }
        mod curve = "curve" {
            /// Allocation along a curve.
            Curve {
                /// Which free interval is taken.
                fit: CurveFit = CurveFit::FirstFit,
                /// The line through all processors.
                line: CurveLine = CurveLine::Neighbors,
            } = "curve" {
                decides: {
                    facts: { takes_any: true }, demand: processors, propose: propose(fit, line),
                },
                aliases: [], serves: HilbertCurve, complete: true, holds: Processors,
                needs: Lengths, lays: Anywhere,
                forms: "curve:first-fit"
                    { fit: CurveFit::FirstFit, line: CurveLine::Neighbors },
                "curve:best-fit" { fit: CurveFit::BestFit, line: CurveLine::Neighbors },
                "curve:sum-of-squares"
                    { fit: CurveFit::SumOfSquares, line: CurveLine::Neighbors },
                "curve:smallest-range"
                    { fit: CurveFit::SmallestRange, line: CurveLine::Neighbors },
                "curve:hilbert-first-fit"
                    { fit: CurveFit::FirstFit, line: CurveLine::Hilbert },
                "curve:hilbert-best-fit"
                    { fit: CurveFit::BestFit, line: CurveLine::Hilbert },
                "curve:hilbert-sum-of-squares"
                    { fit: CurveFit::SumOfSquares, line: CurveLine::Hilbert },
                "curve:hilbert-smallest-range"
                    { fit: CurveFit::SmallestRange, line: CurveLine::Hilbert },
                source: "Leung, Arkin, Bender, Bunde, Johnston, Lal, Mitchell, Phillips and \
                    Seiden 2002, Processor Allocation on Cplant: Achieving General Processor \
                    Locality Using One-Dimensional Allocation Strategies, IEEE Int. Conf. on \
                    Cluster Computing"
            }
        }
        mod least_expected_blocking = "least-expected-blocking" {
            /// Least expected blocking.
            LeastExpectedBlocking {
                /// How many times a candidate is looked at in a decision, all candidates together.
                budget: u64 = 64,
            } = "least-expected-blocking" {
                decides: {
                    facts: { recognizes: AnyOrientation, looks_ahead: true },
                    keeps: Foresight = Foresight::new(grid, budget, false),
                    demand: in_any_order, place: place,
                },
                aliases: ["leb"], serves: MeshOrFewDimensions, complete: true, holds: OneBlock,
                needs: Foresight { budget }, lays: Box { turns: true, rings: true },
                forms: "least-expected-blocking:BUDGET" { budget: value } in BUDGETS,
                source: "this project"
            }
            /// Least expected blocking with estimates.
            LebEstimates {
                /// How many times a candidate is looked at in a decision, all candidates together.
                budget: u64 = 64,
            } = "leb-estimates" {
                decides: {
                    facts: { recognizes: AnyOrientation, looks_ahead: true },
                    keeps: Foresight = Foresight::new(grid, budget, true),
                    demand: in_any_order, place: place,
                },
                aliases: ["leb-e"], serves: MeshOrFewDimensions, complete: true, holds: OneBlock,
                needs: ForesightWithEnds { budget }, lays: Box { turns: true, rings: true },
                forms: "leb-estimates:BUDGET" { budget: value } in BUDGETS,
                source: "this project"
            }
        }
        mod cubes = "cubes" {
            /// Slices in cubes that optical switches join.
            Cubes {
                /// Whether a side of the request may be folded.
                fold: bool = false,
            } = "cubes" {
                decides: {
                    facts: { finds_again: AtItsPlace },
                    demand: slice of machine (fold), propose: propose(fold),
                },
                aliases: [], serves: Cubes, complete: false, holds: Parts, needs: Cubes,
                lays: InCubes { fold },
                forms: "cubes:fold" { fold: true },
                source: "Jouppi and others 2023, TPU v4: An Optically Reconfigurable \
                    Supercomputer for Machine Learning with Hardware Support for Embeddings, Int. \
                    Symp. on Computer Architecture; for folding Chen and others 2025, Toward \
                    Co-adapting Machine Learning Job Shape and Cluster Topology"
            }
        }
        mod folding = "folding" {
            /// Folding.
            Folding = "folding" {
                decides: { demand: folded of machine, place: place },
                aliases: [], serves: TwoOrThreeDimensions, complete: true, holds: OneBlock,
                needs: Scratch, lays: Folded,
                source: "Chen and others 2025, Toward Co-adapting Machine Learning Job Shape and \
                    Cluster Topology, arXiv:2510.03891"
            }
        }
        mod torus3d = "torus3d" {
            /// Fixed placements.
            Torus3d = "torus3d" {
                decides: { demand: volume of machine, place: place },
                aliases: [], serves: Placements, complete: true, holds: OneBlock, needs: Nothing,
                lays: Box { turns: true, rings: false },
                source: "Slurm 26.05, plugin topology/torus3d"
            }
        }
        mod nearest = "nearest" {
            /// Gen-Alg.
            GenAlg = "gen-alg" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(Centres::Free, Norm::L1),
                },
                aliases: [], serves: MeshOfTwoOrThreeDimensions, complete: true, holds: Processors,
                needs: Coordinates, lays: Anywhere,
                source: "Krumke, Marathe, Noltemeier, Radhakrishnan, Ravi and Rosenkrantz 1997, \
                    Compact Location Problems, Theoretical Computer Science 181(2); as in the \
                    Structural Simulation Toolkit"
            }
            /// MM.
            Mm = "mm" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(Centres::Crossings, Norm::L1),
                },
                aliases: [], serves: MeshOfTwoOrThreeDimensions, complete: true, holds: Processors,
                needs: Coordinates, lays: Anywhere,
                source: "Bender, Bunde, Demaine, Fekete, Leung, Meijer and Phillips 2008, \
                    Communication-Aware Processor Allocation for Supercomputers: Finding Point \
                    Sets of Small Average Distance, Algorithmica 50(2); as in the Structural \
                    Simulation Toolkit"
            }
            /// MC1x1.
            Mc1x1 = "mc1x1" {
                decides: {
                    facts: { takes_any: true },
                    demand: processors, propose: propose(Centres::Free, Norm::LInfinity),
                },
                aliases: [], serves: MeshOfTwoOrThreeDimensions, complete: true, holds: Processors,
                needs: Coordinates, lays: Anywhere,
                source: "Mache, Lo and Windisch 1997, Minimizing Message-Passing Contention in \
                    Fragmentation-Free Processor Allocation, Int. Conf. on Parallel and \
                    Distributed Computing Systems; as in the Structural Simulation Toolkit"
            }
        }
        mod gabl = "gabl" {
            /// Greedy available busy list.
            Gabl = "gabl" {
                decides: { facts: { takes_any: true }, demand: area, propose: propose },
                aliases: [], serves: Mesh, complete: true, holds: Blocks, needs: TwiceScratch,
                lays: InBlocks,
                source: "Bani-Mohammad, Ould-Khaoua, Ababneh and Mackenzie 2006, Non-contiguous \
                    Processor Allocation Strategy for 2D Mesh Connected Multicomputers Based on \
                    Sub-meshes Available for Allocation, Int. Conf. on Parallel and Distributed \
                    Systems"
            }
        }
        mod pald = "pald" {
            /// PALD, first fit.
            PaldFf = "pald-ff" {
                decides: { facts: { takes_any: true }, demand: area, propose: propose(Fit::First) },
                aliases: [], serves: Mesh, complete: true, holds: Blocks, needs: TwiceScratch,
                lays: InBlocks,
                source: "Bani-Ahmad 2010, Submesh Allocation in 2D-Mesh Multicomputers: \
                    Partitioning at the Longest Dimension of Requests, Int. Conf. on Advanced \
                    Engineering Computing and Applications in Sciences"
            }
            /// PALD, best fit.
            PaldBf = "pald-bf" {
                decides: { facts: { takes_any: true }, demand: area, propose: propose(Fit::Best) },
                aliases: [], serves: Mesh, complete: true, holds: Blocks, needs: TwiceScratch,
                lays: InBlocks,
                source: "Bani-Ahmad 2010, Submesh Allocation in 2D-Mesh Multicomputers: \
                    Partitioning at the Longest Dimension of Requests, Int. Conf. on Advanced \
                    Engineering Computing and Applications in Sciences"
            }
        }
        mod partitions = "partitions" {
            /// Predefined partitions.
            Partition = "partition" {
                decides: { demand: partition, place: place(Choice::First) },
                aliases: [], serves: AnyGrid, complete: false, holds: Processors, needs: Nothing,
                lays: Anywhere,
                source: "Tang, Lan, Desai, Buettner and Yu 2011, Reducing Fragmentation on \
                    Torus-Connected Supercomputers, IEEE Int. Parallel and Distributed Processing \
                    Symposium; as in Cobalt"
            }
            /// Walltime-aware placement.
            WalltimeAware = "walltime-aware" {
                decides: { demand: partition, place: place(Choice::NearestEnd) },
                aliases: [], serves: AnyGrid, complete: false, holds: Processors, needs: Nothing,
                lays: Anywhere,
                source: "Tang, Lan, Desai, Buettner and Yu 2011, Reducing Fragmentation on \
                    Torus-Connected Supercomputers, IEEE Int. Parallel and Distributed Processing \
                    Symposium; as in Cobalt"
            }
        }
    } };
}
