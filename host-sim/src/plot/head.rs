//! The head above the axes: a title, and lines below it.

use plotters::style::text_anchor::HPos;

use super::{at, label};
use crate::svg::{Area, PIXEL};
use meshalloc_sim::wording::wrapped;

/// Room for the title and one line, and for each further line, in pixels.
const HEIGHT: i32 = 58;
const LINE: i32 = 20;
const TITLE: i32 = 21;

/// The width of that many characters of this height, in pixels, as most fonts have them at most:
/// the letters of a text are drawn in four fifths of its height.
pub(super) fn text_width(characters: usize, height: i32) -> i32 {
    characters as i32 * height * 12 / 25
}

pub(super) struct Head {
    title: String,
    subtitle: String,
    left: i32,
    width: i32,
    size: i32,
}

impl Head {
    /// A head of this width. Its lines begin at `left`; those below the title have the font size
    /// `size`.
    pub(super) fn new(title: &str, subtitle: &str, left: i32, width: i32, size: i32) -> Self {
        Head {
            title: title.to_owned(),
            subtitle: subtitle.to_owned(),
            left,
            width,
            size,
        }
    }

    /// The lines below the title, none wider than the picture.
    fn lines(&self) -> Vec<String> {
        let characters = 10 * (self.width - self.left) / text_width(10, self.size);
        wrapped(&self.subtitle, characters.max(1) as usize)
    }

    pub(super) fn height(&self) -> i32 {
        let further = self.lines().len().saturating_sub(1) as i32;
        HEIGHT + further * LINE
    }

    /// Draws the head. Returns the area below it.
    pub(super) fn draw<'a>(&self, root: &Area<'a>) -> Result<Area<'a>, Box<dyn std::error::Error>> {
        let (head, below) = root.split_vertically(self.height() * PIXEL);
        label(&head, &self.title, at(self.left, 22), TITLE, HPos::Left)?;
        for (line, number) in self.lines().iter().zip(0..) {
            let place = at(self.left, 45 + number * LINE);
            label(&head, line, place, self.size, HPos::Left)?;
        }
        Ok(below)
    }
}
