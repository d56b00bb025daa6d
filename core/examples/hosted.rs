//! A loop on a host: a controller on a thread of its own with the clock of the machine, and a queue
//! of changes.
//!
//! Jobs are threads here that sleep. Each is started when the controller grants it processors, and
//! its end is one more change.
//!
//! ```sh
//! cargo run -p meshalloc --example hosted
//! ```

use std::error::Error;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use meshalloc::Threshold;
use meshalloc::{
    Change, Configuration, Controller, Grid, JobId, Outcome, Request, SchedulerKind, Storage,
    StrategyKind,
};

/// How long a job works, in milliseconds.
fn work_ms(job: JobId) -> u64 {
    5 + u64::from(job.0 % 4) * 5
}

fn main() -> Result<(), Box<dyn Error>> {
    const JOBS: u32 = 40;
    let mut storage: Storage<8, 64> = Storage::new();
    let mesh = Grid::mesh(&[8, 8])?;
    let mut controller = Controller::new(
        storage.memory(),
        Configuration {
            machine: mesh,
            strategy: StrategyKind::BestFit,
            // Ticks are milliseconds: what the clock below counts.
            scheduler: SchedulerKind::ModifiedFcfs(Threshold::Static { ticks: 20 }),
        },
    )?;
    let started = Instant::now();
    let (changes, inbox) = mpsc::channel();

    let users = changes.clone();
    let arrivals = thread::spawn(move || {
        for job in 1..=JOBS {
            let request = Request::submesh(1 + job as u16 % 6, 1 + job as u16 * 3 % 7);
            let job = JobId(job);
            users
                .send(Change::submit(job, request))
                .expect("the loop runs");
            thread::sleep(Duration::from_millis(1));
        }
    });

    let (mut ended, mut known) = (0, 0);
    while ended < JOBS {
        let change = inbox.recv()?;
        let now = started.elapsed().as_millis() as u64;
        match controller.handle(&change, now) {
            Ok(Outcome::Released { .. }) => ended += 1,
            Ok(_) => {}
            Err(error) => println!("{now:>4} ms: refused: {error}"),
        }
        let view = controller.view();
        for event in view.events_since(known) {
            let job = event.job;
            let block = view.blocks(job).next().ok_or("a job that runs has one")?;
            println!("{now:>4} ms: {job} runs on {}", mesh.place(block));
            let changes = changes.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(work_ms(job)));
                // Fails only when the loop has ended.
                let _ = changes.send(Change::Release { job });
            });
            known = event.number;
        }
    }
    arrivals
        .join()
        .map_err(|_| "the thread of the arrivals has panicked")?;
    let statistics = controller.statistics();
    assert_eq!(
        (statistics.counts.granted, statistics.free),
        (JOBS.into(), 64)
    );
    println!(
        "{} attempts to place {JOBS} jobs",
        statistics.counts.attempts
    );
    Ok(())
}
