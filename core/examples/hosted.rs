//! A loop on a host: a controller on a thread of its own with the clock of the machine, and a queue of commands.
//!
//! Jobs are threads here that sleep; each is started when the controller grants it processors, and its end is one more
//! command.
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
    Command, Configuration, Controller, Grid, JobId, Reply, Request, SchedulerKind, Storage,
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
    let (commands, inbox) = mpsc::channel();

    let users = commands.clone();
    let arrivals = thread::spawn(move || {
        for job in 1..=JOBS {
            let request = Request::submesh(1 + job as u16 % 6, 1 + job as u16 * 3 % 7);
            let job = JobId(job);
            users
                .send(Command::Submit { job, request })
                .expect("the loop runs");
            thread::sleep(Duration::from_millis(1));
        }
    });

    let mut ended = 0;
    while ended < JOBS {
        let command = inbox.recv()?;
        let now = started.elapsed().as_millis() as u64;
        controller.handle(&command, now, &mut |reply| match reply {
            Reply::Grant(grant) => {
                let (job, blocks) = (grant.job, &grant.blocks);
                println!("{now:>4} ms: {job} runs on {}", mesh.place(blocks[0]));
                let commands = commands.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(work_ms(job)));
                    // Fails only when the loop has ended.
                    let _ = commands.send(Command::Release { job });
                });
            }
            Reply::Released { .. } => ended += 1,
            Reply::Error(error) => println!("{now:>4} ms: refused: {error}"),
            _ => {}
        });
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
