//! Values over time in a bounded number of samples: [`History`].

use meshalloc::Ticks;

use crate::settings::SECOND;

/// Utilisation, external fragmentation, internal fragmentation, each in thousandths.
pub(crate) type Levels = [u32; 3];

/// The most samples.
const SAMPLES_MAX: usize = 300;

/// The length of the first samples.
const SAMPLE: Ticks = SECOND;

/// Means of levels over samples of equal length. When there are too many, each two become one of
/// twice the length.
#[derive(Clone, Debug)]
pub(crate) struct History {
    samples: Vec<Levels>,
    /// The length of a sample.
    length: Ticks,
    /// The length so far of the sample that is not complete, and the sums over its ticks.
    passed: Ticks,
    sums: [u64; 3],
}

impl History {
    /// Nothing has passed.
    pub(crate) fn new() -> Self {
        History {
            samples: Vec::new(),
            length: SAMPLE,
            passed: 0,
            sums: [0; 3],
        }
    }

    /// The levels were these for some ticks.
    pub(crate) fn pass(&mut self, levels: Levels, mut ticks: Ticks) {
        while ticks > 0 {
            let part = ticks.min(self.length - self.passed);
            for (sum, level) in self.sums.iter_mut().zip(levels) {
                *sum += u64::from(level) * part;
            }
            self.passed += part;
            ticks -= part;
            if self.passed == self.length {
                self.end_sample();
            }
        }
    }

    fn end_sample(&mut self) {
        let length = self.length;
        self.samples
            .push(self.sums.map(|sum| (sum / length) as u32));
        (self.passed, self.sums) = (0, [0; 3]);
        if self.samples.len() == SAMPLES_MAX {
            let pairs = self.samples.chunks_exact(2);
            self.samples = pairs
                .map(|pair| std::array::from_fn(|at| (pair[0][at] + pair[1][at]) / 2))
                .collect();
            self.length *= 2;
        }
    }

    /// The complete samples of one of the levels.
    pub(crate) fn samples(&self, level: usize) -> Vec<u32> {
        self.samples.iter().map(|sample| sample[level]).collect()
    }

    /// The number of complete samples, and their end.
    pub(crate) fn end(&self) -> (usize, Ticks) {
        (
            self.samples.len(),
            self.samples.len() as Ticks * self.length,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_means_and_their_number_is_bounded() {
        let mut history = History::new();
        history.pass([100, 0, 7], SAMPLE / 2);
        assert_eq!(history.end(), (0, 0));
        history.pass([300, 40, 7], SAMPLE);
        assert_eq!(history.samples(0), [200]);
        assert_eq!(history.samples(1), [20]);
        let levels = [500, 0, 7];
        history.pass(levels, 1_000 * SAMPLE);
        let (count, end) = history.end();
        assert!(count < SAMPLES_MAX && end > 995 * SAMPLE, "{count} {end}");
        assert_eq!(history.samples(0).last(), Some(&500));
        assert!(history.samples(2).iter().all(|&sample| sample == 7));
    }
}
