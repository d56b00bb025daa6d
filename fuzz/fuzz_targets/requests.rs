//! See [`meshalloc_fuzz::requests`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(requests);
