//! Tests of the library for C. `library` builds it and compiles programs in C and C++ against it.

mod differential;
mod header;
mod library;
mod misuse;
mod readme;
mod sizes;
