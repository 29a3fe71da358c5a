//! The world of these tests: a chain, the upstreams, the judged server, and a proxy in front of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use judges::{Anvil, McpServer, McpServerConfig, Toolchain, judge};
use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};

use super::recorder::{Exchange, Recorder};
use crate::base_chain;
use crate::rails::FEES;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";
/// The revision of the clients of early 2025.
pub(crate) const EARLY: &str = "2025-03-26";

#[derive(Debug)]
pub(crate) struct AgentWorld {
    pub(crate) toolchain: Toolchain,
    pub(crate) server: McpServer,
    pub(crate) recorder: Recorder,
    _surroundings: Surroundings,
}

/// The recipient of the fee in the recorded quotes, as digits of calldata. It is an account of
/// local chains, so `mcp-server serve` refuses to pay it.
const RECORDED_RECIPIENT: &str = "90f79bf6eb2c4f870365e785982e1f101e93b906";
/// The recipient of the fee under [`FEES`].
const RECIPIENT: &str = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

/// The recordings, with a recipient of fees that a server accepts.
fn recordings() -> Recordings {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    let folder = tempfile::tempdir().unwrap();
    for upstream in fs::read_dir(recorded).unwrap() {
        let upstream = upstream.unwrap().path();
        if !upstream.is_dir() {
            continue;
        }
        let copy = folder.path().join(upstream.file_name().unwrap());
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(upstream).unwrap() {
            let file = file.unwrap().path();
            let text = fs::read_to_string(&file).unwrap();
            let text = text.replace(RECORDED_RECIPIENT, RECIPIENT);
            fs::write(copy.join(file.file_name().unwrap()), text).unwrap();
        }
    }
    Recordings::load(folder.path()).unwrap()
}

/// The services that a server needs.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) toolchain: Toolchain,
    chain: Anvil,
    upstream: ReplayServer,
}

impl Surroundings {
    pub(crate) async fn start() -> Self {
        let toolchain = Toolchain::from_env().unwrap();
        let chain = base_chain::start(&toolchain).await;
        let upstream = ReplayServer::start(recordings()).await;
        Self {
            toolchain,
            chain,
            upstream: upstream.unwrap(),
        }
    }

    pub(crate) fn config(&self) -> McpServerConfig {
        let upstream = |host| self.upstream.base_url(host);
        McpServerConfig {
            fees: FEES.to_owned(),
            lifi_url: upstream("li.quest/v1"),
            circle_url: upstream("iris-api.circle.com"),
            clob_url: upstream("clob.polymarket.com"),
            gamma_url: upstream("gamma-api.polymarket.com"),
            hyperliquid_url: upstream("api.hyperliquid.xyz"),
            coins_url: upstream("coins.llama.fi"),
            dexscreener_url: upstream("api.dexscreener.com"),
            rpc_urls: vec![(8453, self.chain.rpc().url().to_owned())],
        }
    }
}

impl AgentWorld {
    pub(crate) async fn start() -> Self {
        let surroundings = Surroundings::start().await;
        let server = McpServer::start(&surroundings.config()).await.unwrap();
        let recorder = Recorder::start(server.endpoint()).await;
        Self {
            toolchain: surroundings.toolchain.clone(),
            server,
            recorder,
            _surroundings: surroundings,
        }
    }

    /// Validates messages against the JSON Schema of their revision. Each one is `{revision,
    /// method, message}`, with the method of the request that the message answers.
    pub(crate) async fn judge_messages(&self, messages: &[Value]) {
        let node = self.toolchain.node_agent("mcp-schema.mjs");
        let problems: Vec<Vec<String>> = judge(node, &messages).await.unwrap();
        assert_eq!(problems.len(), messages.len());
        for (problems, message) in problems.iter().zip(messages) {
            assert!(problems.is_empty(), "{problems:#?}\n{message:#}");
        }
    }

    /// Validates every message that the server sent through the proxy against the JSON Schema of
    /// its revision. Then stops the server as an operator would, and asserts that it ends by itself
    /// with success.
    pub(crate) async fn finish(self, revision: &str) {
        let exchanges = self.recorder.exchanges();
        let messages: Vec<Value> = exchanges
            .iter()
            .filter_map(|exchange| message(exchange, revision))
            .collect();
        assert!(messages.len() > 10, "{exchanges:#?}");
        self.judge_messages(&messages).await;

        self.server.terminate().await.ok();
    }
}

/// The message of an answer, in the form for the validation. An answer without a body has none;
/// then this checks its status instead.
fn message(exchange: &Exchange, revision: &str) -> Option<Value> {
    let method = exchange
        .asked
        .as_ref()
        .and_then(|asked| asked["method"].as_str());
    if exchange.answer.is_empty() {
        let is_notification = exchange
            .asked
            .as_ref()
            .is_some_and(|asked| asked.get("id").is_none());
        let expected = if is_notification { 202 } else { 405 };
        assert_eq!(exchange.status, expected, "{exchange:#?}");
        return None;
    }
    assert_eq!(
        exchange.content_type.as_deref(),
        Some("application/json"),
        "{exchange:#?}"
    );
    let spoken = exchange.revision.as_deref();
    // A handshake names its revision in the body only.
    let asked_for = exchange
        .asked
        .as_ref()
        .and_then(|asked| asked["params"]["protocolVersion"].as_str());
    let at_hand = spoken.or(asked_for).unwrap_or(LEGACY);
    if exchange.method == "POST" && method != Some("server/discover") {
        assert_eq!(at_hand, revision, "{exchange:#?}");
    }
    Some(json!({
        "revision": if at_hand == MODERN { MODERN } else { LEGACY },
        "method": method,
        "message": serde_json::from_slice::<Value>(&exchange.answer).expect("JSON"),
    }))
}

/// The five tools with their titles, descriptions, hints and schemas.
pub(crate) fn check_tools(tools: &Value) {
    let tools = tools.as_array().expect("tools");
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, super::script::TOOLS);
    for tool in tools {
        for member in ["title", "description"] {
            assert!(
                tool[member].as_str().is_some_and(|text| !text.is_empty()),
                "{tool:#}"
            );
        }
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool:#}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool:#}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(
            tool["inputSchema"]["additionalProperties"], false,
            "{tool:#}"
        );
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert!(tool["outputSchema"]["oneOf"].is_array(), "{tool:#}");
        let text = tool.to_string();
        assert!(
            !text.contains("$ref") && !text.contains("$defs"),
            "{tool:#}"
        );
        for schema in ["inputSchema", "outputSchema"] {
            jsonschema::draft202012::meta::validate(&tool[schema]).unwrap();
        }
    }
    let distinct: BTreeSet<_> = tools
        .iter()
        .map(|tool| tool["description"].to_string())
        .collect();
    assert_eq!(distinct.len(), tools.len());
}
