//! No control character of a file, of a name or of an argument reaches the terminal.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::program::command;

/// What a terminal would obey: a colour, a title, the next screen in one character, a backspace.
const ODD: &str = "\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{8}";

/// Both outputs, of which neither has a control character.
fn outputs(folder: &Path, line: &str) -> [String; 2] {
    let mut command = command(folder, &line.replace("ODD", ODD));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    for text in &texts {
        let is_odd = |sign: char| sign.is_control() && sign != '\n' && sign != '\t';
        assert!(!text.contains(is_odd), "{line}: {text:?}");
    }
    texts
}

#[test]
fn control_characters_of_every_kind_of_file_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let [name, text] = [name, text].map(|text| text.replace("ODD", ODD));
        fs::write(folder.path().join(name), text).unwrap();
    };
    let job = "1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 -1 1 -1 -1\n";
    let header = "; Computer: ODD\n; Installation: ODD\n; Acknowledge: ODD\n; MaxProcs: 4 ODD\n\
                  ; UnixStartTime: 843480031\n; TimeZoneString: ODD\n";
    write("ODD.swf", &format!("{header}{job}"));
    write("log.swf", &format!("{header}{job}"));
    write("word.swf", &job.replace(" 10 ", " ODD "));
    write("trace.csv", "submit,run,processors,ODD\n0,10,4,ODD\n");
    write("cell.csv", "submit,run,processors\n0,ODD,4\n");
    write("names.csv", "ODD,b\n1,2\n");
    write("mix.csv", "shape,weight\n2x2,ODD\n");
    write("failures.csv", "time,what,which,state\n1,ODD,0,down\n");
    write("key.toml", "\"\\u001b[31m\\u009b2J\" = 1\n");
    write("value.toml", "mesh = \"\\u001b[31m\\u009b2J\"\n");
    write(
        "file.toml",
        "mesh = \"4x4\"\nlog = \"ODD.swf\"\n"
            .replace("ODD", "\\u001b[31m")
            .as_str(),
    );
    let machine = "name = \"\\u001b[31m\\u009b2J\"\nmesh = \"4x4\"\n";
    write("machine.toml", machine);
    write(
        "machine-key.toml",
        &format!("{machine}\"\\u001b[31m\\u009b2J\" = 1\n"),
    );
    write(
        "topology.yaml",
        "- topology: \"\\e[31m\\u009b2J\"\n  torus3d:\n    ODD: 1\n",
    );
    write("ops", "alloc 1 2x2\nalloc ODD 2x2\n");
    write(
        "ops.json",
        "{\"op\":\"alloc\",\"id\":1,\"shape\":\"2x2\",\"\\u001b[31m\":1}\n",
    );

    let run = "run --mesh 4x4 --strategy ff --jobs 5 --replications 1";
    for (line, place) in [
        // On standard output.
        ("log log.swf", 0),
        ("log ODD.swf --mesh 4x4", 0),
        ("log log.swf --format json", 0),
        ("run --mesh 4x4 --strategy ff --log ODD.swf", 0),
        ("compare --mesh 4x4 --strategy ff --log ODD.swf", 0),
        (
            "run --mesh 4x4 --strategy ff --log log.swf --format json",
            0,
        ),
        // On standard error.
        ("log word.swf", 1),
        ("log none-ODD.swf", 1),
        ("log cell.csv", 1),
        ("log names.csv", 1),
        ("log trace.csv --columns submit=ODD,run=ODD", 1),
        ("log trace.csv --columns ODD", 1),
        (&format!("{run} --load .5 --mix mix.csv"), 1),
        (&format!("{run} --load .5 --failures failures.csv"), 1),
        (&format!("{run} --load .5 --service log.swf:ODD"), 1),
        (&format!("{run} --load .5 --service names.csv:none"), 1),
        (&format!("{run} --load .5 --backend tcp:ODD"), 1),
        (&format!("{run} --load .5 --backend serial:ODD@115200"), 1),
        ("run --scenario key.toml", 1),
        ("run --scenario value.toml", 1),
        ("run --scenario file.toml", 1),
        ("run --scenario none-ODD.toml", 1),
        ("run --machine machine-key.toml --load .5", 1),
        ("run --machine topology.yaml --load .5", 1),
        ("replay ops", 1),
        ("replay ops.json", 1),
        ("run --mesh ODD", 1),
        ("ODD", 1),
        ("run --ODD", 1),
    ] {
        let texts = outputs(folder.path(), line);
        // What would be obeyed is shown, if it is not cut out.
        let shown = &texts[place];
        let is_shown = ["\\u001b", "\\u{1b}", "\\e"]
            .iter()
            .any(|escape| shown.contains(escape));
        assert!(
            is_shown || shown.contains("[31m") || line.contains("ODD"),
            "{line}: {texts:?}"
        );
        assert!(!shown.is_empty(), "{line}");
    }
    // A name of a machine, wherever it is printed.
    outputs(
        folder.path(),
        "run --machine machine.toml --load .5 --jobs 5 --replications 1",
    );
    // Programs read the same text.
    let [json, _] = outputs(folder.path(), "log log.swf --format json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["log"]["computer"], ODD);
}
