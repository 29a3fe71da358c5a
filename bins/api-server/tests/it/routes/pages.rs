//! Compares the server's real answer of every read route with the route's page, and with the
//! catalog's examples and schemas.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reqwest::Method;
use route_catalog::{Dataset, ExampleCall, Operation, Route, docs_page};
use serde_json::Value;

use crate::routes::shop::{Shop, well_formed};
use crate::support::buyer::header_of;

/// Whether an operation acts for a wallet. The server of these tests has no custody.
fn acts(operation: Operation) -> bool {
    let path = operation.route().path;
    ["/sub-wallet", "/auto-", "/yield-copilot", "/yield-watch"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

struct Shown {
    operation: Operation,
    call: String,
    body: Value,
}

/// The dataset of a source, if all data of the source belongs to it.
fn dataset_of(source: &str) -> Option<Dataset> {
    match source {
        "okx.all-tokens" => Some(Dataset::TokenList),
        "defillama.pools" => Some(Dataset::YieldPools),
        "coindesk.news" | "alternative-me.fear-greed" => Some(Dataset::News),
        _ if source.starts_with("rss.") => Some(Dataset::News),
        _ => None,
    }
}

/// Asserts that a route reads the datasets that `/freshness` lists for it.
fn reads_what_it_declares(route: &Route, body: &Value) {
    for source in body["meta"]["sources"].as_array().unwrap() {
        let id = source["id"].as_str().unwrap();
        let read = dataset_of(id);
        assert!(
            read.is_none_or(|dataset| route.datasets.contains(&dataset)),
            "{} reads {read:?} ({id}) and does not declare it",
            route.path
        );
    }
}

/// One answer of every read route, and the problems of the others.
async fn every_answer(shop: &Shop) -> (Vec<Shown>, Vec<String>) {
    let (mut shown, mut wrong) = (Vec::new(), Vec::new());
    for operation in Operation::ALL
        .iter()
        .copied()
        .filter(|operation| !acts(*operation))
    {
        let route = operation.route();
        let ExampleCall { target, body, .. } = route.example_call();
        let method: Method = route.method.as_str().parse().unwrap();
        let buyer = &shop.world.buyer;
        let payment = header_of(&buyer.signed(&buyer.draft(method.clone(), &target).await));
        let mut request = buyer
            .request(method, &target)
            .header("payment-signature", payment);
        if route.takes_body() {
            request = request.body(body.to_string());
        }
        let answer = buyer.send(request).await;
        if answer.status != 200 {
            wrong.push(format!("{target}: {} {}", answer.status, answer.text));
            continue;
        }
        well_formed(&target, &answer.body());
        reads_what_it_declares(route, &answer.body());
        let call = match route.takes_body() {
            true => format!("{} {target} {body}", route.method),
            false => format!("{} {target}", route.method),
        };
        shown.push(Shown {
            operation,
            call,
            body: answer.body(),
        });
    }
    (shown, wrong)
}

#[tokio::test]
async fn generated_docs_of_routes_are_what_the_server_answers() {
    let shop = Shop::at_the_recording().await;
    let (shown, wrong) = every_answer(&shop).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut expected = BTreeSet::new();
    let mut stale = Vec::new();
    let mut compare = |path: PathBuf, text: &str| {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            stale.push(path);
        }
    };
    for Shown {
        operation,
        call,
        body,
    } in shown
    {
        let route = operation.route();
        let mut sources: Vec<String> = body["meta"]["sources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|source| source["status"] == "ok")
            .map(|source| source["id"].as_str().unwrap().to_owned())
            .collect();
        sources.sort();
        let fresh = body["meta"]["max_age_seconds"].as_u64().unwrap();
        let name = operation.name();
        // The catalog's example is the same answer with one element of each list.
        let example = serde_json::to_string_pretty(&one_of_each(&body["data"])).unwrap();
        compare(examples().join(format!("{name}.json")), &(example + "\n"));
        let answer = serde_json::to_string_pretty(&steady(body)).unwrap();
        let page = docs_page(route, &call, &answer, &sources, fresh);
        compare(folder().join(format!("{name}.md")), &page);
        expected.insert(format!("{name}.md"));
    }
    assert!(
        stale.is_empty(),
        "{stale:?} are out of date: run `cargo xtask docs`"
    );
    let lying: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(lying, expected);
}

#[tokio::test]
async fn answers_fit_the_published_schemas_and_have_every_published_member() {
    let shop = Shop::at_the_recording().await;
    let openapi = shop.world.buyer.get("/openapi.json").await.body();
    let (shown, mut wrong) = every_answer(&shop).await;
    for Shown {
        operation,
        call,
        body,
    } in shown
    {
        let route = operation.route();
        let example: Value = serde_json::from_str(route.example).unwrap();
        differences(&example, &body["data"], "data", &call, &mut wrong);
        let method = route.method.as_str().to_ascii_lowercase();
        let pointer = format!(
            "/paths/{}/{method}/responses/200/content/application~1json/schema",
            route.path.replace('/', "~1")
        );
        let mut schema = openapi.pointer(&pointer).expect("a schema").clone();
        schema["components"] = openapi["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for error in validator.iter_errors(&body) {
            wrong.push(format!("{call}: {} {error}", error.instance_path()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lists the members that only the documented example or only the answer has.
fn differences(example: &Value, answer: &Value, path: &str, call: &str, wrong: &mut Vec<String>) {
    match (example, answer) {
        (Value::Object(documented), Value::Object(given)) => {
            for (name, member) in documented {
                match given.get(name) {
                    Some(other) => {
                        differences(member, other, &format!("{path}.{name}"), call, wrong)
                    }
                    None => {
                        wrong.push(format!("{call}: {path}.{name} is documented and not given"))
                    }
                }
            }
            for name in given.keys().filter(|name| !documented.contains_key(*name)) {
                wrong.push(format!("{call}: {path}.{name} is given and not documented"));
            }
        }
        (Value::Array(documented), Value::Array(given)) => {
            if let (Some(one), Some(other)) = (documented.first(), given.first()) {
                differences(one, other, &format!("{path}[]"), call, wrong);
            }
        }
        _ => {}
    }
}

/// Sets the parts of an answer that differ from call to call to fixed values.
fn steady(mut body: Value) -> Value {
    let meta = &mut body["meta"];
    meta["request_id"] = "01JDB3X8M5T0000000000000".into();
    let sources = meta["sources"].as_array_mut().unwrap();
    // Concurrent sources are listed in the order in which they answer.
    sources.sort_by_key(|source| source["id"].as_str().unwrap().to_owned());
    for source in sources {
        source["latency_ms"] = 0.into();
    }
    body
}

fn one_of_each(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().take(1).map(one_of_each).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), one_of_each(member)))
            .collect(),
        other => other.clone(),
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/route-catalog/src/examples")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/routes")
}
