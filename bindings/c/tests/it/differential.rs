//! Random operations through C and through Rust: `driver.c` carries the lines out that are written
//! here, and each result is compared with that of core.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::num::NonZeroU64;
use std::process::{Command, Stdio};
use std::thread;

use meshalloc::message::LargestReport;
use meshalloc::storage::{HeapStorage, Needs};
use meshalloc::{
    Allocation, Allocator, Answer, Block, Change, Class, Configuration, Controller, Description,
    EventKind, Flags, Grid, JobId, JobState, NodeId, Outcome, Query, Refusal, Request,
    SchedulerKind, Shape, Slices, StrategyKind, Tolerance, Victims,
};
use meshalloc_c::numbers_of;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::library;

const SEED: u64 = 1995;
/// Operations for each machine and strategy, so that there are over 10^5 in all.
const OPERATIONS: u32 = 7000;
/// Jobs or allocations.
const CAPACITY: u32 = 24;
/// The longest list of blocks that is asked for, as `driver.c` has room.
const ROOM: u32 = 8;

const CASES: [(&str, [&str; 5]); 4] = [
    (
        // Its description gives the legal slices.
        "tpu-v4",
        ["cubes", "cubes:fold", "folding", "first-fit", "best-fit"],
    ),
    (
        "mesh 16x16",
        [
            "first-fit",
            "free-submesh-list",
            "naive",
            "l-shape",
            "leb-estimates:8",
        ],
    ),
    (
        "torus 4x4x4",
        [
            "first-fit",
            "adaptive-scan",
            "tree-collapsing",
            "random:seed=7",
            "paging:snake",
        ],
    ),
    (
        "mesh 33x5",
        [
            "best-fit",
            "free-submesh-list",
            "naive",
            "adaptive-scan",
            "curve:best-fit",
        ],
    ),
];

const SCHEDULERS: [SchedulerKind; 5] = [
    SchedulerKind::Fcfs,
    SchedulerKind::Easy { reservations: 2 },
    SchedulerKind::BypassQueue { threshold: 250 },
    SchedulerKind::Conservative,
    SchedulerKind::ShortestJobFirst { threshold: 250 },
];

/// What C must print: these numbers, or the text of an error, which may go on in Rust.
type Expected = Result<String, String>;

fn error(error: impl Display) -> String {
    error.to_string()
}

/// The operations so far, and what each must print.
#[derive(Default)]
struct Script {
    lines: String,
    expected: Vec<Expected>,
}

impl Script {
    fn operation(&mut self, line: impl Display, expected: Expected) {
        writeln!(self.lines, "{line}").unwrap();
        self.expected.push(expected);
    }

    /// Carries the operations out in C, and compares.
    fn check(&self, driver: &std::path::Path) {
        let mut child = Command::new(driver)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let lines = self.lines.clone();
        let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "the driver: {}", output.status);
        let printed = String::from_utf8(output.stdout).unwrap();
        let operations: Vec<&str> = self.lines.lines().collect();
        for (at, (ours, theirs)) in self.expected.iter().zip(printed.lines()).enumerate() {
            let is_same = match ours {
                Ok(ours) => ours == theirs,
                Err(text) => text.starts_with(theirs) && !theirs.is_empty(),
            };
            let before = operations[at.saturating_sub(5)..=at].join("\n");
            assert!(
                is_same,
                "operation {at}:\n{before}\nRust: {ours:?}\nC: {theirs:?}"
            );
        }
        assert_eq!(printed.lines().count(), self.expected.len());
    }
}

/// A machine with two allocators and a controller, and the names of what they hold.
struct World<'m> {
    random: ChaCha8Rng,
    script: Script,
    grid: Grid,
    machine: Option<&'m Description>,
    allocators: [Allocator<'m>; 2],
    /// What the allocators have given away, released or not.
    held: Vec<u128>,
    controller: Controller<'m>,
    now: u64,
    known: u64,
}

impl World<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Extents, most of which fit into the machine.
    fn extents(&mut self) -> Vec<u16> {
        if let Some(machine) = self.machine
            && self.below(4) > 0
        {
            // A legal one: a small shape, or a multiple.
            let shapes = machine.shapes();
            let multiple = machine.multiple().unwrap();
            return match self.below(2) {
                0 => shapes[self.below(shapes.len() as u32) as usize]
                    .extents()
                    .to_vec(),
                _ => multiple
                    .iter()
                    .map(|&side| side * (1 + self.below(3) as u16))
                    .collect(),
            };
        }
        let most = self.grid.dimensions() as u32;
        // Now and then more than the machine has.
        let count = match self.below(50) {
            0 => most + 1,
            n if n < 10 => 1 + self.below(most),
            _ => most,
        };
        let small = self.below(3) > 0;
        (0..count as usize)
            .map(|at| {
                let side = u32::from(self.grid.sides().get(at).copied().unwrap_or(1));
                let bound = if small {
                    side.div_ceil(3) + 1
                } else {
                    side + 2
                };
                self.below(bound) as u16
            })
            .collect()
    }

    /// A request and how it is written.
    fn request(&mut self) -> (Request, String) {
        let extents = self.extents();
        let rings = [8, 16, 32, 128][self.below(4) as usize] * u8::from(self.below(4) == 0);
        let rings = if self.machine.is_some() { rings } else { 0 };
        let flags = [0, 0, 0, 1, 2, 3][self.below(6) as usize] | rings;
        let estimate = u64::from(self.below(3) * self.below(500));
        let area: u32 = extents.iter().map(|&extent| u32::from(extent)).product();
        // 0 stands for all in C. A number above the area is malformed.
        let processors = match self.below(4) {
            0 if area > 0 => 1 + self.below(area + area / 16 + 1),
            _ => 0,
        };
        let chips = Flags::CHIPS.bits() * u8::from(processors > 0 && self.below(4) == 0);
        let flags = flags | chips;
        let request = match chips {
            0 => Request::new(Shape::new(&extents).unwrap()),
            _ => Request::chips(processors),
        };
        let mut request = request.with_flags(Flags::from_bits(flags).unwrap());
        request.estimate = NonZeroU64::new(estimate);
        if processors > 0 {
            request.processors = processors;
        }
        // 0 stands for one slice in C.
        let slices = [0, 0, 0, 0, 1, 2, 3, 9][self.below(8) as usize];
        request = request.with_slices(Slices::new(slices.max(1)).unwrap());
        let priority = match self.below(8) {
            0 => u64::MAX,
            1..4 => self.below(500).into(),
            _ => 0,
        };
        let is_preemptible = self.below(4) == 0;
        let class = Class::new(priority, is_preemptible);
        request = request.with_class(class.expect("this build has priorities"));
        let tolerated = [0, 0, 0, 1, 2, 255][self.below(6) as usize];
        let tolerance = Tolerance::new(tolerated).expect("this build has tolerance");
        request = request.with_tolerance(tolerance);
        let text = format!(
            "{} {flags} {slices} {processors} {estimate} {priority} {} {tolerated}",
            list(&extents),
            u8::from(is_preemptible)
        );
        (request, text)
    }

    /// A block, mostly on the machine, and how it is written.
    fn block(&mut self) -> (Option<Block>, String) {
        let sides = self.grid.sides().to_vec();
        let start: Vec<u16> = sides
            .iter()
            .map(|&side| self.below(side.into()) as u16)
            .collect();
        let extent: Vec<u16> = sides
            .iter()
            .map(|&side| 1 + self.below(u32::from(side).div_ceil(4)) as u16)
            .collect();
        let text = format!("{} {}", list(&start), list(&extent));
        (self.grid.block(&start, &extent), text)
    }

    fn block_text(&self, block: Block) -> String {
        let (start, extent) = (self.grid.start(block), self.grid.extent(block));
        let spans = start.iter().zip(extent.iter());
        spans.fold(String::new(), |text, (start, extent)| {
            format!("{text} {start}+{extent}")
        })
    }

    fn blocks_text(&self, blocks: &[Block], from: u32, room: u32) -> String {
        let some = blocks.iter().skip(from as usize).take(room as usize);
        some.fold(blocks.len().to_string(), |text, &block| {
            text + &self.block_text(block)
        })
    }

    fn largest_text(&self, largest: &LargestReport) -> String {
        let shape = largest.shape.map(Shape::extents);
        let extents = shape.iter().flat_map(|shape| shape.iter());
        let text = extents.fold(largest.processors.to_string(), |text, extent| {
            format!("{text} {extent}")
        });
        match largest.block {
            Some(block) => text + &self.block_text(block),
            None => text + &" 0+0".repeat(self.grid.dimensions()),
        }
    }

    fn allocator_operation(&mut self) {
        let which = self.below(2) as usize;
        // It tries many sizes.
        if self.below(100) == 0 {
            let largest = self.allocators[which].largest();
            let expected = Ok(self.largest_text(&largest));
            self.script.operation(format!("l {which}"), expected);
        }
        let any = (!self.held.is_empty()).then(|| {
            // Mostly a recent one, which may be held.
            let recent = self.below(40).min(self.held.len() as u32 - 1) as usize;
            match self.below(10) {
                0 => self.below(self.held.len() as u32) as usize,
                _ => self.held.len() - 1 - recent,
            }
        });
        match (self.below(10), any) {
            (0..3, Some(index)) => {
                let allocation = Allocation::from_raw(self.held[index]);
                let released = self.allocators[which].release(allocation);
                let expected = released.map_err(|it| error(it.reason));
                self.script.operation(
                    format!("r {which} {index}"),
                    expected.map(|it| it.to_string()),
                );
            }
            (3, Some(index)) => {
                let allocation = Allocation::from_raw(self.held[index]);
                let processors = self.allocators[which].processors(&allocation);
                let expected = processors.map(|it| it.to_string()).map_err(error);
                self.script
                    .operation(format!("p {which} {index}"), expected);
            }
            (4, Some(index)) => {
                let (from, room) = (self.below(4), self.below(ROOM + 1));
                let allocation = Allocation::from_raw(self.held[index]);
                let blocks = self.allocators[which].blocks(&allocation);
                let blocks = blocks.map(Iterator::collect::<Vec<_>>).map_err(error);
                let expected = blocks.map(|blocks| self.blocks_text(&blocks, from, room));
                self.script
                    .operation(format!("b {which} {index} {from} {room}"), expected);
            }
            (5, _) => {
                let (request, text) = self.request();
                let fits = self.allocators[which].fits(&request);
                let expected = Ok(u8::from(fits).to_string());
                self.script.operation(format!("f {which} {text}"), expected);
            }
            (6, _) => {
                let (block, text) = self.block();
                let is_mark = self.below(3) == 0;
                let allocator = &mut self.allocators[which];
                let expected = match block {
                    None => Err("the block is outside the machine".to_owned()),
                    Some(block) if is_mark => Ok(allocator.mark_faulty(block).to_string()),
                    Some(block) => Ok(allocator.clear_faulty(block).to_string()),
                };
                let name = if is_mark { 'm' } else { 'c' };
                self.script
                    .operation(format!("{name} {which} {text}"), expected);
            }
            (7, _) => {
                let node = self.below(self.grid.nodes() + 2);
                let occupancy = self.allocators[which].occupancy();
                let state = state(occupancy, node).map(|state| {
                    format!("{state} {} {}", occupancy.free(), occupancy.faulty_count())
                });
                self.script.operation(format!("q {which} {node}"), state);
            }
            _ => {
                let (request, text) = self.request();
                let allocator = &mut self.allocators[which];
                let expected = match allocator.allocate(&request) {
                    Ok(allocation) => {
                        let processors = allocator.processors(&allocation).unwrap();
                        self.held.push(allocation.into_raw());
                        Ok(processors.to_string())
                    }
                    Err(refusal) => Err(error(refusal)),
                };
                self.script.operation(format!("a {which} {text}"), expected);
            }
        }
    }

    /// A change, and the attempts that follow from it, mostly.
    fn change(&mut self, change: &Change, line: &str) {
        let now = self.now;
        let expected = match self.controller.begin(change, now, None, None) {
            Ok(Outcome::Done) => Ok("0".to_owned()),
            Ok(Outcome::Released { processors }) => Ok(processors.to_string()),
            Ok(Outcome::Faults(report)) => {
                let first = report.first.map_or(0, |job| job.0);
                let changed = report.changed;
                Ok(format!("{changed} {changed} {} {first}", report.jobs))
            }
            Ok(other) => panic!("{other:?}"),
            Err(refused) => Err(error(refused)),
        };
        self.script.operation(format!("{line} {now}"), expected);
        // Else the next change may find it busy.
        if self.below(20) > 0 {
            loop {
                let goes_on = self.controller.advance(None);
                self.script
                    .operation("A", Ok(u8::from(goes_on).to_string()));
                if !goes_on {
                    break;
                }
            }
        }
    }

    fn controller_operation(&mut self) {
        self.now += u64::from(self.below(20));
        let job = self.below(2 * CAPACITY);
        match self.below(20) {
            0..6 => {
                let (request, text) = self.request();
                let lease = u64::from(self.below(2) * self.below(300));
                let submit = Change::Submit {
                    job: JobId(job),
                    request,
                    lease: NonZeroU64::new(lease),
                };
                self.change(&submit, &format!("S {job} {text} {lease}"));
            }
            6..10 => self.change(&Change::Release { job: JobId(job) }, &format!("R {job}")),
            10 => {
                let ticks = u64::from(self.below(300));
                let lease = Change::Lease {
                    job: JobId(job),
                    ticks: NonZeroU64::new(ticks),
                };
                self.change(&lease, &format!("L {job} {ticks}"));
            }
            11 => {
                let expected = match self.controller.lease_ended(self.now) {
                    None => Ok("0".to_owned()),
                    Some((ends, job)) => {
                        let ended =
                            self.controller
                                .begin(&Change::EndLease { job }, ends, None, None);
                        ended.map(|_| "1".to_owned()).map_err(error)
                    }
                };
                self.script.operation(format!("E {}", self.now), expected);
            }
            12 => {
                let (block, text) = self.block();
                let is_mark = self.below(3) == 0;
                let name = if is_mark { 'M' } else { 'C' };
                match block {
                    Some(block) if is_mark => {
                        self.change(&Change::MarkFaulty { block }, &format!("M {text}"));
                    }
                    Some(block) => {
                        self.change(&Change::ClearFaulty { block }, &format!("C {text}"));
                    }
                    None => self.script.operation(
                        format!("{name} {text} {}", self.now),
                        Err("the block is outside the machine".to_owned()),
                    ),
                }
            }
            13 if self.below(3) == 0 => {
                let count = self.below(3) as usize;
                let victims = [(); 2].map(|()| JobId(self.below(2 * CAPACITY)));
                let victims = &victims[..count];
                let mut line = format!("H {job} {count}");
                victims
                    .iter()
                    .for_each(|victim| line += &format!(" {victim}"));
                let preempt = Change::Preempt {
                    job: JobId(job),
                    victims: Victims::new(victims).expect("at most 2"),
                };
                self.change(&preempt, &line);
            }
            13 if self.below(2) == 0 => {
                self.change(&Change::Replace { job: JobId(job) }, &format!("Q {job}"));
            }
            13 => self.query_jobs(),
            14 => {
                let (from, room) = (self.below(4), self.below(ROOM + 1));
                let slice = self.below(8).checked_sub(4);
                let view = self.controller.view();
                let blocks = view.job(JobId(job)).map_err(error);
                let blocks = blocks.map(|_| match slice {
                    Some(slice) => view.blocks_of_slice(JobId(job), slice).collect::<Vec<_>>(),
                    None => view.blocks(JobId(job)).collect(),
                });
                let expected = blocks.map(|blocks| self.blocks_text(&blocks, from, room));
                let line = match slice {
                    Some(slice) => format!("U {job} {slice} {from} {room}"),
                    None => format!("B {job} {from} {room}"),
                };
                self.script.operation(line, expected);
            }
            15 => self.query_job(job),
            16 => self.events(),
            17 => {
                let node = self.below(self.grid.nodes() + 2);
                let state = state(self.controller.occupancy(), node);
                self.script
                    .operation(format!("P {node}"), state.map(|it| it.to_string()));
            }
            18 if self.below(10) == 0 => {
                let expected = match self.controller.answer(&Query::Largest, None) {
                    Ok(Answer::Largest(largest)) => Ok(self.largest_text(&largest)),
                    Ok(other) => panic!("{other:?}"),
                    Err(refused) => Err(error(refused)),
                };
                self.script.operation("Y", expected);
            }
            18 if self.below(3) > 0 => {
                let expected = match self.controller.why(JobId(job), None) {
                    Ok(why) => {
                        let reason = why.reason.map_or(0, |reason| reason as u32 + 1);
                        let numbers = [reason, why.ahead, why.needs, why.free, why.faulty];
                        Ok(numbers.map(|number| number.to_string()).join(" "))
                    }
                    Err(refused) => Err(error(refused)),
                };
                self.script.operation(format!("W {job}"), expected);
            }
            18 => self.statistics(),
            _ if self.below(40) == 0 => {
                self.change(&Change::Reset, "Z");
                self.known = 0;
            }
            _ => self.save(),
        }
    }

    fn query_job(&mut self, job: u32) {
        let report = self.controller.view().job(JobId(job)).map_err(error);
        let expected = report.map(|report| {
            let (runs, processors, ahead) = match report.state {
                JobState::Running { processors } => (1, processors, 0),
                JobState::Waiting { ahead } => (0, 0, ahead),
            };
            let request = &report.request;
            let mut text = format!(
                "{runs} {} {processors} {} {ahead} {} {} {} {} {} {} {}",
                report.submitted,
                report.blocks,
                request.flags.bits(),
                request.slices(),
                request.processors,
                request.estimate.map_or(0, NonZeroU64::get),
                request.class.priority(),
                u8::from(request.class.is_preemptible()),
                request.tolerance.get(),
            );
            for extent in request.shape.extents().iter() {
                write!(text, " {extent}").unwrap();
            }
            text
        });
        self.script.operation(format!("J {job}"), expected);
    }

    fn query_jobs(&mut self) {
        let on = (self.below(2) == 0).then(|| self.block());
        let from = self.below(2) * self.below(CAPACITY);
        let line = match &on {
            Some((_, text)) => format!("K 1 {from} {text}"),
            None => format!("K 0 {from}"),
        };
        let list = match on {
            Some((None, _)) => Err("the block is outside the machine".to_owned()),
            on => {
                let on = on.and_then(|(block, _)| block);
                self.controller.view().job_list(on, from).map_err(error)
            }
        };
        let expected = list.map(|list| {
            let mut text = format!("{} {}", list.jobs.len(), list.next.unwrap_or(0));
            for (job, processors) in &list.jobs {
                write!(text, " {job}:{processors}").unwrap();
            }
            text
        });
        self.script.operation(line, expected);
    }

    /// Reads all events that are not known yet.
    fn events(&mut self) {
        loop {
            let event = self.controller.view().events_since(self.known).next();
            let line = format!("V {}", self.known);
            let Some(event) = event else {
                self.script.operation(line, Ok("0".to_owned()));
                break;
            };
            let none = || " 0+0".repeat(self.grid.dimensions());
            let (kind, attempts, misses, total, block) = match event.what {
                EventKind::Granted {
                    attempts,
                    misses,
                    blocks_total,
                    block,
                } => (1, attempts, misses, blocks_total, self.block_text(block)),
                EventKind::LeaseEnded => (2, 0, 0, 0, none()),
                EventKind::Preempted { .. } => (3, 0, 0, 0, none()),
            };
            let by = match event.what {
                EventKind::Preempted { by } => by.0,
                _ => 0,
            };
            let expected = format!(
                "1 {} {} {} {kind} {} {attempts} {misses} {total} {by}{block}",
                event.number, event.at, event.job, event.processors
            );
            self.known = event.number;
            self.script.operation(line, Ok(expected));
        }
    }

    fn statistics(&mut self) {
        let all = self.controller.statistics();
        let counts = all.counts;
        let long = [
            counts.submitted,
            counts.granted,
            counts.released,
            counts.refused,
            counts.attempts,
            counts.valid_attempts,
            counts.misses,
            counts.lease_ends,
        ];
        let short = [all.nodes, all.free, all.faulty, all.waiting, all.running];
        let numbers = long.into_iter().chain(short.map(u64::from));
        let expected = numbers.fold("0".to_owned(), |text, number| format!("{text} {number}"));
        self.script.operation("T", Ok(expected));
    }

    /// Saves and, in C, restores. A restored controller decides as the saved one, so the one in
    /// Rust goes on.
    fn save(&mut self) {
        let mut bytes = Vec::new();
        let saved = self.controller.save(&mut |part: &[u8]| {
            bytes.push(part.len() as u8);
            bytes.extend(part);
            Ok::<(), std::convert::Infallible>(())
        });
        let expected = match saved {
            Ok(()) => {
                let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
                });
                Ok(format!("0 {} {hash}", bytes.len()))
            }
            // Rust names what is under way in other words.
            Err(_) => Err("busy with an earlier command".to_owned()),
        };
        self.script.operation("X", expected);
    }
}

fn list(numbers: &[u16]) -> String {
    let start = numbers.len().to_string();
    numbers
        .iter()
        .fold(start, |text, number| format!("{text} {number}"))
}

fn state(occupancy: &meshalloc::Occupancy<'_>, node: u32) -> Result<u8, String> {
    if node < occupancy.grid().nodes() {
        let node = NodeId(node);
        let busy = u8::from(occupancy.is_busy(node));
        Ok(busy + 2 * u8::from(occupancy.is_faulty(node)))
    } else {
        Err("the machine has no processor with this number".to_owned())
    }
}

/// Carries out random operations on one machine with one strategy.
fn run(seed: u64, machine: &str, strategy: &str, scheduler: SchedulerKind) -> Script {
    let description = Description::preset(machine);
    let description = description.as_ref();
    let grid: Grid = match description {
        Some(description) => *description.grid(),
        None => machine.parse().unwrap(),
    };
    let kind: StrategyKind = strategy.parse().unwrap();
    let needs = match description {
        Some(description) => Needs::described(kind, description, CAPACITY as usize),
        None => Needs::of(kind, &grid, CAPACITY as usize),
    };
    let storages = &mut [0, 0, CAPACITY as usize].map(|jobs| HeapStorage::new(needs, jobs));
    let [one, other, third] = storages;
    let configuration = Configuration {
        machine: grid,
        strategy: kind,
        scheduler,
    };
    let mut world = World {
        random: ChaCha8Rng::seed_from_u64(seed),
        script: Script::default(),
        grid,
        machine: description,
        allocators: [one, other].map(|storage| {
            let memory = storage.allocator_memory();
            let memory = match description {
                Some(description) => memory.describing(description),
                None => memory,
            };
            Allocator::new(memory, grid, kind).unwrap()
        }),
        held: Vec::new(),
        controller: {
            let memory = third.memory();
            let memory = match description {
                Some(description) => memory.describing(description),
                None => memory,
            };
            Controller::new(memory, configuration).unwrap()
        },
        now: 0,
        known: 0,
    };
    let wraps = (0..grid.dimensions()).fold(0, |all, at| all | u16::from(grid.wraps(at)) << at);
    let (kind, [first, second]) = numbers_of(&kind).unwrap();
    let (scheduler, [third, fourth]) = numbers_of(&scheduler).unwrap();
    let presets = Description::PRESETS;
    let description = presets.iter().position(|&preset| preset == machine);
    let description = description.map_or(0, |at| at + 1);
    let line = format!(
        "G {} {wraps} {description} {kind} {first} {second} {scheduler} {third} {fourth} {CAPACITY}",
        list(grid.sides())
    );
    world.script.operation(line, Ok("0".to_owned()));
    for _ in 0..OPERATIONS / 2 {
        world.allocator_operation();
        world.controller_operation();
    }
    world.script
}

#[test]
fn random_operations_give_the_same_through_c() {
    let folder = tempfile::tempdir().unwrap();
    let driver = library::compile(&library::package().join("tests/it/driver.c"), folder.path());
    let (mut operations, mut refusals, mut handles) = (0, 0, [0; 2]);
    let mut seed = SEED;
    for (machine, strategies) in CASES {
        for (strategy, scheduler) in strategies.into_iter().zip(SCHEDULERS) {
            seed += 1;
            println!("seed {seed}: {machine}, {strategy}, {scheduler:?}");
            let script = run(seed, machine, strategy, scheduler);
            script.check(&driver);
            operations += script.expected.len();
            let count = |text: &str| {
                let has_text = |it: &&Expected| it.as_ref().is_err_and(|it| it.contains(text));
                script.expected.iter().filter(has_text).count()
            };
            refusals += Refusal::ALL
                .iter()
                .map(|it| count(&error(it)))
                .sum::<usize>();
            handles[0] += count("another allocator");
            handles[1] += count("released before");
        }
    }
    println!("{operations} operations, {refusals} refused, foreign and stale: {handles:?}");
    assert!(
        operations > 100_000 && refusals > 10_000,
        "{operations}, {refusals}"
    );
    assert!(handles.iter().all(|&count| count > 1000), "{handles:?}");
}
