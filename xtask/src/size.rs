//! The table of flash, RAM and stack.

use std::fmt;

use anyhow::{Context, Result, bail};
use meshalloc::StrategyKind;

use crate::image::{self, FLASH_BYTES, Image, RAM_BYTES};
use crate::{setup, stack};

/// One image and what it takes.
struct Row {
    name: String,
    image: Image,
    /// The deepest stack in bytes, where it was measured.
    deepest: Option<u64>,
}

/// Builds the images and prints what they take.
pub(crate) fn print() -> Result<()> {
    setup::target()?;
    setup::qemu()?;

    // The images for QEMU differ from that of the board by a feature alone, and they can be run.
    let mut rows = Vec::new();
    for &strategy in StrategyKind::ALL {
        // Its feature has its name.
        let features = format!("board,qemu,meshalloc/{strategy}");
        image::build_command(&features)
            .args("--no-default-features")
            .run()?;
        rows.push(measured(&format!("QEMU, {strategy}"), &[strategy])?);
    }
    image::build_command("board").run()?;
    let board = Row {
        name: "board, all strategies".to_owned(),
        image: Image::read()?,
        deepest: None,
    };
    image::build_command("board,qemu").run()?;
    let all = measured("QEMU, all strategies", StrategyKind::ALL)?;
    if let Some(row) = rows.iter().find(|row| row.image.flash >= all.image.flash) {
        bail!(
            "the image \"{}\" is no smaller than \"{}\"",
            row.name,
            all.name
        );
    }
    rows.extend([all, board]);

    println!("\nBytes; the board has {FLASH_BYTES} of flash and {RAM_BYTES} of RAM.\n");
    println!("image                              flash  static RAM  room for stack  deepest stack");
    for row in &rows {
        println!("{row}");
    }
    println!(
        "\nThe deepest stack is a high-water mark: measured in QEMU while the image was asked to place\n\
         {} jobs with each of its strategies on those of these machines that it serves:\n\
         {}. Paths not taken are not in it.",
        stack::JOBS,
        stack::MACHINES
            .map(|machine| machine.to_string())
            .join(", ")
    );
    Ok(())
}

/// The image that was built last, with its deepest stack under all these strategies.
fn measured(name: &str, strategies: &[StrategyKind]) -> Result<Row> {
    let image = Image::read()?;
    let mut deepest = 0;
    for &strategy in strategies {
        let bytes = stack::high_water(&image, strategy).with_context(|| {
            format!("measuring the stack of the image \"{name}\" with {strategy}")
        })?;
        deepest = deepest.max(bytes);
    }
    Ok(Row {
        name: name.to_owned(),
        image,
        deepest: Some(deepest),
    })
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row {
            name,
            image,
            deepest,
        } = self;
        let deepest = deepest.map_or_else(|| "not run".to_owned(), |bytes| bytes.to_string());
        write!(
            f,
            "{name:31} {:>8}  {:>10}  {:>14}  {deepest:>13}",
            image.flash,
            image.ram,
            image.stack_room()
        )
    }
}
