use super::*;
use crate::scenario::{Form, SETTINGS, Setting};

/// From words as they stand on the command line.
fn scenario(line: &str) -> Result<Resolved, String> {
    let mut scenario = Scenario::default();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let key = word.strip_prefix("--").unwrap();
        let (key, value) = match key.split_once('=') {
            Some(pair) => pair,
            None => (key, words.next().unwrap()),
        };
        scenario
            .set(key, value)
            .map_err(|error| error.to_string())?;
    }
    scenario.resolve_of(Origin::of(None, [], &[]))
}

#[test]
fn defaults_are_recorded() {
    let record = scenario("").unwrap().settings.record();
    let expected = serde_json::json!({
        "mesh": "64x64", "strategy": ["first-fit"], "scheduler": "fcfs", "side_lengths": "uniform",
        "side_range": "1..64", "load": 0.4, "service_mean": 10.0, "measure": "arrivals", "warmup": 0.05,
        "estimates": "perfect", "jobs": 40000, "replications": 10, "slowdown_threshold": 10.0, "seed": 1, "backend": "in-process"
    });
    assert_eq!(record, expected);
}

#[test]
fn switches_are_those_of_the_run() {
    // The other switches belong to workloads; each needs a setting of its workload.
    let is_switch = |setting: &&Setting| setting.form == Form::Switch && setting.needs.is_empty();
    let switches = SETTINGS.iter().filter(is_switch);
    let given = |value| Scenario::of(switches.clone().map(|it| (it.key, value))).unwrap();
    let of_run = |given: &Scenario| given.resolve().unwrap().plan.switches;
    let all = given("true");
    assert!(all.reasons.is_some() && all.mix_drop.is_none());
    assert_eq!(serde_json::to_value(of_run(&all)).unwrap(), all.record());
    assert_eq!(of_run(&given("false")), Switches::default());
}

#[test]
fn what_is_recorded_is_the_same_scenario_again() {
    for line in [
        "--mesh 16x22 --strategy fsl,as,naive --side-lengths exponential --traffic-ratio 1.5 --seed 7",
        "--service uniform:5,10 --side-range 2..9,4 --until-rel-error 0.03",
        "--until-rel-error 0.05 --max-replications 12 --jobs 99 --warmup 0",
        "--log a/log.swf.gz --partition 2 --jobs 50 --backend tcp:127.0.0.1:4000",
        "--mesh 8x8 --batch 20 --service uniform:5,10",
        "--machine mesh-8x8x16-wrap-0,2 --strategy as,tc --side-range 2..3",
        "--torus 4x4x8 --side-range 4,1..3,2..8",
        "--torus 16",
        "--torus 4x4x4 --log log.swf",
        "--machine 4-ary-3-cube --log log.swf",
        "--machine 4-ary-3-cube",
        "--machine 16-ary-3-cube --strategy tc,sniffing --dims normal --batch 7 --service uniform:10,15",
        "--machine 2-ary-12-cube --batch 7 --service-mean 3 --until-rel-error 0.1",
        "--machine 8-ary-3-cube --radices normal --load 0.3 --service uniform:5,10 --jobs 50",
        "--machine 8-ary-3-cube --traffic-ratio 2 --warmup 0.1",
        "--mesh 16x16 --io-nodes left --io communications=4 --batch 16 --processors exponential:16",
        "--mesh 8x4 --io-nodes top --arrival-rate 0.5 --side-lengths exponential --jobs 70",
        "--mesh 8x8 --processors exponential:3.5 --shape near-cubic --load 0.5",
        "--estimates factor:0.5..5 --scheduler easy",
        "--slowdown-threshold 1 --estimates none --scheduler easy:reservations=3",
        "--log log.swf --estimates perfect --scheduler conservative",
        "--log log.swf --pattern ring",
        "--log log.swf --from 4w --to 8.5w --log-load 0.7 --shape drawn:normal:var --mesh 10x10",
        "--log log.swf --resample weeks --shape flat --replications 12 --seed 3 --jobs 70",
        "--log - --resample weeks --replications 20 --shape power-of-two",
        "--log a/trace.csv.gz --columns submit=arrival,user= --processors-per-node 8 --to 3w",
        "--torus 16x16x16 --mix tpu-v4 --mix-drop true --load .3 --service lognormal:-2,1.5",
        "--torus 16x16x16 --mix a/mix.csv --interarrival trace.csv:gap --service log.swf:run",
        "--interarrival log.swf.gz:submit --load .6 --service hyper-exponential:0.9,5,55",
        "--model lublin:both --shape flat --mesh 16x16 --scheduler easy",
        "--model lublin --load .7 --estimates factor:1..5",
        "--service weibull:0.7,8",
    ] {
        let record = scenario(line).unwrap().settings.record();
        let options: Vec<String> = record
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.replace('_', "-"), value))
            .map(|(key, value)| match value {
                serde_json::Value::Array(items) => {
                    let items: Vec<_> = items.iter().filter_map(|item| item.as_str()).collect();
                    format!("--{key}={}", items.join(","))
                }
                serde_json::Value::String(text) => format!("--{key}={}", text.replace(' ', "-")),
                other => format!("--{key}={other}"),
            })
            .collect();
        let again = scenario(&options.join(" ")).unwrap().settings.record();
        assert_eq!(record, again);
    }
}

#[test]
fn jobs_that_arrive_on_a_cube_have_the_defaults_of_a_mesh() {
    let dynamic = scenario("--machine 4-ary-3-cube --load .4").unwrap();
    assert!(!dynamic.plan.workload.is_closed());
    let record = dynamic.settings.record();
    assert_eq!(record["jobs"], JOBS_DEFAULT);
    assert_eq!(record["service_mean"], SERVICE_MEAN_DEFAULT);
}

#[test]
fn tasks_at_once_are_all_measured() {
    for line in ["", "--batch 7"] {
        let error =
            scenario(&format!("--machine 4-ary-3-cube --measure arrivals {line}")).unwrap_err();
        assert!(error.contains("measure"), "{error}");
    }
    assert!(scenario("--machine 4-ary-3-cube --load .3 --measure departures").is_ok());
}

#[test]
fn a_strategy_named_twice_runs_once() {
    let scenario = scenario("--strategy ff,first-fit,as,ff").unwrap();
    let expected = [StrategyKind::FirstFit, StrategyKind::AdaptiveScan];
    assert_eq!(scenario.plan.strategies, expected);
}
