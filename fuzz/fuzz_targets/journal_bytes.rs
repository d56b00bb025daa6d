//! See [`meshalloc_fuzz::journal_bytes`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(journal_bytes);
