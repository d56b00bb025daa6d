//! See [`meshalloc_fuzz::scenario`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(scenario);
