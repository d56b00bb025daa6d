//! The number of processors that a character stands for, the gaps, and the numbers beside a map on
//! a terminal.

use std::ops::Range;

use meshalloc_sim::layout::{Axis, Dimension, Heading, Layout, ONE_ROW, Plan};

/// Characters left of a map at the least: row numbers and frame.
const LEFT: usize = 5;
/// Planes of up to this number of columns together may be drawn without a gap.
const TOGETHER_MAX: usize = 16;
/// Lines from one row number to the next, and columns from one column number to the next.
const LINES_EACH: usize = 4;
const COLUMNS_EACH: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Measure {
    /// With the gaps that are drawn: one character wide, or one line high, for each unit.
    pub(super) layout: Layout,
    pub(super) scale: usize,
    pub(super) left: usize,
    /// The parts of a row without a gap, all of the same length.
    stretches: usize,
}

/// A line of a map, without the part at its left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MapLine {
    Row(Row),
    Gap,
    /// The numbers of planes or cubes, as wide as the map. `name` says what is numbered, if the
    /// numbers themselves do not say it.
    Headings {
        name: String,
        text: String,
    },
}

/// The rows of a line's upper half, and of its lower half, which alone counts for letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) upper: Range<usize>,
    pub(super) lower: Range<usize>,
    numbered: bool,
}

impl Measure {
    /// The measure with the most detail that fits at its scale.
    pub(super) fn fitting(plan: Plan, fits: impl Fn(&Measure, usize) -> bool) -> Option<Measure> {
        let Layout { across, .. } = Layout::new(plan, ONE_ROW, 1);
        let levels = across.levels();
        let with_gaps: Vec<_> = match plan.layers() {
            1 => {
                let small = |finest: usize| across.together(finest) <= TOGETHER_MAX;
                let finest = (1..=levels).filter(|&finest| finest == 1 || small(finest));
                finest.map(|finest| Measure::new(plan, 1, finest)).collect()
            }
            layers => (1..=layers)
                .rev()
                .map(|columns| Measure::new(plan, columns, 1))
                .collect(),
        };
        // On a machine with very many planes there may be no room even for the gaps.
        let without = [Measure::new(plan, ONE_ROW, levels)];
        let fitting = |measures: &[Measure]| {
            let scales = 1..=across.len();
            let mut all =
                scales.flat_map(|scale| measures.iter().map(move |measure| (measure, scale)));
            let found = all.find(|(measure, scale)| fits(measure, *scale));
            found.map(|(measure, scale)| Measure {
                scale,
                ..measure.clone()
            })
        };
        fitting(&with_gaps).or_else(|| fitting(&without))
    }

    /// All columns in one character.
    pub(super) fn least(plan: Plan) -> Measure {
        let levels = Layout::new(plan, ONE_ROW, 1).across.levels();
        let measure = Measure::new(plan, ONE_ROW, levels);
        Measure {
            scale: measure.layout.across.len(),
            ..measure
        }
    }

    fn new(plan: Plan, columns: usize, finest: usize) -> Measure {
        let layout = Layout::new(plan, columns, finest);
        let names = layout.across.dimensions().iter();
        let name = names.map(|dimension| dimension.name.len() + 1).max();
        Measure {
            left: LEFT
                .max(name.unwrap_or(0))
                .max(row_number(&layout, layout.up.len() - 1).len() + 2),
            stretches: layout.across.stretches().len(),
            layout,
            scale: 1,
        }
    }

    /// Characters from the left end to the frame on the right.
    pub(super) fn width(&self) -> usize {
        self.width_at(self.scale)
    }

    pub(super) fn width_at(&self, scale: usize) -> usize {
        let across = &self.layout.across;
        let stretch = across.len() / self.stretches;
        self.left + self.stretches * stretch.div_ceil(scale) + across.gaps()
    }

    /// Lines of the map, its frame and the numbers below included.
    pub(super) fn height_at(&self, scale: usize, letters: bool) -> usize {
        let Layout { across, up, .. } = &self.layout;
        let (line, _) = heights(scale, letters);
        let rows = up
            .stretches()
            .into_iter()
            .map(|rows| rows.len().div_ceil(line));
        let headings = usize::from(self.layout.is_headed());
        rows.sum::<usize>() + up.gaps() + headings + 2 + across.dimensions().len().max(1)
    }

    /// For each character of a line the columns it stands for, `None` in a gap.
    pub(super) fn columns(&self) -> Vec<Option<Range<usize>>> {
        fields(&self.layout.across, self.scale)
    }

    pub(super) fn lines(&self, letters: bool) -> Vec<MapLine> {
        let (line, field) = heights(self.scale, letters);
        let mut since = 0usize;
        let mut lines: Vec<MapLine> = Vec::new();
        let mut headings = self.headings().into_iter().peekable();
        // The line of numbers above the rows so far.
        let mut above = None;
        for rows in fields(&self.layout.up, line) {
            let Some(rows) = rows else {
                since = 0;
                lines.push(above.take().unwrap_or(MapLine::Gap));
                continue;
            };
            let middle = rows.end.min(rows.start + field);
            since += 1;
            let end = rows.end;
            lines.push(MapLine::Row(Row {
                lower: rows.start..middle,
                upper: middle..rows.end,
                numbered: (since - 1).is_multiple_of(LINES_EACH),
            }));
            above = headings
                .next_if(|(top, _)| *top == end)
                .map(|(_, text)| text);
        }
        lines.extend(above);
        lines.reverse();
        lines
    }

    /// The lines of numbers above each row of planes or cubes, from below. Each line comes with the
    /// row at which its planes or cubes end. Empty if the numbers do not fit.
    fn headings(&self) -> Vec<(usize, MapLine)> {
        let columns = self.columns();
        let begin = |x: usize| {
            let mut begins = columns.iter();
            let column =
                begins.position(|column| column.as_ref().is_some_and(|at| at.contains(&x)));
            column.unwrap_or(columns.len())
        };
        let headings = self.layout.headings();
        let room = |over: &Range<usize>| match begin(over.end) {
            end if end == columns.len() => end - begin(over.start),
            next => next - begin(over.start) - 1,
        };
        let fits = |heading: &Heading, length| length <= room(&heading.over.x);
        let (is_named, texts) = self.layout.heading_texts(fits).unwrap_or_default();
        let mut lines: Vec<(usize, MapLine)> = Vec::new();
        for (heading, number) in headings.iter().zip(&texts) {
            let top = heading.over.y.end;
            if lines.last().is_none_or(|(last, _)| *last != top) {
                let name = if is_named {
                    String::new()
                } else {
                    heading.name.replace(" =", "")
                };
                let text = " ".repeat(columns.len());
                lines.push((top, MapLine::Headings { name, text }));
            }
            if let Some((_, MapLine::Headings { text, .. })) = lines.last_mut() {
                let from = begin(heading.over.x.start);
                text.replace_range(from..from + number.len(), number);
            }
        }
        lines
    }

    /// The part at the left of a line, including the frame.
    pub(super) fn line_begin(&self, line: &MapLine) -> String {
        let before = self.left - 1;
        let number = match line {
            MapLine::Headings { name, .. } => return format!("{name:<before$}│"),
            MapLine::Row(row) if row.numbered => Some(row_number(&self.layout, row.lower.start)),
            _ => None,
        };
        // The only row of a ring has no digits.
        match number.filter(|number| !number.is_empty()) {
            Some(number) => format!("{number:>width$} ┤", width = before - 1),
            None => format!("{}│", " ".repeat(before)),
        }
    }

    pub(super) fn ticks(&self) -> String {
        let mut since = 0;
        let ticks = self.columns().into_iter().map(|column| {
            if column.is_none() {
                since = 0;
                return '─';
            }
            since += 1;
            match (since - 1) % COLUMNS_EACH {
                0 => '┬',
                _ => '─',
            }
        });
        ticks.collect()
    }

    /// The lines below the frame: the numbers of columns, or for each dimension its coordinates.
    pub(super) fn numbers(&self) -> Vec<String> {
        let columns = self.columns();
        let across = &self.layout.across;
        // The coordinates in a single dimension, if there are several in a character, are numbers
        // like those of columns.
        let begin = match across.dimensions() {
            [] => Some(String::new()),
            [dimension] if self.scale > 1 && across.levels() == 1 => Some(dimension.name.clone()),
            _ => None,
        };
        if let Some(begin) = begin {
            let numbers = (0..columns.len()).step_by(COLUMNS_EACH);
            // A number near the end would reach out of the frame.
            let numbers = numbers.filter(|column| column + 4 <= columns.len().max(4));
            let numbers = numbers.map(|column| (column, column * self.scale));
            return vec![self.line(begin, numbers)];
        }
        let lines = across.dimensions().iter().filter_map(|dimension| {
            let digits = self.digits(&columns, dimension)?;
            Some(self.line(dimension.name.clone(), digits.into_iter()))
        });
        lines.collect()
    }

    /// The coordinates of this dimension that are shown, each with the character at which it
    /// begins. If there is no room for all of them, every second one is shown, or every fourth, and
    /// so on. `None` if only coordinate 0 would be left, or if some have no character of their own.
    fn digits(
        &self,
        columns: &[Option<Range<usize>>],
        dimension: &Dimension,
    ) -> Option<Vec<(usize, usize)>> {
        let (side, each) = (dimension.side, dimension.stride);
        let width = digits(dimension.step * (side - 1));
        let begins: Vec<(usize, usize)> = (0..)
            .zip(columns)
            .filter_map(|(at, column)| {
                let begin = column.as_ref()?.start;
                let digit = dimension.coordinate(begin);
                begin.is_multiple_of(each).then_some((at, digit))
            })
            .collect();
        // If a character stands for several columns, some digits may have no character of their
        // own.
        let whole = begins.len() == self.layout.across.len() / each;
        // Single figures may stand beside each other.
        let room = if width == 1 { 1 } else { width + 1 };
        let steps = (0..)
            .map(|power| 1 << power)
            .take_while(|&step| step < side)
            .map(|step| step * dimension.step);
        let mut shown = steps.map(|step| {
            let begins = begins.iter().copied();
            begins
                .filter(|(_, digit)| digit.is_multiple_of(step))
                .collect::<Vec<_>>()
        });
        shown.find(|shown| whole && shown.windows(2).all(|pair| pair[0].0 + room <= pair[1].0))
    }

    fn line(&self, begin: String, numbers: impl Iterator<Item = (usize, usize)>) -> String {
        let mut line = begin;
        for (column, number) in numbers {
            let missing = (self.left + column).saturating_sub(line.len());
            line.push_str(&" ".repeat(missing));
            line.push_str(&number.to_string());
        }
        line
    }
}

/// The number of a row; its coordinates where there are several planes, highest first.
fn row_number(layout: &Layout, y: usize) -> String {
    let up = &layout.up;
    if layout.across.dimensions().is_empty() || layout.is_headed() {
        return up.part(1, y).to_string();
    }
    let sides = up.dimensions().iter().map(|dimension| dimension.side);
    let width = digits(sides.max().unwrap_or(1) - 1);
    let between = if width > 1 { " " } else { "" };
    let address = up.dimensions().iter().rev();
    let address = address.map(|dimension| format!("{:>width$}", dimension.coordinate(y)));
    let address: Vec<_> = address.collect();
    address.join(between)
}

/// Fields of up to `scale` processors along an axis. A field does not go over a gap; a gap is
/// `None`.
fn fields(axis: &Axis, scale: usize) -> Vec<Option<Range<usize>>> {
    let mut fields = Vec::new();
    let mut gaps = 0;
    for stretch in axis.stretches() {
        let before = axis.gaps_before(stretch.start);
        fields.extend((gaps..before).map(|_| None));
        gaps = before;
        let begins = stretch.clone().step_by(scale);
        fields.extend(begins.map(|begin| Some(begin..stretch.end.min(begin + scale))));
    }
    fields
}

/// How many rows of processors a line stands for, and a field of it. A character is about twice as
/// high as wide. With colours it has two fields, one above the other; a letter stands for one
/// processor as long as there is room.
fn heights(scale: usize, letters: bool) -> (usize, usize) {
    let letter = if scale > 1 { 2 * scale } else { 1 };
    if letters {
        (letter, letter)
    } else {
        (2 * scale, scale)
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}
