//! `watch`: a live view of a machine on a terminal: a controller on a board, or a run of the
//! simulator at a chosen speed. The run is made and recorded first ([`History`]), so that it can
//! be stopped and stepped in both directions.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use meshalloc::{Configuration, JobId, Ticks};
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;

use crate::device::{Connection, PlaceArgs};
use crate::failure::{self, Failure};
use crate::map::{Map, terminal};
use crate::printable::coloured;
use crate::settings::{FileArgs, Given, Takes};
use crate::signals::{self, is_interrupted};
use crate::view::{self, ViewArgs};
use frame::{Frame, Look, Queued, too_small};
use meshalloc_sim::backend::BackendError;
use meshalloc_sim::experiment::Experiment;
use meshalloc_sim::history::History;
use meshalloc_sim::names;
use meshalloc_sim::situation::{Running, Situation, Waiting};
use meshalloc_sim::workload::{SharedLogs, TimeUnit};

pub mod frame;

/// The pause between two frames of a run, and between two questions to a controller.
const FRAME_EVERY: Duration = Duration::from_millis(100);
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long a run takes unless a speed is chosen, in seconds.
const RUN_SECONDS: f64 = 60.0;
/// More waiting jobs are not on any screen, and reasons take time.
const QUEUE_MAX: usize = 200;
/// The size of a frame that goes to no terminal.
const SIZE: (u16, u16) = (80, 24);

/// The options of `watch`.
#[derive(Args, Clone, Debug)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    file: FileArgs,

    #[command(flatten)]
    options: Given<Self>,

    /// Simulated seconds for each real second (cycles where jobs send messages) [default: the whole
    /// run takes a minute]
    #[arg(long, value_name = "FACTOR", value_parser = names::span, help_heading = "Where and how")]
    speed: Option<Ticks>,

    /// Begin at this time of the run [default: 0; with --once: when the last measured job arrives]
    #[arg(long, value_name = "TIME", value_parser = names::span, help_heading = "Where and how")]
    at: Option<Ticks>,

    /// Print one frame and end
    #[arg(long, help_heading = "Where and how")]
    once: bool,

    /// Only ASCII characters, and no colours
    #[arg(long, help_heading = "Where and how")]
    ascii: bool,
}

impl Takes for WatchArgs {
    const IGNORED: &'static [&'static str] = ViewArgs::IGNORED;
}

pub(crate) fn watch(args: &WatchArgs, output: &mut dyn Write) -> Result<(), Failure> {
    let look = Look {
        colours: console::colors_enabled() && !args.ascii,
        is_ascii: args.ascii,
    };
    if args.place.is_given() {
        if let Some(option) = args
            .options
            .first()
            .or(args.file.path().map(|_| "scenario"))
        {
            return Err(format!(
                "--{option} is of a run, and a controller has its own settings (expected no \
                 --port, --tcp or --unix)"
            )
            .into());
        }
        signals::handle()?;
        let mut board = Board(Connection::open(&args.place)?);
        return show(&mut board, args.once, look, output);
    }
    let (scenario, origin) = args.options.over(args.file.path())?.scenario("watch")?;
    let scenario = &scenario.resolve_of(origin)?;
    let mut experiment = scenario.experiment(&SharedLogs::default())?;
    experiment.strategies.truncate(1);
    let history = view::recorded(scenario, &experiment)?.remove(0);
    let unit = history.unit;
    let last = experiment.measured(0)?.needed().saturating_sub(1) as usize;
    let last = history.jobs.get(last).map_or(0, |job| job.job.arrival);
    let begin = if args.once { last } else { 0 };
    let whole = unit.of(history.end).max(1.0);
    // Cycles are written like seconds.
    let read = |span| TimeUnit::Second.of(span);
    let mut playback = Playback {
        at: args.at.map_or(begin, |at| unit.ticks(read(at))) as f64,
        speed: args.speed.map_or(whole / RUN_SECONDS, read),
        steps: history.steps().iter().map(|step| step.at).collect(),
        is_paused: args.once,
        latest: Instant::now(),
        experiment,
        history,
    };
    show(&mut playback, args.once, look, output)
}

/// The source of a live view.
trait Source {
    /// The machine, and the strategy and scheduler that serve it.
    fn configuration(&self) -> Configuration;

    /// The situation now, and its time; `None` where it could not be read just now.
    fn situation(&mut self) -> Result<Option<(Situation<'_>, Option<Ticks>)>, Failure>;

    /// The unit of times.
    fn unit(&self) -> TimeUnit;

    /// The pace, at the right of the first line.
    fn pace(&self) -> String;

    /// The keys beside those of every frame.
    fn keys(&self) -> &'static str;

    /// The pause between two frames.
    fn every(&self) -> Duration;

    /// Handles a key.
    fn press(&mut self, key: KeyCode);
}

/// A controller at the end of a line.
struct Board(Connection);

impl Source for Board {
    fn configuration(&self) -> Configuration {
        self.0.configuration
    }

    fn situation(&mut self) -> Result<Option<(Situation<'_>, Option<Ticks>)>, Failure> {
        match self.0.situation() {
            Ok(situation) => Ok(Some((situation, None))),
            // Another client has changed something between two questions.
            Err(BackendError::UnexpectedReply { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn unit(&self) -> TimeUnit {
        TimeUnit::Cycle
    }

    fn pace(&self) -> String {
        self.0.endpoint.to_string()
    }

    fn keys(&self) -> &'static str {
        ""
    }

    fn every(&self) -> Duration {
        ASK_EVERY
    }

    fn press(&mut self, _: KeyCode) {}
}

/// A recorded run.
struct Playback {
    experiment: Experiment,
    history: History,
    /// The times of its events.
    steps: Vec<Ticks>,
    /// The time that is shown, in ticks.
    at: f64,
    /// How many units of the run's time pass in a second.
    speed: f64,
    is_paused: bool,
    latest: Instant,
}

impl Source for Playback {
    fn configuration(&self) -> Configuration {
        self.experiment.configuration(self.history.strategy, 0)
    }

    fn situation(&mut self) -> Result<Option<(Situation<'_>, Option<Ticks>)>, Failure> {
        let elapsed = self.latest.elapsed().as_secs_f64();
        self.latest = Instant::now();
        if !self.is_paused {
            self.at += elapsed * self.speed * self.history.unit.ticks_each() as f64;
        }
        self.at = self.at.min(self.history.end as f64);
        let configuration = self.configuration();
        let scene = self.history.at(self.at as Ticks);
        let job = |number: u32| &self.history.jobs[number as usize];
        let running = scene.running.iter().map(|&(number, blocks)| {
            let stretches = job(number).stretches.iter();
            let begun = stretches.filter(|stretch| stretch.start <= scene.at);
            Running {
                job: JobId(number),
                request: job(number).job.request,
                blocks: blocks.to_vec(),
                granted_at: begun.map(|stretch| stretch.start).max().unwrap_or(0),
            }
        });
        let waiting = scene.waiting.iter().map(|&number| Waiting {
            job: JobId(number),
            request: job(number).job.request,
            submitted: job(number).job.arrival,
        });
        let description = self.experiment.description.as_ref();
        let situation = Situation {
            configuration,
            description: description.map(|it| &it.description),
            running: running.collect(),
            waiting: waiting.collect(),
            faulty: scene.down,
        };
        Ok(Some((situation, Some(scene.at))))
    }

    fn unit(&self) -> TimeUnit {
        self.history.unit
    }

    fn pace(&self) -> String {
        let Playback { at, history, .. } = self;
        let speed = format!("{:.3} {}/s", self.speed, history.unit.symbol());
        if *at >= history.end as f64 {
            "the run has ended".to_owned()
        } else if self.is_paused {
            format!("{speed}, stopped")
        } else {
            speed
        }
    }

    fn keys(&self) -> &'static str {
        "space stop  + - speed  left right event  home end  "
    }

    fn every(&self) -> Duration {
        FRAME_EVERY
    }

    fn press(&mut self, key: KeyCode) {
        let now = self.at as Ticks;
        let next = self.steps.partition_point(|&at| at <= now);
        let before = self.steps.partition_point(|&at| at < now);
        let to = match key {
            KeyCode::Char(' ') => {
                self.is_paused = !self.is_paused;
                return;
            }
            KeyCode::Char('+') => {
                self.speed *= 2.0;
                return;
            }
            KeyCode::Char('-') => {
                self.speed /= 2.0;
                return;
            }
            KeyCode::Right => self.steps.get(next).copied(),
            KeyCode::Left => before.checked_sub(1).map(|place| self.steps[place]),
            KeyCode::Home => Some(0),
            KeyCode::End => Some(self.history.end),
            _ => return,
        };
        self.is_paused = true;
        self.at = to.map_or(self.at, |to| to as f64);
    }
}

/// What one frame shows, as it was read last.
struct Seen {
    head: String,
    map: Map,
    queue: Vec<Queued>,
}

/// Reads the source, if it can be read now.
fn see(source: &mut dyn Source) -> Result<Option<Seen>, Failure> {
    let (configuration, unit) = (source.configuration(), source.unit());
    let Some((mut situation, at)) = source.situation()? else {
        return Ok(None);
    };
    let map = Map::of_situation(&situation);
    situation.waiting.truncate(QUEUE_MAX);
    let reasons = situation.reasons()?;
    let queue = situation.waiting.iter().zip(reasons);
    let queue = queue.map(|(waiting, reason)| Queued {
        job: waiting.job.0,
        request: waiting.request.to_string(),
        cause: reason.cause().name(),
        reason: reason.to_string(),
    });
    let queue = queue.collect();
    let Configuration {
        machine,
        strategy,
        scheduler,
    } = configuration;
    let scheduler = names::scheduler_text(scheduler, unit);
    Ok(Some(Seen {
        head: format!("{machine}, {strategy}, {scheduler}"),
        map: Map { at, unit, ..map },
        queue,
    }))
}

fn draw(source: &dyn Source, seen: &Seen, plane: usize, look: Look, buffer: &mut Buffer) {
    let frame = Frame {
        head: &seen.head,
        pace: &source.pace(),
        map: &seen.map,
        queue: &seen.queue,
        plane: plane.checked_sub(1),
        keys: source.keys(),
    };
    frame.draw(look, buffer.area, buffer);
}

/// The terminal, which [`ratatui::restore`] gives back; a panic does so, too.
///
/// # Errors
///
/// When it cannot be set up.
pub fn open() -> io::Result<DefaultTerminal> {
    ratatui::try_init()
}

fn show(
    source: &mut dyn Source,
    once: bool,
    look: Look,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal();
    if !once {
        if !is_terminal {
            return Err("standard output is no terminal (expected one, or --once)"
                .to_owned()
                .into());
        }
        let mut terminal = open()?;
        let ended = follow(&mut terminal, source, look);
        // Dropping the terminal shows the cursor again.
        drop(terminal);
        ratatui::restore();
        return ended;
    }
    let seen = loop {
        match see(source)? {
            Some(seen) => break seen,
            None if is_interrupted() => return Err(Failure::Incomplete(failure::interrupted())),
            None => {}
        }
    };
    let size = is_terminal.then(ratatui::crossterm::terminal::size);
    // The last line of a terminal is for the prompt.
    let (width, height) = match size.and_then(Result::ok) {
        Some((width, height)) => (width, height.saturating_sub(1)),
        None => SIZE,
    };
    if let Some(reason) = too_small(width, height) {
        return Err(reason.into());
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    draw(source, &seen, 0, look, &mut buffer);
    Ok(output.write_all(&coloured(printed(&buffer).into_bytes()))?)
}

/// A frame as lines of text, with colours where it has them.
fn printed(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(buffer.area.width.into());
    let lines = rows.map(|row| terminal::styled(row).trim_end().to_owned() + "\n");
    lines.collect()
}

/// Draws frames and reads keys until the user or a signal ends it.
fn follow(
    terminal: &mut DefaultTerminal,
    source: &mut dyn Source,
    look: Look,
) -> Result<(), Failure> {
    // 0: all planes; else the plane of this number, from 1.
    let mut plane = 0;
    let mut seen = None;
    loop {
        if let Some(now) = see(source)? {
            seen = Some(now);
        }
        if let Some(seen) = &seen {
            terminal.draw(|frame| draw(source, seen, plane, look, frame.buffer_mut()))?;
        }
        let due = Instant::now() + source.every();
        loop {
            if is_interrupted() {
                return Err(Failure::Incomplete(failure::interrupted()));
            }
            let left = due.saturating_duration_since(Instant::now());
            // The wait is short, so that a signal is noticed.
            if !event::poll(left.min(FRAME_EVERY))? {
                if left.is_zero() {
                    break;
                }
                continue;
            }
            let Event::Key(KeyEvent {
                code,
                modifiers,
                kind: KeyEventKind::Press,
                ..
            }) = event::read()?
            else {
                // The size has changed.
                break;
            };
            let planes = seen.as_ref().map_or(1, |seen| seen.map.snapshot.planes());
            let count = if planes > 1 { planes + 1 } else { 1 };
            match code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Char('z') => plane = (plane + 1) % count,
                KeyCode::Char('Z') => plane = (plane + count - 1) % count,
                code => source.press(code),
            }
            break;
        }
    }
}
