//! The commands of `device` that ask questions and change nothing.

use meshalloc::{Answer, Configuration, Error, JobId, NodeId, Query, Refusal, Request, Ticks};
use meshalloc_firmware::protocol::Origin;
use serde_json::json;

use super::{Device, refused, unexpected};
use crate::failure::Failure;
use crate::map::{Map, Snapshot, terminal};
use meshalloc_sim::names;
use meshalloc_sim::situation::{Departures, Earliest, Room};
use meshalloc_sim::wording::{are, counted};
use meshalloc_sim::workload::TimeUnit;

impl Device<'_> {
    pub(super) fn info(&mut self) -> Result<(), Failure> {
        let statistics = match self.ask(&Query::Statistics)? {
            Answer::Statistics(statistics) => statistics,
            other => return Err(unexpected(&other)),
        };
        let greeting = self.line.client.greeting();
        let origin = match greeting.origin {
            Origin::Restored { .. } => "restored from its journal",
            Origin::Damaged { .. } => "restored from a damaged journal: changes may be missing",
            Origin::Unread => "journal not read",
            Origin::Forgetful => "keeps no journal",
            Origin::New => "new journal",
        };
        let Configuration {
            machine,
            strategy,
            scheduler,
        } = self.line.configuration;
        let scheduler = names::scheduler_text(scheduler, TimeUnit::Cycle);
        let (software, build) = (&greeting.software, &greeting.build);
        let (boot, jobs) = (greeting.session.boot, greeting.capacity.jobs);
        let object = json!({
            "endpoint": self.line.endpoint.to_string(),
            "software": software.as_str(),
            "build": build.as_str(),
            "protocol": greeting.protocol,
            "boot": format!("{boot:016x}"),
            "state": origin,
            "machine": machine.to_string(),
            "strategy": strategy.to_string(),
            "scheduler": scheduler,
            "jobs_max": jobs,
            "processors": statistics.nodes,
            "free": statistics.free,
            "faulty": statistics.faulty,
            "running": statistics.running,
            "waiting": statistics.waiting,
            "submitted": statistics.counts.submitted,
            "granted": statistics.counts.granted,
        });
        let text = format!(
            "controller   meshalloc {software} ({build}), protocol {}\n\
             state        {origin}, boot {boot:016x}\n\
             serves       {machine}, {strategy}, {scheduler}\n\
             processors   {} free of {}, {} faulty\n\
             jobs         {} running, {} waiting; room for {jobs}\n\
             so far       {} submitted, {} granted",
            greeting.protocol,
            statistics.free,
            statistics.nodes,
            statistics.faulty,
            statistics.running,
            statistics.waiting,
            statistics.counts.submitted,
            statistics.counts.granted,
        );
        self.print(&text, &object)
    }

    pub(super) fn jobs(&mut self) -> Result<(), Failure> {
        let situation = self.line.situation()?;
        let machine = situation.configuration.machine;
        let mut rows = Vec::new();
        for running in &situation.running {
            let held: u32 = running.blocks.iter().map(|&it| machine.area(it)).sum();
            let places: Vec<_> = running.blocks.iter().map(|&it| machine.place(it)).collect();
            let named: Vec<_> = places.iter().map(ToString::to_string).collect();
            let (job, asked) = (running.job.0, running.request.to_string());
            let is_held = |&&node: &&NodeId| {
                let mut blocks = running.blocks.iter();
                blocks.any(|&block| machine.holds(block, node))
            };
            let faulty: Vec<_> = situation.faulty.iter().filter(is_held).collect();
            let class = running.request.class;
            let mut text = format!(
                "{job:>10}  runs   {asked:<12} {held:>6}  {}{}",
                named.join(" "),
                if class.is_preemptible() {
                    ", preemptible"
                } else {
                    ""
                }
            );
            if !faulty.is_empty() {
                text += &format!(", {} faulty", faulty.len());
            }
            text += &estimate_text(&running.request);
            let faulty = faulty
                .into_iter()
                .filter_map(|&node| machine.coordinates(node));
            let faulty: Vec<_> = faulty.map(|at| machine.written(at).to_vec()).collect();
            let object = json!({
                "job": job, "state": "runs", "request": asked.to_string(), "processors": held,
                "granted_at": running.granted_at, "blocks": places, "priority": class.priority(),
                "preemptible": class.is_preemptible(), "faulty": faulty,
                "estimate": running.request.estimate,
            });
            rows.push((text, object));
        }
        for (ahead, waiting) in situation.waiting.iter().enumerate() {
            let (job, asked) = (waiting.job.0, waiting.request.to_string());
            let mut text = format!("{job:>10}  waits  {asked:<12} {:>6}  {ahead} ahead", "");
            let priority = waiting.request.class.priority();
            if priority > 0 {
                text += &format!(", priority {}", readable(priority));
            }
            text += &estimate_text(&waiting.request);
            let object = json!({
                "job": job, "state": "waits", "request": asked, "ahead": ahead,
                "submitted": waiting.submitted, "priority": priority,
                "estimate": waiting.request.estimate,
            });
            rows.push((text, object));
        }
        if rows.is_empty() && !self.json {
            writeln!(self.output, "no jobs")?;
        }
        rows.iter()
            .try_for_each(|(text, object)| self.print(text, object))
    }

    pub(super) fn map(&mut self) -> Result<(), Failure> {
        if self.json {
            return self.jobs();
        }
        let situation = self.line.situation()?;
        Ok(terminal::print(
            &[Map::of_situation(&situation)],
            self.output,
        )?)
    }

    pub(super) fn faults(&mut self) -> Result<(), Failure> {
        let situation = self.line.situation()?;
        let machine = situation.configuration.machine;
        let coordinates = |&node| Some(machine.written(machine.coordinates(node)?).to_vec());
        let places: Vec<_> = situation.faulty.iter().filter_map(coordinates).collect();
        let named = places.iter().map(|place| {
            let numbers: Vec<_> = place.iter().map(u16::to_string).collect();
            format!("({})", numbers.join(", "))
        });
        let text = match places.len() {
            0 => "no processor is faulty".to_owned(),
            count => format!(
                "{} {} faulty: {}",
                counted(count, "processor"),
                are(count),
                named.collect::<Vec<_>>().join(" ")
            ),
        };
        self.print(&text, &json!({"faulty": places}))
    }

    pub(super) fn why(&mut self, job: Option<JobId>) -> Result<(), Failure> {
        let situation = self.line.situation()?;
        let is_asked = |of: JobId| job.is_none_or(|job| job == of);
        if let Some(job) = job
            && !situation.waiting.iter().any(|it| it.job == job)
        {
            if !situation.running.iter().any(|it| it.job == job) {
                return Err(refused(&Error::UnknownJob));
            }
            let object = json!({"job": job.0, "reason": null});
            return self.print(&format!("job {} runs", job.0), &object);
        }
        let mut rows = Vec::new();
        for waiting in situation.waiting.iter().filter(|it| is_asked(it.job)) {
            let Some(reason) = situation.why(waiting.job)? else {
                continue;
            };
            let departures = situation.departures(&waiting.request)?;
            let earliest = situation.earliest(&waiting.request)?;
            let job = waiting.job.0;
            let mut text = format!("job {job} ({}): {reason}", waiting.request);
            match &departures {
                Departures::Jobs { jobs } if !jobs.is_empty() => {
                    text += &format!("\n  it fits when {} has ended", among(jobs));
                }
                Departures::MoreThan { size } => {
                    text += &format!("\n  more than {} have to end", counted(*size, "job"));
                }
                Departures::Unknown => {
                    text +=
                        "\n  it is not known which jobs have to end: the search was not completed";
                }
                _ => {}
            }
            let at = match earliest {
                Earliest::At(at) => {
                    let after = at.saturating_sub(waiting.submitted);
                    text += &format!(
                        "\n  by the estimates of running jobs it fits {} after its submission, if \
                         no other job starts",
                        readable(after)
                    );
                    Some(at)
                }
                _ => None,
            };
            let mut object = json!(reason);
            object["job"] = job.into();
            object["request"] = waiting.request.to_string().into();
            object["help"] = json!(departures);
            object["fits_at"] = at.into();
            rows.push((text, object));
        }
        if rows.is_empty() && !self.json {
            writeln!(self.output, "no job waits")?;
        }
        rows.iter()
            .try_for_each(|(text, object)| self.print(text, object))
    }

    pub(super) fn fits(&mut self, shape: &[String]) -> Result<(), Failure> {
        let situation = self.line.situation()?;
        if shape.is_empty() {
            let mut without_room = 0;
            for shape in situation.legal_shapes() {
                let request = Request::new(shape);
                let room = situation.room(&request)?;
                if room.times > 0 || self.json {
                    let asked = request.to_string();
                    let text = format!("{asked:<12} {}", room_text(&request, room));
                    let object = json!({
                        "request": asked, "room": room.times, "places": room.places,
                    });
                    self.print(&text, &object)?;
                } else {
                    without_room += 1;
                }
            }
            if without_room > 0 {
                let shapes = counted(without_room, "other legal shape");
                writeln!(self.output, "no room for {shapes}")?;
            }
        } else {
            let request = self.request(shape)?;
            let departures = situation.departures(&request)?;
            let refusal = situation.attempt(&request)?.err();
            let room = situation.room(&request)?;
            let asked = request.to_string();
            let mut text = match refusal {
                None => format!("{asked} fits now: {}", room_text(&request, room)),
                Some(refusal) => format!("{asked} does not fit now: {refusal}"),
            };
            match &departures {
                Departures::Jobs { jobs } if !jobs.is_empty() => {
                    text += &format!("; it does when {} has ended", among(jobs));
                }
                Departures::Never if refusal == Some(Refusal::NeverFits) => {}
                Departures::Never => text += "; nor does it when all jobs have ended",
                _ => {}
            }
            let object = json!({
                "request": asked, "fits": refusal.is_none(), "room": room.times,
                "places": room.places, "refusal": refusal.map(Refusal::name), "help": departures,
            });
            self.print(&text, &object)?;
        }
        let snapshot = Snapshot::of_situation(&situation);
        let machine = self.line.configuration.machine;
        let block = snapshot.largest_free().map(|block| machine.place(block));
        let mut text = match &block {
            Some(block) => format!("the largest free box is {block}"),
            None => "no processor is free".to_owned(),
        };
        let mut object = json!({"free_box": block});
        // An image may be built without descriptions of machines, which know of slices.
        if let Ok(Answer::Largest(report)) = self.query(&Query::Largest)? {
            let most = counted(report.processors, "processor");
            let shape = report.shape.map(|shape| shape.to_string());
            text += &match &shape {
                Some(shape) => format!("; at most {shape} ({most}) can be granted"),
                None => format!("; at most {most} can be granted"),
            };
            object["largest"] = report.processors.into();
            object["shape"] = shape.into();
        }
        self.print(&text, &object)
    }
}

/// A time of the controller's clock, which counts milliseconds: `2.5 hours`.
pub(super) fn readable(ticks: Ticks) -> String {
    let seconds = ticks as f64 / 1e3;
    let (each, unit) = TimeUnit::Second.readable(seconds);
    format!("{:.1} {unit}", seconds / each)
}

/// `, estimate 2.5 hours`; nothing without one.
fn estimate_text(request: &Request) -> String {
    let estimate = request.estimate.map(|ticks| readable(ticks.get()));
    estimate.map_or_else(String::new, |time| format!(", estimate {time}"))
}

/// `room for 2 jobs, 5 places`.
fn room_text(request: &Request, room: Room) -> String {
    let jobs = counted(room.times, "job");
    let of = if request.slices() > 1 {
        " for a slice"
    } else {
        ""
    };
    match room.places.map(|places| counted(places, "place")) {
        Some(places) => format!("room for {jobs}, {places}{of}"),
        None => format!("room for {jobs}"),
    }
}

/// `job 3`, or `each of the jobs 3, 5 and 9`.
fn among(jobs: &[u32]) -> String {
    let named: Vec<_> = jobs.iter().map(u32::to_string).collect();
    match &named[..] {
        [one] => format!("job {one}"),
        [first @ .., last] => format!("each of the jobs {} and {last}", first.join(", ")),
        [] => "no job".to_owned(),
    }
}
