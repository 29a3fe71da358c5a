//! Tests of the table: its prices are the published ones, and its rows follow the rules of the
//! table.

use route_catalog::{COMMON_QUERY, Constraint, Counts, Operation, Parameter, Route, Rule};

/// The published prices, in the order of the table.
const PRICES: &str = "
POST /swap 0.01
GET /market-alpha 0.005
GET /price 0.002
GET /all-tokens 0.002
GET /approve 0.005
GET /crypto-news 0.001
GET /token-alpha 0.001
GET /kol-sentiment 0.003
GET /trending-altcoins 0.001
GET /mega-report 0.05
GET /token-security 0.001
GET /funding-rates 0.001
GET /defi-analytics 0.001
GET /filtered-news 0.001
GET /twitter-summary 0.001
GET /token-details 0.001
GET /yield-alpha 0.001
GET /tradfi-data 0.001
GET /vet-token 0.01
GET /token-deep-dive 0.05
GET /rwa-pulse 0.05
GET /generate-meme 0.15
GET /llm-research 0.1
GET /tx-explainer 0.01
GET /portfolio 0.001
GET /supported-tokens 0.001
GET /hl-transaction-history 0.001
GET /hyperliquid-account 0.001
GET /hyperliquid-market 0.001
GET /idle-capital 0.001
GET /yield-farming-active 0.001
GET /yield-farming-historical 0.001
GET /yield-markets 0.001
GET /yield-recommendations 0.001
GET /sub-wallet 0.01
POST /auto-swap 0.05
POST /auto-bridge 0.05
POST /auto-withdraw 0.05
POST /auto-defi-invest 0.05
POST /auto-defi-withdraw 0.05
POST /yield-copilot 0.05
POST /yield-watch 0.001
DELETE /yield-watch 0.001
GET /yield-watch 0.001
GET /yield-watch/audit 0.001
";

#[test]
fn methods_paths_and_prices_are_the_published_ones() {
    let ours: Vec<_> = routes()
        .map(|route| format!("{} {} {}", route.method, route.path, route.price))
        .collect();
    assert_eq!(ours, PRICES.trim().lines().collect::<Vec<_>>());
}

#[test]
fn the_three_counts_are_derived() {
    assert_eq!(
        Counts::of_table(),
        Counts {
            operations: 45,
            paths: 43,
            resources: 42
        }
    );
}

#[test]
fn operations_lines_and_names_are_distinct() {
    let distinct = |mut keys: Vec<String>| {
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
    };
    distinct(
        routes()
            .map(|route| format!("{} {}", route.method, route.path))
            .collect(),
    );
    distinct(
        Operation::ALL
            .iter()
            .map(|operation| operation.name().to_owned())
            .collect(),
    );
    for route in routes() {
        assert!(
            route.path.starts_with('/') && !route.path.ends_with('/'),
            "{}",
            route.path
        );
    }
}

#[test]
fn required_parameters_are_the_published_ones() {
    let required: Vec<_> = routes()
        .map(|route| {
            let names: Vec<_> = declared(route)
                .filter(|parameter| parameter.is_required())
                .map(|parameter| parameter.name)
                .collect();
            (route.path, names.join(" "))
        })
        .filter(|(_, names)| !names.is_empty())
        .take_while(|(path, _)| *path != "/auto-swap")
        .collect();
    let expected = [
        ("/swap", "fromToken toToken amount userWalletAddress"),
        ("/price", "token"),
        ("/approve", "token amount"),
        ("/token-alpha", "symbol"),
        ("/token-security", "address"),
        ("/filtered-news", "topic"),
        ("/token-details", "symbol"),
        ("/vet-token", "address"),
        ("/token-deep-dive", "symbol"),
        ("/generate-meme", "prompt"),
        ("/llm-research", "prompt"),
        ("/tx-explainer", "txHash"),
        ("/supported-tokens", "symbol"),
    ]
    .map(|(path, names)| (path, names.to_owned()));
    assert_eq!(required, expected);
}

#[test]
fn bundles_have_their_core() {
    for (operation, core) in [
        (Operation::VetToken, "security_scan"),
        (Operation::TokenDeepDive, "token_details"),
        (Operation::RwaPulse, "macro"),
    ] {
        assert_eq!(operation.route().core, [core]);
    }
}

#[test]
fn names_of_query_and_body_never_collide() {
    for route in routes() {
        let mut names: Vec<_> = declared(route)
            .chain(&COMMON_QUERY)
            .map(|it| it.name)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", route.path);
    }
}

#[test]
fn constraints_name_parameters_of_their_route() {
    for route in routes() {
        let place = if route.takes_body() {
            route.body
        } else {
            route.query
        };
        let known = |name: &&str| place.iter().any(|parameter| parameter.name == *name);
        for constraint in route.constraints {
            let names: Vec<&str> = match *constraint {
                Constraint::Differ(one, other)
                | Constraint::Requires(one, other)
                | Constraint::Ordered(one, other) => vec![one, other],
                Constraint::ExactlyOne(names) | Constraint::AtMostOne(names) => names.to_vec(),
            };
            assert!(names.iter().all(known), "{}: {constraint}", route.path);
        }
    }
}

#[test]
fn examples_are_objects_of_a_bounded_size_and_never_hold_floats() {
    for route in routes() {
        let example: serde_json::Value = serde_json::from_str(route.example)
            .unwrap_or_else(|error| panic!("{}: {error}", route.path));
        assert!(example.is_object(), "{}", route.path);
        assert!(
            route.example.len() <= 16_000,
            "{}: {}",
            route.path,
            route.example.len()
        );
        assert!(!route.example.contains('…'), "{}", route.path);
        assert_no_float(&example, route.path);
    }
}

fn assert_no_float(json: &serde_json::Value, path: &str) {
    match json {
        serde_json::Value::Number(number) => assert!(!number.is_f64(), "{path}: {number}"),
        serde_json::Value::Array(entries) => {
            entries.iter().for_each(|it| assert_no_float(it, path))
        }
        serde_json::Value::Object(members) => {
            members.values().for_each(|it| assert_no_float(it, path))
        }
        _ => {}
    }
}

#[test]
fn every_declared_example_and_default_obeys_its_rule() {
    fn check(parameter: &Parameter, route: &Route) {
        if let Rule::Object(members) = parameter.rule {
            members.iter().for_each(|member| check(member, route));
            return;
        }
        // Here only the example and the description are checked. The public parser reads the values
        // below.
        let schema_example = parameter.example_json();
        assert!(
            !schema_example.is_null(),
            "{} {}",
            route.path,
            parameter.name
        );
        assert!(!parameter.description.is_empty() && parameter.description.ends_with('.'));
    }
    for route in routes() {
        declared(route).for_each(|parameter| check(parameter, route));
        let query: Vec<_> = route
            .query
            .iter()
            .filter(|parameter| !excluded(route, parameter.name))
            .map(|parameter| format!("{}={}", parameter.name, encoded(parameter.example)))
            .collect();
        let body: serde_json::Map<_, _> = route
            .body
            .iter()
            .filter(|parameter| !excluded(route, parameter.name))
            .map(|parameter| (parameter.name.to_owned(), parameter.example_json()))
            .collect();
        let body = serde_json::Value::from(body).to_string();
        let parsed = route.parse(Some(&query.join("&")), body.as_bytes());
        let parameters = parsed.unwrap_or_else(|problems| panic!("{}: {problems:?}", route.path));
        assert!(parameters.iter().count() >= query.len(), "{}", route.path);
    }
}

/// Whether `name` is another than the first of a group of alternatives.
fn excluded(route: &Route, name: &str) -> bool {
    route.constraints.iter().any(|constraint| match constraint {
        Constraint::ExactlyOne(names) | Constraint::AtMostOne(names) => {
            names.iter().skip(1).any(|other| *other == name)
        }
        _ => false,
    })
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn payments_are_valid_longer_than_the_longest_work() {
    for operation in Operation::ALL {
        let route = operation.route();
        let expected = match operation {
            Operation::GenerateMeme | Operation::LlmResearch => 120,
            _ if route.path.starts_with("/auto-") => 60,
            Operation::YieldCopilot => 60,
            _ => 10,
        };
        assert_eq!(route.work_seconds, expected, "{}", route.path);
    }
}

fn routes() -> impl Iterator<Item = &'static Route> {
    Operation::ALL.iter().map(|operation| operation.route())
}

fn declared(route: &'static Route) -> impl Iterator<Item = &'static Parameter> {
    route.query.iter().chain(route.body)
}
