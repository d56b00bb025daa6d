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
/// range. No field is fractional: a ratio would be a whole number of thousandths.
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
            aliases: ["fs"], serves: Mesh, complete: false, holds: OneBlock, needs: Scratch,
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
    } };
}
