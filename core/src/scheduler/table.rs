//! The table of schedulers: an entry each. Everything else that knows the schedulers by name is made from it.

/// Hands the table to the macro `$make`, after the names that its entries use for a time and for a second, both in ticks.
///
/// An entry has the scheduler's docs, its type, the file that defines it and its name, and in brackets the fields of its
/// [`SchedulerKind`](super::SchedulerKind). Then follow how the scheduler is made of these fields; the forms in which it is written, each with
/// the values of the fields (`SECONDS` stands for the time); and its source. The place of an entry is the number on the wire,
/// so new ones go to the end.
macro_rules! table {
    ($make:ident) => { $make! { (time, second)
        /// First come, first served.
        Fcfs in fcfs = "fcfs" [] {
            new: [] Fcfs,
            forms: "fcfs" [],
            source: "first come, first served: only the head of the queue may try"
        }
        /// Modified first come, first served.
        ModifiedFcfs in modified_fcfs = "modified-fcfs" [(Threshold)] {
            new: [(threshold)] ModifiedFcfs::new(threshold),
            forms: "modified-fcfs:dynamic" [(Threshold::Dynamic { second })],
                "modified-fcfs:count" [(Threshold::Count)],
                "modified-fcfs:static=SECONDS" [(Threshold::Static { ticks: time })],
            source: "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected Multicomputers, section IV.1"
        }
        /// Bypass queue.
        BypassQueue in bypass_queue = "bypass-queue" [{
            /// How long a head may wait before no job bypasses it any more. 0 is FCFS.
            threshold: Ticks,
        }] {
            new: [{ threshold }] BypassQueue::new(threshold),
            forms: "bypass-queue:SECONDS" [{ threshold: time }],
            source: "Chang and Mohapatra, An Integrated Processor Management Scheme for the Mesh-Connected Multicomputer Systems, section 2.1"
        }
    } };
}
