//! Tests of `mcp-server demo`. They run the real binary, as a newcomer does, and no other process.

#![cfg(unix)]

mod guest;

use std::net::TcpListener;

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{FeeDocument, Policy, Request, verify};
use serde_json::Value;

use guest::{Guest, Line, run};

const PAGE: &str = include_str!("../../../../docs/DEMOS.md");
/// The command on the page. Its output follows in the next block.
const COMMAND: &str = "\n```sh\ncargo run --release -p mcp-server -- demo\n```\n";

#[test]
fn the_demo_shows_five_steps_and_ends() {
    let ended = run(&["demo", "--once"]);
    ended.ok();
    // Standard error has one line for scripts, and no warning.
    assert!(
        ended.stderr.starts_with("listening on http://127.0.0.1:"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    insta::assert_snapshot!(without_chance(&ended.stdout));
    assert_eq!(
        without_chance(documented()),
        without_chance(&ended.stdout).trim(),
        "docs/DEMOS.md does not show the output of the demo"
    );
}

/// Returns the standard output that the page shows.
fn documented() -> &'static str {
    let (_, section) = PAGE.split_once(COMMAND).unwrap();
    let (_, block) = section.split_once("\n```text\n").unwrap();
    let (output, _) = block.split_once("\n```\n").unwrap();
    output
}

/// Removes what differs from run to run: the plan's digest and expiry, the times of prices, and the
/// empty blocks, which the chain may make at any time.
fn without_chance(text: &str) -> String {
    let mut digests = text
        .lines()
        .filter_map(|line| line.strip_prefix("   digest       0x"));
    let digest = digests.next().unwrap();
    assert_eq!(digest.len(), 64);
    let mut times = text
        .lines()
        .filter_map(|line| line.strip_prefix("   valid until  "));
    let time = times.next().unwrap();
    assert!(time.parse::<UtcSeconds>().is_ok(), "{time}");
    let text = text.replace(digest, "[digest]").replace(time, "[time]");
    let lines = text.lines().map(|line| match line.split_once(" block ") {
        Some((before, after)) if after.contains(", gas ") => {
            let (_, after) = after.split_once(',').unwrap();
            format!("{before} block [n],{after}")
        }
        _ if line.contains("agg_output_price_bound") => {
            let words = line.split(' ').map(|word| {
                let time = word.trim_end_matches(',').parse::<UtcSeconds>();
                if time.is_ok() { "[time]," } else { word }
            });
            words.collect::<Vec<_>>().join(" ")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_demo_on_a_busy_port_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(&["demo", "--listen", &address, "--once"]);
    ended.error(1, &[&address]);
}

#[test]
fn the_demo_stays_up_and_its_lines_work() {
    let guest = Guest::invited(&["demo"]);
    let [tools, swap, order, steps, status] = &guest.lines[..] else {
        panic!("five lines to try: {:?}", guest.lines)
    };

    let tools = tools.run();
    assert_eq!(
        tools["result"]["tools"].as_array().unwrap().len(),
        5,
        "{tools}"
    );
    for (line, rail) in [(swap, "swap"), (order, "perp_order")] {
        let plan = &line.run()["result"]["structuredContent"];
        assert_eq!(plan["rail"], rail, "{plan}");
    }
    // The account has enough for nine more executions.
    for _ in 0..2 {
        let sent = steps.run();
        let sent = sent.as_array().unwrap();
        assert_eq!(sent.len(), 3);
        assert!(
            sent.iter().all(|sent| sent["result"].is_string()),
            "{sent:?}"
        );
    }
    let status = status.run();
    let upstreams = status["upstreams"].as_array().unwrap();
    let quote = upstreams
        .iter()
        .find(|seen| seen["id"] == "lifi.quote")
        .unwrap();
    assert_eq!(
        (&quote["mode"], &quote["state"]),
        (&"replay".into(), &"ok".into())
    );

    // Verifies the files of the last line as the tool named there does.
    let read = |option: &str| std::fs::read_to_string(guest.file(option)).unwrap();
    let document: FeeDocument = toml::from_str(&read("--fees")).unwrap();
    let policy = Policy::new(document.review().unwrap());
    let request = Request::parse(Rail::Swap, &read("--request")).unwrap();
    let plan = read("--plan");
    let valid_until: Value = serde_json::from_str(&plan).unwrap();
    let valid_until: UtcSeconds = valid_until["valid_until"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let now = UtcSeconds::from_unix(valid_until.unix() - 1);
    assert!(verify(&request, &plan, now, &policy).is_ok());
    let folder = guest.file("--plan").parent().unwrap().to_owned();
    let forged = std::fs::read_to_string(folder.join("forged.json")).unwrap();
    let refusal = verify(&request, &forged, now, &policy).unwrap_err();
    assert_eq!(refusal.check, "agg_receiver_account_bound");

    guest.leave().ok();
    assert!(!folder.exists(), "the files of a demo go with it");
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    let line = Line::parse("curl -s 'http://127.0.0.1:1/mcp' -H 'a: b' -d '{\"x\": \"y z\"}'");
    assert_eq!(line.address.to_string(), "127.0.0.1:1");
    assert_eq!(
        (line.path.as_str(), line.body.as_deref()),
        ("/mcp", Some("{\"x\": \"y z\"}"))
    );
    assert_eq!(line.headers, ["a: b"]);
}
