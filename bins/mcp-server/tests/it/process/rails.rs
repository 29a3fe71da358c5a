//! Tests of the rails, from a message to a plan. The real binary asks recorded venues through the
//! real adapters.

pub(crate) mod stage;
mod worth;

use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{FeeDocument, Policy, Request, verify};
use serde_json::{Value, json};
use test_support::wait;

use self::stage::{Stage, Venues, name, now};
use crate::process::node::Node;
use crate::process::server::{Configured, fees, get, post, run};

/// For each rail, a request that the recordings can answer.
pub(crate) const REQUESTS: [(Rail, &str); 4] = [
    (
        Rail::Swap,
        include_str!("../../../../../fixtures/vectors/plans/swap.request.json"),
    ),
    (
        Rail::Bridge,
        include_str!("../../../../../fixtures/vectors/plans/bridge.request.json"),
    ),
    (
        Rail::PmOrder,
        include_str!("../../../../../fixtures/vectors/plans/pm_order.request.json"),
    ),
    (
        Rail::PerpOrder,
        include_str!("../../../../../fixtures/vectors/plans/perp_order.request.json"),
    ),
];

fn policy() -> Policy {
    let document: FeeDocument = toml::from_str(&fees()).unwrap();
    let mut policy = Policy::new(document.review().unwrap());
    // The test has no node that could read an account.
    policy.allow_unread_accounts = true;
    policy
}

#[test]
fn every_rail_gives_a_plan_that_anyone_can_verify() {
    let stage = Stage::open();
    for (rail, arguments) in REQUESTS {
        let started = now();
        let result = stage.call(&name(rail), arguments);
        let plan = result["content"][0]["text"].as_str().unwrap();
        let request = Request::parse(rail, arguments).unwrap();
        let verified = verify(&request, plan, UtcSeconds::from_unix(now()), &policy());
        assert!(verified.is_ok(), "{rail:?}: {verified:?} {plan}");
        let valid_until = result["structuredContent"]["valid_until"].as_str().unwrap();
        let life = match rail {
            Rail::Swap | Rail::Bridge => 300,
            Rail::PmOrder => 90,
            Rail::PerpOrder => 120,
        };
        let ends = [started, now()].map(|at| UtcSeconds::from_unix(at + life).to_string());
        assert!(
            (ends[0].as_str()..=ends[1].as_str()).contains(&valid_until),
            "{valid_until} {ends:?}"
        );
        // A model can read a plan of this size twice.
        assert!(plan.len() < 16_000, "{rail:?}: {} bytes", plan.len());
        let again = stage.call(&name(rail), arguments);
        let digest =
            |result: &Value| result["structuredContent"]["submission"]["payload_digest"].clone();
        assert_ne!(
            digest(&again),
            digest(&result),
            "{rail:?}: each plan is one of its own"
        );
    }
    let status = get(stage.address, "/status");
    let upstreams = status["upstreams"].as_array().unwrap();
    let quote = upstreams
        .iter()
        .find(|seen| seen["id"] == "lifi.quote")
        .unwrap();
    assert_eq!(
        (&quote["state"], &quote["mode"], &quote["calls"]),
        (&json!("ok"), &json!("replay"), &json!(2))
    );
    assert_eq!(get(stage.address, "/readyz")["ready"], true);
    wait(stage.server.stop());
}

#[test]
fn arguments_that_are_wrong_are_all_named() {
    let stage = Stage::open();
    for (rail, arguments) in REQUESTS {
        let name = name(rail);
        let refused = stage.refusal(&name, "{}");
        assert_eq!(refused["check"], "input_invalid");
        assert!(
            refused["problems"].as_array().unwrap().len() > 2,
            "{refused}"
        );
        let refused = stage.refusal(&name, &arguments.replacen('{', "{\"minAmoutOut\":1,", 1));
        assert_eq!(
            (&refused["check"], &refused["request_path"]),
            (&json!("input_invalid"), &json!("$.minAmoutOut"))
        );
        let profile = r#"{"accountProfile":{"kind":"eoa"},"#;
        let refused = stage.refusal(&name, &arguments.replacen('{', profile, 1));
        assert_eq!(
            (&refused["check"], &refused["request_path"]),
            (&json!("input_invalid"), &json!("$.accountProfile"))
        );
        let text = serde_json::to_string(arguments).unwrap();
        let stringified = format!("{{\"accountProfile\":{text}}}");
        assert_eq!(stage.refusal(&name, &stringified)["check"], "input_invalid");
    }
}

#[test]
fn an_unserved_request_of_a_rail_is_refused_by_name() {
    let stage = Stage::open();
    let request = |rail: Rail| REQUESTS.iter().find(|(found, _)| *found == rail).unwrap().1;
    let swap = request(Rail::Swap).replace("8453", "10");
    assert_eq!(
        stage.refusal("svc_prepare_swap", &swap)["check"],
        "chain_unsupported"
    );
    let bridge = request(Rail::Bridge).replace("42161", "10");
    assert!(!stage.refusal("svc_prepare_bridge", &bridge)["check"].is_null());
    for rail in [Rail::PmOrder, Rail::PerpOrder] {
        let safe = request(rail).replace("eoa", "safe");
        assert_eq!(
            stage.refusal(&name(rail), &safe)["check"],
            "account_kind_unsupported"
        );
    }
    // There is no recording for this quote, so the venue refuses it.
    let other = request(Rail::Swap).replace(
        "0x4200000000000000000000000000000000000006",
        "0x2ae3f1ec7f1f5012cfeab0185bfc7aa3cf0dec22",
    );
    let refused = stage.refusal("svc_prepare_swap", &other);
    assert!(
        ["quote_unavailable", "route_unsupported"].contains(&refused["check"].as_str().unwrap()),
        "{refused}"
    );
    let refused = stage.refusal("svc_delegation_fence_status", r#"{"user":"me"}"#);
    assert_eq!(
        (&refused["check"], &refused["request_path"]),
        (&json!("input_invalid"), &json!("$.user"))
    );
}

#[test]
fn a_venue_that_is_away_is_refused_by_name_and_seen_by_operators() {
    let nobody = "http://127.0.0.1:9";
    let configured = Configured::new(&format!(
        "server.listen = '127.0.0.1:0'\n\
         plans.allow_unread_accounts = true\n\
         upstreams.lifi = {{ base_url = '{nobody}', timeout_ms = 500 }}\n\
         upstreams.circle.enabled = false\n"
    ));
    let server = configured.serve();
    let address = server.address();
    for (rail, arguments) in &REQUESTS[..2] {
        let params = format!(r#"{{"name":"{}","arguments":{arguments}}}"#, name(*rail));
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let result = post(address, &body)["result"].clone();
        assert_eq!(
            result["structuredContent"]["refused"]["check"], "quote_unavailable",
            "{result}"
        );
        assert!(!result.to_string().contains("127.0.0.1"), "{result}");
    }
    let status = get(address, "/status");
    let state = |id: &str| {
        let upstreams = status["upstreams"].as_array().unwrap();
        upstreams.iter().find(|seen| seen["id"] == id).unwrap()["state"].clone()
    };
    assert_eq!(state("circle.fees"), "disabled");
    assert_ne!(state("lifi.quote"), "ok");
    assert_eq!(state("hyperliquid.meta"), "ok");
}

/// Without a node, the server cannot tell whether an account is a contract, and cannot simulate a
/// plan. The operator decides whether plans are made nevertheless.
#[test]
fn a_required_reading_without_a_node_is_refused() {
    let venues = Venues::open();
    let ask = |lines: &str, rail: usize| {
        let strict = venues
            .configuration()
            .replace("plans.allow_unread_accounts = true\n", "");
        let configured = Configured::new(&format!("{lines}{strict}"));
        let server = configured.serve();
        let address = server.address();
        let (rail, arguments) = REQUESTS[rail];
        let params = format!(r#"{{"name":"{}","arguments":{arguments}}}"#, name(rail));
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let result = post(address, &body)["result"]["structuredContent"].clone();
        result["refused"]["check"].as_str().map(str::to_owned)
    };
    let unread = Some("bridge_recipient_controlled_on_destination".to_owned());
    let unrun = Some("simulation_unavailable".to_owned());
    assert_eq!(ask("", 1), unread);
    assert_eq!(ask("", 0), None);
    assert_eq!(ask("plans.simulation = 'required'\n", 0), unrun);
    assert_eq!(ask("plans.simulation = 'off'\n", 0), None);
    let both = "plans.simulation = 'required'\nplans.allow_unread_accounts = true\n";
    assert_eq!(ask(both, 1), unrun);
    // Orders have no transactions to simulate.
    assert_eq!(ask(both, 2), None);
    // A node that fails is not the same as no node: otherwise a caller could make it fail, and so
    // get a contract past the check.
    let broken = Node::open(8453, |_| None);
    for url in ["http://127.0.0.1:9", &broken.url] {
        let unread =
            format!("plans.allow_unread_accounts = true\nchains.8453.rpc_urls = ['{url}']\n");
        assert_eq!(
            ask(&unread, 1).as_deref(),
            Some("quote_unavailable"),
            "{url}"
        );
    }
    assert_eq!(ask("plans.allow_unread_accounts = true\n", 1), None);
}

#[test]
fn every_tool_describes_itself_tightly() {
    let tools = run(&["tools", "--json"], &[]).json();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "svc_prepare_swap",
            "svc_prepare_bridge",
            "svc_prepare_pm_order",
            "svc_prepare_perp_order",
            "svc_delegation_fence_status",
        ]
    );
    for tool in tools {
        let text = tool.to_string();
        for keyword in ["$ref", "$defs", "x-mcp-header", "uint64"] {
            assert!(!text.contains(keyword), "{keyword}");
        }
        assert!(tool["description"].as_str().unwrap().len() > 100);
        for schema in ["inputSchema", "outputSchema"] {
            assert!(jsonschema::draft202012::meta::is_valid(&tool[schema]));
            assert_eq!(tool[schema]["type"], "object");
        }
        closed(&tool["inputSchema"]);
        assert_eq!(tool["outputSchema"]["oneOf"].as_array().unwrap().len(), 2);
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["annotations"]["destructiveHint"], false);
    }
    for (rail, arguments) in REQUESTS {
        let tool = tools
            .iter()
            .find(|tool| tool["name"] == name(rail))
            .unwrap();
        let schema = jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        assert!(schema.is_valid(&arguments), "{rail:?}");
        assert!(!schema.is_valid(&json!({})), "{rail:?}");
    }
}

/// Asserts that the schemas of objects refuse unknown members and describe every member.
fn closed(schema: &Value) {
    assert_eq!(schema["additionalProperties"], false, "{schema}");
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        assert!(member["description"].is_string(), "{name}");
        if member.get("properties").is_some() {
            closed(member);
        }
    }
}
