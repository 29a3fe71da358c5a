//! Client libraries of other projects, each used as an application would use it.

use judges::{McpProgram, judge};
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient, service::RunningService};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use super::script::{Call, calls};
use super::world::{AgentWorld, EARLY, LEGACY, MODERN, Surroundings, check_tools};

#[derive(Debug, Deserialize)]
struct Verdict {
    protocol_version: Option<String>,
    tools: Value,
    results: Vec<Value>,
}

async fn check_client(command: impl FnOnce(&AgentWorld) -> Command, revision: &str) {
    let world = AgentWorld::start().await;
    let calls = calls();
    let input = json!({"url": world.recorder.url(), "calls": calls});
    let verdict: Verdict = judge(command(&world), &input).await.unwrap();
    if let Some(version) = &verdict.protocol_version {
        assert_eq!(version, revision);
    }
    verdict.check(&calls);
    world.finish(revision).await;
}

impl Verdict {
    fn check(&self, calls: &[Call]) {
        check_tools(&self.tools);
        assert_eq!(self.results.len(), calls.len());
        for (call, result) in calls.iter().zip(&self.results) {
            call.check(result);
        }
    }
}

fn node(world: &AgentWorld, which: &str) -> Command {
    let mut command = world.toolchain.node_agent("mcp-client.mjs");
    command.arg(which);
    command
}

fn python(world: &AgentWorld, which: &str) -> Command {
    let mut command = world.toolchain.python_mcp("mcp_client.py");
    command.arg(which);
    command
}

#[tokio::test]
async fn the_typescript_client_as_it_comes() {
    check_client(|world| node(world, "client"), LEGACY).await;
}

#[tokio::test]
async fn the_typescript_client_with_the_newest_revision() {
    check_client(|world| node(world, "client-auto"), MODERN).await;
}

#[tokio::test]
async fn the_typescript_sdk() {
    check_client(|world| node(world, "sdk"), LEGACY).await;
}

#[tokio::test]
async fn the_typescript_sdk_over_standard_input() {
    let surroundings = Surroundings::start().await;
    let program = McpProgram::install(&surroundings.config()).await.unwrap();
    let mut client = surroundings.toolchain.node_agent("mcp-client.mjs");
    client.arg("sdk-stdio");
    let calls = calls();
    let input = json!({"command": program.stdio(), "calls": calls});
    judge::<Verdict>(client, &input)
        .await
        .unwrap()
        .check(&calls);
}

#[tokio::test]
async fn the_python_client_as_it_comes() {
    check_client(|world| python(world, "auto"), MODERN).await;
}

#[tokio::test]
async fn the_python_client_with_the_handshake() {
    check_client(|world| python(world, "legacy"), LEGACY).await;
}

#[tokio::test]
async fn fastmcp() {
    check_client(|world| python(world, "fastmcp"), MODERN).await;
}

#[tokio::test]
async fn rmcp_with_the_handshake() {
    let newest = ProtocolVersion::V_2025_11_25;
    check_rmcp(newest, ClientLifecycleMode::Initialize, LEGACY).await;
}

#[tokio::test]
async fn rmcp_with_the_handshake_of_early_2025() {
    let early = ProtocolVersion::V_2025_03_26;
    check_rmcp(early, ClientLifecycleMode::Initialize, EARLY).await;
}

#[tokio::test]
async fn rmcp_with_the_newest_revision() {
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    check_rmcp(ProtocolVersion::default(), lifecycle, MODERN).await;
}

/// `rmcp` does not check results, so this test validates them against the tools' schemas.
async fn check_rmcp(offered: ProtocolVersion, lifecycle: ClientLifecycleMode, revision: &str) {
    let world = AgentWorld::start().await;
    let config = StreamableHttpClientTransportConfig::with_uri(world.recorder.url());
    let transport = StreamableHttpClientTransport::with_client(test_support::http_client(), config);
    let config = ClientConfig::default().with_protocol_version(offered);
    let client: RunningService<RoleClient, ClientConfig> = config
        .serve_with_lifecycle(transport, lifecycle)
        .await
        .unwrap();
    let tools = client.list_all_tools().await.unwrap();
    check_tools(&json!(tools));
    for call in calls() {
        let arguments = call.arguments.as_object().unwrap().clone();
        let parameters = CallToolRequestParams::new(call.name).with_arguments(arguments);
        let result = json!(client.call_tool(parameters).await.unwrap());
        let tool = tools.iter().find(|tool| tool.name == call.name).unwrap();
        let schema = json!(tool.output_schema);
        jsonschema::validate(&schema, &result["structuredContent"]).unwrap();
        call.check(&result);
    }
    client.cancel().await.unwrap();
    world.finish(revision).await;
}
