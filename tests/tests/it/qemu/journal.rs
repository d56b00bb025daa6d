//! The journal of the image in QEMU, a file on the host, read with the same library on the host.

use std::fs;
use std::path::Path;

use meshalloc_firmware::journal::memory::MemoryFlash;
use meshalloc_firmware::journal::{Journal, Recovered, Replayed};
use meshalloc_tests::qemu::Qemu;
use tempfile::tempdir;

/// As on the board.
const SECTOR_LEN: usize = 16 * 1024;

/// The starts in the journal of this folder, in order.
fn starts(folder: &Path) -> Vec<u64> {
    let bytes = fs::read(folder.join("meshalloc-journal.bin")).expect("the image has made it");
    assert_eq!(bytes.len(), 3 * SECTOR_LEN);
    let len = SECTOR_LEN as u32;
    let regions = [0..len, len..2 * len, 2 * len..3 * len];
    let flash = MemoryFlash::<SECTOR_LEN>::with_bytes(bytes);
    let (mut journal, recovered) = Journal::open(flash, &regions).expect("the regions are whole");
    assert_eq!(recovered, Recovered::Whole { interrupted: false });
    let mut starts = Vec::new();
    let mut replay = journal.replay();
    while let Some(entry) = replay.next().expect("it was read before") {
        // A checkpoint has the number before the first start that is recorded behind it.
        if let Replayed::Record(number) = entry {
            starts.push(u64::from_le_bytes(number.try_into().expect("eight bytes")));
        }
    }
    starts
}

#[test]
fn qemu_keeps_its_journal_over_resets_and_restarts() {
    let folder = tempdir().expect("there is a folder for temporary files");
    let mut expected = Vec::new();
    for _ in 0..2 {
        let Some(mut qemu) = Qemu::start_with_journal(folder.path()) else {
            return;
        };
        qemu.client().expect("it has started");
        for reset in 0..3 {
            if reset > 0 {
                qemu.reset_chip().expect("it starts again");
                qemu.client().expect("it has started");
            }
            expected.push(expected.len() as u64 + 1);
            assert_eq!(starts(folder.path()), expected);
        }
    }
}
