//! Measures an image in QEMU, for `cargo xtask instructions` and `cargo xtask size`.

fn main() {
    meshalloc_tests::measure::main(std::env::args().skip(1));
}
