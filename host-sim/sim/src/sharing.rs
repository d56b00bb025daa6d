//! Weighted max-min fair sharing of resources by progressive filling.
//!
//! Resources are links, disks and the like, each with a capacity. A *user* is anything that
//! progresses at one rate. In a unit of progress, a user takes a given amount of each of its
//! resources: its *loads*. Here a user is the phase of a job: its messages progress together, so
//! the load of a link is the number of messages that cross it, and the rate is that of one message.
//!
//! A user without other users has the rate at which the first of its resources is full: its rate
//! *alone*. The rates of all users rise together from 0, each in proportion to its rate alone. When
//! a resource becomes full, the rates of its users are frozen; the other rates go on rising. This
//! is the only assignment in which no user can get a larger part of its rate alone unless another
//! user, whose part is not larger, gets less (weighted max-min fairness: D. Bertsekas and R.
//! Gallager, Data Networks, 2nd ed. 1992, section 6.5.2).
//!
//! So two users that differ only in their number of messages get equal parts of a link that both
//! cross. If the rates of messages rose equally, a job that sends more would get a larger part of
//! the link.
//!
//! ```
//! use meshalloc_sim::sharing::{Load, Sharing};
//! // Two links of 16 MB/s. The first user sends two messages over link 0; the second one sends
//! // four over it, and one over link 1; the third one sends one over link 1.
//! let mut sharing = Sharing::new(vec![16.0, 16.0]);
//! let load = |resource, amount| Load { resource, amount };
//! sharing.insert(vec![load(0, 2.0)]);
//! sharing.insert(vec![load(0, 4.0), load(1, 1.0)]);
//! sharing.insert(vec![load(1, 1.0)]);
//! // Alone they have 8, 4 and 16 MB/s a message. Link 0 is full at half of that; the third user
//! // has the rest of link 1.
//! assert_eq!(sharing.rates(), [4.0, 2.0, 14.0]);
//! ```
//!
//! Rates are computed only by addition, subtraction, multiplication, division and comparison, in
//! the order of users and resources. So they are the same on every machine.

#[cfg(test)]
mod tests;

/// The amount of one resource that a user takes for each unit of its progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The resource, by its place among the capacities.
    pub resource: u32,
    /// The amount, over 0, such as the number of messages.
    pub amount: f64,
}

/// Users that share resources. Users are numbered by their places: 0 is the user that was inserted
/// first.
#[derive(Clone, Debug)]
pub struct Sharing {
    capacities: Vec<f64>,
    users: Vec<User>,
    /// The rate of each user; valid unless `is_stale`.
    rates: Vec<f64>,
    is_stale: bool,
    resources: Vec<Resource>,
    /// For each resource, the part of the rates alone at which the resource is full; infinite if
    /// all its users are frozen.
    levels: Vec<f64>,
}

#[derive(Clone, Debug)]
struct User {
    /// The rate alone; infinite without loads.
    alone: f64,
    /// The loads, ascending by resource. Amounts are parts of the resource's capacity at the rate
    /// alone; the largest is 1.
    loads: Vec<Load>,
}

/// The state of a resource during one filling.
#[derive(Clone, Copy, Debug)]
struct Resource {
    /// The number of users whose rates are not frozen, and the sum of their loads.
    open: u32,
    load: f64,
    /// The part of the capacity that frozen users leave.
    spare: f64,
}

impl Resource {
    const UNUSED: Resource = Resource {
        open: 0,
        load: 0.0,
        spare: 1.0,
    };

    #[inline]
    fn level(self) -> f64 {
        match self.open {
            0 => f64::INFINITY,
            _ => self.spare / self.load,
        }
    }
}

impl Sharing {
    /// Resources with these capacities, each over 0, without users.
    pub fn new(capacities: Vec<f64>) -> Self {
        Sharing {
            resources: vec![Resource::UNUSED; capacities.len()],
            levels: vec![f64::INFINITY; capacities.len()],
            capacities,
            users: Vec::new(),
            rates: Vec::new(),
            is_stale: false,
        }
    }

    /// Adds a user behind the others. Its loads ascend by resource, each resource at most once;
    /// without any its rate is infinite. Panics when there is no such resource.
    pub fn insert(&mut self, loads: Vec<Load>) {
        let user = self.user(loads);
        self.users.push(user);
        self.is_stale = true;
    }

    /// Gives the user at `place` other loads. Panics when there is no such user or resource.
    pub fn replace(&mut self, place: usize, loads: Vec<Load>) {
        self.users[place] = self.user(loads);
        self.is_stale = true;
    }

    /// Removes the user at `place`; those behind it move up. Panics when there is no such user.
    pub fn remove(&mut self, place: usize) {
        self.users.remove(place);
        self.is_stale = true;
    }

    fn user(&self, mut loads: Vec<Load>) -> User {
        debug_assert!(loads.is_sorted_by(|a, b| a.resource < b.resource));
        let mut alone = f64::INFINITY;
        for load in &mut loads {
            // As a part of the capacity.
            load.amount /= self.capacities[load.resource as usize];
            let full_at = 1.0 / load.amount;
            alone = if full_at < alone { full_at } else { alone };
        }
        for load in &mut loads {
            load.amount *= alone;
        }
        User { alone, loads }
    }

    /// The rate of each user, in units of progress per unit of time. After a change O(loads +
    /// rounds * (resources + users * log(loads of a user))), with a round for each resource that
    /// becomes full, at most as many as users; constant otherwise.
    pub fn rates(&mut self) -> &[f64] {
        if std::mem::take(&mut self.is_stale) {
            self.fill();
        }
        &self.rates
    }

    fn fill(&mut self) {
        let resources = &mut self.resources;
        resources.fill(Resource::UNUSED);
        for load in self.users.iter().flat_map(|user| &user.loads) {
            let resource = &mut resources[load.resource as usize];
            resource.open += 1;
            resource.load += load.amount;
        }
        for (level, resource) in self.levels.iter_mut().zip(&*resources) {
            *level = resource.level();
        }
        self.rates.clear();
        self.rates.resize(self.users.len(), f64::INFINITY);
        let mut reached = 0.0;
        while let Some((full, level)) = first_least(&self.levels) {
            // Rounding may make equal levels differ; this must not let a rate fall.
            reached = if level > reached { level } else { reached };
            for (user, rate) in self.users.iter().zip(&mut self.rates) {
                if *rate < f64::INFINITY || !user.uses(full) {
                    continue;
                }
                *rate = reached * user.alone;
                for load in &user.loads {
                    let resource = &mut resources[load.resource as usize];
                    resource.open -= 1;
                    resource.load -= load.amount;
                    resource.spare -= load.amount * reached;
                    self.levels[load.resource as usize] = resource.level();
                }
            }
        }
    }
}

impl User {
    fn uses(&self, resource: u32) -> bool {
        let found = self
            .loads
            .binary_search_by_key(&resource, |load| load.resource);
        found.is_ok()
    }
}

/// The least of the levels, and the first resource that has it; `None` if all levels are infinite.
fn first_least(levels: &[f64]) -> Option<(u32, f64)> {
    let lower = |least: &mut f64, level: f64| *least = if level < *least { level } else { *least };
    // Eight minima side by side: comparisons that do not wait for each other.
    let mut lanes = [f64::INFINITY; 8];
    let chunks = levels.chunks_exact(lanes.len());
    let rest = chunks.remainder();
    for chunk in chunks {
        for (least, &level) in lanes.iter_mut().zip(chunk) {
            lower(least, level);
        }
    }
    let mut least = f64::INFINITY;
    for &level in lanes.iter().chain(rest) {
        lower(&mut least, level);
    }
    let mut resources = (0..).zip(levels);
    let (resource, _) = resources.find(|(_, level)| **level <= least)?;
    (least < f64::INFINITY).then_some((resource, least))
}
