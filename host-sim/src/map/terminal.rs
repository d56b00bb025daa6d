//! Maps on a terminal: coloured half-blocks, two rows of processors in a line; letters where there are no
//! colours.

use std::collections::BTreeMap;
use std::io::{self, Write};

use console::{Style, Term};

use super::Map;
use super::colouring::{self, PALETTE};
use super::snapshot::{Owner, Owners};

/// How wide, and whether in colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters in a line.
    pub columns: usize,
    /// Colours, or letters.
    pub colours: bool,
}

/// Characters in a line where it is not known.
const COLUMNS_DEFAULT: usize = 80;

impl Look {
    /// What standard output can do. It has no colours if it is not a terminal or `NO_COLOR` is set.
    pub fn of_stdout() -> Self {
        let size = Term::stdout().size_checked();
        Look {
            columns: size.map_or(COLUMNS_DEFAULT, |(_, columns)| usize::from(columns)),
            colours: console::colors_enabled(),
        }
    }
}

/// Entries of a terminal's table of 256 colours.
const WHITE: u8 = 231;
const BLACK: u8 = 16;

/// Letters for jobs; x is for faulty processors.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWYZ0123456789";
const FREE: char = '.';
const FAULTY: char = 'x';

/// Characters left of a map (row numbers and frame), right of it, and between two.
const LEFT: usize = 5;
const RIGHT: usize = 1;
const BETWEEN: usize = 2;
/// The least width of a map, for its caption.
const WIDTH_MIN: usize = 38;

/// Draws the maps, beside each other where there is room: two of them always if they can be made small
/// enough.
///
/// # Errors
///
/// When `output` does not take them.
pub fn draw(maps: &[Map], look: Look, output: &mut dyn Write) -> io::Result<()> {
    let widest = maps.iter().map(|map| map.snapshot.mesh.sides().w).max();
    let nodes = usize::from(widest.unwrap_or(1));
    let width = |scale: usize| WIDTH_MIN.max(LEFT + nodes.div_ceil(scale) + RIGHT);
    let beside =
        |count: usize| (1..=nodes).find(|&scale| row_width(count, width(scale)) <= look.columns);
    let scale = beside(maps.len().min(2)).or(beside(1)).unwrap_or(nodes);
    let width = width(scale);
    let beside = (1..=maps.len()).rev();
    let count = beside
        .clone()
        .find(|&count| row_width(count, width) <= look.columns);

    for row in maps.chunks(count.unwrap_or(1)) {
        let panels: Vec<_> = row
            .iter()
            .map(|map| panel(map, scale, look.colours))
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
                text.push_str(&line.text);
                missing = (width + BETWEEN).saturating_sub(line.width);
            }
            writeln!(output, "{text}")?;
        }
        writeln!(output)?;
    }
    writeln!(output, "{}", legend(scale, look.colours))
}

fn row_width(count: usize, width: usize) -> usize {
    count * width + count.saturating_sub(1) * BETWEEN
}

fn legend(scale: usize, colours: bool) -> String {
    let mut legend = match colours {
        true => "white: free, black: faulty; jobs that touch differ in colour".to_owned(),
        false => format!("{FREE} free, {FAULTY} faulty; jobs that touch have different letters"),
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
    legend
}

/// A line and how many characters of it are seen.
struct Line {
    text: String,
    width: usize,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        let width = text.chars().count();
        Line { text, width }
    }
}

/// What one field of the map shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Free,
    Job(usize),
    Faulty,
}

/// The lines of one map.
fn panel(map: &Map, scale: usize, colours: bool) -> Vec<Line> {
    let snapshot = &map.snapshot;
    let owners = snapshot.owners();
    let letters = !colours;
    // A character is about twice as high as wide. With colours it has two fields, one above the other;
    // a letter stands for one processor as long as there is room.
    let field_height = if letters && scale > 1 {
        2 * scale
    } else {
        scale
    };
    let line_height = if letters {
        field_height
    } else {
        2 * field_height
    };
    let palette = if letters { LETTERS.len() } else { PALETTE };
    let fields = Fields {
        map,
        owners,
        width: scale,
        height: field_height,
    };
    let paint = Paint {
        numbers: colouring::colours(snapshot, palette),
        letters,
    };

    let (w, h) = (fields.owners.width(), fields.owners.height());
    let columns = w.div_ceil(scale);
    let mut lines: Vec<Line> = vec![map.strategy.name().to_owned().into()];
    lines.extend(map.caption().into_iter().map(Line::from));
    lines.push(format!("{}┌{}┐", " ".repeat(LEFT - 1), "─".repeat(columns)).into());
    for line in (0..h.div_ceil(line_height)).rev() {
        let y = line * line_height;
        let mut text = match line % 4 {
            0 => format!("{y:>width$} ┤", width = LEFT - 2),
            _ => format!("{}│", " ".repeat(LEFT - 1)),
        };
        for column in 0..columns {
            let lower = fields.at(column * scale, y);
            let upper = fields.at(column * scale, y + field_height);
            text.push_str(&paint.character(upper, lower));
        }
        text.push('│');
        let width = LEFT + columns + RIGHT;
        lines.push(Line { text, width });
    }
    let (mut axis, mut numbers) = (String::new(), " ".repeat(LEFT));
    for column in 0..columns {
        axis.push(if column % 8 == 0 { '┬' } else { '─' });
        if column % 8 == 0 && column + 4 <= columns.max(4) {
            let number = (column * scale).to_string();
            numbers.push_str(&" ".repeat((LEFT + column).saturating_sub(numbers.len())));
            numbers.push_str(&number);
        }
    }
    lines.push(format!("{}└{axis}┘", " ".repeat(LEFT - 1)).into());
    lines.push(numbers.into());
    lines
}

/// The fields of a map: so many processors wide and high.
struct Fields<'m> {
    map: &'m Map,
    owners: Owners,
    width: usize,
    height: usize,
}

impl Fields<'_> {
    /// The field from `<x, y>` on: faulty if any processor is, else what most of them are. `None`
    /// outside the mesh.
    fn at(&self, x: usize, y: usize) -> Option<Field> {
        let (columns, rows) = (x..x + self.width, y..y + self.height);
        let faulty =
            self.map.snapshot.faulty.iter().any(|at| {
                columns.contains(&usize::from(at.x)) && rows.contains(&usize::from(at.y))
            });
        if faulty {
            return Some(Field::Faulty);
        }
        let mut counts = BTreeMap::new();
        for y in rows {
            for x in columns.clone() {
                let field = match self.owners.get(x, y) {
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
}

/// How fields look.
struct Paint {
    /// A colour or a letter for each job.
    numbers: Vec<usize>,
    letters: bool,
}

impl Paint {
    fn character(&self, upper: Option<Field>, lower: Option<Field>) -> String {
        if self.letters {
            return self.letter(lower).to_string();
        }
        let [upper, lower] = [upper, lower].map(|field| field.map(|field| self.colour(field)));
        let style = Style::new().force_styling(true);
        match (upper, lower) {
            (Some(upper), Some(lower)) if upper == lower => {
                style.on_color256(upper).apply_to(' ').to_string()
            }
            (Some(upper), Some(lower)) => style
                .color256(upper)
                .on_color256(lower)
                .apply_to('▀')
                .to_string(),
            // The mesh ends between the two.
            (None, Some(lower)) => style.color256(lower).apply_to('▄').to_string(),
            (_, None) => " ".to_owned(),
        }
    }

    fn colour(&self, field: Field) -> u8 {
        match field {
            Field::Free => WHITE,
            Field::Faulty => BLACK,
            Field::Job(place) => colouring::terminal(self.numbers[place]),
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
