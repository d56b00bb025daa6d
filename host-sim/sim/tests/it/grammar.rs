//! How values are written: units of times, large numbers, names in any case, and one wording of
//! errors.

use meshalloc_sim::scenario::{Scenario, Setting};

fn values(key: &str, text: &str) -> Vec<String> {
    let setting = Setting::of(key).unwrap();
    let values = setting
        .values(text.as_ref())
        .map_err(|error| format!("{key} {text}: {error}"));
    let values = values.unwrap().into_iter();
    values.map(|value| value.into_string().unwrap()).collect()
}

#[test]
fn a_time_takes_a_unit_wherever_one_is_given() {
    for (key, text, expected) in [
        ("service-mean", "1h", "3600"),
        ("service-mean", "10", "10"),
        ("service", "uniform:5m,1h", "uniform:300,3600"),
        (
            "service",
            "hyper-exponential:0.9,5s,1d",
            "hyper-exponential:0.9,5,86400",
        ),
        ("service", "weibull:0.7,2h", "weibull:0.7,7200"),
        ("slowdown-threshold", "1m", "60"),
        ("iteration-seconds", "1.5m", "90"),
        ("from", "1d", "86400"),
        ("failures", "node:10h,1h", "node:36000,3600"),
        ("failures", "4x4x4:10h,90", "4x4x4:36000,90"),
        ("checkpoint", "1h,1m", "3600,60"),
        ("scheduler", "bypass-queue:10m", "bypass-queue:600"),
        ("scheduler", "sjf:1d", "sjf:86400"),
    ] {
        let scenario = Scenario::of([(key, text)]).unwrap().record();
        let name = Setting::of(key).unwrap().name;
        let recorded = match &scenario[name] {
            serde_json::Value::String(text) => text.clone(),
            number => number.as_f64().unwrap().to_string(),
        };
        assert_eq!(recorded, expected, "{key} {text}");
    }
    assert_eq!(
        values("service-mean", "1h..:3h:1h"),
        ["3600", "7200", "10800"]
    );
}

#[test]
fn a_number_has_a_short_form_wherever_one_is_given() {
    for (key, text, expected) in [
        ("jobs", "10k", "10000"),
        ("jobs", "1e5", "100000"),
        ("jobs", "10_000", "10000"),
        ("jobs", "1.5k", "1500"),
        ("seed", "18_446_744_073_709_551_615", "18446744073709551615"),
        ("replications", "1e2", "100"),
        ("cycles-per-second", "2M", "2000000"),
        ("processors", "exponential:1k", "exponential:1000"),
        (
            "side-lengths",
            "normal:mean=1e1,sd=4",
            "normal:mean=10,sd=4",
        ),
        ("estimates", "factor:1..1k", "factor:1..1000"),
        ("scheduler", "easy:reservations=1e1", "easy:reservations=10"),
        ("load", ".3..:.5:.1", "0.3"),
    ] {
        assert_eq!(values(key, text)[0], expected, "{key} {text}");
    }
    let strategy = Scenario::of([("strategy", "random:seed=1_000")]).unwrap();
    assert_eq!(strategy.record()["strategy"][0], "random:seed=1000");
    for (key, text) in [
        ("jobs", "1.5"),
        ("jobs", "10kk"),
        ("jobs", "k"),
        ("jobs", "1__0"),
        ("jobs", "_10"),
        ("jobs", "10_"),
        ("jobs", "1h"),
        ("load", "1e999"),
        ("load", "nan"),
        ("service-mean", "1H"),
        ("service-mean", "inf"),
        ("service-mean", "h"),
    ] {
        let error = Scenario::of([(key, text)]).unwrap_err().to_string();
        assert!(error.contains("expected "), "{key} {text}: {error}");
    }
}

#[test]
fn names_are_taken_in_any_case_and_with_underscores() {
    for (key, text, expected) in [
        ("scheduler", "EASY", "easy"),
        ("scheduler", "Bypass_Queue:60", "bypass-queue:60"),
        ("side-lengths", "Uniform_Decreasing", "uniform-decreasing"),
        ("side-lengths", "NORMAL:Mean=9", "normal:mean=9"),
        (
            "service",
            "HYPER_EXPONENTIAL:0.9,5,55",
            "hyper-exponential:0.9,5,55",
        ),
        ("shape", "Drawn:Normal:Var", "drawn:normal:var"),
        ("mix", "TPU_v4:16", "tpu-v4:16"),
        ("machine", "TPU_V4", "tpu-v4"),
        ("pattern", "All_To_All+FFT", "all-to-all+fft"),
        ("restart", "Elsewhere:Last", "elsewhere:last"),
        ("failures", "NODE:10,1", "node:10,1"),
        ("model", "Lublin:Both", "lublin:both"),
        (
            "io",
            "Pattern=Permutation,direction=READ",
            "communications=0,pattern=permutation,direction=read,link=11.65,disk=4.545,network=fair-shares",
        ),
        ("backend", "In_Process", "in-process"),
        ("measure", "Departures", "departures"),
    ] {
        let scenario = Scenario::of([(key, text)]).unwrap().record();
        assert_eq!(
            scenario[Setting::of(key).unwrap().name],
            expected,
            "{key} {text}"
        );
    }
    let strategy = Scenario::of([("strategy", "First_Fit,FSL,Curve:Best_Fit,ALL")]).unwrap();
    let expected = ["first-fit", "free-submesh-list", "curve:best-fit", "all"];
    for (place, name) in expected.into_iter().enumerate() {
        assert_eq!(strategy.record()["strategy"][place], name);
    }
    // The name of a file stays as it is.
    let mix = Scenario::of([("mix", "My_Mix.csv")]).unwrap();
    assert_eq!(mix.record()["mix"], "My_Mix.csv");
}

#[test]
fn errors_name_the_parameter_and_its_range() {
    for (key, text, expected) in [
        (
            "service",
            "uniform:5",
            "uniform does not take \"5\" (expected uniform:SHORTEST,LONGEST)",
        ),
        (
            "service",
            "uniform",
            "uniform needs a parameter (expected uniform:SHORTEST,LONGEST)",
        ),
        (
            "service",
            "weibull:0,8",
            "SHAPE of weibull is \"0\": expected a number over 0",
        ),
        (
            "service",
            "exponential:x",
            "MEAN of exponential is \"x\": expected a time, 0 or more",
        ),
        (
            "processors",
            "exponential:0",
            "MEAN of exponential is \"0\": expected a number over 0",
        ),
        (
            "failures",
            "node:0,1",
            "UP of node is \"0\": expected a time, 1 to 2000000000 seconds",
        ),
        (
            "checkpoint",
            "x",
            "INTERVAL is \"x\": expected a time over 0 seconds",
        ),
        (
            "mix",
            "tpu-v4:0",
            "SIDE of tpu-v4 is \"0\": expected a whole number, 1 to 65535",
        ),
        (
            "io",
            "link=0",
            "link is \"0\": expected a number from 0.001 to 1000000",
        ),
        ("io", "link=1,link=2", "link is given twice"),
        (
            "io",
            "speed=2",
            "is \"speed=2\": expected communications=COMMUNICATIONS[,pattern=",
        ),
        ("columns", "start=a", "expected submit=COLUMN[,run=COLUMN]"),
        ("side-lengths", "normal:sd=1,var=1", "sd or var, not both"),
    ] {
        let error = Scenario::of([(key, text)]).unwrap_err().to_string();
        assert!(error.contains(expected), "{key} {text}: {error}");
    }
}
