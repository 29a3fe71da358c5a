//! Tests of `/freshness`, which a caller can read before it pays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use route_catalog::{Dataset, Operation};
use serde_json::Value;

use crate::routes::shop::Shop;

#[tokio::test]
async fn every_dataset_lists_the_routes_that_read_it() {
    let shop = Shop::open().await;
    let body = shop.world.buyer.get("/freshness").await.body();
    let routes = |dataset: &str| -> Vec<String> {
        let datasets = body["datasets"].as_array().unwrap();
        let of = datasets.iter().find(|of| of["dataset"] == dataset).unwrap();
        let text = |route: &Value| route.as_str().unwrap().to_owned();
        of["routes"].as_array().unwrap().iter().map(text).collect()
    };
    let news = routes("news");
    for route in ["/crypto-news", "/rwa-pulse", "/token-alpha", "/mega-report"] {
        assert!(news.iter().any(|known| known == route), "{route}: {news:?}");
    }
    assert!(routes("yield-pools").contains(&"/mega-report".to_owned()));
    // Each dataset lists the routes that the catalog declares for it, and no other.
    for dataset in Dataset::ALL {
        let declared: Vec<_> = Operation::ALL
            .iter()
            .map(|operation| operation.route())
            .filter(|route| route.datasets.contains(&dataset))
            .map(|route| route.path.to_owned())
            .collect();
        assert_eq!(routes(dataset.name()), declared);
    }
}

/// Pairs of words and a dataset: an operation whose code contains the words reads the dataset.
const READS: [(&str, Dataset); 6] = [
    ("snapshot(context, news)", Dataset::News),
    ("defi.edition(", Dataset::YieldPools),
    (" edition(defi, ", Dataset::YieldPools),
    ("okx.tokens(", Dataset::TokenList),
    // A trial of a token needs the token's unit, which is in the list.
    ("trading::probe(", Dataset::TokenList),
    // While the index does not answer, the balances of the listed tokens are read from nodes.
    (" holdings(", Dataset::TokenList),
];

/// Compares the catalog's table with the code. An operation reads the datasets of its own files,
/// and of the operations whose answers it includes.
#[test]
fn every_operation_declares_the_datasets_that_its_code_reads() {
    let mut reading = 0;
    for operation in Operation::ALL {
        let route = operation.route();
        let declared: BTreeSet<&str> = route.datasets.iter().map(|of| of.name()).collect();
        let module = route.path.trim_start_matches('/').replace('-', "_");
        let read = reads(&module, &mut BTreeSet::new());
        assert_eq!(read, declared, "{}", route.path);
        reading += usize::from(!read.is_empty());
    }
    assert!(reading > 10, "{reading} operations read a dataset");
}

fn reads(module: &str, seen: &mut BTreeSet<String>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    if !seen.insert(module.to_owned()) {
        return found;
    }
    for path in files(module) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
        // The definition of a function is not a call of it.
        let code = code
            .replace("fn edition(defi", "")
            .replace("fn snapshot(", "");
        let read = READS.iter().filter(|(words, _)| code.contains(words));
        found.extend(read.map(|(_, dataset)| dataset.name()));
        for taken in ["::answer(", "::audit(", "::holdings("] {
            let before = code.match_indices(taken).map(|(at, _)| &code[..at]);
            for before in before {
                let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_'));
                found.extend(reads(name.take(1).next().unwrap(), seen));
            }
        }
    }
    found
}

/// The file of an operation, and the files in its folder.
fn files(module: &str) -> Vec<PathBuf> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operations");
    let mut files = vec![base.join(format!("{module}.rs"))];
    if let Ok(folder) = fs::read_dir(base.join(module)) {
        files.extend(folder.map(|entry| entry.unwrap().path()));
    }
    files.retain(|path| path.is_file());
    files
}
