//! See [`meshalloc_fuzz::frames`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(frames);
