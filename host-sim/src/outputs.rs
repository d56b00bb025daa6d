//! `-o FILE`: what is written into files beside standard output. The ending says what.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use clap::builder::ValueHint;

use crate::completion::{Known, metrics};
use crate::failure::Failure;
use crate::file::{self, Output, Product, ReplaceArgs};
use crate::map::Plot;
use crate::records;
use crate::settings::Format;
use meshalloc_sim::metrics::Metric;
use meshalloc_sim::names;
use meshalloc_sim::names::grammar::Written;

/// The options of files.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Also write FILE; its ending chooses what: .csv or .json the results, .svg a picture
    /// (--draw). In run also: jobs.csv, a name such as ff-jobs.csv, or .swf, a line for each
    /// measured job, which --log reads; .html a page of the machine over time, as view makes it.
    /// May be given several times, with one file of jobs, one picture and one page; folders are
    /// made
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Where and how")]
    files: Vec<PathBuf>,

    /// What a picture shows: a metric over the first setting with several values. In run also, of
    /// the first replication: map, which job holds which processors when the last measured job
    /// arrives, map:TIME at that time, or map:jobs=N when N jobs have been granted, on a terminal,
    /// too; links, the traffic on each link, for jobs that send messages; timeline, processors in
    /// use and jobs that wait [default: the metric of the first table; saturation: utilization]
    #[arg(long, value_name = "WHAT", value_parser = Known { parser: Drawing::from_str, values: drawings() }, hide_possible_values = true, help_heading = "Where and how")]
    draw: Option<Drawing>,
}

fn drawings() -> Vec<&'static str> {
    let plots = Plot::FORMS.iter().map(|form| form.name);
    plots.chain(metrics()).collect()
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Drawing {
    Metric(Metric),
    Run(Plot),
}

impl FromStr for Drawing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = text.split([':', '=']).next().unwrap_or_default();
        if Plot::FORMS.iter().any(|form| form.name == kind) {
            return text.parse().map(Drawing::Run);
        }
        let metric = names::metric(text).map(Drawing::Metric);
        metric.map_err(|error| format!("{error}, nor map, links or timeline"))
    }
}

/// The content of a file.
enum Kind {
    Results(Format),
    Jobs(records::Form),
    Picture,
    Page,
}

impl Kind {
    fn of(path: &Path) -> Result<Self, String> {
        let part = |part: Option<&OsStr>| {
            part.map(|part| part.to_string_lossy().to_ascii_lowercase())
                .unwrap_or_default()
        };
        let name = part(path.file_stem());
        let before = name.strip_suffix("jobs");
        let is_jobs = before.is_some_and(|before| !before.ends_with(char::is_alphanumeric));
        Ok(match &*part(path.extension()) {
            "swf" => Kind::Jobs(records::Form::Log),
            "csv" if is_jobs => Kind::Jobs(records::Form::Table),
            "csv" => Kind::Results(Format::Csv),
            "json" => Kind::Results(Format::Json),
            "svg" => Kind::Picture,
            "html" | "htm" => Kind::Page,
            _ => {
                let path = path.display();
                return Err(format!(
                    "--output {path}: its ending says what it has (expected .csv, .json, .svg, .swf or .html)"
                ));
            }
        })
    }
}

/// An error about a file of a command that writes a page, or else a picture, if its name says
/// otherwise.
pub(crate) fn check_only(path: &Path, is_page: bool) -> Result<(), String> {
    match Kind::of(path) {
        Ok(Kind::Page) if is_page => Ok(()),
        Ok(Kind::Picture) if !is_page => Ok(()),
        _ => {
            let ending = if is_page { ".html or .htm" } else { ".svg" };
            let path = path.display();
            Err(format!("--output {path} (expected the ending {ending})"))
        }
    }
}

/// The files of the results. Those of results and the picture were checked to be writable.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    results: Vec<(Output, Format)>,
    pub(crate) picture: Option<Output>,
    pub(crate) jobs: Option<(PathBuf, records::Form)>,
    pub(crate) page: Option<PathBuf>,
    pub(crate) draw: Option<Drawing>,
}

impl OutputArgs {
    /// Looks at the files before the work begins: an error comes at once. `read` are files that the
    /// scenario reads, `scenario` is the scenario file.
    pub(crate) fn open(
        &self,
        read: &[(&str, &Path)],
        scenario: Option<&Path>,
        replace: ReplaceArgs,
    ) -> Result<Outputs, String> {
        let own = self.files.iter().map(|path| ("--output", Some(&**path)));
        let files: Vec<_> = [("--scenario", scenario)].into_iter().chain(own).collect();
        file::spare(read, &files)?;
        let mut outputs = Outputs {
            draw: self.draw,
            ..Outputs::default()
        };
        let single = |is_there: bool, path: &Path, what: &str| {
            if is_there {
                let path = path.display();
                return Err(format!(
                    "--output {path}: a second {what} of the run (expected one)"
                ));
            }
            Ok(())
        };
        for path in &self.files {
            match Kind::of(path)? {
                Kind::Results(format) => {
                    let file = Output::open(path, Product::Results, replace)?;
                    outputs.results.push((file, format));
                }
                Kind::Jobs(form) => {
                    single(outputs.jobs.is_some(), path, "file of jobs")?;
                    outputs.jobs = Some((path.clone(), form));
                }
                Kind::Picture => {
                    single(outputs.picture.is_some(), path, "picture")?;
                    outputs.picture = Some(Output::open(path, Product::Picture, replace)?);
                }
                Kind::Page => {
                    single(outputs.page.is_some(), path, "page")?;
                    outputs.page = Some(path.clone());
                }
            }
        }
        Ok(outputs)
    }
}

impl Outputs {
    /// The first option whose file shows a single run.
    pub(crate) fn of_one_run(&self) -> Option<String> {
        let jobs = self.jobs.as_ref().map(|(path, _)| path);
        let file = jobs.or(self.page.as_ref());
        let file = file.map(|path| format!("--output {}", path.display()));
        let drawn = self.plot().map(|plot| format!("--draw {plot}"));
        file.or(drawn)
    }

    /// The picture of a run that is drawn.
    pub(crate) fn plot(&self) -> Option<Plot> {
        match self.draw? {
            Drawing::Run(plot) => Some(plot),
            Drawing::Metric(_) => None,
        }
    }

    /// The metric that is drawn, if a picture shows one; by default this one.
    pub(crate) fn metric(&self, default: Metric) -> Option<Metric> {
        match self.draw {
            Some(Drawing::Metric(metric)) => Some(metric),
            Some(Drawing::Run(_)) => None,
            None => self.picture.is_some().then_some(default),
        }
    }

    /// Writes the files of results, which `write` gives in a format.
    pub(crate) fn write_results(
        &self,
        write: &dyn Fn(Format, &mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for (file, format) in &self.results {
            let mut content = Vec::new();
            write(*format, &mut content)?;
            file.write(&content)?;
        }
        Ok(())
    }

    /// A line about each file of results.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.results.iter().map(|(file, _)| file.line("results"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_a_file_has() {
        for (path, expected) in [
            ("jobs.csv", "jobs"),
            ("out/ff-jobs.csv", "jobs"),
            ("Jobs.CSV", "jobs"),
            ("log.swf", "jobs"),
            ("results.csv", "csv"),
            ("jobs/all.csv", "csv"),
            ("myjobs.csv", "csv"),
            ("jobs.json", "json"),
            ("a.svg", "picture"),
            ("a.html", "page"),
            ("a.htm", "page"),
            ("a.png", ""),
            ("jobs", ""),
            ("a.swf.gz", ""),
        ] {
            let found = match Kind::of(Path::new(path)) {
                Ok(Kind::Results(Format::Csv)) => "csv",
                Ok(Kind::Results(_)) => "json",
                Ok(Kind::Jobs(_)) => "jobs",
                Ok(Kind::Picture) => "picture",
                Ok(Kind::Page) => "page",
                Err(_) => "",
            };
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_drawing_is_a_metric_or_a_picture_of_a_run() {
        for (text, is_run) in [
            ("map", true),
            ("map:2h", true),
            ("timeline", true),
            ("utilization", false),
        ] {
            let drawing: Drawing = text.parse().unwrap();
            assert_eq!(matches!(drawing, Drawing::Run(_)), is_run, "{text}");
        }
        let error = "utilisation".parse::<Drawing>().unwrap_err();
        assert!(error.contains("did you mean \"utilization\"?"), "{error}");
        let error = "map:x".parse::<Drawing>().unwrap_err();
        assert!(error.contains("TIME of map"), "{error}");
    }
}
