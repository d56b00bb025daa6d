//! Other executions than fixed service times.

use meshalloc::Block;

use super::*;

/// Jobs share one server: while n of them run, each works at the rate 1/n. What is left of their
/// work is counted in twelfths of a tick, so one to four jobs at once are exact.
#[derive(Default)]
struct Sharing {
    now: Ticks,
    /// In the order of their starts: order, number, work left.
    running: Vec<(u64, u32, u64)>,
}

const PARTS: u64 = 12;

impl Sharing {
    /// The first job to complete, if none starts, and when.
    fn first(&self) -> Option<(EventKey, usize)> {
        let rate = PARTS / self.running.len().max(1) as u64;
        let running = self.running.iter().enumerate();
        let ends = running.map(|(place, &(order, _, left))| {
            let at = self.now + left.div_ceil(rate);
            (EventKey { at, order }, place)
        });
        ends.min()
    }

    fn advance(&mut self, to: Ticks) {
        let work = (to - self.now) * PARTS / self.running.len().max(1) as u64;
        for (_, _, left) in &mut self.running {
            *left = left.saturating_sub(work);
        }
        self.now = to;
    }
}

impl Execution for Sharing {
    fn time_unit(&self) -> TimeUnit {
        TimeUnit::Second
    }

    fn start(&mut self, start: Start<'_>) {
        self.advance(start.at);
        let work = start.job.work.service().unwrap() * PARTS;
        self.running.push((start.order, start.number, work));
    }

    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        let first = self.first().filter(|&(key, _)| key < limit);
        let Some((key, place)) = first else {
            if !self.running.is_empty() {
                self.advance(limit.at);
            }
            return None;
        };
        self.advance(key.at);
        let (_, number, _) = self.running.remove(place);
        Some(Completion::silent(key, number))
    }
}

#[test]
fn completions_move_while_others_run() {
    // Three processors in a row; the server gives a second of work a second to all that run
    // together. job arrives sides work granted leaves 0 0 1 x 1 10 0 16 (done: 4 until 4, 6 until
    // 8, 9 until 14) 1 4 1 x 1 2 4 8 (at half the rate) 2 8 2 x 1 3 8 14 (known to arrive before
    // job 1 was granted, so first at 8) 3 9 2 x 1 4 14 19 (done: 1 until 16)
    let jobs = [
        job(0, 10, 1, 1),
        job(4, 2, 1, 1),
        job(8, 3, 2, 1),
        job(9, 4, 2, 1),
    ];
    let machine = mesh(3, 1);
    with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
        let mut spy = Spy::default();
        let mut execution = Sharing::default();
        let result = run_with(
            &mut execution,
            all(4).into(),
            &mut spy.around(backend),
            machine,
            jobs,
            &mut (),
        )
        .unwrap();
        assert_eq!(
            spy.notes,
            [
                "0: submit 0, grant 0 (<0, 0>, <0, 0>)",
                "4: submit 1, grant 1 (<1, 0>, <1, 0>)",
                "8: submit 2",
                "8: release 1, grant 2 (<1, 0>, <2, 0>)",
                "9: submit 3",
                "14: release 2, grant 3 (<1, 0>, <2, 0>)",
                "16: release 0",
                "19: release 3",
            ]
        );
        assert_eq!(result.values[Metric::CompletionTime], Some(19.0));
        // 16, 4, 6 and 5 s, each with the processors that it asked for, until the last arrival at 9
        // s: 9 + 4 + 2.
        assert_eq!(
            result.values[Metric::ServiceTime],
            Some((16.0 + 4.0 + 6.0 + 5.0) / 4.0)
        );
        assert_eq!(
            result.values[Metric::Utilization],
            Some((9.0 + 4.0 + 2.0) / 27.0)
        );
    });
}

#[test]
fn without_company_sharing_is_fixed_service() {
    let jobs = || (0..200u64).map(|i| job(3 * i, 1 + i % 5, 1, 1));
    let machine = mesh(1, 1);
    let fixed = simulate(machine, StrategyKind::FirstFit, 8, jobs(), all(200)).unwrap();
    let shared = with_backend(machine, StrategyKind::FirstFit, 8, |backend| {
        let mut execution = Sharing::default();
        run_with(
            &mut execution,
            all(200).into(),
            backend,
            machine,
            jobs(),
            &mut (),
        )
    });
    assert_eq!(shared.unwrap(), fixed);
}

/// Fixed service times; notes the blocks that jobs start with.
#[derive(Default)]
struct Blocks<'n> {
    inner: FixedService,
    notes: Option<&'n mut Vec<(u32, Vec<Block>)>>,
}

impl Execution for Blocks<'_> {
    fn time_unit(&self) -> TimeUnit {
        self.inner.time_unit()
    }

    fn start(&mut self, start: Start<'_>) {
        if let Some(notes) = &mut self.notes {
            notes.push((start.number, start.blocks.to_vec()));
        }
        self.inner.start(start);
    }

    fn complete_before(&mut self, limit: EventKey) -> Option<Completion> {
        self.inner.complete_before(limit)
    }
}

#[test]
fn a_job_starts_once_with_all_of_its_blocks() {
    // Jobs 0 to 24 take single processors of 5 x 5, every second of them leaves at 1 s: 13
    // processors, no two of them beside each other, for job 25, in two parts of a grant. The other
    // 12 leave at 10 s.
    let singles = (0..25u64).map(|i| job(0, if i % 2 == 0 { 1 } else { 10 }, 1, 1));
    let mut scattered = job(1, 5, 5, 3);
    scattered.request.processors = 13;
    let jobs = singles.chain([scattered, job(10, 1, 3, 3), job(10, 1, 2, 2)]);
    let machine = mesh(5, 5);
    let mut notes = Vec::new();
    let result = with_backend(machine, StrategyKind::Naive, 64, |backend| {
        let mut execution = Blocks {
            notes: Some(&mut notes),
            ..Blocks::default()
        };
        run_with(
            &mut execution,
            all(28).into(),
            backend,
            machine,
            jobs,
            &mut (),
        )
        .unwrap()
    });
    assert_eq!(result.decisions, 28);
    let starts: Vec<u32> = notes.iter().map(|(number, _)| *number).collect();
    assert_eq!(starts, (0..28).collect::<Vec<_>>());
    assert_eq!(notes[25].1.len(), 13);
    assert!(notes[25].1.iter().all(|&block| machine.area(block) == 1));
    // The lists of blocks are used again, and empty before.
    for (number, processors) in [(0, 1), (25, 13), (26, 9), (27, 4)] {
        let blocks = &notes[number].1;
        let held: u32 = blocks.iter().map(|&block| machine.area(block)).sum();
        assert_eq!(held, processors, "{blocks:?}");
    }
}
