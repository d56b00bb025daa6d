//! The built program `host-sim`, from the outside: what it prints, where, and how it ends; and its [`library`].

mod compare;
mod coverage;
mod cube;
mod early;
mod errors;
mod estimates;
mod grid;
mod io;
mod jobs;
mod library;
mod line;
mod list;
mod map;
mod messages;
mod over_time;
mod page;
mod program;
mod replay;
mod replay_in_process;
mod reproduce;
mod run;
mod saturation;
mod shards;
mod sweep;
mod traffic;
mod view;
