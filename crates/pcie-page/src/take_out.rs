//! A page's content for use without it: commands, Python, a profile, a suite, a sweep.

use pcie_describe::set_text;
use pcie_refusal::Refusal;
use pcie_sim::profile::Link;
use pcie_workload::{CacheState, Operation, Pattern};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::plan::{SIZES, WINDOWS};
use crate::question::{Question, name_of};
use toml_text::table_text;

mod toml_text;

const TITLE_LETTERS_MOST: usize = 1000;
const PAGE_BYTES: u64 = 4096;
const NOTES: &str = "Rows run one after another and inherit the caches of the row before: the page's numbers are of \
                     separate tests, as in the sweep.";

/// A question about a system that commands know by `reference`, a name or a path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    reference: String,
    /// Name of the unchanged system.
    name: String,
    /// Title of the system with its changes.
    title: String,
    link: Link,
    sets: Map<String, Value>,
    question: Question,
}

/// Commands and files.
#[derive(Debug, Serialize)]
pub(crate) struct TakenOut {
    run: String,
    latency: String,
    why: String,
    model: String,
    python: String,
    profile: String,
    suite: String,
    sweep: String,
}

/// Commands and files of a question.
pub(crate) fn take_out(asked: &Asked) -> Result<TakenOut, Refusal> {
    let question = &asked.question;
    question.test(question.bandwidth, false).validate()?;
    Ok(TakenOut {
        run: run(asked, question.bandwidth),
        latency: run(asked, question.latency) + " --details",
        why: why(asked),
        model: model(&asked.link),
        python: python(asked),
        profile: profile(asked),
        suite: suite(question)?,
        sweep: sweep(asked),
    })
}

/// A parameter of a test: its word, its list in suites, its value, and whether that is the default.
struct Word {
    word: &'static str,
    list: &'static str,
    value: Value,
    is_default: bool,
}

/// The parameters besides the operation, in the order of options; the sizes always count as given.
fn words(question: &Question) -> Vec<Word> {
    let word = |word, list, value, is_default| Word { word, list, value, is_default };
    vec![
        word("pattern", "patterns", json!(question.pattern), question.pattern == Pattern::default()),
        word("cache", "caches", json!(question.cache), question.cache == CacheState::default()),
        word("size", "sizes", json!(question.size), false),
        word("window", "windows", json!(question.window), false),
        word("host_offset", "host_offsets", json!(question.host_offset), question.host_offset == 0),
        word("device_offset", "device_offsets", json!(question.device_offset), question.device_offset == 0),
        word("stride", "strides", json!(question.stride), question.stride == 1),
        word("outstanding", "outstanding", json!(question.outstanding), question.outstanding.is_none()),
    ]
}

fn run(asked: &Asked, operation: Operation) -> String {
    let mut parts = command("run", asked, operation);
    if asked.question.seed != 1 {
        parts.extend(["--seed".into(), asked.question.seed.to_string()]);
    }
    parts.extend(["-o".into(), format!("{}.db", set_text(&json!(operation)))]);
    shell(&parts)
}

fn why(asked: &Asked) -> String {
    let mut parts = command("why", asked, asked.question.bandwidth);
    parts.extend(asked.question.measured.iter().flat_map(|gbps| ["--measured".into(), gbps.to_string()]));
    shell(&parts)
}

/// The words of a command about a test on the system.
fn command(name: &str, asked: &Asked, operation: Operation) -> Vec<String> {
    let mut parts = vec!["pcielab".into(), name.into(), "--profile".into(), asked.reference.clone()];
    for (key, value) in &asked.sets {
        parts.extend(["--set".into(), format!("{key}={}", set_text(value))]);
    }
    parts.extend(["--test".into(), set_text(&json!(operation))]);
    for given in words(&asked.question).iter().filter(|one| !one.is_default) {
        parts.extend([format!("--{}", given.word.replace('_', "-")), set_text(&given.value)]);
    }
    parts
}

fn shell(parts: &[String]) -> String {
    parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(" ")
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./-_".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

fn model(link: &Link) -> String {
    let Link { generation, lanes, mps_bytes, mrrs_bytes, rcb_bytes, .. } = link;
    let ecrc = match (link.ecrc, link.root_port_ecrc == Some(true)) {
        (false, false) => "",
        (true, true) => " --ecrc",
        (true, false) => " --ecrc --no-completion-ecrc",
        (false, true) => " --completion-ecrc",
    };
    let ide = if link.ide == Some(true) { " --ide 1" } else { "" };
    let sizes = SIZES.map(|size| size.to_string()).join(",");
    format!(
        "pcielab model bandwidth --gen {generation} --lanes {lanes} --mps {mps_bytes} --mrrs {mrrs_bytes} \
         --rcb {rcb_bytes}{ecrc}{ide} --sizes {sizes}"
    )
}

fn python(asked: &Asked) -> String {
    // JSON's texts and numbers are Python's, too.
    let given: Vec<String> = words(&asked.question)
        .iter()
        .filter(|one| !one.is_default)
        .map(|one| format!(", {}={}", one.word, one.value))
        .collect();
    let sets: Vec<String> = asked
        .sets
        .iter()
        .map(|(key, value)| json!(format!("{key}={}", set_text(value))).to_string())
        .collect();
    let (operation, given) = (json!(asked.question.bandwidth), given.concat());
    let sets = if sets.is_empty() { String::new() } else { format!(", sets=[{}]", sets.join(", ")) };
    let seed = asked.question.seed;
    let options =
        if seed == 1 { String::new() } else { format!(", options=pcielab.RunOptions(seed={seed})") };
    let reference = json!(asked.reference);
    let test = format!("import pcielab\n\ntest = pcielab.single_test({operation}{given})\n");
    if let Some(gbps) = asked.question.measured {
        return format!("{test}print(pcielab.why(test, profile={reference}{sets}, measured={gbps}))\n");
    }
    let columns = "[[\"name\", \"size_bytes\", \"bandwidth_gbps\"]]";
    format!("{test}run = pcielab.run(test, profile={reference}{sets}{options})\nprint(run.frame{columns})\n")
}

/// The changes for a file: null, which TOML lacks, is written `none`, as in `--set`.
fn settings(sets: &Map<String, Value>) -> Map<String, Value> {
    let setting = |value: &Value| if value.is_null() { json!("none") } else { value.clone() };
    sets.iter().map(|(key, value)| (key.clone(), setting(value))).collect()
}

/// A system file with the shown system as base and the changes.
fn profile(asked: &Asked) -> String {
    let suffix = if asked.sets.is_empty() { "" } else { "-changed" };
    let title: String = format!("What if: {}", asked.title).chars().take(TITLE_LETTERS_MOST).collect();
    table_text(&json!({
        "name": format!("{}{suffix}", asked.name),
        "title": title,
        "base": asked.reference,
        "calibrated": false,
        "set": settings(&asked.sets),
        "provenance": {"source": "Explored with pcielab; values in [set] are assumptions"},
    }))
}

/// A suite of the shown curves; its tests run one after another, so caches carry over.
fn suite(question: &Question) -> Result<String, Refusal> {
    let (bandwidth, latency) = (name_of(question.bandwidth)?, name_of(question.latency)?);
    let windows: Vec<u64> = WINDOWS.into_iter().filter(|window| *window >= question.size).collect();
    let mut groups = [
        json!({"family": "sizes", "loop": ["size"], "tests": [bandwidth], "sizes": sizes(question), "windows": [question.window]}),
        json!({"family": "windows", "loop": ["window"], "tests": [bandwidth], "sizes": [question.size], "windows": windows}),
        json!({"family": "latency", "tests": [latency], "sizes": [question.size], "windows": [question.window], "details": true}),
    ];
    let is_list = |one: &Word| !one.is_default || matches!(one.word, "pattern" | "cache");
    for group in &mut groups {
        for one in
            words(question).into_iter().filter(|one| is_list(one) && !matches!(one.word, "size" | "window"))
        {
            group[one.list] = json!([one.value]);
        }
    }
    Ok(table_text(&json!({
        "name": "explored",
        "title": "The curves of a page of pcielab explore",
        "provenance": {"source": "pcielab explore", "notes": NOTES},
        "group": groups,
    })))
}

/// The sizes that fit into a page and into the window.
fn sizes(question: &Question) -> Vec<u64> {
    let offset = question.host_offset.max(question.device_offset);
    let fits = |size: &u64| size + offset <= PAGE_BYTES && size + question.host_offset <= question.window;
    SIZES.into_iter().filter(fits).collect()
}

/// A sweep over the shown sizes, which gives the page's numbers.
fn sweep(asked: &Asked) -> String {
    let mut test = Map::from_iter([("test".to_owned(), json!(asked.question.bandwidth))]);
    for one in words(&asked.question).into_iter().filter(|one| !one.is_default && one.word != "size") {
        test.insert(one.word.to_owned(), one.value);
    }
    table_text(&json!({
        "name": "explored",
        "title": "Bandwidth over size, from a page of pcielab explore",
        "system": asked.reference,
        "set": settings(&asked.sets),
        "test": test,
        "grid": {"size": sizes(&asked.question)},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        let link = json!({"generation": 3, "lanes": 8, "mps_bytes": 256, "mrrs_bytes": 512, "tags": 64});
        serde_json::from_value(json!({
            "reference": "my 'own'.toml", "name": "own", "title": "Own", "link": link,
            "sets": {"host.load": null, "iommu": "off", "link.ecrc": true},
            "question": {"pattern": "strided", "stride": 3, "window": 1 << 20, "seed": 7},
        }))
        .unwrap()
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        let run = take_out(&asked()).unwrap().run;
        assert!(run.starts_with(
            r#"pcielab run --profile 'my '"'"'own'"'"'.toml' --set host.load=none --set iommu=off"#
        ));
        assert!(
            run.ends_with("--pattern strided --size 64 --window 1048576 --stride 3 --seed 7 -o bw-rd.db")
        );
    }

    #[test]
    fn python_has_the_same_words() {
        let python = take_out(&asked()).unwrap().python;
        assert!(
            python.contains("single_test(\"bw-rd\", pattern=\"strided\", size=64, window=1048576, stride=3)")
        );
        assert!(python.contains(r#"sets=["host.load=none", "iommu=off", "link.ecrc=true"]"#));
        assert!(python.contains("options=pcielab.RunOptions(seed=7)"));
    }

    #[test]
    fn a_measured_value_is_asked_about() {
        let mut measured = asked();
        measured.question = Question { measured: Some(41.5), size: 256, ..Question::default() };
        let taken = take_out(&measured).unwrap();
        assert!(taken.why.starts_with("pcielab why --profile "));
        assert!(taken.why.ends_with(" --test bw-rd --size 256 --window 8192 --measured 41.5"));
        assert!(taken.python.ends_with("\"link.ecrc=true\"], measured=41.5))\n"));
        assert!(!take_out(&asked()).unwrap().why.contains("--measured"));
    }

    #[test]
    fn files_leave_out_what_is_empty_and_what_does_not_fit() {
        let mut plain = asked();
        plain.sets.clear();
        plain.question = Question { window: 128, ..Question::default() };
        let taken = take_out(&plain).unwrap();
        assert!(!taken.profile.contains("\n[set]\n") && taken.profile.contains("name = \"own\""));
        assert!(taken.sweep.ends_with("size = [8, 16, 32, 63, 64, 65, 96, 128]\n"));
    }
}
