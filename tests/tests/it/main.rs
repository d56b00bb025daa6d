//! Tests across packages: the code under test against naive models, the papers' examples, the
//! limits, and the simulator. With the feature `exhaustive` they try more.

mod absent;
mod allocator_state;
mod alshdefat;
mod backfilling;
mod chips;
mod chuang_wu;
mod commits;
mod contracts;
mod counter_examples;
mod cubes;
mod every_occupancy;
mod few_blocks;
mod free_submesh_list;
mod gangs;
mod grids;
mod growth;
mod handle;
mod hyperq;
mod io_processors;
mod kim_yoon;
mod least_expected_blocking;
mod limits;

mod naive_forms;
#[cfg(feature = "host-sim")]
mod network;
mod own_strategy;
mod partitions;
mod pauses;
mod pods;
mod preempt;
mod priorities;
mod random_operations;
mod reasons;
#[cfg(feature = "host-sim")]
mod reference_log;
mod replace;
mod requeue;
mod restore;
mod scattered;
mod schedulers;
#[cfg(feature = "host-sim")]
mod simulator;
mod texts;
mod tidy;
mod tolerance;
mod word_lengths;
