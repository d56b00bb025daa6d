//! The pages of the project in Chromium. `cargo xtask browser` runs these tests.

mod layers;
mod reproduce;
mod view;
mod web;
