use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use meshalloc::{Mesh, Request};

use meshalloc_host_sim::workload::{LineCounts, Log, LogOptions};

const HEADER: &str = "; Computer: A mesh\n; Acknowledge: Somebody\n;\n; Note: one: two\n";

/// A line of the format.
fn line(
    number: i64,
    submit: &str,
    run: &str,
    allocated: &str,
    requested: &str,
    partition: i64,
) -> String {
    format!(
        "{number} {submit} -1 {run} {allocated} -1 -1 {requested} -1 -1 1 1 1 -1 -1 {partition} -1 -1\n"
    )
}

fn read(text: &str, options: LogOptions) -> Result<Log, String> {
    let machine = Mesh::new(16, 22).unwrap().into();
    let log = Log::from_reader(text.as_bytes(), Path::new("a.swf"), options, machine);
    log.map_err(|error| error.to_string())
}

#[test]
fn jobs_are_read_and_the_rest_is_counted() {
    let text = [
        HEADER,
        &line(1, "100", "60", "4", "8", 2),
        // Requested, as nothing is allocated; then neither.
        &line(2, "100", "0", "-1", "13", 2),
        &line(3, "101", "60", "0", "-1", 2),
        // Unknown run time; another partition; before the others.
        &line(4, "102", "-1", "4", "4", 2),
        &line(5, "103", "60", "4", "4", 1),
        "\n",
        &line(6, "7", "1.5", "352", "352", 2),
    ]
    .concat();
    let options = LogOptions {
        partition: Some(2),
        ..LogOptions::default()
    };
    let log = read(&text, options).unwrap();
    let jobs: Vec<_> = log
        .jobs
        .iter()
        .zip(log.jobs(1, 0).unwrap())
        .map(|(entry, job)| {
            (
                entry.number,
                job.arrival,
                job.work.service().unwrap(),
                job.request,
            )
        })
        .collect();
    assert_eq!(
        jobs,
        [
            (6, 7_000_000, 1_500_000, Request::submesh(16, 22)),
            (1, 100_000_000, 60_000_000, Request::submesh(2, 2)),
            (
                2,
                100_000_000,
                0,
                Request::submesh(3, 5).with_processors(13)
            ),
        ]
    );
    let lines = LineCounts {
        records: 6,
        other_partitions: 1,
        outside: 0,
        no_processors: 1,
        no_run_time: 1,
    };
    assert_eq!(log.lines, lines);
    assert_eq!(log.header.computer.as_deref(), Some("A mesh"));
    assert_eq!(log.header.acknowledge, ["Somebody"]);
    let limited = read(
        &text,
        LogOptions {
            limit: Some(1),
            ..options
        },
    )
    .unwrap();
    assert_eq!((limited.jobs.len(), limited.jobs[0].number), (1, 1));
}

#[test]
fn errors_name_file_and_line() {
    let good = line(1, "0", "60", "4", "4", 1);
    for (bad, reason) in [
        ("1 2 3\n".to_string(), "3 fields: expected 18"),
        (good.trim().to_string() + " 7\n", "19 fields: expected 18"),
        (
            line(1, "x", "60", "4", "4", 1),
            "field 2 (submit time) is \"x\": expected a number of seconds",
        ),
        (
            line(1, "-3", "60", "4", "4", 1),
            "field 2 (submit time) is \"-3\": expected 0 seconds or more",
        ),
        (
            line(1, "nan", "60", "4", "4", 1),
            "field 2 (submit time) is \"nan\"",
        ),
        (
            line(1, "0", "1e99", "4", "4", 1),
            "field 4 (run time) is \"1e99\": expected less than",
        ),
        (
            line(1, "0", "9999999999999999", "4", "4", 1),
            "expected less than",
        ),
        (
            line(1, "0", "60", "4.5", "4", 1),
            "field 5 (allocated processors) is \"4.5\": expected a whole",
        ),
        (
            line(1, "0", "60", "-1", "?", 1),
            "field 8 (requested processors) is \"?\"",
        ),
        (
            line(1, "0", "60", "99999999999", "4", 1),
            "99999999999 processors",
        ),
    ] {
        let text = [HEADER, &good, &bad].concat();
        let error = read(&text, LogOptions::default()).unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(error.starts_with("a.swf:6: "), "{error}");
    }
}

#[test]
fn a_log_without_jobs_is_an_error() {
    let options = LogOptions {
        partition: Some(9),
        ..LogOptions::default()
    };
    let error = read(&line(1, "0", "60", "4", "4", 1), options).unwrap_err();
    assert!(
        error.contains("of 1 jobs read, 1 of other partitions"),
        "{error}"
    );
    assert!(read(HEADER, options).is_err());
}

#[test]
fn files_may_be_compressed() {
    let text = [HEADER, &line(1, "0", "60", "4", "4", 1)].concat();
    let folder = tempfile::tempdir().unwrap();
    let machine = Mesh::new(16, 22).unwrap().into();
    let read = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Log::read(&path, LogOptions::default(), machine)
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let plain = read("plain.swf", text.as_bytes()).unwrap();
    assert_eq!(read("log.swf.gz", &gzip).unwrap().jobs, plain.jobs);
    let cut = read("cut.swf.gz", &gzip[..gzip.len() - 9])
        .unwrap_err()
        .to_string();
    assert!(cut.contains("cut.swf.gz:"), "{cut}");
    let missing = Log::read(Path::new("no/such.swf"), LogOptions::default(), machine);
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .starts_with("no/such.swf: ")
    );
}
