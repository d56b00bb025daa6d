//! See [`meshalloc_fuzz::operations`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(operations);
