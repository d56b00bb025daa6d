//! The journal against a naive model, with a power cut and with faults in every step, and with
//! damaged flash.

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use meshalloc_firmware::journal::memory::{Fault, MemoryFlash, MemoryFlashError};
use meshalloc_firmware::journal::{Journal, JournalError, Loss, PAYLOAD_MAX, Recovered, Replayed};

use crate::line::Random;

const SECTOR: usize = 1024;

type Flash<const UNIT: usize = 4> = MemoryFlash<SECTOR, UNIT>;

/// The naive model: the state that must be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    checkpoint: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
}

/// An operation of a caller.
#[derive(Clone, Debug)]
enum Operation {
    Append(Vec<u8>),
    Begin,
    Chunk(Vec<u8>),
    Commit,
}

/// The journal and its model.
#[derive(Clone, Debug)]
struct Pair<const REGIONS: usize, const UNIT: usize = 4> {
    journal: Journal<Flash<UNIT>, REGIONS>,
    state: State,
    /// The chunks of a checkpoint that was begun.
    chunks: Vec<Vec<u8>>,
}

fn open<const REGIONS: usize, const UNIT: usize>(
    flash: Flash<UNIT>,
) -> (Journal<Flash<UNIT>, REGIONS>, Recovered) {
    Journal::open(flash).expect("the regions are whole and the flash is read")
}

fn replayed<const REGIONS: usize, const UNIT: usize>(
    journal: &mut Journal<Flash<UNIT>, REGIONS>,
) -> State {
    let mut state = State::default();
    let mut replay = journal.replay();
    while let Some(entry) = replay.next().expect("it was read before") {
        match entry {
            Replayed::Chunk(chunk) => {
                assert!(state.records.is_empty(), "chunks come first");
                state.checkpoint.push(chunk.to_vec());
            }
            Replayed::Record(record) => state.records.push(record.to_vec()),
        }
    }
    state
}

impl<const REGIONS: usize, const UNIT: usize> Pair<REGIONS, UNIT> {
    fn new(sectors: usize) -> Self {
        let (journal, recovered) = open(Flash::new(REGIONS * sectors));
        assert_eq!(recovered, Recovered::Empty);
        Pair {
            journal,
            state: State::default(),
            chunks: Vec::new(),
        }
    }

    /// Opens the flash, whose state must be one of these.
    fn reopen(flash: Flash<UNIT>, allowed: &[&State]) -> Self {
        let (mut journal, recovered) = open(flash);
        let state = replayed(&mut journal);
        assert!(
            allowed.contains(&&state),
            "{recovered:?}: {state:?}\nbut: {allowed:?}"
        );
        let expected = if state == State::default() {
            matches!(recovered, Recovered::Empty)
        } else {
            matches!(recovered, Recovered::Whole { .. })
        };
        assert!(expected, "{recovered:?} of {state:?}");
        Pair {
            journal,
            state,
            chunks: Vec::new(),
        }
    }

    fn run(&mut self, operation: &Operation) -> Result<(), JournalError<MemoryFlashError>> {
        match operation {
            Operation::Append(record) => self.journal.append(record)?,
            Operation::Begin => self.journal.begin_checkpoint()?,
            Operation::Chunk(chunk) => self.journal.chunk(chunk)?,
            Operation::Commit => self.journal.commit_checkpoint()?,
        }
        self.note(operation);
        Ok(())
    }

    fn note(&mut self, operation: &Operation) {
        match operation {
            Operation::Append(record) => self.state.records.push(record.clone()),
            Operation::Begin => self.chunks.clear(),
            Operation::Chunk(chunk) => self.chunks.push(chunk.clone()),
            Operation::Commit => {
                self.state = State {
                    checkpoint: self.chunks.drain(..).collect(),
                    records: Vec::new(),
                }
            }
        }
    }

    /// A whole checkpoint, its first chunk numbered so that no two are equal.
    fn checkpoint(&mut self, random: &mut Random) {
        for operation in checkpoint(random) {
            self.run(&operation).expect("there is room");
        }
    }
}

fn payload(random: &mut Random) -> Vec<u8> {
    let len = match random.below(16) {
        0 => PAYLOAD_MAX,
        _ => random.below(60),
    };
    bytes(random, len)
}

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    // Sometimes the bytes of erased flash.
    let erased = random.once_in(4);
    let byte = |_| if erased { 0xff } else { random.next() as u8 };
    (0..len).map(byte).collect()
}

fn checkpoint(random: &mut Random) -> Vec<Operation> {
    let mut operations = vec![
        Operation::Begin,
        Operation::Chunk(random.next().to_le_bytes().to_vec()),
    ];
    // At most three quarters of a region of 1 KB.
    let lens = [PAYLOAD_MAX, random.below(60), random.below(60)];
    for len in lens.into_iter().skip(random.below(4)) {
        operations.push(Operation::Chunk(bytes(random, len)));
    }
    operations.push(Operation::Commit);
    operations
}

/// Operations as a caller does them: a checkpoint where one is due, and sometimes before.
fn next_operations<const REGIONS: usize, const UNIT: usize>(
    pair: &Pair<REGIONS, UNIT>,
    random: &mut Random,
) -> Vec<Operation> {
    if pair.journal.is_due_for_checkpoint() || random.once_in(40) {
        checkpoint(random)
    } else {
        vec![Operation::Append(payload(random))]
    }
}

/// Runs some operations. For every step of each it calls `each` with the pair before the operation,
/// the operation, the state after it, the step and random numbers.
fn in_every_step<const REGIONS: usize, const UNIT: usize>(
    sectors: usize,
    operations: usize,
    seed: u64,
    mut each: impl FnMut(&Pair<REGIONS, UNIT>, &Operation, &State, u64, &mut Random),
) {
    let mut random = Random(seed);
    let mut pair = Pair::<REGIONS, UNIT>::new(sectors);
    let mut done = 0;
    while done < operations {
        for operation in next_operations(&pair, &mut random) {
            let before = pair.clone();
            let steps = pair.journal.flash_mut().steps();
            pair.run(&operation).expect("it has power and room");
            let steps = pair.journal.flash_mut().steps() - steps;
            for step in 0..steps {
                each(&before, &operation, &pair.state, step, &mut random);
            }
            done += 1;
        }
    }
}

/// Runs some hundred operations. Before each one, cuts the power in every step of it, several times
/// with different noise.
fn cut_in_every_step<const REGIONS: usize, const UNIT: usize>(
    sectors: usize,
    operations: usize,
    seed: u64,
) {
    let mut cuts = 0;
    in_every_step::<REGIONS, UNIT>(
        sectors,
        operations,
        seed,
        |before, operation, after, step, random| {
            for _ in 0..6 {
                cuts += 1;
                let mut cut = before.clone();
                cut.journal.flash_mut().cut_power_after(step, random.next());
                let failed = cut.run(operation).expect_err("the power is cut");
                assert_eq!(failed, JournalError::Flash(MemoryFlashError::PowerCut));
                let mut flash = cut.journal.into_flash();
                flash.power_on();
                let pair = Pair::<REGIONS, UNIT>::reopen(flash, &[&before.state, after]);
                no_lost_region_is_overlooked(goes_on(pair, random));
            }
        },
    );
    assert!(cuts > 10 * operations, "{cuts} cuts");
}

/// Everything works, and another start finds the same state.
fn goes_on<const REGIONS: usize, const UNIT: usize>(
    mut pair: Pair<REGIONS, UNIT>,
    random: &mut Random,
) -> Pair<REGIONS, UNIT> {
    for _ in 0..2 {
        if pair.journal.is_due_for_checkpoint() {
            pair.checkpoint(random);
        }
        let record = Operation::Append(payload(random));
        pair.run(&record).expect("there is room");
    }
    let state = pair.state;
    Pair::<REGIONS, UNIT>::reopen(pair.journal.into_flash(), &[&state])
}

/// If the first entry of a region is damaged, the state is the same, or the loss is reported.
fn no_lost_region_is_overlooked<const REGIONS: usize, const UNIT: usize>(
    pair: Pair<REGIONS, UNIT>,
) {
    let flash = pair.journal.into_flash();
    let len = flash.bytes().len() / REGIONS;
    for region in 0..REGIONS {
        let mut flash = flash.clone();
        flash.bytes_mut()[region * len + 2] ^= 1;
        let (mut journal, recovered) = open::<REGIONS, UNIT>(flash);
        let is_whole = matches!(recovered, Recovered::Whole { .. });
        assert!(
            !is_whole || replayed(&mut journal) == pair.state,
            "region {region}"
        );
    }
}

/// Runs some operations. Before each one, lets every step of it fail in every way, alone and with
/// all that follow. An operation that returns no error is durable. After one that does, the state
/// is the one before or after it, and the next ones work.
fn fail_in_every_step<const REGIONS: usize, const UNIT: usize>(
    sectors: usize,
    operations: usize,
    seed: u64,
) {
    let (mut failed, mut passed_over) = (0, 0);
    in_every_step::<REGIONS, UNIT>(
        sectors,
        operations,
        seed,
        |before, operation, after, step, random| {
            for (fault, number) in Fault::ALL.iter().flat_map(|&it| [(it, 1), (it, 1000)]) {
                let mut pair = before.clone();
                let flash = pair.journal.flash_mut();
                flash.fail_after(step, number, fault, random.next());
                let ran = pair.run(operation);
                let flash = pair.journal.flash_mut();
                assert!(flash.has_failed());
                flash.power_on();
                match ran {
                    Ok(()) => passed_over += 1,
                    Err(_) => failed += 1,
                }
                let allowed: &[&State] = match ran {
                    Ok(()) => &[after],
                    Err(_) => &[&before.state, after],
                };
                Pair::<REGIONS, UNIT>::reopen(flash.clone(), allowed);
                // What was begun is given up. A record needs a checkpoint first if its region is
                // not whole or full, or if a region that is half erased cannot be closed.
                pair.journal.abandon_checkpoint();
                let recorded = pair.run(&Operation::Append(vec![1]));
                assert!(recorded.is_ok() || pair.journal.is_due_for_checkpoint());
                no_lost_region_is_overlooked(goes_on(pair, random));
            }
        },
    );
    assert!(failed > 10 * operations, "{failed} failed");
    assert!(
        passed_over > operations / 4,
        "{passed_over} were passed over"
    );
}

#[test]
fn a_fault_in_any_step_loses_nothing_and_the_next_ones_work() {
    fail_in_every_step::<3, 4>(1, 120, 31);
    fail_in_every_step::<2, 4>(2, 50, 32);
    fail_in_every_step::<3, 1>(1, 10, 33);
    fail_in_every_step::<3, 32>(2, 80, 34);
}

/// The older region is not closed, by a fault that no error reports or by a cut of the power. Then
/// the newer checkpoint is lost.
#[test]
fn a_region_that_is_not_closed_is_noticed() {
    for fault in [Some(Fault::Dropped), Some(Fault::Garbled), None] {
        let mut pair = Pair::<3>::new(1);
        let mut random = Random(35);
        pair.checkpoint(&mut random);
        pair.checkpoint(&mut random);
        assert!(!pair.journal.is_due_for_checkpoint());
        // The first step of the first record closes it. Noise may close it too.
        let flash = pair.journal.flash_mut();
        let expected = match fault {
            Some(fault) => {
                flash.fail_after(0, 1, fault, 2);
                JournalError::Unverified
            }
            None => {
                flash.cut_power_after(0, 1);
                JournalError::Flash(MemoryFlashError::PowerCut)
            }
        };
        assert_eq!(pair.journal.append(&[1]), Err(expected));
        pair.journal.flash_mut().power_on();
        assert!(pair.journal.is_due_for_checkpoint());
        assert_eq!(
            pair.journal.append(&[1]),
            Err(JournalError::NeedsCheckpoint)
        );
        no_lost_region_is_overlooked(goes_on(pair, &mut random));
    }
}

/// A region whose erase fails is passed over like one that is not blank afterwards, now and in the
/// next round.
#[test]
fn a_region_that_cannot_be_erased_is_passed_over() {
    for fault in [Fault::Refused, Fault::Torn, Fault::Denied] {
        let mut pair = in_use::<4>(36, 3);
        let mut random = Random(36);
        for _ in 0..7 {
            // The first step is an erase.
            pair.journal.flash_mut().fail_after(0, 1, fault, 3);
            pair.checkpoint(&mut random);
            assert!(pair.journal.flash_mut().has_failed());
            let append = Operation::Append(vec![1]);
            pair.run(&append).expect("there is room");
        }
        // If every one fails, the last error is returned, and the state is the one before.
        pair.journal.flash_mut().fail_after(0, 2, fault, 3);
        let failed = Err(JournalError::Flash(MemoryFlashError::Failed));
        assert_eq!(pair.journal.begin_checkpoint(), failed);
        // Nor can a region that is half erased be closed, so the next record needs a checkpoint.
        let recorded = pair.run(&Operation::Append(vec![1]));
        assert!(recorded.is_ok() || pair.journal.is_due_for_checkpoint());
        no_lost_region_is_overlooked(goes_on(pair, &mut random));
    }
}

#[test]
fn a_cut_in_any_step_leaves_the_state_before_or_after() {
    cut_in_every_step::<3, 4>(1, 250, 1);
    cut_in_every_step::<2, 4>(2, 250, 2);
}

/// The same in flashes that are written in other units, up to the 32 bytes of an STM32H7. All of
/// them refuse to write a unit twice, or a part of one.
#[test]
fn a_cut_in_any_step_of_any_unit_leaves_the_state_before_or_after() {
    cut_in_every_step::<3, 1>(1, 60, 21);
    cut_in_every_step::<3, 2>(1, 60, 22);
    cut_in_every_step::<3, 8>(2, 150, 23);
    cut_in_every_step::<3, 16>(2, 200, 24);
    cut_in_every_step::<2, 32>(2, 250, 25);
}

/// One cut after the other, also in the checkpoint that the last cut has made necessary.
fn survive_cuts_in_a_row<const UNIT: usize>(sectors: usize, cuts: u32) {
    let mut random = Random(3);
    let mut pair = Pair::<3, UNIT>::new(sectors);
    pair.checkpoint(&mut random);
    let mut unacknowledged = 0;
    for _ in 0..cuts {
        let flash = pair.journal.flash_mut();
        flash.cut_power_after(random.next() % 100, random.next());
        let mut allowed = pair.state.clone();
        'powered: loop {
            for operation in next_operations(&pair, &mut random) {
                allowed.clone_from(&pair.state);
                if pair.run(&operation).is_err() {
                    let mut after = pair.clone();
                    after.note(&operation);
                    allowed = after.state;
                    break 'powered;
                }
            }
        }
        let acknowledged = pair.state;
        let mut flash = pair.journal.into_flash();
        flash.power_on();
        pair = Pair::reopen(flash, &[&acknowledged, &allowed]);
        unacknowledged += u32::from(pair.state != acknowledged);
    }
    assert!(
        unacknowledged > cuts / 100,
        "some were whole when the power was cut"
    );
}

#[test]
fn acknowledged_records_survive_ten_thousand_cuts_in_a_row() {
    survive_cuts_in_a_row::<4>(1, 10_000);
    survive_cuts_in_a_row::<1>(1, 2_000);
    survive_cuts_in_a_row::<8>(2, 2_000);
    survive_cuts_in_a_row::<32>(2, 2_000);
}

/// The bytes of the chunk and of a record of [`in_use`]; below, of its first entry and its commit.
const EIGHT: usize = 20;
const BEGIN: usize = 24;
const COMMIT: usize = 12;
/// Where the first record is.
const RECORDS: usize = BEGIN + EIGHT + COMMIT;

/// A journal with two closed regions and some records in the active one, which is opened again
/// after each checkpoint.
fn in_use<const UNIT: usize>(seed: u64, records: usize) -> Pair<3, UNIT> {
    let mut random = Random(seed);
    let mut eight = || random.next().to_le_bytes().to_vec();
    let mut pair = Pair::new(if UNIT > 4 { 2 } else { 1 });
    for generation in 1..=4 {
        for operation in [
            Operation::Begin,
            Operation::Chunk(eight()),
            Operation::Commit,
        ] {
            pair.run(&operation).expect("there is room");
        }
        let state = pair.state.clone();
        pair = Pair::reopen(pair.journal.into_flash(), &[&state]);
        let records = if generation == 4 { records } else { 9 };
        for _ in 0..records {
            pair.run(&Operation::Append(eight()))
                .expect("there is room");
        }
    }
    pair
}

/// Flips every bit of the flash in turn. The opened journal is reported as whole only if everything
/// acknowledged is there. It is whole if the bit was in an unwritten word.
fn flip_every_bit<const UNIT: usize>(flash: &Flash<UNIT>, acknowledged: &State) -> usize {
    let mut reported = 0;
    for bit in 0..flash.bytes().len() * 8 {
        let mut flash = flash.clone();
        let is_written = flash.bytes()[bit / 32 * 4..][..4] != [0xff; 4];
        flash.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
        let (mut journal, recovered) = open::<3, UNIT>(flash);
        let state = replayed(&mut journal);
        let whole = state.checkpoint == acknowledged.checkpoint
            && state.records.starts_with(&acknowledged.records);
        let is_told = !matches!(recovered, Recovered::Whole { .. });
        assert!(is_written || !is_told, "bit {bit}: {recovered:?}");
        match recovered {
            Recovered::Whole { .. } => assert!(whole, "bit {bit}: {state:?}"),
            Recovered::Damaged(Loss::Records) => {
                reported += 1;
                assert_eq!(state.checkpoint, acknowledged.checkpoint, "bit {bit}");
                let prefix = acknowledged.records.starts_with(&state.records);
                assert!(!whole && prefix, "bit {bit}: {state:?}");
                assert_eq!(journal.append(&[]), Err(JournalError::NeedsCheckpoint));
            }
            Recovered::Damaged(Loss::Checkpoint) => {
                reported += 1;
                assert!(!whole, "bit {bit}");
            }
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    reported
}

#[test]
fn no_flipped_bit_drops_anything_silently() {
    let pair = in_use::<32>(3, 6);
    let reported = flip_every_bit(&pair.journal.into_flash(), &pair.state);
    assert!(reported > 6 * 16 * 8, "{reported}");
    for seed in 0..3 {
        let pair = in_use::<4>(seed, 6);
        let reported = flip_every_bit(&pair.journal.into_flash(), &pair.state);
        // Each of the 6 records of 8 bytes has 16 bytes that are covered.
        assert!(reported > 6 * 16 * 8, "{reported} flips reported");
    }
}

#[test]
fn no_flipped_bit_drops_anything_silently_before_a_cut() {
    for seed in 0..8 {
        let mut pair = in_use::<4>(seed, 6);
        let mut random = Random(seed);
        pair.journal.flash_mut().cut_power_after(seed % 4, seed);
        let cut = pair.journal.append(&random.next().to_le_bytes());
        assert!(cut.is_err());
        let mut flash = pair.journal.into_flash();
        flash.power_on();
        flip_every_bit(&flash, &pair.state);
    }
}

/// Flipped bits in unwritten flash are no loss: in a new flash, in an unused region, in one with an
/// incomplete checkpoint, and behind the last record. Later appends are durable.
#[test]
fn bits_that_change_where_nothing_was_written_are_no_loss() {
    let mut random = Random(15);
    let new = Flash::<4>::new(3);
    let mut first = Pair::<3>::new(1);
    first.checkpoint(&mut random);
    let mut begun = Pair::<3>::new(1);
    begun.run(&Operation::Begin).expect("it has power");
    let mut interrupted = in_use::<4>(16, 3);
    interrupted.run(&Operation::Begin).expect("it has power");
    for (flash, state) in [
        (new, State::default()),
        (begun.journal.into_flash(), State::default()),
        (first.journal.into_flash(), first.state),
        (
            in_use::<4>(15, 3).journal.into_flash(),
            in_use::<4>(15, 3).state,
        ),
        (interrupted.journal.into_flash(), interrupted.state),
    ] {
        let words = flash.bytes().chunks_exact(4).enumerate();
        let blank = words.filter(|(_, word)| *word == [0xff; 4]);
        let blank: Vec<usize> = blank.map(|(at, _)| 4 * at).collect();
        for round in 0..3_000 {
            let mut flash = flash.clone();
            for _ in 0..=random.below(3) {
                let at = blank[random.below(blank.len())] + random.below(4);
                flash.bytes_mut()[at] &= !(1 << random.below(8));
            }
            let mut pair = Pair::<3>::reopen(flash, &[&state]);
            if round % 100 == 0 {
                pair.checkpoint(&mut random);
                goes_on(pair, &mut random);
            }
        }
    }
}

/// A sector with bits that stay at 0 is passed over when it is erased, before anything is written
/// there.
#[test]
fn a_sector_that_is_not_blank_after_its_erase_is_passed_over() {
    /// The lowest bits of these bytes stay at 0.
    #[derive(Debug)]
    struct Worn(Flash, [usize; 2]);

    impl ErrorType for Worn {
        type Error = MemoryFlashError;
    }
    impl ReadNorFlash for Worn {
        const READ_SIZE: usize = 1;
        fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), MemoryFlashError> {
            self.0.read(offset, bytes)
        }
        fn capacity(&self) -> usize {
            self.0.bytes().len()
        }
    }
    impl NorFlash for Worn {
        const WRITE_SIZE: usize = 4;
        const ERASE_SIZE: usize = SECTOR;
        fn erase(&mut self, from: u32, to: u32) -> Result<(), MemoryFlashError> {
            self.0.erase(from, to)?;
            let erased = from as usize..to as usize;
            for at in self.1.into_iter().filter(|at| erased.contains(at)) {
                self.0.bytes_mut()[at] &= 0xfe;
            }
            Ok(())
        }
        fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), MemoryFlashError> {
            self.0.write(offset, bytes)
        }
    }

    for (at, other) in [(0, 0), (500, 500), (SECTOR - 1, 5), (700, SECTOR + 1)] {
        let in_use = in_use::<4>(17, 3);
        let state = in_use.state;
        let flash = Worn(in_use.journal.into_flash(), [SECTOR + at, SECTOR + other]);
        let (mut journal, recovered) = Journal::<_, 3>::open(flash).expect("it is read");
        assert_eq!(recovered, Recovered::Whole { interrupted: false });
        // The first region is active, the second one is worn, and the third one too at the last.
        let is_other_worn = other >= SECTOR;
        for round in 0..3 {
            let begun = journal.begin_checkpoint();
            if is_other_worn {
                assert_eq!(begun, Err(JournalError::Unverified));
                continue;
            }
            assert_eq!(begun, Ok(()), "round {round}");
            journal.chunk(&[round]).expect("there is room");
            journal.commit_checkpoint().expect("it is written");
            journal.append(&[round, 1]).expect("there is room");
        }
        let worn = journal.into_flash();
        let (mut journal, recovered) = open::<3, 4>(worn.0);
        let expected = if is_other_worn {
            state
        } else {
            State {
                checkpoint: vec![vec![2]],
                records: vec![vec![2, 1]],
            }
        };
        assert!(
            matches!(recovered, Recovered::Whole { .. }),
            "{recovered:?}"
        );
        assert_eq!(replayed(&mut journal), expected);
    }
}

#[test]
fn arbitrary_bytes_are_reported_and_the_journal_works_after_a_checkpoint() {
    let mut random = Random(7);
    let image = in_use::<4>(7, 6).journal.into_flash();
    for round in 0..4_000 {
        let mut bytes = match round % 4 {
            0 => (0..3 * SECTOR).map(|_| random.next() as u8).collect(),
            1 => vec![random.next() as u8; 3 * SECTOR],
            _ => image.bytes().to_vec(),
        };
        for _ in 0..random.below(12) {
            let at = random.below(bytes.len());
            let len = random.below(64).min(bytes.len() - at);
            let fill = random.next() as u8;
            match random.below(3) {
                0 => bytes[at..at + len].fill(fill),
                1 => bytes[at..at + len]
                    .iter_mut()
                    .for_each(|byte| *byte = random.next() as u8),
                _ => {
                    let from = random.below(bytes.len() - len);
                    bytes.copy_within(from..from + len, at);
                }
            }
        }
        let erased = bytes.iter().all(|&byte| byte == 0xff);
        let (mut journal, recovered) = open::<3, 4>(Flash::with_bytes(bytes));
        let state = replayed(&mut journal);
        if state == State::default() {
            let expected = if erased {
                Recovered::Empty
            } else {
                Recovered::Damaged(Loss::Everything)
            };
            assert_eq!(recovered, expected, "round {round}");
        }
        let mut pair = Pair {
            journal,
            state,
            chunks: Vec::new(),
        };
        pair.checkpoint(&mut random);
        goes_on(pair, &mut random);
    }
}

/// The region that was begun last.
fn latest(flash: &Flash) -> usize {
    let generation = |&region: &usize| {
        let generation = &flash.bytes()[region * SECTOR + 8..][..8];
        u64::from_le_bytes(generation.try_into().expect("eight bytes"))
    };
    let regions = 0..flash.bytes().len() / SECTOR;
    let begun = regions.filter(|region| flash.bytes()[region * SECTOR] != 0xff);
    begun.max_by_key(generation).expect("one was begun")
}

/// A bit changes in the unit that would close the active region, so it stays open. The records of a
/// later region are missed nevertheless when that region's first entry is damaged.
fn lost_behind_an_open_region<const REGIONS: usize>() {
    for bit in 0..32 {
        let mut random = Random(bit);
        let mut pair = Pair::<REGIONS>::new(1);
        pair.checkpoint(&mut random);
        let mut flash = pair.journal.into_flash();
        let closing = (latest(&flash) + 1) * SECTOR - 4 + bit as usize / 8;
        flash.bytes_mut()[closing] &= !(1 << (bit % 8));
        let mut pair = Pair::<REGIONS>::reopen(flash, &[&pair.state]);
        let append = Operation::Append(vec![1]);
        let mut checkpoints = 0;
        while pair.run(&append).is_err() {
            assert!(checkpoints < 2, "records must be possible again");
            pair.checkpoint(&mut random);
            checkpoints += 1;
        }
        let mut flash = pair.journal.into_flash();
        let damaged = latest(&flash) * SECTOR;
        flash.bytes_mut()[damaged + 2] ^= 1;
        let (_, recovered) = open::<REGIONS, 4>(flash);
        assert_eq!(recovered, Recovered::Damaged(Loss::Checkpoint), "bit {bit}");
    }
}

#[test]
fn records_behind_a_region_that_cannot_be_closed_are_missed() {
    lost_behind_an_open_region::<2>();
    lost_behind_an_open_region::<3>();
}

#[test]
fn a_full_region_refuses_and_loses_nothing() {
    let mut pair = Pair::<2>::new(1);
    assert_eq!(
        pair.journal.append(&[1]),
        Err(JournalError::NeedsCheckpoint)
    );
    assert_eq!(
        pair.journal.commit_checkpoint(),
        Err(JournalError::NoCheckpoint)
    );
    assert_eq!(pair.journal.chunk(&[]), Err(JournalError::NoCheckpoint));
    pair.run(&Operation::Begin).expect("it is erased");
    assert_eq!(
        pair.journal.append(&[1]),
        Err(JournalError::CheckpointUnderWay)
    );
    pair.run(&Operation::Commit).expect("it has begun");
    // The first entry takes 24 bytes, the last of the checkpoint 12, the closing word 4, a record
    // of 5 bytes 20.
    let record = Operation::Append(vec![1, 2, 3, 4, 5]);
    let fit = (SECTOR - 24 - 12 - 4) / 20;
    let mut due = 0;
    for _ in 0..fit {
        due += usize::from(pair.journal.is_due_for_checkpoint());
        pair.run(&record).expect("it fits");
    }
    assert_eq!(pair.run(&record), Err(JournalError::Full));
    assert!((5..15).contains(&due), "due for the last {due} records");
    let long = vec![0; PAYLOAD_MAX + 1];
    assert_eq!(
        pair.journal.append(&long),
        Err(JournalError::PayloadTooLong)
    );

    // A checkpoint that does not fit changes nothing either.
    pair.run(&Operation::Begin)
        .expect("the other region is free");
    assert_eq!(pair.journal.chunk(&long), Err(JournalError::PayloadTooLong));
    for _ in 0..2 {
        pair.run(&Operation::Chunk(vec![0; PAYLOAD_MAX]))
            .expect("it fits");
    }
    let too_long = Operation::Chunk(vec![0; PAYLOAD_MAX]);
    assert_eq!(pair.run(&too_long), Err(JournalError::CheckpointTooLong));
    assert_eq!(
        pair.journal.commit_checkpoint(),
        Err(JournalError::NoCheckpoint)
    );
    let state = pair.state.clone();
    let mut pair = Pair::<2>::reopen(pair.journal.into_flash(), &[&state]);
    pair.checkpoint(&mut Random(1));
    assert_eq!(pair.run(&record), Ok(()));
}

#[test]
fn regions_that_are_no_sectors_are_refused() {
    let opened = Journal::<_, 3>::open(Flash::<4>::new(4)).map(|_| ());
    assert_eq!(opened, Err(JournalError::Regions));
}

#[test]
fn a_region_is_refused_if_it_is_smaller_than_the_least() {
    fn check<const UNIT: usize>() {
        let open = |bytes: usize| {
            let flash = MemoryFlash::<UNIT, UNIT>::new(2 * bytes / UNIT);
            Journal::<_, 2>::open(flash).map(|_| ())
        };
        let least = Journal::<MemoryFlash<UNIT, UNIT>, 2>::REGION_MIN;
        assert_eq!(open(least), Ok(()));
        assert_eq!(open(least - UNIT), Err(JournalError::Regions));
    }
    check::<4>();
    check::<32>();
}

/// Every region is erased for as many records as a server writes behind a checkpoint, all equally
/// often.
#[test]
fn wear_is_even_and_as_computed() {
    const SIXTEEN_KB: usize = 16 * 1024;
    for (chunks, record_len) in [(0, 24), (16, 24), (48, 24), (16, 60)] {
        let flash = MemoryFlash::<SIXTEEN_KB>::new(3);
        let (mut journal, _) = Journal::<_, 3>::open(flash).expect("the regions are whole");
        const RECORDS: usize = 40_000;
        for _ in 0..RECORDS {
            if journal.is_due_for_checkpoint() {
                journal.begin_checkpoint().expect("the flash works");
                for _ in 0..chunks {
                    journal.chunk(&[0; PAYLOAD_MAX]).expect("it fits");
                }
                journal.commit_checkpoint().expect("the flash works");
            }
            journal.append(&vec![0; record_len]).expect("there is room");
        }
        let room = SIXTEEN_KB - 24 - 12 - 4 - chunks * (PAYLOAD_MAX + 12);
        // The last record of a region leaves less than an eighth of it.
        let records = (room - (SIXTEEN_KB - 4) / 8) / (record_len + 12) + 1;
        // The first three checkpoints found the flash erased.
        let checkpoints = RECORDS.div_ceil(records);
        let erases = journal.sectors_erased() as usize;
        assert_eq!(
            erases,
            checkpoints - 3,
            "{chunks} chunks, records of {record_len}"
        );
        let flash = journal.into_flash();
        let (least, most) = (flash.erases().iter().min(), flash.erases().iter().max());
        assert!(
            most.zip(least)
                .is_some_and(|(most, least)| most - least <= 1)
        );
        println!(
            "checkpoint {} bytes, records {record_len}: {} sectors erased for a million records",
            chunks * PAYLOAD_MAX,
            erases * 1_000_000 / RECORDS,
        );
    }
}

#[test]
fn a_region_that_is_damaged_from_some_record_on_is_reported() {
    let mut random = Random(9);
    for record in 0..6 {
        let pair = in_use::<4>(record as u64, 6);
        let mut flash = pair.journal.into_flash();
        let damaged = &mut flash.bytes_mut()[RECORDS + record * EIGHT..SECTOR - 4];
        damaged
            .iter_mut()
            .for_each(|byte| *byte = random.next() as u8);
        let (mut journal, recovered) = open::<3, 4>(flash);
        assert_eq!(recovered, Recovered::Damaged(Loss::Records));
        assert_eq!(replayed(&mut journal).records, pair.state.records[..record]);
    }
}

/// The first region is active and has 3 records; the second, which has an older checkpoint, has 9.
#[test]
fn what_is_left_of_other_entries_is_no_record() {
    let pair = in_use::<4>(11, 3);
    let end = RECORDS + 3 * EIGHT;
    for from in [SECTOR + end, RECORDS] {
        let mut flash = pair.journal.clone().into_flash();
        flash.bytes_mut().copy_within(from..from + EIGHT, end);
        let (mut journal, recovered) = open::<3, 4>(flash);
        assert_eq!(replayed(&mut journal), pair.state, "{recovered:?}");
        assert_eq!(journal.append(&[]), Err(JournalError::NeedsCheckpoint));
    }
}

/// Flash that reads as erased may be the result of an interrupted erase.
#[test]
fn a_region_is_erased_before_it_is_used_again() {
    let mut flash = in_use::<4>(12, 3).journal.into_flash();
    flash.bytes_mut()[SECTOR..].fill(0xff);
    let (mut journal, _) = open::<3, 4>(flash);
    for erased in 1..=2 {
        journal.begin_checkpoint().expect("the flash works");
        assert_eq!(journal.sectors_erased(), erased);
    }
}

#[test]
fn a_word_that_reads_back_differently_is_an_error() {
    for (byte, value) in [(0, 0), (6, 0x7f), (EIGHT - 1, 0)] {
        let mut pair = in_use::<4>(14, 3);
        let end = RECORDS + 3 * EIGHT;
        // A worn bit: it is 0 whatever is written.
        let worn = &mut pair.journal.flash_mut().bytes_mut()[end + byte];
        *worn = value;
        let record = Operation::Append(vec![0xff; 8]);
        assert_eq!(
            pair.run(&record),
            Err(JournalError::Unverified),
            "byte {byte}"
        );
        assert_eq!(pair.journal.append(&[]), Err(JournalError::NeedsCheckpoint));
    }
}

#[test]
fn after_a_failure_nothing_is_appended_before_a_checkpoint() {
    let commit = [Operation::Begin, Operation::Commit];
    for (failing, begun) in [(Operation::Append(vec![1]), 0), (Operation::Commit, 1)] {
        let mut pair = in_use::<4>(13, 3);
        for operation in &commit[..begun] {
            pair.run(operation).expect("the flash works");
        }
        pair.journal.flash_mut().cut_power_after(0, 13);
        assert!(pair.run(&failing).is_err());
        pair.journal.flash_mut().power_on();
        assert!(pair.journal.is_due_for_checkpoint());
        assert_eq!(pair.journal.append(&[]), Err(JournalError::NeedsCheckpoint));
        let mut random = Random(13);
        pair.checkpoint(&mut random);
        goes_on(pair, &mut random);
    }
}
