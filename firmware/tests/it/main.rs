//! The two halves of the protocol against each other, and both against `PROTOCOL.md` and
//! `golden-frames.txt`.

mod board;
mod clock;
mod faults;
mod golden;
mod hostile;
mod journal;
mod leases;
mod liar;
mod life;
mod line;
mod longest;
mod origin;
mod port;
mod processor;
mod rate;
mod recovery;
mod room;
mod samples;
mod session;
mod soak;
mod unread;
