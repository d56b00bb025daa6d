//! See [`meshalloc_fuzz::page`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(page);
