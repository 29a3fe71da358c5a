//! Tests of published calls. A buyer pays for every example call, as each document writes it, and
//! the server serves it. Operations that are not served say so in every document, in `/status` and
//! in their 402.

mod calls;

use std::collections::BTreeMap;

use api_server::config::UpstreamMode;
use reqwest::Method;
use route_catalog::Operation;
use serde_json::{Value, json};

use self::calls::{Calls, of_challenge, of_docs, of_llms, of_openapi, of_page, publish};
use crate::routes::shop::{Shop, well_formed};
use crate::support::buyer::{Answer, header_of};

/// Upstreams that need a key.
const KEYED: [&str; 9] = [
    "okx",
    "cryptopanic",
    "lunarcrush",
    "x_api",
    "openai",
    "anthropic",
    "gemini",
    "fal",
    "perplexity",
];

/// Collects the calls of every document.
async fn published(shop: &Shop) -> Calls {
    let buyer = &shop.world.buyer;
    let document = buyer.get("/openapi.json").await.body();
    let base = document["servers"][0]["url"].as_str().unwrap();
    let mut calls = Calls::new();
    for operation in Operation::ALL {
        let (path, method) = (operation.route().path, operation.route().method.as_str());
        publish(&mut calls, "openapi", of_openapi(&document, path, method));
        let challenge = unpaid(shop, method, path).await.body();
        publish(&mut calls, "bazaar", of_challenge(&challenge, path));
        if let Some(call) = of_docs(operation) {
            publish(&mut calls, "docs", call);
        }
    }
    let llms = of_llms(&buyer.get("/llms.txt").await.text, base);
    assert_eq!(llms.len(), Operation::ALL.len());
    let page = of_page(&buyer.get("/").await.text, base);
    assert_eq!(
        page.len(),
        Operation::ALL.len() + 1,
        "one beside those of the routes"
    );
    for (place, of) in [("llms.txt", llms), ("page", page)] {
        of.into_iter()
            .for_each(|call| publish(&mut calls, place, call));
    }
    calls
}

async fn unpaid(shop: &Shop, method: &str, target: &str) -> Answer {
    let buyer = &shop.world.buyer;
    let answer = buyer
        .send(buyer.request(method.parse().unwrap(), target))
        .await;
    assert_eq!(answer.status, 402, "{method} {target}: {}", answer.text);
    answer
}

pub(crate) async fn pay(shop: &Shop, method: &str, target: &str, body: &str) -> Answer {
    let buyer = &shop.world.buyer;
    let method: Method = method.parse().unwrap();
    let mut draft = buyer.draft(method.clone(), target).await;
    // Calls that wait for a transaction take longer.
    draft.authorization.valid_before += alloy_primitives::U256::from(600);
    let payment = header_of(&buyer.signed(&draft));
    let mut request = buyer
        .request(method, target)
        .header("payment-signature", payment);
    if !body.is_empty() {
        request = request.body(body.to_owned());
    }
    buyer.send(request).await
}

/// The operations that a server declares as not served. Asserts that all its documents agree.
async fn declared_unserved(shop: &Shop) -> BTreeMap<(String, String), String> {
    let buyer = &shop.world.buyer;
    let document = buyer.get("/openapi.json").await.body();
    let base = document["servers"][0]["url"].as_str().unwrap();
    let status = buyer.get("/status").await.body();
    let well_known = buyer.get("/.well-known/x402").await.body();
    let llms = buyer.get("/llms.txt").await.text;
    let page = buyer.get("/").await.text;
    let mut unserved = BTreeMap::new();
    for operation in Operation::ALL {
        let (path, method) = (operation.route().path, operation.route().method.as_str());
        let documented = &document["paths"][path][method.to_lowercase()];
        let reason = documented["x-availability"]["reason"].as_str();
        let servable = documented["x-availability"]["servable"].as_bool().unwrap();
        assert_eq!(servable, reason.is_none(), "{operation}");
        let tags = documented["tags"].as_array().unwrap();
        assert_eq!(
            tags.contains(&json!("unavailable")),
            !servable,
            "{operation}"
        );

        let row = status["routes"].as_array().unwrap().iter();
        let row = row
            .clone()
            .find(|row| row["operation"] == operation.name())
            .unwrap();
        assert_eq!(row["state"] == "ok", servable, "{operation}: {row}");
        assert_eq!(row["reason"].as_str(), reason, "{operation}");

        let listed = well_known["unavailable"].as_array().unwrap().iter();
        let listed = listed
            .clone()
            .find(|row| row["url"] == format!("{base}{path}") && row["method"] == method);
        assert_eq!(
            listed.map(|row| row["reason"].as_str().unwrap()),
            reason,
            "{operation}"
        );

        // Header and body agree about it.
        let answer = unpaid(shop, method, path).await;
        let header = serde_json::to_value(answer.challenge()).unwrap();
        for challenge in [&header, &answer.body()] {
            let extension = &challenge["extensions"]["availability"];
            assert_eq!(extension["info"]["reason"].as_str(), reason, "{operation}");
            if !servable {
                assert_eq!(extension["info"]["servable"], false, "{operation}");
                let schema = jsonschema::draft202012::new(&extension["schema"]).unwrap();
                assert!(schema.is_valid(&extension["info"]), "{operation}");
            }
        }

        let line = format!("- {method} {base}{path} (");
        let line = llms.lines().find(|text| text.starts_with(&line)).unwrap();
        assert_eq!(line.contains("[Not served here: "), !servable, "{line}");
        let row = format!("<details id=\"{}\"", operation.name());
        assert_eq!(
            page.contains(&format!("{row} class=\"off\"")),
            !servable,
            "{operation}"
        );
        if let Some(reason) = reason {
            unserved.insert((method.to_owned(), path.to_owned()), reason.to_owned());
        }
    }
    unserved
}

/// Buys a mandate and returns its id, if mandates are served. The ids in the examples belong to no
/// mandate.
async fn made_mandate(shop: &Shop, unserved: &BTreeMap<(String, String), String>) -> String {
    let create = ("POST".to_owned(), "/yield-watch".to_owned());
    if unserved.contains_key(&create) {
        let folder = shop.world.folder();
        return crate::routes::yield_watch::mandate_in(folder, shop.world.buyer.address()).await;
    }
    let body = Operation::CreateYieldWatch.route().example_call().body;
    let answer = pay(shop, "POST", "/yield-watch", &body.to_string()).await;
    answer.body()["data"]["id"].as_str().unwrap().to_owned()
}

/// Replaces the example's id of a mandate in a call by `id`.
fn of_mandate(method: &str, target: String, id: &str) -> String {
    let route = Operation::CancelYieldWatch.route();
    match (method, target.starts_with(route.path)) {
        ("GET" | "DELETE", true) => target.replace(route.query[0].example, id),
        _ => target,
    }
}

/// Buys every published call. The server refuses, uncharged, the calls that it declares as not
/// served, and serves all others.
async fn buy_all(shop: &Shop) {
    let unserved = declared_unserved(shop).await;
    let mut wrong = Vec::new();
    let mandate = made_mandate(shop, &unserved).await;
    for ((method, target, body), places) in published(shop).await {
        let target = of_mandate(&method, target, &mandate);
        let path = target.split('?').next().unwrap().to_owned();
        let before = shop.world.paid();
        let answer = pay(shop, &method, &target, &body).await;
        let call = format!(
            "{places:?}: {method} {target} {body}: {} {:.300}",
            answer.status, answer.text
        );
        let served = matches!(answer.status, 200 | 201) && shop.world.paid() > before;
        match unserved.get(&(method, path)) {
            None if served => well_formed(&target, &answer.body()),
            None => wrong.push(format!("is published and not served: {call}")),
            Some(_) if served => wrong.push(format!("is served and said not to be: {call}")),
            Some(_) if shop.world.paid() != before => wrong.push(format!("was charged: {call}")),
            Some(_) => assert_eq!(answer.status / 100, 5, "{call}"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn every_published_example_is_bought_and_served() {
    let shop = Shop::at_the_recording().await;
    buy_all(&shop).await;
    // Every upstream can be reached, so only the routes that need a wallet are not served.
    let unserved = declared_unserved(&shop).await;
    assert_eq!(unserved.len(), 7, "{unserved:?}");
    for ((_, path), reason) in &unserved {
        let expected = match path.as_str() {
            "/yield-copilot" => "no_reviewed_products",
            _ => "no_custody_connected",
        };
        assert_eq!(reason, expected, "{path}");
    }
}

#[tokio::test]
async fn without_keys_exactly_the_refused_routes_are_declared_unserved() {
    let clock = std::sync::Arc::new(crate::routes::shop::recorded_at());
    let shop = Shop::changed_by_the_clock(clock, |config, _replay| {
        for name in KEYED {
            let table = config.upstreams.0.get_mut(name).expect("an upstream");
            table.mode = Some(UpstreamMode::Live);
        }
    })
    .await;
    buy_all(&shop).await;
    let unserved = declared_unserved(&shop).await;
    let swap = ("POST".to_owned(), "/swap".to_owned());
    assert_eq!(
        unserved.get(&swap).map(String::as_str),
        Some("no_upstream_configured")
    );
    let document = shop.world.buyer.get("/openapi.json").await.body();
    assert_eq!(
        document["paths"]["/swap"]["post"]["x-availability"],
        json!({"servable": false, "reason": "no_upstream_configured", "needs": ["upstreams.okx.api_key"]})
    );
}

#[tokio::test]
async fn a_dataset_that_is_not_gathered_is_not_offered() {
    let clock = std::sync::Arc::new(crate::routes::shop::recorded_at());
    let shop = Shop::changed_by_the_clock(clock, |config, _replay| {
        config.datasets.news = false;
        config.datasets.yields = false;
    })
    .await;
    buy_all(&shop).await;
    let unserved = declared_unserved(&shop).await;
    let news = ("GET".to_owned(), "/crypto-news".to_owned());
    assert_eq!(
        unserved.get(&news).map(String::as_str),
        Some("dataset_not_gathered")
    );
}

#[tokio::test]
async fn unsettled_schemes_are_named_to_the_operator_and_the_buyer() {
    let shop = Shop::at_the_recording().await;
    let buyer = &shop.world.buyer;
    // This server settles by itself.
    let ready = buyer.get("/readyz").await.body();
    assert_eq!(
        (&ready["ready"], &ready["unpayable_schemes"]),
        (&json!(true), &json!(["aggr_deferred"]))
    );
    let status = buyer.get("/status").await.body();
    assert_eq!(status["unpayable_schemes"], json!(["aggr_deferred"]));
    let challenge = unpaid(&shop, "GET", "/all-tokens").await.body();
    assert_eq!(
        challenge["refusal"]["unpayable_schemes"],
        json!(["aggr_deferred"])
    );
    assert_eq!(challenge["accepts"].as_array().unwrap().len(), 6);
    let page = buyer.get("/").await.text;
    assert!(page.contains(
        "The options with scheme <code>aggr_deferred</code> cannot be paid on this server"
    ));
}

#[tokio::test]
async fn the_page_names_the_chain_and_prices_and_has_its_icon() {
    let shop = Shop::changed(|config, _replay| {
        config.server.contact = Some("ops@example.com".to_owned());
    })
    .await;
    let buyer = &shop.world.buyer;
    let page = buyer.get("/").await.text;
    for part in [
        "X Layer (eip155:196)",
        "$0.10",
        "href=\"mailto:ops@example.com\"",
        "<section id=\"derivatives\">",
        "href=\"#derivatives\"",
        "import { ExactEvmScheme }",
        "&quot;price_usd&quot;: &quot;",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("chain 196 with"), "the chain has a name");
    let document = buyer.get("/openapi.json").await.body();
    assert_eq!(document["info"]["contact"]["email"], "ops@example.com");
    for (path, kind) in [
        ("/icon.svg", "image/svg+xml"),
        ("/favicon.ico", "image/x-icon"),
    ] {
        let icon = buyer.get(path).await;
        assert_eq!(
            (icon.status, icon.headers["content-type"].to_str().unwrap()),
            (200, kind)
        );
    }
}

#[tokio::test]
async fn an_unreviewed_router_is_shown_to_the_operator() {
    // The operator's set lacks the router of the recorded quote.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("okx-contracts.toml");
    let example = include_str!("../../../../../docs/okx-contracts.example.toml");
    let routers = example.find("routers = [").unwrap()..example.find("selectors = [").unwrap();
    let mut set = example.replace("okx-196/2026-11-21", "mine/1");
    let shift = "okx-196/2026-11-21".len() - "mine/1".len();
    set.replace_range(
        routers.start - shift..routers.end - shift,
        "routers = [\"0x1111111111111111111111111111111111111111\"]\n",
    );
    std::fs::write(&path, set).unwrap();
    let shop = Shop::changed(|config, _replay| {
        let table = config.upstreams.0.get_mut("okx").expect("an upstream");
        table.reviewed = Some(path.clone());
    })
    .await;
    let buyer = &shop.world.buyer;
    let status = buyer.get("/status").await.body();
    assert_eq!(
        status["reviewed_contracts"],
        json!({"version": "mine/1", "state": "ok", "unreviewed": []})
    );
    let call = Operation::Swap.route().example_call();
    let answer = pay(&shop, "POST", &call.target, &call.body.to_string()).await;
    assert_eq!(
        answer.body()["error"]["reason"],
        "router_unreviewed",
        "{}",
        answer.text
    );
    let status = buyer.get("/status").await.body();
    let reviewed = &status["reviewed_contracts"];
    assert_eq!(reviewed["state"], "degraded");
    let row = &reviewed["unreviewed"][0];
    assert_eq!(
        (&row["kind"], &row["refused"]),
        (&json!("router"), &json!(1)),
        "{row}"
    );
    let metrics = buyer.get("/metrics").await.text;
    assert!(
        metrics.contains("svc_unreviewed_contracts_total{kind=\"router\"}"),
        "{metrics}"
    );
}

#[tokio::test]
async fn sources_that_require_attribution_are_named_in_their_answers() {
    let shop = Shop::at_the_recording().await;
    let upstreams = |body: &Value| -> Vec<String> {
        let said = body["meta"]["attribution"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        said.iter()
            .map(|of| of["upstream"].as_str().unwrap().to_owned())
            .collect()
    };
    for target in [
        "/crypto-news",
        "/token-details?symbol=BTC",
        "/token-security?address=0xe538905cf8410324e03A5A23C1c177a474D59b2b",
        "/tradfi-data",
        "/funding-rates",
        "/defi-analytics",
        "/token-deep-dive?symbol=OKB",
        "/mega-report",
    ] {
        let body = shop.buy(target).await;
        let said = upstreams(&body);
        // Every source that contributed, each upstream once, and no other source.
        let gave = body["meta"]["sources"].as_array().unwrap().iter();
        let gave = gave.filter(|source| source["status"] != "unavailable");
        let mut owed: Vec<String> = gave
            .filter_map(|source| data_sources::attribution(source["id"].as_str().unwrap()))
            .map(|of| of.upstream.to_owned())
            .collect();
        owed.sort_unstable();
        owed.dedup();
        let mut sorted = said.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, owed, "{target}");
        assert!(!said.is_empty(), "{target}");
    }
    let page = shop.world.buyer.get("/").await.text;
    for source in data_sources::attributions() {
        assert!(page.contains(source.url), "{source:?}");
    }
}
