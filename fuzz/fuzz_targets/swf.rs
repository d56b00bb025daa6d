//! See [`meshalloc_fuzz::swf`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(swf);
