//! The cases of `fixtures/cases` about answers: small inputs on which a service of this kind went
//! wrong, each with the right outcome. Every file of a kind is run, so a new file is a new test.
//! `fixtures/cases/README.md` describes the members.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use replay::Recordings;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::ManualClock;

use crate::routes::shop::recorded_at;
use crate::support::World;

/// The scenario of a case's own answers.
const SCENARIO: &str = "case";
const XLAYER: &str = "rpc.xlayer.tech";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(fixtures().join("cases").join(file)).unwrap()
}

fn parsed(file: &str) -> Value {
    serde_json::from_str(&text(file)).unwrap()
}

/// A case of one file, or one of its variants.
struct Case {
    name: String,
    clock: Timestamp,
    given: Value,
    any_of: Vec<Value>,
}

/// Every case of a kind.
fn cases(kind: &str) -> Vec<Case> {
    let mut files: Vec<String> = std::fs::read_dir(fixtures().join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let case = parsed(&file);
        if case["kind"] != kind {
            continue;
        }
        let clock = case["clock"].as_str();
        let clock = clock.map_or(recorded_at(), |text| text.parse().unwrap());
        let alone = json!([{"name": ""}]);
        let variants = case.get("variants").unwrap_or(&alone).as_array().unwrap();
        for variant in variants {
            let mut given = case["given"].clone();
            for (name, value) in variant["given"].as_object().into_iter().flatten() {
                given[name] = value.clone();
            }
            let expect = variant.get("expect").unwrap_or(&case["expect"]);
            let any_of = expect["any_of"].as_array().cloned().unwrap_or_default();
            let name = variant["name"].as_str().unwrap();
            let name = format!("{file}: {name}");
            assert!(!any_of.is_empty(), "{name} expects nothing");
            found.push(Case {
                name,
                clock,
                given,
                any_of,
            });
        }
    }
    assert!(!found.is_empty(), "no case of the kind {kind}");
    found
}

/// Whether a text contains the pattern, which may have alternatives, each with `$` for the end.
fn fits(pattern: &Value, text: &str) -> bool {
    let Some(pattern) = pattern.as_str() else {
        return true;
    };
    pattern.split('|').any(|part| match part.strip_suffix('$') {
        Some(part) => text.ends_with(part),
        None => text.contains(part),
    })
}

/// The recordings, of which a case replaces some.
struct Replaced {
    folder: TempDir,
    entries: Vec<Value>,
}

impl Replaced {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for upstream in std::fs::read_dir(fixtures().join("upstreams")).unwrap() {
            let upstream = upstream.unwrap();
            let link = folder.path().join(upstream.file_name());
            std::os::unix::fs::symlink(upstream.path().canonicalize().unwrap(), link).unwrap();
        }
        std::fs::create_dir(folder.path().join(SCENARIO)).unwrap();
        Self {
            folder,
            entries: Vec::new(),
        }
    }

    /// Answers a request differently.
    fn answer(&mut self, request: &Value, status: u64, media: &str, text: &str) {
        let file = format!("{}.txt", self.entries.len());
        std::fs::write(self.folder.path().join(SCENARIO).join(&file), text).unwrap();
        self.entries.push(json!({
            "file": file,
            "request": request,
            "response": {"status": status, "content_type": media},
            "scenario": SCENARIO,
        }));
    }

    /// Answers every recorded request that an upstream of a case describes differently.
    fn upstream(&mut self, upstream: &Value) {
        let status = upstream["status"].as_u64().unwrap_or(200);
        let media = upstream["type"].as_str().unwrap_or("application/json");
        let body = match (upstream["file"].as_str(), upstream["text"].as_str()) {
            (Some(file), _) => text(file),
            (None, Some(text)) => text.to_owned(),
            (None, None) => upstream["answer"].to_string(),
        };
        let before = self.entries.len();
        for folder in std::fs::read_dir(fixtures().join("upstreams")).unwrap() {
            let manifest = folder.unwrap().path().join("manifest.json");
            let manifest: Value =
                serde_json::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
            for entry in manifest["fixtures"].as_array().unwrap() {
                let request = &entry["request"];
                let meant = fits(&upstream["host"], request["host"].as_str().unwrap())
                    && fits(&upstream["path"], request["path"].as_str().unwrap())
                    && fits(&upstream["query"], &request["query"].to_string());
                if meant && entry.get("scenario").is_none() {
                    self.answer(request, status, media, &body);
                }
            }
        }
        assert!(self.entries.len() > before, "no recording of {upstream}");
    }

    /// Lets the node of chain 196 know the transaction of a case.
    fn transaction(&mut self, file: &str) {
        let known = parsed(file);
        let hash = "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b";
        for (method, member) in [
            ("eth_getTransactionByHash", "transaction"),
            ("eth_getTransactionReceipt", "receipt"),
        ] {
            let request = json!({
                "method": "POST", "host": XLAYER, "path": "/",
                "body": {"jsonrpc": "2.0", "id": "*", "method": method, "params": [hash]},
            });
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": known[member]});
            self.answer(&request, 200, "application/json", &answer.to_string());
        }
    }

    /// Lays the change of a case over the row of a scan.
    fn scan(&mut self, given: &Value) {
        let mut scan = parsed(given["file"].as_str().unwrap());
        let rows = scan["result"].as_object_mut().unwrap();
        let row = rows.values_mut().next().unwrap().as_object_mut().unwrap();
        for (name, value) in given["change"].as_object().into_iter().flatten() {
            row.insert(name.clone(), value.clone());
        }
        for name in given["drop"].as_array().into_iter().flatten() {
            row.remove(name.as_str().unwrap()).unwrap();
        }
        self.upstream(&json!({
            "host": "api.gopluslabs.io", "path": "token_security/8453",
            "query": "0x4200000000000000000000000000000000000006", "answer": scan,
        }));
    }

    fn recordings(&self) -> Recordings {
        let manifest = json!({"fixtures": self.entries}).to_string();
        let path = self.folder.path().join(SCENARIO).join("manifest.json");
        std::fs::write(path, manifest).unwrap();
        Recordings::load(self.folder.path())
            .unwrap()
            .with_scenario(SCENARIO)
    }
}

/// Buys the request of a case and compares the outcome.
async fn run(case: &Case, replaced: &Replaced, wrong: &mut Vec<String>) {
    let world = Box::pin(World::at(
        Arc::new(ManualClock::at(case.clock)),
        replaced.recordings(),
        |_config, _replay| {},
    ))
    .await;
    let target = case.given["request"].as_str().unwrap();
    let before = world.paid();
    let payment = world.buyer.payment(target).await;
    let answer = world.buyer.get_paid(target, &payment).await;
    let outcome = Outcome {
        status: answer.status.into(),
        charged: world.paid() > before,
        body: answer.body(),
    };
    if !case.any_of.iter().any(|entry| outcome.fits(entry)) {
        wrong.push(format!(
            "{}: {}\n{}",
            case.name, outcome.status, answer.text
        ));
    }
}

async fn run_all(kind: &str, replace: impl Fn(&Value, &mut Replaced)) {
    let mut wrong = Vec::new();
    for case in cases(kind) {
        let mut replaced = Replaced::new();
        for upstream in case.given["upstreams"].as_array().into_iter().flatten() {
            replaced.upstream(upstream);
        }
        replace(&case.given, &mut replaced);
        run(&case, &replaced, &mut wrong).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

struct Outcome {
    status: u64,
    charged: bool,
    body: Value,
}

impl Outcome {
    fn fits(&self, entry: &Value) -> bool {
        let status = match &entry["status"] {
            Value::Array(several) => several.contains(&self.status.into()),
            one => *one == self.status,
        };
        let places = entry["where"].as_object();
        let mut places = places.into_iter().flatten();
        status && places.all(|(path, expected)| is_expected(&self.at(path), expected))
    }

    /// The value at a path such as `data.rows[symbol=X].name` or `data.rows[0]`.
    fn at(&self, path: &str) -> Value {
        if path == "charged" {
            return self.charged.into();
        }
        let mut value = &self.body;
        for part in path.split('.') {
            let (name, rest) = part.split_once('[').unwrap_or((part, ""));
            value = &value[name];
            let Some(inner) = rest.strip_suffix(']') else {
                continue;
            };
            value = match inner.split_once('=') {
                Some((key, wanted)) => value
                    .as_array()
                    .and_then(|rows| rows.iter().find(|row| row[key] == wanted))
                    .unwrap_or(&Value::Null),
                None => &value[inner.parse::<usize>().unwrap()],
            };
        }
        value.clone()
    }
}

fn is_expected(value: &Value, expected: &Value) -> bool {
    let Some(rules) = expected.as_object() else {
        return expected.as_array().unwrap().contains(value);
    };
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<f64>().ok(),
        other => other.as_f64(),
    };
    let has = |pattern: &Value| {
        // The patterns are written for texts with a space after each colon.
        let text = value.to_string().replace("\":", "\": ").to_lowercase();
        fits(&pattern.as_str().unwrap().to_lowercase().into(), &text)
    };
    let list = |rule: &Value| rule.as_array().unwrap().clone();
    rules.iter().all(|(name, rule)| match name.as_str() {
        "in" => list(rule).contains(value),
        "not_in" => !list(rule).contains(value),
        "below" => number(value).is_some_and(|value| value < rule.as_f64().unwrap()),
        "above" => number(value).is_some_and(|value| value > rule.as_f64().unwrap()),
        "null_or_below" => {
            value.is_null() || number(value).is_some_and(|value| value < rule.as_f64().unwrap())
        }
        "at_least" => {
            value.as_array().map_or(0, Vec::len) >= usize::try_from(rule.as_u64().unwrap()).unwrap()
        }
        "has" => list(rule).iter().all(has),
        "has_not" => !list(rule).iter().any(has),
        other => panic!("an unknown rule: {other}"),
    })
}

#[tokio::test]
async fn cases_of_answers() {
    run_all("answer", |_given, _replaced| {}).await;
}

#[tokio::test]
async fn cases_of_transactions() {
    run_all("transaction", |given, replaced| {
        replaced.transaction(given["file"].as_str().unwrap());
    })
    .await;
}

#[tokio::test]
async fn cases_of_scans() {
    run_all("goplus", |given, replaced| replaced.scan(given)).await;
}
