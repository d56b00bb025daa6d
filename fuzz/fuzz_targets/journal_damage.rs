//! See [`meshalloc_fuzz::journal_damage`].
#![cfg_attr(fuzzing, no_main)]

meshalloc_fuzz::program!(journal_damage);
