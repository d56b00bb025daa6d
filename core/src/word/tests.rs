extern crate std;
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn bits(row: &[Word]) -> Vec<bool> {
    (0..row.len() as u32 * WORD_BITS)
        .map(|bit| row[(bit / WORD_BITS) as usize] >> (bit % WORD_BITS) & 1 == 1)
        .collect()
}

fn sparse_row() -> impl Strategy<Value = Vec<Word>> {
    // Long runs of ones matter, so zeros are rare.
    prop::collection::vec((any::<Word>(), any::<Word>(), any::<Word>()), 1..5)
        .prop_map(|v| v.into_iter().map(|(a, b, c)| a | b | c).collect())
}

/// A row of 8 bits as in the drawings, the lowest bit first.
fn drawn(bits: &str) -> Word {
    let bits = bits.split(' ').rev();
    bits.fold(0, |row, bit| row << 1 | Word::from(bit == "1"))
}

#[test]
fn bit_tricks_work_as_drawn() {
    let mut ones = [drawn("1 1 1 1 1 . 1 1")];
    let steps = [
        (1, "1 1 1 1 . . 1 ."),
        (2, "1 1 . . . . . ."),
        (1, "1 . . . . . . ."),
    ];
    let doubling = Doubling::new(5);
    assert_eq!(*doubling.steps(), steps.map(|(step, _)| step));
    for (step, after) in steps {
        and_shifted(&mut ones, step);
        assert_eq!(ones, [drawn(after)]);
    }
    let (within, seeds) = (drawn(". 1 1 1 1 . 1 1"), drawn(". . . 1 . . . ."));
    assert_eq!(within + seeds, drawn(". 1 1 . . 1 1 1"));
    assert_eq!(filled(seeds, within), drawn(". 1 1 1 1 . . ."));
    let row = [drawn(". 1 1 1 . 1 . .")];
    assert_eq!(row[0] + 0b10, drawn(". . . . 1 1 . ."));
    assert!(runs_of(row.into_iter()).eq([1..4, 5..6]));
}

proptest! {
    #[test]
    fn doubling_finds_those_of_a_bit_by_bit_scan(row in sparse_row(), len in 1u16..200) {
        let before = bits(&row);
        let expected: Vec<bool> = (0..before.len())
            .map(|i| (i..i + usize::from(len)).all(|j| before.get(j) == Some(&true)))
            .collect();
        let doubling = Doubling::new(len);
        let mut after = row.clone();
        doubling.reduce(&mut after);
        prop_assert_eq!(bits(&after), expected);
        prop_assert_eq!(doubling.steps().len() as u32, Doubling::count(len));
        prop_assert_eq!(doubling.steps().last().copied().unwrap_or(0), Doubling::last(len));
    }

    #[test]
    fn runs_cover_exactly_the_ones(row in sparse_row()) {
        let mut seen = std::vec![false; row.len() * WORD_BITS as usize];
        let mut last_end = None;
        for (start, len) in runs(&row) {
            prop_assert!(len >= 1 && last_end.is_none_or(|end| end < start));
            last_end = Some(start + len);
            seen[start as usize..(start + len) as usize].fill(true);
        }
        prop_assert_eq!(seen, bits(&row));
    }

    #[test]
    fn seeds_are_extended_to_the_runs_that_hold_them(word in sparse_row(), seeds in any::<(Word, Word, Word)>()) {
        let word = word[0];
        // Few seeds, so that some runs have none.
        let seeds = seeds.0 & seeds.1 & seeds.2 & word;
        let mut expected = 0;
        for (start, len) in runs(&[word]) {
            let run = Span::new(start, len).mask(0);
            if seeds & run != 0 {
                expected |= run;
            }
        }
        prop_assert_eq!(filled(seeds, word), expected);
    }

    #[test]
    fn bits_are_read_from_anywhere(row in sparse_row(), from in -150_i32..400) {
        let all = bits(&row);
        let expected = (0..WORD_BITS as i32).map(|bit| {
            usize::try_from(from + bit).ok().and_then(|at| all.get(at)).copied().unwrap_or(false)
        });
        prop_assert_eq!(bits(&[bits_from(&row, from)]), expected.collect::<Vec<bool>>());
    }

    #[test]
    fn bits_are_set_anywhere(row in sparse_row(), more in any::<Word>(), from in 0_u32..400) {
        let from = from % ((row.len() as u32 - 1) * WORD_BITS + 1);
        let mut set = row.clone();
        set_bits_from(&mut set, from, more);
        let mut expected = bits(&row);
        for (bit, more) in expected[from as usize..].iter_mut().zip(bits(&[more])) {
            *bit |= more;
        }
        prop_assert_eq!(bits(&set), expected);
    }

    #[test]
    fn spans_mask_their_bits(start in 0u32..150, len in 1u32..150) {
        let mut row = std::vec![0; words_for(300)];
        let span = Span::new(start, len);
        for (word, bits) in row.iter_mut().enumerate() {
            if (span.first..=span.last).contains(&word) {
                *bits |= span.mask(word);
            }
        }
        for (i, bit) in bits(&row).into_iter().enumerate() {
            prop_assert_eq!(bit, (start as usize..(start + len) as usize).contains(&i));
        }
        prop_assert!(span.any(&row));
        prop_assert_eq!(span.count(&row), len);
    }
}
