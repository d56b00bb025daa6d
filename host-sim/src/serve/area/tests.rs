//! Crashes that lose unsynced bytes, at random.

use std::collections::BTreeMap;

use meshalloc_firmware::journal::memory::Random;
use meshalloc_firmware::journal::{Journal, JournalError, Recovered, Replayed};

use super::*;

/// The bytes that a disk writes at once.
const SECTOR: usize = 512;

/// A disk in memory. A crash keeps the bytes that were synced, and any sectors of the other bytes.
#[derive(Default)]
struct Memory {
    synced: BTreeMap<u64, [u8; SECTOR]>,
    unsynced: BTreeMap<u64, [u8; SECTOR]>,
    /// Operations until the crash; after it all fail.
    left: Option<u32>,
    syncs: u32,
}

type Shelf = Rc<RefCell<Memory>>;

impl Memory {
    fn sector(&self, number: u64) -> [u8; SECTOR] {
        let own = self.unsynced.get(&number).or(self.synced.get(&number));
        own.copied().unwrap_or([0; SECTOR])
    }

    fn step(&mut self) -> io::Result<()> {
        match &mut self.left {
            Some(0) => return Err(io::Error::other("the crash")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }

    /// Restarts: each unsynced sector is kept or lost.
    fn restart(&mut self, random: &mut Random) {
        let unsynced = std::mem::take(&mut self.unsynced);
        let kept = unsynced.into_iter().filter(|_| random.once_in(2));
        self.synced.extend(kept);
        self.left = None;
    }
}

impl Disk for Shelf {
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let shelf = self.borrow();
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, from) = (at / SECTOR as u64, (at % SECTOR as u64) as usize);
            let (part, after) = rest.split_at_mut(rest.len().min(SECTOR - from));
            part.copy_from_slice(&shelf.sector(number)[from..from + part.len()]);
            at += part.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut shelf = self.borrow_mut();
        let is_crash = shelf.step();
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, from) = (at / SECTOR as u64, (at % SECTOR as u64) as usize);
            let (part, after) = rest.split_at(rest.len().min(SECTOR - from));
            let mut sector = shelf.sector(number);
            sector[from..from + part.len()].copy_from_slice(part);
            shelf.unsynced.insert(number, sector);
            at += part.len() as u64;
            rest = after;
        }
        // The bytes of the last one may still have arrived.
        is_crash
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut shelf = self.borrow_mut();
        shelf.step()?;
        shelf.syncs += 1;
        let unsynced = std::mem::take(&mut shelf.unsynced);
        shelf.synced.extend(unsynced);
        Ok(())
    }
}

fn blank_shelf() -> Shelf {
    let mut shelf = Shelf::default();
    for (at, bytes) in blank() {
        shelf.write(at, &bytes).unwrap();
    }
    Disk::sync(&mut shelf).unwrap();
    shelf
}

type Log = Journal<Area<Shelf>, REGIONS>;

fn open(shelf: &Shelf) -> (Area<Shelf>, Log, Recovered) {
    let area = Area::open(Rc::clone(shelf)).unwrap().unwrap();
    let (journal, recovered) = Journal::open(area.clone()).unwrap();
    (area, journal, recovered)
}

/// A checkpoint of the numbers below `end`: only that number, and something to fill a region.
fn checkpoint(
    journal: &mut Log,
    end: u64,
    fill: usize,
) -> Result<(), JournalError<NorFlashErrorKind>> {
    journal.begin_checkpoint()?;
    journal.chunk(&end.to_le_bytes())?;
    for _ in 0..fill {
        journal.chunk(&[7; 240])?;
    }
    journal.commit_checkpoint()
}

/// The end of the numbers that the journal has, each once and in order.
fn numbers(journal: &mut Log) -> u64 {
    let mut end = 0;
    let mut replay = journal.replay();
    while let Some(entry) = replay.next().unwrap() {
        let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().unwrap());
        match entry {
            Replayed::Chunk(chunk) if chunk.len() == 8 => end = number(chunk),
            Replayed::Chunk(_) => {}
            Replayed::Record(record) => {
                assert_eq!(number(record), end);
                end += 1;
            }
        }
    }
    end
}

/// Records, syncs and checkpoints until a crash; what was synced is there, and what is there is
/// whole.
fn crash(seed: u64, rounds: u32) {
    let mut random = Random(seed);
    let shelf = blank_shelf();
    let (mut synced, mut written) = (0, 0);
    for round in 0..rounds {
        let (area, mut journal, recovered) = open(&shelf);
        let has_state = synced > 0 || matches!(recovered, Recovered::Whole { .. });
        if has_state {
            let is_whole = matches!(recovered, Recovered::Whole { interrupted: _ });
            assert!(is_whole, "seed {seed}, round {round}: {recovered:?}");
        }
        let end = numbers(&mut journal);
        assert!(
            (synced..=written).contains(&end),
            "seed {seed}, round {round}: {end} of {synced} to {written}"
        );
        (synced, written) = (end, end);
        let most = if random.once_in(3) { 20_000 } else { 600 };
        shelf.borrow_mut().left = Some(random.below(most) as u32);
        loop {
            let number = written.to_le_bytes();
            let appended = match journal.append(&number) {
                Ok(()) if random.once_in(300) => {
                    written += 1;
                    checkpoint(&mut journal, written, 500 * random.below(8))
                }
                Ok(()) => {
                    written += 1;
                    Ok(())
                }
                Err(JournalError::Full | JournalError::NeedsCheckpoint) => {
                    checkpoint(&mut journal, written, 500 * random.below(8))
                }
                Err(error) => Err(error),
            };
            if appended.is_err() {
                break;
            }
            if random.once_in(6) {
                let before = written;
                match area.sync() {
                    Ok(()) => synced = before,
                    Err(_) => break,
                }
            }
        }
        shelf.borrow_mut().restart(&mut random);
    }
    assert!(synced > 0);
}

#[test]
fn a_crash_loses_nothing_that_was_synced() {
    let rounds = if cfg!(feature = "exhaustive") {
        100
    } else {
        12
    };
    for seed in 1..=2 {
        crash(seed, rounds);
    }
}

#[test]
fn operations_wait_for_the_disk_once_in_a_sync() {
    let shelf = blank_shelf();
    let mut area = Area::open(Rc::clone(&shelf)).unwrap().unwrap();
    let syncs = shelf.borrow().syncs;
    for at in 0..50 {
        area.write(4 * at, &[1, 2, 3, at as u8]).unwrap();
    }
    area.sync().unwrap();
    area.sync().unwrap();
    assert_eq!(shelf.borrow().syncs, syncs + 1);
    let again = Area::open(shelf).unwrap().unwrap();
    assert_eq!(again.0.borrow().image, area.0.borrow().image);
}

#[test]
fn a_file_of_something_else_is_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j");
    std::fs::write(&path, "text").unwrap();
    let error = open_error(&path);
    assert!(error.contains("no journal of serve (expected"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let first = super::open(&path).unwrap();
    let error = open_error(&path);
    assert!(error.contains("another program uses"), "{error}");
    drop(first);
    super::open(&path).unwrap();
}

fn open_error(path: &Path) -> String {
    super::open(path).map(drop).unwrap_err()
}
