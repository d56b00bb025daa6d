//! Maps on a terminal: coloured half-blocks, two rows of processors in a line; letters where there
//! are no colours.
//!
//! A map that is too wide is drawn smaller: the narrowest gaps between planes go first, if the
//! planes are small, and then one field stands for several processors.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use console::{Style, measure_text_width};
use ratatui::buffer::Cell;
use ratatui::style::Color;

use super::Map;
use super::colouring::{self, PALETTE};
use super::snapshot::{Owner, Owners, Snapshot};
use crate::printable::coloured;
use crate::tables;
use measure::{MapLine, Measure};

mod measure;

/// How wide a map may be, and whether it has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters in a line.
    pub columns: usize,
    /// Colours, or letters.
    pub colours: bool,
}

/// Entries of a terminal's table of 256 colours.
const WHITE: Color = Color::Indexed(231);
const BLACK: Color = Color::Indexed(16);

/// Letters for jobs; x is for faulty processors.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWYZ0123456789";
const FREE: char = '.';
const FAULTY: char = 'x';

/// Cells as text, with colours where they have them.
pub(crate) fn styled(cells: &[Cell]) -> String {
    let styled = cells.iter().map(|cell| {
        let mut style = Style::new().force_styling(true);
        if let Color::Indexed(colour) = cell.fg {
            style = style.color256(colour);
        }
        if let Color::Indexed(colour) = cell.bg {
            style = style.on_color256(colour);
        }
        style.apply_to(cell.symbol()).to_string()
    });
    styled.collect()
}

/// The number of different colours, or letters.
pub const fn palette(letters: bool) -> usize {
    if letters { LETTERS.len() } else { PALETTE }
}

/// The map of a snapshot whose jobs have these colours, with as much detail as fits into `room`,
/// columns and lines, and the number of processors that a field is wide.
pub fn fitted(
    snapshot: &Snapshot,
    colours: &[usize],
    letters: bool,
    room: (usize, usize),
) -> (Vec<Vec<Cell>>, usize) {
    let fits = |measure: &Measure, scale| {
        measure.width_at(scale) + RIGHT <= room.0 && measure.height_at(scale, letters) <= room.1
    };
    let plan = snapshot.plan;
    let measure = Measure::fitting(plan, fits).unwrap_or_else(|| Measure::least(plan));
    (lines(snapshot, colours, &measure, letters), measure.scale)
}

/// Characters right of a map, for its frame, and between two maps.
const RIGHT: usize = 1;
const BETWEEN: usize = 2;

/// Prints the maps as standard output can show them: without colours if standard output is no
/// terminal, or if `NO_COLOR` is set.
pub(crate) fn print(maps: &[Map], output: &mut dyn Write) -> io::Result<()> {
    let look = Look {
        columns: tables::width(),
        colours: console::colors_enabled(),
    };
    let mut drawn = Vec::new();
    draw(maps, look, &mut drawn)?;
    output.write_all(&coloured(drawn))
}

/// Draws the maps beside each other where there is room: two always if they can be small enough.
pub fn draw(maps: &[Map], look: Look, output: &mut dyn Write) -> io::Result<()> {
    let Some(plan) = maps.first().map(|map| map.snapshot.plan) else {
        return Ok(());
    };
    // A caption that is wider than its map must not touch that of the map beside it.
    let captions = maps.iter().flat_map(caption);
    let caption = captions.map(|line| measure_text_width(&line)).max();
    let caption = caption.unwrap_or(0);
    let with_frame = |width: usize| caption.max(width + RIGHT);
    let beside = |count: usize| {
        let fits = |measure: &Measure, scale| {
            row_width(count, with_frame(measure.width_at(scale))) <= look.columns
        };
        Measure::fitting(plan, fits)
    };
    // Small planes cannot be read, and two maps may stand one below the other.
    let readable = |measure: &Measure| !measure.layout.is_headed() || measure.scale == 1;
    let two = beside(maps.len().min(2)).filter(readable);
    let measure = two.or_else(|| beside(1));
    let measure = measure.unwrap_or_else(|| Measure::least(plan));
    let width = with_frame(measure.width());
    let mut beside = (1..=maps.len()).rev();
    let count = beside.find(|&count| row_width(count, width) <= look.columns);

    for row in maps.chunks(count.unwrap_or(1)) {
        let panels: Vec<_> = row
            .iter()
            .map(|map| panel(map, &measure, look.colours))
            .collect();
        let lines = panels.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..lines {
            let mut text = String::new();
            let mut missing = 0;
            for panel in &panels {
                let Some(line) = panel.get(line) else {
                    continue;
                };
                text.push_str(&" ".repeat(missing));
                text.push_str(line);
                missing = (width + BETWEEN).saturating_sub(measure_text_width(line));
            }
            writeln!(output, "{text}")?;
        }
        writeln!(output)?;
    }
    writeln!(output, "{}", legend(&measure, look.colours))
}

fn row_width(count: usize, width: usize) -> usize {
    count * width + count.saturating_sub(1) * BETWEEN
}

fn legend(measure: &Measure, colours: bool) -> String {
    let scale = measure.scale;
    let mut legend = if colours {
        "white: free, black: faulty; jobs that touch differ in colour".to_owned()
    } else {
        format!("{FREE} free, {FAULTY} faulty; jobs that touch have different letters")
    };
    if scale > 1 {
        let each = if colours {
            "half a character"
        } else {
            "a character"
        };
        let height = if colours { scale } else { 2 * scale };
        legend.push_str(&format!(
            "\n{each}: what most of {scale} x {height} processors are"
        ));
    }
    for line in measure.layout.directions() {
        legend.push_str(&format!("\n{line}"));
    }
    legend
}

/// What one field of the map shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Free,
    Job(usize),
    Faulty,
}

fn caption(map: &Map) -> Vec<String> {
    let name = map.strategy.to_string();
    std::iter::once(name).chain(map.caption()).collect()
}

fn panel(map: &Map, measure: &Measure, colours: bool) -> Vec<String> {
    let letters = !colours;
    let numbers = colouring::colours(&map.snapshot, palette(letters));
    let drawn = lines(&map.snapshot, &numbers, measure, letters);
    let drawn = drawn.iter().map(|line| styled(line));
    caption(map).into_iter().chain(drawn).collect()
}

/// The lines of a map with its frame and the text beside it.
fn lines(
    snapshot: &Snapshot,
    colours: &[usize],
    measure: &Measure,
    letters: bool,
) -> Vec<Vec<Cell>> {
    let owners = snapshot.owners(&measure.layout);
    let paint = Paint {
        numbers: colours,
        letters,
    };
    let plain = |text: &str| -> Vec<Cell> { text.chars().map(Cell::from).collect() };
    let columns = measure.columns();
    let characters = columns.len();
    let indent = " ".repeat(measure.left - 1);
    let mut lines = vec![plain(&format!("{indent}┌{}┐", "─".repeat(characters)))];
    for line in measure.lines(letters) {
        let mut text = plain(&measure.line_begin(&line));
        match &line {
            MapLine::Gap => text.extend(plain(&" ".repeat(characters))),
            MapLine::Headings { text: headings, .. } => text.extend(plain(headings)),
            MapLine::Row(row) => columns.iter().for_each(|column| {
                let fields = column
                    .as_ref()
                    .map(|x| [&row.upper, &row.lower].map(|y| field(&owners, x, y)));
                let [upper, lower] = fields.unwrap_or_default();
                text.push(paint.cell(upper, lower));
            }),
        }
        text.push('│'.into());
        lines.push(text);
    }
    lines.push(plain(&format!("{indent}└{}┘", measure.ticks())));
    lines.extend(measure.numbers().iter().map(|line| plain(line)));
    lines
}

/// Faulty if any processor of this area is faulty, else the state of most of its processors. `None`
/// outside the machine.
fn field(owners: &Owners, x: &Range<usize>, y: &Range<usize>) -> Option<Field> {
    let mut counts = BTreeMap::new();
    for y in y.clone() {
        for x in x.clone() {
            if owners.is_faulty(x, y) {
                return Some(Field::Faulty);
            }
            let field = match owners.get(x, y) {
                Some(Owner::Job(place)) => Field::Job(place),
                Some(Owner::Free) => Field::Free,
                None => continue,
            };
            *counts.entry(field).or_insert(0u32) += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(field, _)| field)
}

struct Paint<'n> {
    /// A colour or a letter for each job.
    numbers: &'n [usize],
    letters: bool,
}

impl Paint<'_> {
    fn cell(&self, upper: Option<Field>, lower: Option<Field>) -> Cell {
        if self.letters {
            return self.letter(lower).into();
        }
        let [upper, lower] = [upper, lower].map(|field| field.map(|field| self.colour(field)));
        let (symbol, front, back) = match (upper, lower) {
            (Some(upper), Some(lower)) if upper == lower => (" ", Color::Reset, upper),
            (Some(upper), Some(lower)) => ("▀", upper, lower),
            // The plane ends between the two.
            (None, Some(lower)) => ("▄", lower, Color::Reset),
            (_, None) => (" ", Color::Reset, Color::Reset),
        };
        let mut cell = Cell::new(symbol);
        cell.set_fg(front).set_bg(back);
        cell
    }

    fn colour(&self, field: Field) -> Color {
        match field {
            Field::Free => WHITE,
            Field::Faulty => BLACK,
            Field::Job(place) => Color::Indexed(colouring::terminal(self.numbers[place])),
        }
    }

    fn letter(&self, field: Option<Field>) -> char {
        match field {
            None => ' ',
            Some(Field::Free) => FREE,
            Some(Field::Faulty) => FAULTY,
            Some(Field::Job(place)) => char::from(LETTERS[self.numbers[place] % LETTERS.len()]),
        }
    }
}
