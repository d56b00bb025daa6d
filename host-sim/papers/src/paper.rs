//! Papers as data: a file `data/NAME.toml` each, read into figures and claims.
//!
//! Everything varies along named axes. An axis has keys of a scenario and a list of values for
//! them, and may have columns of words that go with the values. A reference to an axis selects
//! values by one of its words: `load`, `load:0.5`, `load:0.3,0.5`, `load:..0.5`, `load:0.3..0.5`.
//! In a template `{load}` is the word (or value) of the axis `load` where the template stands,
//! `{load.name}` that of its column `name`.
//!
//! The keys of a point are those that the paper fixes, then those of the row (`set`), then those of
//! the axes, then those of the side of a comparison (`own` or `other`), then those of
//! [`File::set`]; later ones take the place of earlier ones. `mix` may name one of the paper's own
//! `mixes`, and `machine` one of its `descriptions`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use super::axis::{AxisRow, text};
use super::case::Case;
use super::claims::Claim;
use super::claims::rule::{Evidence, Rule};
use super::figure::{Axis, Curve, Figure, Panel, Place};
use super::measure::{Cell, Line, Measurements, Point};
use super::setting::Setting;
use meshalloc_sim::experiment::Replications;
use meshalloc_sim::machine::MachineSource;
use meshalloc_sim::names::{self, metric};
use meshalloc_sim::scenario::{Scenario, Setting as Key, SettingError};
use meshalloc_sim::workload::{MixSource, Workload};

/// The text of `data/*.toml`, by their names; `build.rs` lists them.
const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// A paper, ready to be measured.
#[derive(Debug)]
pub struct Paper {
    /// Those of its figures that were asked for.
    pub figures: Vec<Figure>,
    /// Its claims, as far as these figures allow to judge them.
    pub claims: Vec<Case>,
}

impl Paper {
    /// The claims with their verdicts.
    pub fn judge(&self, measurements: &Measurements) -> Vec<Claim> {
        let claim = |case: &Case| Claim {
            figure: case.figure,
            text: case.text.clone(),
            paper: case.paper.clone(),
            is_clocked: !case.metric.is_reproducible(),
            judgement: case.rule.judge(&Evidence {
                measurements,
                metric: case.metric,
                replications: case.replications,
                lines: &case.lines,
                rivals: &case.rivals,
            }),
        };
        self.claims.iter().map(claim).collect()
    }
}

/// How long is measured, with one of the two lengths.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Lengths {
    /// Jobs in a replication.
    pub jobs: u32,
    /// Replications, or the most of them where there is an error to reach.
    pub replications: u32,
    /// Until the relative error of the mean waiting delay is below this; of the mean turnaround
    /// where departures are measured.
    pub until_rel_error: Option<f64>,
    /// How often runs with all jobs at time 0 are made, as they are short; else `replications`.
    pub closed_replications: Option<u32>,
    /// How often runs are made in which every processor sends to every other of its job, or the
    /// largest slice is measured, as they are long; `replications` by default.
    pub dense_replications: Option<u32>,
    /// Jobs in runs in which a number of jobs waits at all times, for which fewer are enough, and
    /// in runs that measure the largest slice, which are long; `jobs` by default.
    pub short_jobs: Option<u32>,
    /// The side of the largest mesh, where the paper has several.
    pub largest_mesh: Option<u16>,
    /// Jobs in runs that are measured with a clock. Search times need fewer jobs than delays.
    #[serde(default)]
    pub clocked_jobs: u32,
    /// Replications of these.
    #[serde(default)]
    pub clocked_replications: u32,
    /// How often each run with a clock is made; the least time counts.
    #[serde(default)]
    pub clocked_repeats: u32,
}

impl Lengths {
    /// How often a run is repeated with new jobs.
    pub fn replications(&self) -> Replications {
        match self.until_rel_error {
            Some(target) => Replications::UntilRelativeError {
                target,
                max: self.replications,
            },
            None => Replications::Fixed(self.replications),
        }
    }
}

/// A file of `data`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its name on the command line.
    pub name: String,
    /// Its description in the help text.
    pub about: String,
    /// Its name for readers.
    pub title: String,
    /// Authors, title and year.
    pub source: String,
    /// Its machines, if a user cannot choose among them.
    pub machines: Option<String>,
    /// What was decided where the paper leaves it open; each a sentence or two.
    pub remarks: Vec<String>,
    /// Short runs.
    pub quick: Lengths,
    /// The paper's length, or more.
    pub full: Lengths,
    fixed: Table,
    /// Values in place of the paper's.
    #[serde(skip)]
    over: BTreeMap<String, String>,
    /// Mixes, CSV as in a file of a mix, by the names under which keys have them.
    #[serde(default)]
    mixes: BTreeMap<String, String>,
    /// Descriptions of machines, TOML as in a file of one, by the names under which keys have them.
    #[serde(default)]
    descriptions: BTreeMap<String, String>,
    axes: BTreeMap<String, AxisRow>,
    figures: Vec<FigureRow>,
    claims: Vec<ClaimRow>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FigureRow {
    number: u32,
    title: String,
    note: String,
    paper_replications: Option<usize>,
    panels: Vec<PanelRow>,
}

/// One panel for each combination of the axes `for`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelRow {
    #[serde(default, rename = "for")]
    each: Vec<String>,
    name: String,
    heading: String,
    parameters: String,
    metric: String,
    #[serde(default)]
    set: Table,
    curves: String,
    legend: String,
    x: String,
    /// The keys of the cell that each one is compared with, if the panel shows relative
    /// differences.
    against: Option<Table>,
}

/// One claim for each combination of the axes `for`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimRow {
    figure: u32,
    /// Other figures that the claim needs.
    #[serde(default)]
    needs: Vec<u32>,
    #[serde(default, rename = "for")]
    each: Vec<String>,
    text: String,
    /// The paper's number or word; left out where the claim is not the paper's.
    paper: Option<String>,
    rule: Table,
    metric: String,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    own: Table,
    other: Option<Table>,
    /// The systems that the claim is about, one line each.
    #[serde(default)]
    who: Vec<String>,
    /// The systems that it is compared with.
    #[serde(default)]
    rivals: Vec<String>,
    #[serde(default)]
    name: String,
    /// The points of a line: every combination, the last axis fastest.
    over: Vec<String>,
    /// A point in words.
    at: String,
}

/// Every paper; an error says what is wrong with a file.
pub fn all() -> Result<Vec<File>, String> {
    let read = |text: &&str| toml::from_str(text).map_err(|error| error.to_string());
    FILES.iter().map(read).collect()
}

/// Axes and the number of a value of each.
type Scope<'f> = Vec<(&'f str, usize)>;

impl File {
    /// The numbers of the figures, each once.
    pub fn numbers(&self) -> Vec<u32> {
        names::each_once(self.figures.iter().map(|figure| figure.number))
    }

    /// Another value of a setting in all runs.
    ///
    /// # Errors
    ///
    /// When there is no such setting, it does not take the value, or an axis of the paper has its
    /// values.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let read = Scenario::default().set(key, value);
        read.map_err(|error| error.to_string())?;
        if self.axes.values().any(|axis| axis.varies(key)) {
            let name = &self.name;
            return Err(format!(
                "some figures of {name} have values of `{key}` on an axis (expected a setting that no \
                 figure varies)"
            ));
        }
        self.over.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// The paper with these figures, on meshes up to `largest_mesh`; an error says what is wrong.
    pub fn paper(&self, numbers: &[u32], largest_mesh: Option<u16>) -> Result<Paper, String> {
        let reader = Reader {
            file: self,
            largest_mesh,
            known: RefCell::default(),
        };
        let chosen = |number: &u32| numbers.contains(number);
        let figures = self.figures.iter().filter(|row| chosen(&row.number));
        let claims = self.claims.iter();
        let claims = claims.filter(|row| chosen(&row.figure) && row.needs.iter().all(chosen));
        let cases = claims.map(|row| {
            let cases = reader.claim(row);
            cases.map_err(|error| format!("{}: {:?}: {error}", self.name, row.text))
        });
        let cases: Result<Vec<_>, String> = cases.collect();
        let mut claims: Vec<Case> = cases?.into_iter().flatten().collect();
        claims.sort_by_key(|claim| claim.figure);
        let figures = figures.map(|row| reader.figure(row));
        let mut figures = figures.collect::<Result<Vec<_>, _>>()?;
        for figure in &mut figures {
            let number = figure.number;
            let of_figure = claims.iter().filter(|case| case.figure == number);
            of_figure.for_each(|case| case.mark(figure));
        }
        Ok(Paper { figures, claims })
    }
}

struct Reader<'f> {
    file: &'f File,
    largest_mesh: Option<u16>,
    /// Settings that were read already, by their keys.
    known: RefCell<HashMap<Vec<(String, String)>, Cell>>,
}

impl<'f> Reader<'f> {
    fn axis(&self, name: &str) -> Result<&'f AxisRow, String> {
        let axis = self.file.axes.get(name);
        axis.ok_or_else(|| format!("there is no axis {name:?}"))
    }

    /// The axis and the values that a reference selects.
    fn select(&self, reference: &'f str) -> Result<(&'f str, Vec<usize>), String> {
        let (name, selection) = reference.split_once(':').unwrap_or((reference, ".."));
        let axis = self.axis(name)?;
        let find = |word: &str| {
            let found = axis.find(word);
            found.ok_or_else(|| format!("the axis {name} has no value {word:?}"))
        };
        let mut rows: Vec<usize> = match selection.split_once("..") {
            Some((first, last)) => {
                let first = if first.is_empty() { 0 } else { find(first)? };
                let end = match last {
                    "" => axis.len(),
                    last => find(last)? + 1,
                };
                (first..end).collect()
            }
            None => selection.split(',').map(find).collect::<Result<_, _>>()?,
        };
        if rows.is_empty() {
            return Err(format!("{reference:?} selects no value"));
        }
        if let Some(largest) = self.largest_mesh.filter(|_| axis.is_mesh()) {
            let side = |row| axis.word("place", row)?.parse::<u16>().ok();
            rows.retain(|&row| side(row).is_none_or(|side| side <= largest));
        }
        Ok((name, rows))
    }

    /// Every combination of the values that the references select, the last changing fastest.
    fn product(
        &self,
        scope: &Scope<'f>,
        references: &'f [String],
    ) -> Result<Vec<Scope<'f>>, String> {
        let mut scopes = vec![scope.clone()];
        for reference in references {
            let (name, rows) = self.select(reference)?;
            let longer = scopes.iter().flat_map(|scope| {
                let with = |&row: &usize| [scope.as_slice(), &[(name, row)]].concat();
                rows.iter().map(with)
            });
            scopes = longer.collect();
        }
        Ok(scopes)
    }

    /// Fills in a template.
    fn fill(&self, template: &str, scope: &Scope<'f>) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, after) = after
                .split_once('}')
                .ok_or_else(|| format!("{template:?} has a brace that is not closed"))?;
            let (name, column) = place.split_once('.').unwrap_or((place, "text"));
            let bound = scope.iter().rev().find(|(axis, _)| *axis == name);
            let &(_, row) = bound.ok_or_else(|| format!("nothing is chosen from {name:?}"))?;
            let axis = self.axis(name)?;
            let word = match axis.word(column, row) {
                Some(word) => word,
                None if column == "text" => axis.value(row),
                None => return Err(format!("the axis {name} has no column {column:?}")),
            };
            filled.push_str(before);
            filled.push_str(&word);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// The cell of this scope, with the keys of these tables.
    fn cell(&self, set: &Table, scope: &Scope<'f>, side: &Table) -> Result<Cell, String> {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        let mut add = |table: &Table| -> Result<(), String> {
            for (key, value) in table {
                keys.insert(key.clone(), self.fill(&text(value), scope)?);
            }
            Ok(())
        };
        add(&self.file.fixed)?;
        add(set)?;
        for &(name, row) in scope {
            keys.extend(self.axis(name)?.entries(row));
        }
        for (key, value) in side {
            keys.insert(key.clone(), self.fill(&text(value), scope)?);
        }
        for (key, value) in &self.file.over {
            let setting = Key::of(key);
            keys.retain(|other, _| {
                let pair = setting.zip(Key::of(other));
                !pair.is_some_and(|(setting, other)| setting.contradicts(other))
            });
            keys.insert(key.clone(), value.clone());
        }
        // A log takes the place of a synthetic workload.
        if keys.contains_key("log") {
            let contradicts = |key: &String| {
                let pair = Key::of(key).zip(Key::of("log"));
                pair.is_some_and(|(key, log)| key.contradicts(log))
            };
            let fixed = self.file.fixed.keys();
            for key in fixed.filter(|key| contradicts(key)) {
                keys.remove(key);
            }
        }
        let all: Vec<(String, String)> = keys.clone().into_iter().collect();
        if let Some(cell) = self.known.borrow().get(&all) {
            return Ok(cell.clone());
        }
        // A mix or machine of the paper's file is passed on as a text.
        let mut own = |key: &str, texts: &BTreeMap<String, String>, ending: &str| {
            let text = texts.get(keys.get(key)?)?.clone();
            let name = PathBuf::from(keys.remove(key)? + ending);
            Some((name, text))
        };
        let mix = own("mix", &self.file.mixes, ".csv");
        let machine = own("machine", &self.file.descriptions, ".toml");
        let keys: Vec<(String, String)> = keys.into_iter().collect();
        let has_mix = mix.is_some();
        let resolve = || {
            let mut scenario = Scenario::of(keys)?;
            if let Some((name, text)) = mix {
                scenario.mix = Some(MixSource::Text { name, text });
            }
            if let Some((name, text)) = machine {
                scenario.machine = Some(MachineSource::Text { name, text });
            }
            scenario.resolve()
        };
        let mut resolved = resolve().map_err(|error: SettingError| error.to_string())?;
        let plan = &mut resolved.plan;
        if has_mix && let Workload::Synthetic(workload) = &plan.workload {
            let read = workload.read(|request| plan.is_legal(request));
            plan.workload = Workload::Synthetic(read.map_err(|(_, error)| error.to_string())?);
        }
        let (setting, strategy) = Setting::of(resolved);
        let cell = Cell { setting, strategy };
        self.known.borrow_mut().insert(all, cell.clone());
        Ok(cell)
    }

    fn figure(&self, row: &'f FigureRow) -> Result<Figure, String> {
        let mut panels = Vec::new();
        for panel in &row.panels {
            for scope in self.product(&Scope::new(), &panel.each)? {
                panels.push(self.panel(panel, &scope)?);
            }
        }
        Ok(Figure {
            number: row.number,
            title: row.title.clone(),
            note: row.note.clone(),
            paper_replications: row.paper_replications,
            panels,
        })
    }

    fn panel(&self, row: &'f PanelRow, scope: &Scope<'f>) -> Result<Panel, String> {
        let x = std::slice::from_ref(&row.x);
        let curves = self.product(scope, std::slice::from_ref(&row.curves))?;
        let curve = |scope: &Scope<'f>| -> Result<Curve, String> {
            let cell = |scope: &Scope<'f>| self.cell(&row.set, scope, &Table::new());
            let places = self.product(scope, x)?;
            let other = |table| -> Result<Vec<Cell>, String> {
                let cell = |scope: &Scope<'f>| self.cell(&row.set, scope, table);
                places.iter().map(cell).collect()
            };
            Ok(Curve {
                name: self.fill(&row.legend, scope)?,
                cells: places.iter().map(cell).collect::<Result<_, _>>()?,
                against: row.against.as_ref().map(other).transpose()?,
            })
        };
        let (name, rows) = self.select(&row.x)?;
        let axis = self.axis(name)?;
        let place = |(number, &row): (usize, &usize)| {
            let entry = axis.word("place", row).unwrap_or_else(|| axis.value(row));
            Place {
                x: entry.parse().unwrap_or(number as f64),
                entry,
            }
        };
        let heading = self.fill(&row.heading, scope)?;
        let mut letters = heading.chars();
        let first = letters.next().ok_or("a panel has no heading")?;
        Ok(Panel {
            name: self.fill(&row.name, scope)?,
            heading: first.to_uppercase().collect::<String>() + letters.as_str(),
            parameters: self.fill(&row.parameters, scope)?,
            axis: Axis {
                name: axis.column.clone().unwrap_or_else(|| name.to_owned()),
                label: axis.label.clone().unwrap_or_else(|| name.to_owned()),
                scale: axis.scale,
            },
            places: rows.iter().enumerate().map(place).collect(),
            metric: metric(&self.fill(&row.metric, scope)?)?,
            stated: Vec::new(),
            curves: curves.iter().map(curve).collect::<Result<_, _>>()?,
        })
    }

    fn claim(&self, row: &'f ClaimRow) -> Result<Vec<Case>, String> {
        let case = |scope: Scope<'f>| -> Result<Case, String> {
            let rule = self.rule(&row.rule, &scope)?;
            if rule.needs_rivals() && row.rivals.is_empty() {
                return Err("the rule compares with rivals (expected `rivals`)".to_owned());
            }
            let paper = row.paper.as_ref();
            let paper = paper.map(|template| self.fill(template, &scope));
            Ok(Case {
                figure: row.figure,
                text: self.fill(&row.text, &scope)?,
                paper: paper.transpose()?,
                rule,
                metric: metric(&self.fill(&row.metric, &scope)?)?,
                replications: self.paper_replications(row.figure),
                lines: self.lines(row, &scope, &row.who)?,
                rivals: match &row.rivals[..] {
                    [] => Vec::new(),
                    rivals => self.lines(row, &scope, rivals)?,
                },
            })
        };
        let scopes = self.product(&Scope::new(), &row.each)?;
        scopes.into_iter().map(case).collect()
    }

    /// The paper's number of replications in this figure.
    fn paper_replications(&self, figure: u32) -> Option<usize> {
        let mut rows = self.file.figures.iter().filter(|row| row.number == figure);
        rows.find_map(|row| row.paper_replications)
    }

    fn rule(&self, row: &Table, scope: &Scope<'f>) -> Result<Rule, String> {
        let filled = row.iter().map(|(key, value)| {
            let Value::String(template) = value else {
                return Ok((key.clone(), value.clone()));
            };
            let filled = self.fill(template, scope)?;
            let number = filled.parse::<f64>().map(Value::Float);
            Ok((key.clone(), number.unwrap_or(Value::String(filled))))
        });
        let table: Table = filled.collect::<Result<_, String>>()?;
        table
            .try_into()
            .map_err(|error: toml::de::Error| error.to_string())
    }

    fn lines(
        &self,
        row: &'f ClaimRow,
        scope: &Scope<'f>,
        who: &'f [String],
    ) -> Result<Vec<Line>, String> {
        let line = |scope: Scope<'f>| -> Result<Line, String> {
            let point = |scope: Scope<'f>| -> Result<Point, String> {
                let other = row.other.as_ref().unwrap_or(&row.own);
                let (axis, last) = *scope.last().ok_or("a claim is over at least one axis")?;
                let axis = self.axis(axis)?;
                let place = axis.word("place", last).unwrap_or_else(|| axis.value(last));
                Ok(Point {
                    at: self.fill(&row.at, &scope)?,
                    place: place.parse().ok(),
                    own: self.cell(&row.set, &scope, &row.own)?,
                    other: self.cell(&row.set, &scope, other)?,
                })
            };
            let points = self.product(&scope, &row.over)?;
            Ok(Line {
                name: self.fill(&row.name, &scope)?,
                points: points.into_iter().map(point).collect::<Result<_, _>>()?,
            })
        };
        let scopes = self.product(scope, who)?;
        if scopes.is_empty() {
            return Err("no system is left on meshes of this size".to_owned());
        }
        scopes.into_iter().map(line).collect()
    }
}
