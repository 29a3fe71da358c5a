//! The commands of `docs/FENCE-TUTORIAL.md` run as they stand there, and print what stands there. `UPDATE_DOCS=1` writes
//! what they print.

use std::{fs, path::PathBuf, process::Command};

use serde_json::json;

use crate::{
    desk::{Desk, PROJECT, root_file},
    service::{Service, State},
};

const PAGE: &str = "docs/FENCE-TUTORIAL.md";
const MARK: &str = "@@@ next block";

/// What a fence of the page holds, with its kind.
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

/// Addresses, hashes and times are others in each run.
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

#[test]
fn the_tutorial_does_what_it_says() {
    let desk = Desk::new();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let status = json!({"present": true, "policy_name": "svc-base-swap-fence.v1", "per_swap_cap_usd": 5000,
        "project_id": PROJECT, "rules_digest": desk.run("policy digest").stdout.trim()});
    let service = Service::start(State {
        status: Some(status),
        ..State::default()
    });
    for name in ["owner.key", "password", "policy.json"] {
        fs::remove_file(desk.path(name)).unwrap();
    }
    desk.put("log.json", &crate::logs::log());
    let page = root_file(PAGE);
    let fences = fences(&page);
    let commands = fences
        .iter()
        .filter(|(kind, _)| kind == "sh")
        .map(|(_, text)| text.as_str());
    let script = format!(
        "set -euo pipefail\n{}\n",
        commands
            .collect::<Vec<_>>()
            .join(&format!("\necho '{MARK}'\n"))
    );
    let script = script.replace("https://api.example", &service.url);
    let mut command = Command::new("bash");
    command.args(["-c", &script]);
    desk.settle(&mut command);
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_fence-cli"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = command
        .env("PATH", path)
        .env("REPOSITORY", root)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mark = format!("{MARK}\n");
    let mut printed = stdout.split(mark.as_str());
    let mut last = "";
    let mut written = page.clone();
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
                written = written.replacen(&old, &new, 1);
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
