use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::*;

fn loads(of: &[(u32, f64)]) -> Vec<Load> {
    let load = |&(resource, amount)| Load { resource, amount };
    of.iter().map(load).collect()
}

/// Rates by the definition, from the users' own loads: raise all that are not frozen, in proportion
/// to their rates alone, until some resource is full, freeze its users, and so on.
fn naive(capacities: &[f64], users: &[Vec<Load>]) -> Vec<f64> {
    let alone = |loads: &Vec<Load>| {
        let full = loads
            .iter()
            .map(|load| capacities[load.resource as usize] / load.amount);
        full.fold(f64::INFINITY, f64::min)
    };
    let alone: Vec<f64> = users.iter().map(alone).collect();
    let mut rates = vec![0.0; users.len()];
    let mut frozen: Vec<bool> = users.iter().map(Vec::is_empty).collect();
    while frozen.contains(&false) {
        let sum = |resource: usize, of: &dyn Fn(usize) -> f64| -> f64 {
            let users = users.iter().enumerate();
            let each = users.map(|(user, loads)| {
                let loads = loads
                    .iter()
                    .filter(|load| load.resource as usize == resource);
                loads.map(|load| load.amount * of(user)).sum::<f64>()
            });
            each.sum()
        };
        let rise = |resource: usize| {
            let used = sum(resource, &|user| rates[user]);
            let open = sum(resource, &|user| {
                if frozen[user] { 0.0 } else { alone[user] }
            });
            if open > 0.0 {
                (capacities[resource] - used) / open
            } else {
                f64::INFINITY
            }
        };
        let rises: Vec<f64> = (0..capacities.len()).map(rise).collect();
        let least = rises.iter().copied().fold(f64::INFINITY, f64::min);
        for (user, rate) in rates
            .iter_mut()
            .enumerate()
            .filter(|(user, _)| !frozen[*user])
        {
            *rate += least * alone[user];
        }
        for (user, loads) in users.iter().enumerate() {
            let full = |load: &Load| rises[load.resource as usize] <= least + 1e-9;
            frozen[user] |= loads.iter().any(full);
        }
    }
    rates
}

#[test]
fn users_of_one_link_get_equal_parts_of_it() {
    let mut sharing = Sharing::new(vec![16.0]);
    sharing.insert(loads(&[(0, 1.0)]));
    assert_eq!(sharing.rates(), [16.0]);
    sharing.insert(loads(&[(0, 4.0)]));
    assert_eq!(sharing.rates(), [8.0, 2.0]);
    sharing.replace(0, loads(&[(0, 8.0)]));
    assert_eq!(sharing.rates(), [1.0, 2.0]);
    sharing.remove(0);
    assert_eq!(sharing.rates(), [4.0]);
    sharing.insert(Vec::new());
    assert_eq!(sharing.rates(), [4.0, f64::INFINITY]);
}

#[test]
fn who_is_frozen_leaves_the_rest_to_the_others() {
    // Links of 8, 16 and 1024. Alone the users have 4, 8, 16 and 1024. The first link is full at
    // half of that, the second one then with 12 for the third user, and the fourth one has what is
    // left of the third link.
    let mut sharing = Sharing::new(vec![8.0, 16.0, 1024.0]);
    sharing.insert(loads(&[(0, 2.0)]));
    sharing.insert(loads(&[(0, 1.0), (1, 1.0)]));
    sharing.insert(loads(&[(1, 1.0), (2, 2.0)]));
    sharing.insert(loads(&[(2, 1.0)]));
    assert_eq!(sharing.rates(), [2.0, 4.0, 12.0, 1000.0]);
}

#[test]
fn any_users_have_the_rates_of_the_definition() {
    const RESOURCES: u32 = 21;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut below = |n: u32| rng.next_u32() % n;
    let capacities: Vec<f64> = (0..RESOURCES).map(|_| f64::from(1 + below(9))).collect();
    let mut sharing = Sharing::new(capacities.clone());
    let mut users: Vec<Vec<Load>> = Vec::new();
    for step in 0..2000 {
        let drawn = (0..RESOURCES).filter(|_| below(4) == 0).collect::<Vec<_>>();
        let drawn: Vec<_> = drawn
            .iter()
            .map(|&at| (at, f64::from(1 + below(20))))
            .collect();
        let place = below(users.len().max(1) as u32) as usize;
        match below(3) {
            0 if users.len() > 12 => {
                sharing.remove(place);
                users.remove(place);
            }
            1 if !users.is_empty() => {
                sharing.replace(place, loads(&drawn));
                users[place] = loads(&drawn);
            }
            _ => {
                sharing.insert(loads(&drawn));
                users.push(loads(&drawn));
            }
        }
        if users.len() > 20 {
            sharing.remove(0);
            users.remove(0);
        }
        let found = sharing.rates().to_vec();
        for (user, expected) in naive(&capacities, &users).into_iter().enumerate() {
            if users[user].is_empty() {
                assert_eq!(found[user], f64::INFINITY);
            } else {
                assert!((found[user] / expected - 1.0).abs() < 1e-9, "step {step}");
            }
        }
        // No resource gives more than it has, and every user has one that gives all.
        let used = |resource: u32| -> f64 {
            let both = users.iter().zip(&found);
            let each = both.flat_map(|(loads, rate)| loads.iter().map(move |load| (load, rate)));
            let of = each.filter(|(load, _)| load.resource == resource);
            of.map(|(load, rate)| load.amount * rate).sum()
        };
        let share: Vec<f64> = (0..RESOURCES)
            .map(|at| used(at) / capacities[at as usize])
            .collect();
        assert!(share.iter().all(|share| *share < 1.0 + 1e-9), "step {step}");
        for loads in users.iter().filter(|loads| !loads.is_empty()) {
            let is_full = |load: &Load| share[load.resource as usize] > 1.0 - 1e-9;
            assert!(loads.iter().any(is_full), "step {step}");
        }
    }
}
