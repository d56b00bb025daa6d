//! What the shards of a sweep gave, as the results of the whole.

use std::io::ErrorKind;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use super::journal::{Damage, Format, JournalError, Known, agree};
use super::shard::{Shard, divide};
use super::{Finished, Point, SweepError, of_journal};
use crate::file;
use crate::identity::label_text;
use meshalloc_sim::experiment::StrategyResult;
use meshalloc_sim::wording::{are, counted};

/// Why shards do not make a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("{whole}: no journal of a shard is beside it (expected {expected})", whole = .whole.display())]
    NoShards {
        /// The journal of the whole sweep.
        whole: PathBuf,
        /// What they are called.
        expected: String,
    },
    /// Two shards have the same point.
    #[error(
        "{first} and {second} both have the point {point} (expected shards of one division; --shards chooses it)",
        first = .first.display(), second = .second.display()
    )]
    Overlap {
        /// The point, as [`label_text`] writes it.
        point: String,
        /// A journal.
        first: PathBuf,
        /// Another journal.
        second: PathBuf,
    },
    /// No shard has these points.
    #[error("{count} of {} {} missing, the first is {first} (expected all; {hint})",
        counted(of, "point"), are(*.count))]
    Missing {
        /// How many.
        count: usize,
        /// How many there are.
        of: usize,
        /// The first of them, as [`label_text`] writes it.
        first: String,
        /// Which shards have to be computed.
        hint: String,
    },
}

/// The results of all points from the journals of their shards, which stand beside `journal`. Puts `journal` in place: that of an
/// uninterrupted sweep on one thread. The shards' own journals stay. `count` is the number of shards of the division; it need not be
/// given where there is only one division. `damaged` receives what had to be left out.
///
/// Takes memory for the results of all points.
///
/// # Errors
///
/// When a journal is of other points or another version, or a process writes it at the moment; when points are missing or in
/// several shards; when `journal` is there and not of these points, has other results, or cannot be written.
pub fn merge(
    points: &[Point],
    journal: &Path,
    count: Option<NonZero<u32>>,
    damaged: &mut dyn FnMut(&Damage),
) -> Result<Vec<Finished>, SweepError> {
    let format = Format::new(points);
    let shards = chosen(journal, count)?;
    let mut known: Known = vec![None; points.len()];
    // For each point the place of its shard.
    let mut sources = vec![None; points.len()];
    for (source, (_, path)) in shards.iter().enumerate() {
        let content = format.look(path).map_err(of_journal(path))?;
        content.damage.iter().for_each(&mut *damaged);
        for (point, results) in content.known.into_iter().enumerate() {
            let Some(results) = results else { continue };
            if let Some(first) = sources[point].replace(source) {
                let first: usize = first;
                return Err(SweepError::Merge(MergeError::Overlap {
                    point: label_text(&points[point].label),
                    first: shards[first].1.clone(),
                    second: path.clone(),
                }));
            }
            known[point] = Some(results);
        }
    }
    let known = complete(points, known, &shards).map_err(SweepError::Merge)?;

    // No other process may write it meanwhile.
    let (held, earlier) = format.open(journal, false).map_err(of_journal(journal))?;
    for (i, (earlier, results)) in earlier.known.iter().zip(&known).enumerate() {
        if earlier
            .as_ref()
            .is_some_and(|earlier| !agree(earlier, results))
        {
            let point = label_text(&points[i].label);
            return Err(of_journal(journal)(JournalError::Contradiction { point }));
        }
    }
    let whole = format.whole(known.iter().map(Vec::as_slice));
    let written = whole.and_then(|whole| file::write(journal, &whole));
    written
        .map_err(JournalError::Io)
        .map_err(of_journal(journal))?;
    drop(held);
    let finished = points.iter().zip(known);
    Ok(finished
        .map(|(point, results)| Finished {
            label: point.label.clone(),
            results,
            resumed: true,
        })
        .collect())
}

/// The journals of the shards to merge, at least one.
pub(super) fn chosen(
    journal: &Path,
    count: Option<NonZero<u32>>,
) -> Result<Vec<(Shard, PathBuf)>, SweepError> {
    let mut shards = match Shard::journals(journal) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        found => found
            .map_err(JournalError::Io)
            .map_err(of_journal(journal))?,
    };
    shards.retain(|(shard, _)| count.is_none_or(|count| count == shard.count()));
    if shards.is_empty() {
        let expected =
            Shard::journal_name(journal, "I", count.map_or("N".into(), |n| n.to_string()));
        return Err(SweepError::Merge(MergeError::NoShards {
            whole: journal.to_owned(),
            expected,
        }));
    }
    Ok(shards)
}

/// The results of all points, if none is missing.
fn complete(
    points: &[Point],
    known: Known,
    shards: &[(Shard, PathBuf)],
) -> Result<Vec<Vec<StrategyResult>>, MergeError> {
    let missing = known
        .iter()
        .enumerate()
        .filter(|(_, known)| known.is_none());
    let missing: Vec<usize> = missing.map(|(place, _)| place).collect();
    let Some(&first) = missing.first() else {
        return Ok(known.into_iter().flatten().collect());
    };
    let mut counts: Vec<_> = shards.iter().map(|(shard, _)| shard.count()).collect();
    counts.sort_unstable();
    counts.dedup();
    let hint = if let [count] = counts[..] {
        let divided = divide(points, count);
        let mut numbers: Vec<u32> = missing.iter().map(|&place| divided[place]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let word = if numbers.len() == 1 {
            "shard"
        } else {
            "shards"
        };
        let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
        format!("run {word} {} of {count} again", numbers.join(", "))
    } else {
        let counts: Vec<_> = counts.iter().map(ToString::to_string).collect();
        format!(
            "there are shards of {}; --shards chooses a division",
            counts.join(" and of ")
        )
    };
    Err(MergeError::Missing {
        count: missing.len(),
        of: points.len(),
        first: label_text(&points[first].label),
        hint,
    })
}
