//! See [`meshalloc_fuzz::journal_bytes`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| meshalloc_fuzz::journal_bytes(bytes));

#[cfg(not(fuzzing))]
fn main() {
    meshalloc_fuzz::over_files(meshalloc_fuzz::journal_bytes);
}
