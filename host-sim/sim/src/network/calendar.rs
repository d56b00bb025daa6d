//! The events to come, by cycle. No event is further ahead than a known number of cycles, so the
//! calendar is a ring of days.

use meshalloc::Ticks;

#[derive(Clone, Debug, Default)]
pub(super) struct Day {
    pub(super) releases: Vec<u32>,
    pub(super) deliveries: Vec<u32>,
    /// Headers that request their next channel: source in the upper half, message in the lower.
    pub(super) requests: Vec<u64>,
}

impl Day {
    fn events(&self) -> usize {
        self.releases.len() + self.deliveries.len() + self.requests.len()
    }

    pub(super) fn clear(&mut self) {
        self.releases.clear();
        self.deliveries.clear();
        self.requests.clear();
    }
}

#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// The days; their number is a power of two. The day of cycle t is at t modulo this number.
    days: Vec<Day>,
    events: usize,
}

impl Calendar {
    /// A calendar for events up to `ahead` cycles ahead.
    pub(super) fn new(ahead: u32) -> Calendar {
        let days = (ahead as usize + 1).next_power_of_two();
        Calendar {
            days: vec![Day::default(); days],
            events: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    #[inline]
    fn day(&mut self, at: Ticks) -> &mut Day {
        self.events += 1;
        let place = at as usize & (self.days.len() - 1);
        &mut self.days[place]
    }

    #[inline]
    pub(super) fn release(&mut self, at: Ticks, channel: u32) {
        self.day(at).releases.push(channel);
    }

    #[inline]
    pub(super) fn deliver(&mut self, at: Ticks, message: u32) {
        self.day(at).deliveries.push(message);
    }

    #[inline]
    pub(super) fn request(&mut self, at: Ticks, source: u32, message: u32) {
        let request = u64::from(source) << 32 | u64::from(message);
        self.day(at).requests.push(request);
    }

    /// Exchanges the day of cycle `at`, which has come, for an empty one.
    #[inline]
    pub(super) fn exchange(&mut self, at: Ticks, empty: &mut Day) {
        let place = at as usize & (self.days.len() - 1);
        std::mem::swap(&mut self.days[place], empty);
        self.events -= empty.events();
    }
}
