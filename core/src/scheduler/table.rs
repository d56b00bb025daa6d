//! The table of schedulers, with an entry for each. All other lists of schedulers are made from the
//! table.

/// Passes the table to the macro `$make`, after the names that its entries use for the number in a
/// form and for a second in ticks.
///
/// An entry has the scheduler's documentation, its type, the file that defines it and its name,
/// which is also its cargo feature, and in brackets the fields of its
/// [`SchedulerKind`](super::SchedulerKind). Then come: how the scheduler is made from these fields;
/// the forms in which it is written, each with the values of the fields (`SECONDS` stands for a
/// time, in ticks, `COUNT` for a whole number of at least 1); after `if`, the condition under which
/// these values are valid; what the scheduler does; and its source. The place of an entry is the
/// scheduler's number on the wire, so new entries go to the end.
///
/// `$dollar` is passed on to macros that define a macro from the table.
macro_rules! table {
    ($make:ident $($dollar:tt)?) => { $make! { (number, second $(, $dollar)?)
        /// First come, first served.
        Fcfs in fcfs = "fcfs" [] {
            new: [] Fcfs,
            forms: "fcfs" [],
            meaning: "First come, first served: only the head of the queue may start.",
            source: ""
        }
        /// Modified first come, first served.
        ModifiedFcfs in modified_fcfs = "modified-fcfs" [(Threshold)] {
            new: [(threshold)] ModifiedFcfs::new(threshold),
            forms: "modified-fcfs:dynamic" [(Threshold::Dynamic { second })] if second > 0,
                "modified-fcfs:count" [(Threshold::Count)],
                "modified-fcfs:static=SECONDS" [(Threshold::Static { ticks: number })],
            meaning: "If the head of the queue does not fit, later jobs try in order until the \
                head has waited too long. The limit is: dynamic, the mean delay times the arrival \
                rate, in seconds; count, this number of bypassing jobs; static, SECONDS.",
            source: "Kim and Yoon 1995, A Dynamic Processor Allocation Strategy for Mesh-Connected \
                Multicomputers, section IV.1"
        }
        /// Bypass queue.
        BypassQueue in bypass_queue = "bypass-queue" [{
            /// Once a head has waited for this time, no job bypasses it. 0 is FCFS.
            threshold: Ticks,
        }] {
            new: [{ threshold }] BypassQueue::new(threshold),
            forms: "bypass-queue:SECONDS" [{ threshold: number }],
            meaning: "After a departure all waiting jobs try in order. If the head has waited for \
                SECONDS, only the head tries.",
            source: "Chang and Mohapatra, An Integrated Processor Management Scheme for the \
                Mesh-Connected Multicomputer Systems, section 2.1"
        }
        /// EASY backfilling with reserved submeshes.
        Easy in easy = "easy" [{
            /// The number of jobs at the head of the queue that hold a reservation.
            reservations: u64,
        }] {
            new: [{ reservations }] Easy::new(reservations),
            forms: "easy" [{ reservations: 1 }],
                "easy:reservations=COUNT" [{ reservations: number }] if number > 0,
            meaning: "The head of the queue, or the first COUNT jobs that do not fit, hold \
                reservations. Later jobs start if they delay none of these, by the estimates of \
                run times.",
            source: "Lifka 1995, The ANL/IBM SP Scheduling System, Job Scheduling Strategies for \
                Parallel Processing"
        }
        /// Conservative backfilling with reserved submeshes.
        Conservative in conservative = "conservative" [] {
            new: [] Conservative::new(u64::MAX),
            forms: "conservative" [],
            meaning: "Every job that does not fit holds a reservation. Later jobs start if they \
                delay none of these, by the estimates of run times.",
            source: "Mu'alem and Feitelson 2001, Utilization, Predictability, Workloads, and User \
                Runtime Estimates in Scheduling the IBM SP2 with Backfilling, IEEE Trans. on \
                Parallel and Distributed Systems 12(6)"
        }
        /// Shortest job first.
        ShortestJobFirst in sjf = "sjf" [{
            /// Once a head has waited for this time, it goes before shorter jobs. 0 is FCFS.
            threshold: Ticks,
        }] {
            new: [{ threshold }] ShortestJobFirst::new(threshold),
            forms: "sjf" [{ threshold: Ticks::MAX }],
                "sjf:SECONDS" [{ threshold: number }],
            meaning: "Shortest job first, by the estimates of run times. Once the head of the \
                queue has waited for SECONDS, it goes first.",
            source: "Krueger, Lai and Dixit-Radiya 1994, Job Scheduling Is More Important than \
                Processor Allocation for Hypercube Computers, IEEE Trans. on Parallel and \
                Distributed Systems 5(5)"
        }
    } };
}
