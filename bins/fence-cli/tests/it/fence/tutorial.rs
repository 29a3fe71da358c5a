//! Runs the commands of `docs/FENCE-TUTORIAL.md` as the page prints them, against a real
//! `api-server` on an embedded chain, and compares their output. `UPDATE_DOCS=1` writes the output
//! into the page.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

use api_server::FenceStage;
use serde_json::{Value, json};
use test_support::eventually;

use crate::fence::desk::{Desk, root_file};

const PAGE: &str = "docs/FENCE-TUTORIAL.md";
const MARK: &str = "@@@ next block";

/// The content of each code block of the page, with its kind.
fn fences(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((kind.to_owned(), text.join("\n")));
        }
    }
    found
}

/// Replaces addresses, hashes and times, which differ in each run.
fn normal(text: &str) -> String {
    let is_time = |word: &str| {
        word.len() >= 20 && word.as_bytes()[4] == b'-' && word.contains("T") && word.contains("Z")
    };
    let word = |word: &str| {
        if word.starts_with("0x") && word.len() > 12 {
            "0x…".to_owned()
        } else if is_time(word) {
            "TIME".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| {
        line.trim_end()
            .split(' ')
            .map(word)
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The sub-wallet's balance is 1,000 USDC; the plan swaps 200 USDC.
const FUNDS: u64 = 1_000_000_000;
const AMOUNT: u64 = 200_000_000;

const SAFE: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

/// Waits until a file has its text, and returns the text.
async fn appears(path: &Path) -> String {
    let whole = async || {
        let text = fs::read_to_string(path).ok()?;
        Some(text.strip_suffix('\n')?.trim().to_owned())
    };
    eventually(&path.display().to_string(), whole).await
}

/// Plays the other parties while a person works through the page. The service gives the owner a
/// sub-wallet, and the rail gives the agent a plan.
async fn around(stage: &FenceStage, folder: &Path) {
    let owner = appears(&folder.join("address")).await;
    let account = stage.wallet_of(owner.parse().unwrap()).await.unwrap();
    stage.fund(account, FUNDS).unwrap();
    let put = |name: &str, text: &str| {
        // Another task waits for the file, so it must appear as a whole.
        fs::write(folder.join("new"), text).unwrap();
        fs::rename(folder.join("new"), folder.join(name)).unwrap();
    };
    put("account", &format!("{account}\n"));
    let signed: Value = serde_json::from_str(&appears(&folder.join("signed.json")).await).unwrap();
    let begins = signed["typed_data"]["message"]["notBefore"]
        .as_str()
        .unwrap();
    let begins = Duration::from_secs(begins.parse().unwrap());
    let begun = async || (UNIX_EPOCH.elapsed().unwrap() >= begins).then_some(());
    eventually("the begin of the grant", begun).await;
    // The grant must also be valid by the time of a sealed block, and this chain makes a block only
    // on request.
    for _ in 0..2 {
        stage.base.mine();
    }
    let plan = stage.plan(account, AMOUNT).await.unwrap();
    put("fees.toml", &fs::read_to_string(stage.fees()).unwrap());
    put("arguments.json", &plan.arguments);
    put("answer.json", &format!("{}\n", plan.envelope));
}

/// A case that the page does not show: a Safe has no grant. Its owners import the verified batch.
async fn a_batch_for_a_safe(desk: &Desk, stage: &FenceStage) {
    let arguments = json!({
        "accountProfile": {"kind": "safe", "address": SAFE, "chainId": 8453},
        "chainId": 8453, "fromToken": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "toToken": "0x4200000000000000000000000000000000000006", "fromAmount": AMOUNT.to_string(),
        "slippage": {"maxBps": 50}, "exports": ["safe_tx_builder"],
    });
    let plan = stage.plan_for(&arguments).await.unwrap();
    desk.put("safe.plan.json", &plan.envelope);
    desk.put("safe.arguments.json", &plan.arguments);
    let fees = fs::read_to_string(stage.fees()).unwrap();
    desk.put("safe.fees.toml", &fees);
    let files = "--plan safe.plan.json --request safe.arguments.json --fees safe.fees.toml";
    let batch = desk.run(&format!("plan verify {files} --emit safe"));
    let batch = batch.ok().json();
    let steps = desk.run(&format!("plan verify {files} --emit steps"));
    let steps = steps.ok().json();
    let (batch, steps) = (
        batch["transactions"].as_array().unwrap(),
        steps.as_array().unwrap(),
    );
    assert_eq!((batch.len(), steps.len()), (3, 3));
    for (transaction, step) in batch.iter().zip(steps) {
        for member in ["to", "value", "data"] {
            let of = |value: &Value| value[member].as_str().unwrap().to_lowercase();
            assert_eq!(of(transaction), of(step), "{member}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tutorial_does_what_it_says() {
    let desk = Desk::new();
    let stage = FenceStage::open().await.unwrap();
    for name in ["owner.key", "password", "policy.json"] {
        fs::remove_file(desk.path(name)).unwrap();
    }
    let page = root_file(PAGE);
    let fences = fences(&page);
    let commands = fences
        .iter()
        .filter(|(kind, _)| kind == "sh")
        .map(|(_, text)| {
            let given = ["account", "answer.json"].into_iter();
            let given = given.filter(|name| text.contains(name));
            let wait = given.map(|name| format!("until [ -s {name} ]; do sleep 0.05; done\n"));
            wait.collect::<String>() + text
        });
    let script = format!(
        "set -euo pipefail\n{}\n",
        commands
            .collect::<Vec<_>>()
            .join(&format!("\necho '{MARK}'\n"))
    );
    let script = script.replace("https://api.example", &format!("http://{}", stage.address));
    let mut command = Command::new("bash");
    command.args(["-c", &script]);
    desk.settle(&mut command);
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_fence-cli"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    command.env("PATH", path);
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let folder = desk.path("");
    let around = async {
        around(&stage, &folder).await;
        std::future::pending::<()>().await;
    };
    let output = tokio::select! {
        output = run => output.unwrap(),
        () = around => unreachable!(),
    };
    a_batch_for_a_safe(&desk, &stage).await;
    stage.close().await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let mark = format!("{MARK}\n");
    let mut printed = stdout.split(mark.as_str());
    let mut last = "";
    let mut written = page.clone();
    let mut place = 0;
    for (kind, text) in &fences {
        match kind.as_str() {
            "sh" => last = printed.next().unwrap(),
            "text" if normal(text) != normal(last) => {
                assert!(
                    std::env::var_os("UPDATE_DOCS").is_some(),
                    "the page says\n{text}\nand the tool\n{last}"
                );
                let (old, new) = (
                    format!("```text\n{text}\n```"),
                    format!("```text\n{}\n```", last.trim_end()),
                );
                let old = if text.is_empty() {
                    "```text\n```".to_owned()
                } else {
                    old
                };
                let at = written[place..].find(&old).map(|at| place + at).unwrap();
                written.replace_range(at..at + old.len(), &new);
                place = at + new.len();
            }
            _ => {}
        }
    }
    if written != page {
        fs::write(
            PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(PAGE),
            written,
        )
        .unwrap();
    }
}
