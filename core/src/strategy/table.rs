//! The table of strategies: an entry each. Everything else that knows the strategies by name is made from it.

/// Hands the table to the macro `$make`.
///
/// An entry has the strategy's docs, its type, the file that defines it and its name, which is also its cargo feature. Then follow its
/// abbreviations in the papers, the machines it serves ([`Serves`](super::Serves)), whether it is complete,
/// what a job holds ([`Holds`](super::Holds)), the memory it needs ([`StrategyMemory`](super::StrategyMemory)), and its source. The place of an entry is
/// the number on the wire, so new ones go to the end.
///
/// # Parameters
///
/// Most strategies take none. One that does has, behind its type, the fields of its [`StrategyKind`](super::StrategyKind), each with
/// the value that the name alone stands for: `{ seed: u64 = 0 }`. Numbers are `u64`. They are handed to the type's `new` in
/// this order, behind the grid and the workspace. The machines served may depend on them: `MultiplesOf { exponent }`.
///
/// Before the source stand the forms in which the strategy is written with parameters: `"random:seed=SEED" { seed: value } in 1..=u64::MAX`.
/// The capitals at the end stand for a whole number in the range, which the fields call `value`; a form without capitals has no
/// range. No field is fractional: a ratio is a number of parts, a power of ten, and its text a decimal or a fraction,
/// `"..:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000`. A choice among names is a field with a type of its own and
/// a form for each.
macro_rules! table {
    ($make:ident) => { $make! { (value)
        /// First fit.
        FirstFit in first_fit = "first-fit" {
            aliases: ["ff"], serves: AnyGrid, complete: false, holds: OneBlock, needs: Scratch,
            source: "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J. Parallel and Distributed Computing 16"
        }
        /// Adaptive scan.
        AdaptiveScan in adaptive_scan = "adaptive-scan" {
            aliases: ["as"], serves: AnyGrid, complete: true, holds: OneBlock, needs: Scratch,
            source: "Ding and Bhuyan 1993, An Adaptive Submesh Allocation Strategy for Two-Dimensional Mesh Connected Systems, Int. Conf. on Parallel Processing II"
        }
        /// Free submesh list.
        FreeSubmeshList in free_submesh_list = "free-submesh-list" {
            aliases: ["fsl"], serves: Mesh, complete: true, holds: OneBlock, needs: List,
            source: "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers"
        }
        /// Naive, non-contiguous.
        Naive in naive = "naive" {
            aliases: [], serves: AnyGrid, complete: true, holds: Processors, needs: Nothing,
            source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7)"
        }
        /// Two-dimensional buddy.
        Buddy in buddy = "buddy" {
            aliases: ["2db"], serves: PowerOfTwoMesh, complete: false, holds: OneBlock, needs: Scratch,
            source: "Li and Cheng 1991, A Two-Dimensional Buddy System for Dynamic Resource Allocation in a Partitionable Mesh Connected System, J. Parallel and Distributed Computing 12"
        }
        /// Frame sliding.
        FrameSliding in frame_sliding = "frame-sliding" {
            aliases: ["fs"], serves: Mesh, complete: false, holds: OneBlock, needs: Nothing,
            source: "Chuang and Tzeng 1991, An Efficient Submesh Allocation Strategy for Mesh Computer Systems, Int. Conf. on Distributed Computing Systems"
        }
        /// Best fit.
        BestFit in best_fit = "best-fit" {
            aliases: ["bf"], serves: Mesh, complete: false, holds: OneBlock, needs: Scratch,
            source: "Zhu 1992, Efficient Processor Allocation Strategies for Mesh-Connected Parallel Computers, J. Parallel and Distributed Computing 16"
        }
        /// Busy list.
        BusyList in busy_list = "busy-list" {
            aliases: ["bl"], serves: Mesh, complete: true, holds: OneBlock, needs: Scratch,
            source: "Sharma and Pradhan 1993, A Fast and Efficient Strategy for Submesh Allocation in Mesh-Connected Parallel Computers, IEEE Symp. on Parallel and Distributed Processing"
        }
        /// Fixed orientation.
        FixedOrientation in fixed_orientation = "fixed-orientation" {
            aliases: ["fo"], serves: Mesh, complete: false, holds: OneBlock, needs: Scratch,
            source: "Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected Multicomputer Systems"
        }
        /// Flexible folding.
        FlexFold in flex_fold = "flex-fold" {
            aliases: ["flex"], serves: Mesh, complete: true, holds: OneBlock, needs: Scratch,
            source: "Gupta and Jayendran 1996, A Flexible Processor Allocation Strategy for Mesh Connected Parallel Systems, Int. Conf. on Parallel Processing"
        }
        /// All shapes first fit.
        AllShapes in all_shapes = "all-shapes" {
            aliases: ["asff"], serves: Mesh, complete: true, holds: OneBlock, needs: Scratch,
            source: "Ababneh, Bani-Mohammad and Ould-Khaoua 2010, All Shapes Contiguous Submesh Allocation for 2D Mesh Multicomputers, Int. J. of Parallel, Emergent and Distributed Systems 25(5)"
        }
        /// Extended tree collapsing, complete.
        TreeCollapsing in tree_collapsing = "tree-collapsing" {
            aliases: ["tc"], serves: AnyGrid, complete: true, holds: OneBlock, needs: TwiceScratch,
            source: "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors"
        }
        /// Extended tree collapsing, as printed.
        TreeCollapsingPrinted in tree_collapsing_printed = "tree-collapsing-printed" {
            aliases: [], serves: AnyGrid, complete: false, holds: OneBlock, needs: TwiceScratch,
            source: "Chuang and Wu, Processor Allocation in k-ary n-cube Multiprocessors"
        }
        /// Free list.
        FreeList in free_list = "free-list" {
            aliases: [], serves: PowerOfTwoCube, complete: false, holds: OneBlock, needs: TwiceScratch,
            source: "Chen and King 1993, An Efficient Dynamic Processor Allocation Scheme for K-ary n-cube Multicomputers, Int. Conf. on Parallel and Distributed Systems"
        }
        /// Sniffing.
        Sniffing in sniffing = "sniffing" {
            aliases: [], serves: Cube, complete: false, holds: OneBlock, needs: TwiceScratch,
            source: "Gautam and Chaudhary 1993, Subcube Allocation Strategies in a K-ary N-cube, ISCA Int. Conf. on Parallel and Distributed Computing Systems"
        }
        /// k-ary partner.
        Partner in partner = "partner" {
            aliases: [], serves: Cube, complete: false, holds: OneBlock, needs: TwiceScratch,
            source: "Windisch, Lo and Bose 1995, Contiguous and Non-Contiguous Processor Allocation Algorithms for K-ary n-cubes, Int. Conf. on Parallel Processing II"
        }
        /// Random.
        Random {
            /// What its random numbers derive from. The simulator takes 0, for which the name alone stands, as leave to
            /// derive a seed for each replication ([`StrategyKind::seeded`]).
            seed: u64 = 0,
        } in random = "random" {
            aliases: [], serves: AnyGrid, complete: true, holds: Processors, needs: Nothing,
            forms: "random:seed=SEED" { seed: value } in 1..=u64::MAX,
            source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7)"
        }
        /// L-shaped submeshes.
        LShape in l_shape = "l-shape" {
            aliases: ["lssa"], serves: Mesh, complete: true, holds: TwoBlocks, needs: TwiceScratch,
            source: "Seo and Kim 2003, Improving System Performance in Contiguous Processor Allocation for Mesh-Connected Parallel Systems, J. of Systems and Software 67(1)"
        }
        /// Neighbour allocation.
        Neighbor in neighbor = "neighbor" {
            aliases: ["nas"], serves: Mesh, complete: true, holds: Processors, needs: TwiceScratch,
            source: "Alshdefat 2019, An Efficient Processor Allocation Algorithm for 2D Mesh Connected Multicomputers, Master's thesis, Al al-Bayt University"
        }
        /// Multiple buddy.
        MultipleBuddy in multiple_buddy = "multiple-buddy" {
            aliases: ["mbs"], serves: Mesh, complete: true, holds: Processors, needs: TwiceScratch,
            source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7)"
        }
        /// Paging.
        Paging {
            /// In which order pages are taken.
            order: PageOrder = PageOrder::RowMajor,
            /// A page has 2^exponent processors along each dimension. Beyond 0 pages have internal fragmentation: a job holds up
            /// to one processor less than a page beyond its request.
            exponent: u64 = 0,
        } in paging = "paging" {
            aliases: [], serves: MultiplesOf { exponent }, complete: true, holds: Processors, needs: Scratch,
            forms: "paging:snake" { order: PageOrder::Snake, exponent: 0 },
                "paging:snake=EXPONENT" { order: PageOrder::Snake, exponent: value } in 0..=20,
                "paging:row-major=EXPONENT" { order: PageOrder::RowMajor, exponent: value } in 0..=20,
            source: "Lo, Windisch, Liu and Nitzberg 1997, Noncontiguous Processor Allocation Algorithms for Mesh-Connected Multicomputers, IEEE Trans. on Parallel and Distributed Systems 8(7)"
        }
        /// Binary tree.
        BinaryTree in binary_tree = "binary-tree" {
            aliases: ["bt"], serves: HalvableMesh, complete: false, holds: Processors, needs: Scratch,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Static binary tree.
        StaticBinaryTree {
            /// How many free processors the halves of a rectangle may differ by.
            tolerance: u64 = 256,
        } in static_binary_tree = "static-binary-tree" {
            aliases: ["sbt"], serves: HalvableMesh, complete: false, holds: Processors, needs: Scratch,
            forms: "static-binary-tree:TOLERANCE" { tolerance: value } in 0..=1_048_576,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Dynamic binary tree.
        DynamicBinaryTree {
            /// The share of a rectangle's processors that its halves may differ by, in millionths.
            ratio: u64 = 500_000,
        } in dynamic_binary_tree = "dynamic-binary-tree" {
            aliases: ["dbt"], serves: HalvableMesh, complete: false, holds: Processors, needs: Scratch,
            forms: "dynamic-binary-tree:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Independent binary tree.
        IndependentBinaryTree in independent_binary_tree = "independent-binary-tree" {
            aliases: ["ind-bt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Independent static binary tree.
        IndependentStaticBinaryTree {
            /// How many free processors the halves of a rectangle may differ by.
            tolerance: u64 = 256,
        } in independent_static_binary_tree = "independent-static-binary-tree" {
            aliases: ["ind-sbt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            forms: "independent-static-binary-tree:TOLERANCE" { tolerance: value } in 0..=1_048_576,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Independent dynamic binary tree.
        IndependentDynamicBinaryTree {
            /// The share of a rectangle's processors that its halves may differ by, in millionths.
            ratio: u64 = 500_000,
        } in independent_dynamic_binary_tree = "independent-dynamic-binary-tree" {
            aliases: ["ind-dbt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            forms: "independent-dynamic-binary-tree:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Dependent binary tree.
        DependentBinaryTree in dependent_binary_tree = "dependent-binary-tree" {
            aliases: ["d-bt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Dependent static binary tree.
        DependentStaticBinaryTree {
            /// How many free processors the halves of a rectangle may differ by.
            tolerance: u64 = 256,
        } in dependent_static_binary_tree = "dependent-static-binary-tree" {
            aliases: ["d-sbt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            forms: "dependent-static-binary-tree:TOLERANCE" { tolerance: value } in 0..=1_048_576,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Dependent dynamic binary tree.
        DependentDynamicBinaryTree {
            /// The share of a rectangle's processors that its halves may differ by, in millionths.
            ratio: u64 = 500_000,
        } in dependent_dynamic_binary_tree = "dependent-dynamic-binary-tree" {
            aliases: ["d-dbt"], serves: HalvableMesh, complete: true, holds: Processors, needs: TwiceScratch,
            forms: "dependent-dynamic-binary-tree:RATIO" per 1_000_000 { ratio: value } in 0..=1_000_000,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Spatially compact binary tree.
        CompactBinaryTree in compact_binary_tree = "compact-binary-tree" {
            aliases: ["scbt"], serves: HalvableMesh, complete: true, holds: Processors, needs: Scratch,
            source: "Liu, Hsu and Wu, I/O Processor Allocation for Mesh Cluster Computers"
        }
        /// Parallel layout.
        ParallelLayout in parallel_layout = "parallel-layout" {
            aliases: ["plas"], serves: Mesh, complete: true, holds: Processors, needs: Scratch,
            source: "Mache, Lo, Livingston and Garg 1999, The Impact of Spatial Layout of Jobs on Parallel I/O Performance, Workshop on I/O in Parallel and Distributed Systems"
        }
        /// Allocation along a curve.
        Curve {
            /// Which free interval is taken.
            fit: CurveFit = CurveFit::FirstFit,
        } in curve = "curve" {
            aliases: [], serves: Mesh, complete: true, holds: Processors, needs: Lengths,
            forms: "curve:first-fit" { fit: CurveFit::FirstFit },
            "curve:best-fit" { fit: CurveFit::BestFit },
            "curve:sum-of-squares" { fit: CurveFit::SumOfSquares },
            source: "Leung, Arkin, Bender, Bunde, Johnston, Lal, Mitchell, Phillips and Seiden 2002, Processor Allocation on Cplant: Achieving General Processor Locality Using One-Dimensional Allocation Strategies, IEEE Int. Conf. on Cluster Computing"
        }
        /// Least expected blocking.
        LeastExpectedBlocking {
            /// How many times a candidate is looked at in a decision, all candidates together.
            budget: u64 = 64,
        } in least_expected_blocking = "least-expected-blocking" {
            aliases: ["leb"], serves: Mesh, complete: true, holds: OneBlock, needs: Foresight { budget },
            forms: "least-expected-blocking:BUDGET" { budget: value } in BUDGETS,
            source: "this project"
        }
        /// Least expected blocking with estimates.
        LebEstimates {
            /// How many times a candidate is looked at in a decision, all candidates together.
            budget: u64 = 64,
        } in leb_estimates = "leb-estimates" {
            aliases: ["leb-e"], serves: Mesh, complete: true, holds: OneBlock, needs: ForesightWithEnds { budget },
            forms: "leb-estimates:BUDGET" { budget: value } in BUDGETS,
            source: "this project"
        }
    } };
}
