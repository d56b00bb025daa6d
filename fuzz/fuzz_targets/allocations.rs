//! See [`meshalloc_fuzz::allocations`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(allocations);
