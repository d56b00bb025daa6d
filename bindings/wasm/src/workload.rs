//! Random jobs: [`Workload`].

use meshalloc::{Grid, Request, Shape, ShapeError, Ticks};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// The mean run time of random jobs.
pub const SERVICE_MEAN: Ticks = 10_000;

/// A random job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives.
    pub at: Ticks,
    /// What it asks for.
    pub request: Request,
    /// How long it runs, in ticks.
    pub service: Ticks,
}

/// Random jobs at a load.
///
/// The sides of a request are uniform from 1 to half of the machine's, rounded up. Run times are
/// exponential with the mean [`SERVICE_MEAN`], and so are the times between arrivals. The load is
/// the part of the machine that the jobs would use if none waited, in percent.
#[derive(Clone, Debug)]
pub struct Workload {
    random: Pcg32,
    grid: Grid,
    load: u32,
    next: Option<Arrival>,
}

impl Workload {
    /// The jobs of a machine from time 0 on. The seed determines them. None at load 0.
    ///
    /// # Errors
    ///
    /// None on a machine of the page.
    pub fn new(grid: Grid, load: u32, seed: u32) -> Result<Self, ShapeError> {
        let mut workload = Workload {
            random: Pcg32::seed_from_u64(seed.into()),
            grid,
            load,
            next: None,
        };
        workload.draw(0)?;
        Ok(workload)
    }

    /// Another load from now on.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn set_load(&mut self, load: u32, now: Ticks) -> Result<(), ShapeError> {
        self.load = load;
        self.draw(now)
    }

    /// When the next job arrives.
    pub fn next_at(&self) -> Option<Ticks> {
        self.next.map(|arrival| arrival.at)
    }

    /// Takes the next job.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn take(&mut self) -> Result<Option<Arrival>, ShapeError> {
        let taken = self.next;
        if let Some(arrival) = taken {
            self.draw(arrival.at)?;
        }
        Ok(taken)
    }

    /// Draws the job that arrives next after a time.
    fn draw(&mut self, after: Ticks) -> Result<(), ShapeError> {
        self.next = None;
        if self.load == 0 {
            return Ok(());
        }
        let sides = self.grid.sides().iter();
        let sides: Vec<u16> = sides.map(|side| side.div_ceil(2)).collect();
        let means = sides.iter().map(|&side| f64::from(side + 1) / 2.0);
        let area = means.product::<f64>();
        let used = f64::from(self.grid.nodes()) * f64::from(self.load) / 100.0;
        let at = after + self.exponential(SERVICE_MEAN as f64 * area / used);
        let extents: Vec<u16> = sides.iter().map(|&side| self.uniform(side)).collect();
        let request = Request::new(Shape::new(&extents)?);
        let service = self.exponential(SERVICE_MEAN as f64);
        self.next = Some(Arrival {
            at,
            request,
            service,
        });
        Ok(())
    }

    /// A number from 1 to `most`. No number is likelier than another by more than `most` / 2^32.
    fn uniform(&mut self, most: u16) -> u16 {
        let product = u64::from(self.random.next_u32()) * u64::from(most);
        (product >> 32) as u16 + 1
    }

    /// A time with this mean, at least one tick. The logarithm of `libm` is the same on every
    /// machine.
    fn exponential(&mut self, mean: f64) -> Ticks {
        let unit = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        ((-libm::log(unit) * mean) as Ticks).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_the_part_of_the_machine_that_the_jobs_use() {
        for (machine, load) in [("mesh 16x16", 70), ("torus 6x4x4", 30)] {
            let grid: Grid = machine.parse().unwrap();
            let mut workload = Workload::new(grid, load, 1).unwrap();
            let (mut used, mut end) = (0.0, 0);
            for _ in 0..40_000 {
                let arrival = workload.take().unwrap().unwrap();
                used += f64::from(arrival.request.processors) * arrival.service as f64;
                assert!(arrival.at > end);
                end = arrival.at;
            }
            let part = 100.0 * used / (f64::from(grid.nodes()) * end as f64);
            // Four standard errors are about 3.5 % of the load.
            assert!(
                (part / f64::from(load) - 1.0).abs() < 0.04,
                "{machine}: {part}"
            );
        }
    }

    #[test]
    fn the_seed_determines_the_jobs() {
        let grid: Grid = "mesh 8x8".parse().unwrap();
        let jobs = |seed| {
            let mut workload = Workload::new(grid, 50, seed).unwrap();
            let jobs: Vec<_> = (0..100).map(|_| workload.take().unwrap()).collect();
            jobs
        };
        assert_eq!(jobs(7), jobs(7));
        assert_ne!(jobs(7), jobs(8));
        // The same on every machine: this is also what the page draws.
        let first = jobs(1)[0].unwrap();
        let sides = first.request.shape.to_string();
        assert_eq!((first.at, &*sides, first.service), (1_388, "4x1", 18_286));
    }

    #[test]
    fn without_a_load_no_job_arrives() {
        let grid: Grid = "mesh 8x8".parse().unwrap();
        let mut workload = Workload::new(grid, 0, 1).unwrap();
        assert_eq!(workload.take(), Ok(None));
        workload.set_load(10, 5_000).unwrap();
        assert!(workload.next_at().unwrap() > 5_000);
    }
}
