//! A frame of `watch`: a line about what serves, a line of counts, the map, the queue with reasons,
//! and the keys.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::map::Map;
use crate::map::colouring;
use crate::map::terminal;
use meshalloc_sim::names;
use meshalloc_sim::wording::{counted, wrapped};

/// The least width and height of a frame, in characters.
pub const LEAST: (u16, u16) = (60, 15);
/// From this width on the queue is beside the map, and at least so wide.
const BESIDE_FROM: u16 = 80;
const QUEUE_LEAST: u16 = 32;
/// The width of a job's number and of its request.
const JOB: usize = 6;
const REQUEST: usize = 9;

/// How a frame is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours and half blocks, or letters.
    pub colours: bool,
    /// Only ASCII characters.
    pub is_ascii: bool,
}

/// A job that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its name.
    pub job: u32,
    /// The processors that the job asks for.
    pub request: String,
    /// Why it waits, in a word.
    pub cause: &'static str,
    /// The reason as a sentence.
    pub reason: String,
}

/// What a frame shows.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'f> {
    /// A line that says what serves which machine.
    pub head: &'f str,
    /// A text about the pace: how the run goes on.
    pub pace: &'f str,
    /// The machine.
    pub map: &'f Map,
    /// The jobs that wait, in the order of the queue.
    pub queue: &'f [Queued],
    /// The plane of the machine that is shown, if only one is.
    pub plane: Option<usize>,
    /// The keys beside those of every frame.
    pub keys: &'f str,
}

/// Writes a text into a row as far as there is room.
fn write(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row < area.height {
        let width = area.width.into();
        buffer.set_stringn(area.x, area.y + row, text, width, style);
    }
}

/// Why a window of this size has no room for a frame.
pub fn too_small(width: u16, height: u16) -> Option<String> {
    let (least, lines) = LEAST;
    let reason =
        || format!("watch needs {least} x {lines} characters; the window has {width} x {height}");
    (width < least || height < lines).then(reason)
}

impl Frame<'_> {
    /// Draws the frame into this part of the buffer.
    pub fn draw(&self, look: Look, area: Rect, buffer: &mut Buffer) {
        if let Some(text) = too_small(area.width, area.height) {
            let lines = wrapped(&text, area.width.into());
            for (row, line) in (0..).zip(lines) {
                write(buffer, area, row, &line, Style::new());
            }
            return;
        }
        let bold = Style::new().add_modifier(Modifier::BOLD);
        write(buffer, area, 0, self.head, bold);
        let pace = self.pace.chars().count() as u16;
        if usize::from(area.width) > self.head.chars().count() + usize::from(pace) {
            let at = Rect {
                x: area.right() - pace,
                width: pace,
                ..area
            };
            write(buffer, at, 0, self.pace, Style::new());
        }
        let mut counts: Vec<String> = Vec::new();
        for part in self.map.caption() {
            match counts.last_mut() {
                Some(line) if line.len() + part.len() + 2 <= area.width.into() => {
                    *line += ", ";
                    *line += &part;
                }
                _ => counts.push(part),
            }
        }
        for (row, line) in (1..).zip(&counts) {
            write(buffer, area, row, line, Style::new());
        }
        let z = if self.map.snapshot.planes() > 1 {
            "z Z plane  "
        } else {
            ""
        };
        let keys = format!("q quit  {}{z}", self.keys);
        let keys = format!("{keys:<width$}", width = area.width.into());
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        write(buffer, area, area.height - 1, &keys, reversed);
        let body = Rect {
            y: area.y + 1 + counts.len() as u16,
            height: area.height - 2 - counts.len() as u16,
            ..area
        };
        let is_beside = area.width >= BESIDE_FROM;
        let room = if is_beside {
            (body.width - QUEUE_LEAST, body.height)
        } else {
            (body.width, body.height * 2 / 3)
        };
        let (width, height) = self.machine(
            look,
            Rect {
                width: room.0,
                height: room.1,
                ..body
            },
            buffer,
        );
        let queue = if is_beside {
            let left = width + 2;
            Rect {
                x: body.x + left,
                width: body.width - left,
                ..body
            }
        } else {
            Rect {
                y: body.y + height,
                height: body.height - height,
                ..body
            }
        };
        self.waiting(queue, buffer);
        if look.is_ascii {
            for at in area.positions() {
                buffer.cell_mut(at).into_iter().for_each(to_ascii);
            }
        }
    }

    /// Draws the map at the upper left, and its legend; gives the width and height of both.
    fn machine(&self, look: Look, area: Rect, buffer: &mut Buffer) -> (u16, u16) {
        let whole = &self.map.snapshot;
        let letters = !look.colours;
        let colours = colouring::colours(whole, terminal::palette(letters));
        let plane = self.plane.map(|number| whole.plane(number));
        let snapshot = plane.as_ref().unwrap_or(whole);
        let machine = whole.plan.machine;
        let legend = match self.plane {
            None => String::new(),
            Some(number) if machine.dimensions() == 3 => {
                format!("{} = {number}", names::dimension(machine, 2))
            }
            Some(number) => format!("plane {number} of {}", whole.planes()),
        };
        let room = (
            area.width.into(),
            usize::from(area.height).saturating_sub(1),
        );
        let (lines, scale) = terminal::fitted(snapshot, &colours, letters, room);
        let legend = if scale > 1 {
            let each = if letters { 2 * scale } else { scale };
            format!("a field: {scale} x {each} processors  {legend}")
        } else {
            legend
        };
        let mut width = legend.chars().count();
        let rows: Range<u16> = 0..area.height.saturating_sub(1);
        for (row, line) in rows.zip(&lines) {
            width = width.max(line.len());
            for (x, cell) in (area.x..area.right()).zip(line) {
                buffer[(x, area.y + row)] = cell.clone();
            }
        }
        let height = (lines.len() as u16).min(area.height.saturating_sub(1));
        write(buffer, area, height, legend.trim_end(), Style::new());
        ((width as u16).min(area.width), height + 1)
    }

    fn waiting(&self, area: Rect, buffer: &mut Buffer) {
        let waiting = self.map.snapshot.waiting as usize;
        let underlined = Style::new().add_modifier(Modifier::UNDERLINED);
        let title = match waiting {
            0 => "no job waits".to_owned(),
            count => format!("{} in the queue", counted(count, "job")),
        };
        write(buffer, area, 0, &title, underlined);
        let rows = usize::from(area.height).saturating_sub(1);
        // The last row has the number of jobs that have no row.
        let shown = if waiting > rows {
            rows.saturating_sub(1)
        } else {
            rows
        };
        let shown = shown.min(self.queue.len());
        let room = usize::from(area.width).saturating_sub(JOB + REQUEST + 3);
        let queue = &self.queue[..shown];
        let has_room = queue
            .iter()
            .all(|queued| queued.reason.chars().count() <= room);
        for (row, queued) in (1..).zip(queue) {
            let why = if has_room {
                &queued.reason
            } else {
                queued.cause
            };
            let (job, request) = (queued.job, &queued.request);
            let text = format!("{job:>JOB$}  {request:<REQUEST$} {why}");
            write(buffer, area, row, &text, Style::new());
        }
        if waiting > shown {
            let text = format!("{:>JOB$}  {} more", "", waiting - shown);
            write(buffer, area, 1 + shown as u16, &text, Style::new());
        }
    }
}

fn to_ascii(cell: &mut ratatui::buffer::Cell) {
    let symbol = cell.symbol().chars().next().unwrap_or(' ');
    let ascii = match symbol {
        '│' => '|',
        '─' => '-',
        '┌' | '┐' | '└' | '┘' | '┬' | '┤' => '+',
        symbol if symbol.is_ascii() => symbol,
        _ => '?',
    };
    cell.set_char(ascii);
}
