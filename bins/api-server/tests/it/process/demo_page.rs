//! Compares the output of `api-server demo` with `docs/DEMOS.md`.

use jiff::Timestamp;
use serde_json::Value;

use crate::process::server::run;

const PAGE: &str = include_str!("../../../../../docs/DEMOS.md");
/// The command on the page. Its output follows in the next block.
const COMMAND: &str = "\n```sh\ncargo run --release -p api-server -- demo\n```\n";

/// Asserts that the page shows this standard output, except for what differs from run to run.
#[track_caller]
pub(crate) fn assert_shown(stdout: &str) {
    let lines = |text: &str| text.lines().map(without_chance).collect::<Vec<_>>();
    let (_, shown) = documented();
    let (shown, observed) = (lines(shown), lines(stdout.trim()));
    for (shown, observed) in shown.iter().zip(&observed) {
        assert_eq!(shown, observed, "docs/DEMOS.md is out of date: {stdout}");
    }
    assert_eq!(shown.len(), observed.len(), "{stdout}");
}

/// Returns the line that the page shows of standard error, and the standard output after it.
fn documented() -> (&'static str, &'static str) {
    let (_, section) = PAGE.split_once(COMMAND).expect("the command");
    let (_, block) = section.split_once("\n```text\n").expect("its output");
    let (output, _) = block.split_once("\n```\n").expect("the end of the output");
    output.split_once("\n\n").expect("an empty line")
}

/// Replaces what differs from run to run: hashes, sub-wallets, the identifier of a request, times
/// of today, the interest of some seconds, and how far the second plan comes before it halts.
fn without_chance(line: &str) -> String {
    if let Some((start, json)) = line.split_once('{') {
        let mut json: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
        json.sort_all_objects();
        if let Some(id) = json.get_mut("request_id") {
            *id = "[id]".into();
        }
        return format!("{start}{json}");
    }
    let words = line.split(' ').map(|word| masked(line, word));
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces a word of a line, if it differs from run to run.
fn masked(line: &str, word: &str) -> String {
    let is_row = |label: &str| line.starts_with(&format!("   {label} "));
    let is_hex = |digits: usize| {
        let hex = word.strip_prefix("0x");
        hex.is_some_and(|hex| {
            hex.len() == digits && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    if is_hex(64) && !is_row("private key") && !is_row("policy") {
        "[hash]".to_owned()
    } else if is_hex(40) && (is_row("account") || is_row("sub-wallet")) {
        "[wallet]".to_owned()
    } else if is_row("permits") && word.parse::<Timestamp>().is_ok() {
        "[time]".to_owned()
    } else if is_row("halted_clean at") && matches!(word, "approve:" | "call:") {
        "[step]:".to_owned()
    } else if is_row("log") && word.parse::<u32>().is_ok() {
        "[number]".to_owned()
    } else if line.ends_with("USDG")
        && let Ok(amount) = word.parse::<f64>()
    {
        format!("{amount:.4}")
    } else {
        word.to_owned()
    }
}

#[test]
fn the_page_shows_the_default_address() {
    let (stderr, _) = documented();
    let address = stderr.strip_prefix("listening on http://").unwrap();
    let help = run(&["demo", "--help"], &[]);
    let default = format!("[default: {address}]");
    assert!(help.ok().stdout.contains(&default), "{default}: {help:?}");
}

#[test]
fn nothing_but_chance_is_replaced() {
    let same = |one: &str, other: &str| without_chance(one) == without_chance(other);
    let hash = |digit: &str| format!("0x{}", digit.repeat(64));
    let [one, other] = ["1", "2"].map(hash);
    for (row, is_replaced) in [
        ("   call          success", true),
        ("   principal   ", true),
        ("   private key ", false),
        ("   policy       svc-base-swap-fence.v2", false),
    ] {
        let [one, other] = [&one, &other].map(|hash| format!("{row} {hash}"));
        assert_eq!(same(&one, &other), is_replaced, "{row}");
    }
    for (one, other, is_replaced) in [
        (
            "   account      0x61D614a78aE7c4eeCA9Bf1356b2318E7Ecc71A26  (a sub-wallet)",
            "   account      0xfC4Ca105AaB37b3269A8e55Ccd27635EA01cFCB4  (a sub-wallet)",
            true,
        ),
        (
            "   owner        0x61D614a78aE7c4eeCA9Bf1356b2318E7Ecc71A26",
            "   owner        0xfC4Ca105AaB37b3269A8e55Ccd27635EA01cFCB4",
            false,
        ),
        (
            "   permits      swaps until 2026-12-25T03:30:44Z",
            "   permits      swaps until 2026-12-26T03:30:44Z",
            true,
        ),
        (
            "   permits      swaps until 2026-12-25T03:30:44Z",
            "   permits      swaps until tomorrow",
            false,
        ),
        (
            "   halted_clean at approve: grant_revoked",
            "   halted_clean at call: grant_revoked",
            true,
        ),
        (
            "   halted_clean at call: grant_revoked",
            "   halted_clean at call: grant_expired",
            false,
        ),
        (
            "   log          verified: 23 records",
            "   log          verified: 24 records",
            true,
        ),
        (
            "   delivered    50 USDG",
            "   delivered    50.000002 USDG",
            true,
        ),
        (
            "   delivered    50 USDG",
            "   delivered    50.001 USDG",
            false,
        ),
        (
            "   balance      800.000000 USDC",
            "   balance      800.000001 USDC",
            false,
        ),
        (
            r#"   404 {"charged":false,"request_id":"a-5"}"#,
            r#"   404 {"request_id":"b-5","charged":false}"#,
            true,
        ),
        (
            r#"   404 {"charged":false,"request_id":"a-5"}"#,
            r#"   404 {"charged":true,"request_id":"a-5"}"#,
            false,
        ),
    ] {
        assert_eq!(same(one, other), is_replaced, "{one} and {other}");
    }
}
