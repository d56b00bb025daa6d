//! The frame that all benches share.

use std::process::ExitCode;

use meshalloc::StrategyKind;

/// Runs `body`, which returns what was found wrong, under `cargo bench`, with the strategies that
/// are named on the command line. The exit code is 1 if something is wrong, 2 if a strategy is not
/// among those that are `known`.
pub fn main(
    known: impl IntoIterator<Item = StrategyKind>,
    body: impl FnOnce(&[StrategyKind]) -> Vec<String>,
) -> ExitCode {
    // `cargo test --benches` starts this too, without optimisation: times would say nothing.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("measures only under `cargo bench`");
        return ExitCode::SUCCESS;
    }
    let known: Vec<StrategyKind> = known.into_iter().collect();
    let mut strategies = Vec::new();
    for name in std::env::args().skip(1).filter(|name| name != "--bench") {
        match name.parse().ok().filter(|kind| known.contains(kind)) {
            Some(kind) => strategies.push(kind),
            None => {
                let names: Vec<&str> = known.iter().map(|kind| kind.name()).collect();
                let names = names.join(", ");
                eprintln!("error: unknown strategy {name:?}, expected one of {names}");
                return ExitCode::from(2);
            }
        }
    }
    let wrong = body(&strategies);
    for wrong in &wrong {
        eprintln!("error: {wrong}");
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
