//! Checks that every figure in an answer has a row in `docs/DATA.md`, and that every row has a
//! figure. `crates/judges/py/figures.py` computes recorded answers a second time; this test checks
//! that the routes give these answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use route_catalog::{Method, Operation};
use serde_json::Value;

use crate::routes::shop::{Shop, clock_at};

/// Calls whose answers have figures that the routes' own examples lack.
const MORE: [&str; 3] = [
    "/token-deep-dive?symbol=BTC",
    "/token-deep-dive?symbol=OKB",
    "/hyperliquid-market?coin=BTC&interval=1h",
];
/// Figures that the recorded answers do not have, each with the reason.
const ELSEWHERE: [(&str, &str); 3] = [
    (
        "premium_bps",
        "no market is open at the time of the recordings",
    ),
    (
        "distance_pct",
        "the recorded candles have no turning points",
    ),
    ("touches", "the same"),
];
/// The calls whose answers the script computes a second time.
const JUDGED: [&str; 15] = [
    "/funding-rates",
    "/token-alpha?symbol=BTC",
    "/hyperliquid-market",
    "/token-deep-dive?symbol=BTC",
    "/token-deep-dive?symbol=OKB",
    "/token-details?symbol=OKB",
    "/vet-token?address=0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
    "/defi-analytics",
    "/yield-recommendations?amount=10000",
    "/idle-capital?address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "/yield-farming-active?address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "/portfolio?address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
    "/tradfi-data",
    "/kol-sentiment",
    "/tx-explainer?txHash=0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
];

/// The headings of the page's three sections about figures.
const COMPUTED: &str = "### Computed here\n";
const STATED: &str = "### Given as their source states them\n";
const COUNTS: &str = "### Counts, places and rules\n";

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root(path)).unwrap_or_default()
}

fn section(page: &str, title: &str) -> String {
    let rest = page.split_once(title).expect("a section").1;
    rest.split("\n#").next().unwrap().to_owned()
}

/// The parts of a text in backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The first and the last cell of each row of the table: the names of the figures, and whether the
/// script computes them a second time.
fn rows(page: &str) -> Vec<(BTreeSet<String>, bool)> {
    let table = section(page, COMPUTED);
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        (quoted(cells[0]), cells.last().unwrap().trim() == "yes")
    })
    .collect()
}

fn is_figure(value: &Value) -> bool {
    let text = match value {
        Value::Number(_) => return true,
        Value::String(text) => text,
        _ => return false,
    };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    all(whole) && all(rest)
}

/// Collects the members of an answer that are figures, each with one path to it.
fn figures(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                if is_figure(member) {
                    found.entry(name.clone()).or_insert_with(|| path.clone());
                }
                figures(member, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| figures(item, path, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_figure_has_a_row() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let examples = Operation::ALL.into_iter().filter_map(|operation| {
        let route = operation.route();
        (route.method == Method::Get).then(|| route.example_call().target)
    });
    let mut found = BTreeMap::new();
    for target in MORE.map(str::to_owned).into_iter().chain(examples) {
        let payment = shop.world.buyer.payment(&target).await;
        let answer = shop.world.buyer.get_paid(&target, &payment).await;
        figures(&answer.body()["data"], &target, &mut found);
    }
    // A day later, the answers also have the figures that compare with the day before.
    clock.set(24 * 3600);
    for target in [
        "/mega-report",
        "/token-deep-dive?symbol=OKB",
        "/token-deep-dive?symbol=BTC",
    ] {
        figures(&shop.buy(target).await["data"], target, &mut found);
    }
    let page = read("docs/DATA.md");
    let computed: BTreeSet<String> = rows(&page)
        .into_iter()
        .flat_map(|(names, _)| names)
        .collect();
    let stated = quoted(&section(&page, STATED));
    let counts = quoted(&section(&page, COUNTS));
    let listed: BTreeSet<&String> = computed.iter().chain(&stated).chain(&counts).collect();
    let missing: Vec<_> = found
        .iter()
        .filter(|(name, _)| !listed.contains(name))
        .collect();
    assert!(
        missing.is_empty(),
        "figures without a row in docs/DATA.md: {missing:#?}"
    );
    let elsewhere = |name: &str| ELSEWHERE.iter().any(|(known, _)| *known == name);
    let gone: Vec<_> = listed
        .iter()
        .filter(|name| !found.contains_key(name.as_str()) && !elsewhere(name))
        .collect();
    assert!(
        gone.is_empty(),
        "rows of docs/DATA.md without a figure: {gone:?}"
    );
    assert!(rows(&page).len() > 30);
}

#[tokio::test]
async fn recorded_answers_are_those_of_the_routes() {
    const PATH: &str = "fixtures/vectors/figures.json";
    let shop = Shop::at_the_recording().await;
    let mut answers = serde_json::Map::new();
    for target in JUDGED {
        let body = shop.buy(target).await;
        answers.insert(target.to_owned(), body["data"].clone());
    }
    let text = format!("{}\n", serde_json::to_string_pretty(&answers).unwrap());
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(root(PATH), &text).unwrap();
    }
    assert!(
        read(PATH) == text,
        "{PATH} is out of date: run with UPDATE_VECTORS=1"
    );
}

/// The script and the page name the same rows as computed a second time.
#[test]
fn figures_that_are_computed_twice_are_marked() {
    let script = read("crates/judges/py/figures.py");
    let table = script.split_once("CHECKS = {\n").unwrap().1;
    let table = table.split_once("\n}").unwrap().0;
    let checked: BTreeSet<&str> = table
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches('"')
                .split('"')
                .next()
                .unwrap()
        })
        .collect();
    for (names, marked) in rows(&read("docs/DATA.md")) {
        let has = names.iter().any(|name| checked.contains(name.as_str()));
        assert_eq!(has, marked, "{names:?}");
    }
    let listed: BTreeSet<String> = rows(&read("docs/DATA.md"))
        .into_iter()
        .flat_map(|row| row.0)
        .collect();
    for figure in checked {
        assert!(listed.contains(figure), "{figure} has no row");
    }
}
