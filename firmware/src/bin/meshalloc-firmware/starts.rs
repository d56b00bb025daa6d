//! How often the image has started, in the journal: a number that no start shares with another.

use embedded_storage::nor_flash::NorFlashErrorKind;
use meshalloc_firmware::journal::{Journal, JournalError, Recovered, Replayed};

use crate::area::{Area, REGIONS};

/// Counts this start, and logs its number and how the journal was found.
pub(crate) fn count(area: Area) {
    match number(area) {
        Ok(number) => defmt::info!("start {=u64}", number),
        Err(error) => defmt::error!("journal: {}", error),
    }
}

/// From 1 on, unless a damaged journal has forgotten some.
fn number(area: Area) -> Result<u64, JournalError<NorFlashErrorKind>> {
    let (mut journal, recovered) = Journal::open(area, &REGIONS)?;
    match recovered {
        Recovered::Damaged(_) => defmt::error!("journal: {}", recovered),
        _ => defmt::info!("journal: {}", recovered),
    }
    let mut number: u64 = 0;
    let mut replay = journal.replay();
    while let Some(Replayed::Chunk(kept) | Replayed::Record(kept)) = replay.next()? {
        number = kept.try_into().map_or(number, u64::from_le_bytes);
    }
    if journal.is_due_for_checkpoint() {
        journal.begin_checkpoint()?;
        journal.chunk(&number.to_le_bytes())?;
        journal.commit_checkpoint()?;
    }
    number = number.saturating_add(1);
    journal.append(&number.to_le_bytes())?;
    Ok(number)
}
