use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use meshalloc::{Grid, Mesh, Request};

use meshalloc_sim::workload::{LineCounts, Log, LogOptions, ShapeRule, TIME_MAX};

const HEADER: &str = "; Computer: A mesh\n; Acknowledge: A. Author\n;\n; Note: one: two\n";

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
    let log = read(&text, options.clone()).unwrap();
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
        no_processors: 1,
        no_run_time: 1,
        ..LineCounts::default()
    };
    assert_eq!(log.lines, lines);
    assert_eq!(log.header.computer.as_deref(), Some("A mesh"));
    assert_eq!(log.header.acknowledge, ["A. Author"]);
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
        (
            // As a public log of a large machine has them.
            good.trim().to_string() + " 20000 -1 site:excl:2500x56\n",
            "21 fields: expected 18, one job a line; awk '!/^;/ { NF = 18 } 1' FILE cuts off the \
             fields behind them",
        ),
        (
            line(1, "x", "60", "4", "4", 1),
            "field 2 (submit time) is \"x\": expected seconds, 0 or more",
        ),
        (
            line(1, "-3", "60", "4", "4", 1),
            "field 2 (submit time) is \"-3\": expected seconds, 0 or more",
        ),
        (
            line(1, "0", "1h", "4", "4", 1),
            "field 4 (run time) is \"1h\": expected seconds, or D-HH:MM:SS",
        ),
        (
            line(1, "0", "60", "4.5", "4", 1),
            "field 5 (allocated processors) is \"4.5\": expected a whole",
        ),
        (
            line(1, "0", "60", "-1", "?", 1),
            "field 8 (requested processors) is \"?\"",
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
    let error = read(&line(1, "0", "60", "4", "4", 1), options.clone()).unwrap_err();
    assert!(
        error.ends_with("a.swf: no job is left of 1: 1 of other partitions"),
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

#[test]
fn what_stands_behind_gzip_data_is_not_lost_on_the_reader() {
    let text: String = (0..2000)
        .map(|number| line(number, "0", "60", "4", "4", 1))
        .collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let machine = Mesh::new(16, 22).unwrap().into();
    let read = |behind: &[u8], strict| {
        let path = folder.path().join("log.swf.gz");
        std::fs::write(&path, [&gzip[..], behind].concat()).unwrap();
        let options = LogOptions {
            strict,
            ..LogOptions::default()
        };
        let log = Log::read(&path, options, machine);
        log.map(|log| (log.jobs.len(), log.has_more))
            .map_err(|error| error.to_string())
    };
    let zeros = vec![0; 4096];
    for strict in [false, true] {
        assert_eq!(read(&zeros, strict), Ok((2000, false)));
        assert_eq!(
            read(&[&zeros[..], &gzip].concat(), strict),
            Ok((4000, false))
        );
    }
    for other in [&b"<html>"[..], &[&zeros[..], b"x"].concat()] {
        assert_eq!(read(other, false), Ok((2000, true)));
        let error = read(other, true).unwrap_err();
        assert!(
            error.contains("something that is no gzip follows the gzip data"),
            "{error}"
        );
    }
}

#[test]
fn a_second_log_in_a_file_is_an_error() {
    let job = line(1, "0", "60", "4", "4", 1);
    for (header, key) in [
        (
            "; Version: 2.2\n; UnixStartTime: 1704067200\n",
            "UnixStartTime",
        ),
        ("; Version: 2.2\n; Computer: example\n", "Version"),
    ] {
        let one = [header, &job].concat();
        let later = one.replace("1704067200", "1735689600");
        let error = read(&[&one[..], &later].concat(), LogOptions::default()).unwrap_err();
        assert!(
            error.contains(&format!("a second {key} behind jobs (expected one log")),
            "{error}"
        );
        let line = if key == "Version" { 4 } else { 5 };
        assert!(error.starts_with(&format!("a.swf:{line}: ")), "{error}");
        // Before the jobs the last counts, as for every field; the only one may be behind them.
        assert!(read(&[header, &later].concat(), LogOptions::default()).is_ok());
        assert!(read(&[&job, header].concat(), LogOptions::default()).is_ok());
    }
}

#[test]
fn lines_that_end_in_cr_alone_are_named() {
    let jobs: Vec<_> = (0..2000)
        .map(|number| line(number, "0", "60", "4", "4", 1))
        .collect();
    let expected =
        "the lines end in CR alone (expected LF, or CR LF; tr '\\r' '\\n' converts them)";
    // Shorter and longer than the longest line, behind a header and without one.
    for (header, count) in [("", 40), (HEADER, 40), ("", 2000), (HEADER, 2000)] {
        let text = [header, &jobs[..count].concat()]
            .concat()
            .replace('\n', "\r");
        let error = read(&text, LogOptions::default()).unwrap_err();
        assert_eq!(error, format!("a.swf:1: {expected}"));
    }
    let mixed = [HEADER, &jobs.concat().replace('\n', "\r")].concat();
    assert_eq!(
        read(&mixed, LogOptions::default()).unwrap_err(),
        format!("a.swf:5: {expected}")
    );
    // CR LF, and CR CR LF.
    for end in ["\r\n", "\r\r\n"] {
        let text = [HEADER, &jobs[0]].concat().replace('\n', end);
        assert_eq!(read(&text, LogOptions::default()).unwrap().jobs.len(), 1);
    }
}

/// A job of 4 processors with this submit time, run time, requested processors, requested time,
/// status and partition.
fn fields([submit, run, requested, time, status, partition]: [&str; 6]) -> String {
    format!(
        "1 {submit} -1 {run} -1 -1 -1 {requested} {time} -1 {status} 1 1 -1 -1 {partition} -1 -1\n"
    )
}

#[test]
fn minus_one_is_unknown_in_every_field() {
    let all = vec!["-1"; 18].join(" ") + "\n";
    let text = [
        all.clone(),
        fields(["-1.0", "60", "4", "9", "1", "1"]),
        fields(["5", "60", "-1", "9", "1", "1"]),
        fields(["5", "-1", "4", "9", "1", "1"]),
        // What else may be unknown: the job number, the wait, memory, the requested time, status,
        // user, group, executable, queue, partition, and the job before it.
        "-1 5 -1 60 -1 -1 -1 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n".to_owned(),
    ]
    .concat();
    let log = read(&text, LogOptions::default()).unwrap();
    let lines = LineCounts {
        records: 5,
        no_submit_time: 2,
        no_processors: 1,
        no_run_time: 1,
        ..LineCounts::default()
    };
    assert_eq!(log.lines, lines);
    let job = log.jobs[0];
    assert_eq!(
        (log.jobs.len(), job.number, job.requested_time),
        (1, -1, None)
    );
    let of_partition = LogOptions {
        partition: Some(1),
        ..LogOptions::default()
    };
    let lines = match read(&text, of_partition) {
        Ok(log) => panic!("{log:?}"),
        Err(error) => error,
    };
    assert!(
        lines.contains(
            "no job is left of 5: 2 of other partitions, 1 dropped without a submit \
             time, 1 dropped without processors, \
             1 dropped without a run time"
        ),
        "{lines}"
    );
}

#[test]
fn a_job_larger_than_any_machine_is_a_job_that_never_fits() {
    let sizes = [65_536, 1 << 20, 4_294_967_294, 4_294_967_295_u64];
    let mut text: String = sizes
        .iter()
        .map(|size| fields(["1", "60", &size.to_string(), "9", "1", "1"]))
        .collect();
    text += &fields(["1", "60", "99999999999", "9", "1", "1"]);
    text += &fields(["2", "60", "16", "9", "1", "1"]);
    let expected = [65_536, 1 << 20, u32::MAX - 1, u32::MAX, u32::MAX, 16];
    for sides in [
        &[4096][..],
        &[65_535],
        &[64, 64],
        &[16, 16, 16],
        &[8, 8, 8, 8],
        &[2; 16],
    ] {
        let machine = Grid::mesh(sides).unwrap();
        for rule in ["near-cubic", "power-of-two", "flat", "drawn:uniform"] {
            let options = LogOptions {
                shape: rule.parse::<ShapeRule>().unwrap(),
                ..LogOptions::default()
            };
            let log = Log::from_reader(text.as_bytes(), Path::new("a.swf"), options, machine);
            let log = log.unwrap();
            let asked: Vec<u32> = log
                .jobs(1, 0)
                .unwrap()
                .map(|job| job.request.processors)
                .collect();
            assert_eq!(asked, expected, "{machine} {rule}");
            log.check_fits().unwrap();
        }
    }
    let all_larger = fields(["1", "60", "353", "9", "1", "1"]);
    let log = read(&all_larger, LogOptions::default()).unwrap();
    let error = log.check_fits().unwrap_err().to_string();
    assert!(
        error.ends_with("no job fits on the mesh 16x22: the smallest of 1 job has 353 processors")
    );
}

#[test]
fn an_estimate_of_any_length_is_only_an_estimate() {
    for (written, expected) in [
        ("2251799813", Some(2_251_799_813_000_000)),
        ("2251799814", Some(TIME_MAX)),
        ("257698037700", Some(TIME_MAX)),
        ("18446744073709551615", Some(TIME_MAX)),
        ("1e99", Some(TIME_MAX)),
        ("0", None),
        ("-1", None),
    ] {
        let text = fields(["1", "60", "4", written, "1", "1"]);
        let log = read(&text, LogOptions::default()).unwrap();
        assert_eq!(log.jobs[0].requested_time, expected, "{written}");
    }
    // What is simulated has a bound.
    for ([submit, run], expected) in [
        (["2251799814", "60"], "1 dropped without a submit time"),
        (["1", "2251799814"], "1 dropped without a run time"),
    ] {
        let text = fields([submit, run, "4", "9", "1", "1"]);
        let error = read(&text, LogOptions::default()).unwrap_err();
        assert!(
            error.contains(expected)
                && error.ends_with("expected 0 or more and less than 2251799813 seconds"),
            "{error}"
        );
    }
}

#[test]
fn partial_executions_are_no_jobs_where_the_header_says_so() {
    // A whole job and its parts, one that failed, one that was cancelled, one without a status.
    let jobs: String = ["1", "2", "2", "3", "0", "4", "5", "-1"]
        .iter()
        .map(|status| fields(["1", "60", "4", "9", status, "1"]))
        .collect();
    for (header, kept) in [
        ("", 8),
        ("; Preemption: No\n", 8),
        ("; Preemption: Yes\n", 8),
        ("; Preemption: TS\n", 8),
        ("; Preemption: Double\n", 4),
        (";Preemption:double\n", 4),
    ] {
        let log = read(&format!("{header}{jobs}"), LogOptions::default()).unwrap();
        let lines = LineCounts {
            records: 8,
            partial_executions: 8 - kept,
            ..LineCounts::default()
        };
        assert_eq!(
            (log.jobs.len(), log.lines),
            (kept as usize, lines),
            "{header}"
        );
    }
    let text = "; Preemption: Double\n".to_owned() + &fields(["1", "60", "4", "9", "done", "1"]);
    let error = read(&text, LogOptions::default()).unwrap_err();
    assert!(error.contains("field 11 (status) is \"done\""), "{error}");
    // Otherwise the status is not read.
    read(
        &fields(["1", "60", "4", "9", "done", "1"]),
        LogOptions::default(),
    )
    .unwrap();
}

#[test]
fn all_records_are_counted_whatever_number_of_jobs_is_taken() {
    let jobs = fields(["1", "60", "4", "9", "1", "1"]);
    let dropped = fields(["-1", "60", "4", "9", "1", "1"]);
    let text = [
        &dropped,
        &jobs,
        "\n",
        &jobs,
        "; a comment\n",
        &jobs,
        &dropped,
        "1 2 3",
    ]
    .concat();
    for (limit, beyond) in [(0, 6), (1, 4), (2, 3), (3, 2)] {
        let options = LogOptions {
            limit: Some(limit),
            ..LogOptions::default()
        };
        let Ok(log) = read(&text, options) else {
            assert_eq!(limit, 0);
            continue;
        };
        assert_eq!(log.jobs.len(), limit);
        assert_eq!((log.lines.records, log.lines.beyond_limit), (6, beyond));
        let left_out: u64 = log.lines.left_out().map(|(count, _)| count).sum();
        assert_eq!(log.lines.records, log.jobs.len() as u64 + left_out);
    }
}

#[test]
fn the_encoding_of_a_log_is_seen() {
    let text = [HEADER, &line(1, "0", "60", "4", "4", 1)].concat();
    let plain = read(&text, LogOptions::default()).unwrap();
    assert_eq!(
        read(&format!("\u{feff}{text}"), LogOptions::default()),
        Ok(plain)
    );
    let machine: Grid = Mesh::new(16, 22).unwrap().into();
    for (mark, to_bytes) in [
        (&[0xff, 0xfe][..], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (&[0xfe, 0xff], u16::to_be_bytes),
        (&[], u16::to_le_bytes),
    ] {
        let words = text.encode_utf16().flat_map(to_bytes);
        let bytes: Vec<u8> = mark.iter().copied().chain(words).collect();
        let log = Log::from_reader(
            &bytes[..],
            Path::new("a.swf"),
            LogOptions::default(),
            machine,
        );
        let error = log.unwrap_err().to_string();
        assert!(
            error.starts_with("a.swf:1: the text is UTF-16 (expected UTF-8"),
            "{error}"
        );
    }
}

/// Bytes without end, behind some others.
struct Endless<'b> {
    first: &'b [u8],
    repeated: &'b [u8],
    taken: u64,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.first.is_empty() {
            self.first = self.repeated;
        }
        self.taken += buffer.len() as u64;
        self.first.read(buffer)
    }
}

#[test]
fn a_log_without_end_is_refused_before_it_fills_the_memory() {
    let good = line(1, "0", "60", "4", "4", 1);
    let machine: Grid = Mesh::new(16, 22).unwrap().into();
    for (first, repeated, reason) in [
        (
            &good[..],
            &b"1"[..],
            "a.swf:2: the line is longer than 65536 bytes",
        ),
        (&good, b";x", "a.swf:2: the line is longer than 65536 bytes"),
        ("", b"\0", "a.swf:1: the line is longer than 65536 bytes"),
        (
            &good,
            b"; Acknowledge: x\n",
            "a.swf:1002: more than 1000 lines of acknowledgements",
        ),
    ] {
        let mut endless = Endless {
            first: first.as_bytes(),
            repeated,
            taken: 0,
        };
        let log = Log::from_reader(
            &mut endless,
            Path::new("a.swf"),
            LogOptions::default(),
            machine,
        );
        let error = log.unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
    // A word of a bad line is not repeated as a whole.
    let error = read(
        &good.replace(" 60 ", &format!(" {} ", "x".repeat(60_000))),
        LogOptions::default(),
    );
    assert!(error.unwrap_err().len() < 200);
}

#[test]
fn a_small_file_that_unpacks_to_much_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.swf.gz");
    let mut gzip = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        gzip.write_all(&zeros).unwrap();
    }
    gzip.finish().unwrap();
    let machine = Mesh::new(16, 22).unwrap().into();
    let error = Log::read(&path, LogOptions::default(), machine)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("bomb.swf.gz:1: the line is longer than 65536 bytes"),
        "{error}"
    );
}

#[test]
fn the_header_says_when_the_log_begins_and_on_how_many_processors() {
    let job = line(1, "3600", "60", "4", "4", 1);
    let log = |header: &str| read(&[header, &job].concat(), LogOptions::default()).unwrap();
    // As the header of KTH-SP2-1996-2.1 has it, which says itself: Mon Sep 23 14:00:31 CEST 1996.
    let start = "; UnixStartTime: 843480031\n; TimeZone: 3600\n";
    let here = log(&format!("{start}; TimeZoneString: Europe/Stockholm\n"));
    assert_eq!(here.header.unix_start_time, Some(843_480_031));
    assert_eq!(here.unix_time(0), Some(843_480_031));
    let date = |log: &Log| log.date(&log.jobs[0]);
    assert_eq!(date(&here).as_deref(), Some("1996-09-23T15:00:31+02:00"));
    for zone in ["", "; TimeZoneString: Nowhere/Land\n"] {
        let utc = log(&format!("{start}{zone}"));
        assert_eq!(date(&utc).as_deref(), Some("1996-09-23T13:00:31+00:00"));
    }
    // Winter, and in another zone: SDSC-Par-1996-3.1 begins Wed Dec 27 10:53:57 PST 1995.
    let there = log("; UnixStartTime: 820090437\n; TimeZoneString: US/Pacific\n");
    assert_eq!(date(&there).as_deref(), Some("1995-12-27T11:53:57-08:00"));
    for unknown in ["0", "-1", "soon", "", "99999999999999999999"] {
        let log = log(&format!("; UnixStartTime: {unknown}\n"));
        assert_eq!(
            (log.header.unix_start_time, date(&log)),
            (None, None),
            "{unknown}"
        );
    }
    let late = log("; UnixStartTime: 9223372036854775807\n");
    assert_eq!(date(&late), None);
    for (header, known) in [
        ("", None),
        ("; MaxProcs: 400\n", Some(("MaxProcs", 400))),
        (
            "; MaxNodes: 400 (48 interactive, 352 batch)\n",
            Some(("MaxNodes", 400)),
        ),
        ("; MaxNodes: 40\n; MaxProcs: 400\n", Some(("MaxProcs", 400))),
        ("; MaxNodes: 40\n; MaxProcs: -1\n", Some(("MaxNodes", 40))),
    ] {
        assert_eq!(log(header).header.processors(), known, "{header}");
    }
}

#[test]
fn the_mesh_for_a_log_has_its_processors_and_is_most_square() {
    let job = line(1, "0", "60", "7", "7", 1);
    let mesh = |processors: u32| {
        let log = read(
            &format!("; MaxProcs: {processors}\n{job}"),
            LogOptions::default(),
        );
        let sides = log.unwrap().fitting_mesh();
        sides.map(|sides| (sides.extents()[0], sides.extents()[1]))
    };
    for processors in 1..2_000 {
        // Every factorisation within the sides of a mesh.
        let naive = (1..=1024_u32)
            .filter(|w| processors % w == 0 && *w <= processors / w && processors / w <= 1024)
            .min_by_key(|w| processors / w - w)
            .map(|w| (w as u16, (processors / w) as u16));
        match naive {
            Some(sides) => assert_eq!(mesh(processors), Some(sides)),
            None => {
                let (w, h) = mesh(processors).unwrap();
                assert!(u32::from(w) * u32::from(h) >= processors);
            }
        }
    }
    assert_eq!(mesh(352), Some((16, 22)));
    assert_eq!(mesh(1 << 20), Some((1024, 1024)));
    assert_eq!(mesh((1 << 20) + 1), None);
    let of_jobs = read(&job, LogOptions::default()).unwrap();
    assert_eq!(of_jobs.fitting_mesh().unwrap().to_string(), "1x7");
}
