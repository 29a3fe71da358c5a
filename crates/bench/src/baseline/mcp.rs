//! A tool of the official Rust SDK that gives back a recorded result: what a call costs there before any work is done.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::BenchError;

/// How the SDK is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Setup {
    /// As it comes: answers are streams of one event, and the tool returns structured content, which the SDK writes twice.
    Default,
    /// As it answers cheapest: no sessions, no streams, the text written beforehand.
    Cheapest,
}

/// Gives the same result to every call of any tool, as structured content and as text.
///
/// # Errors
/// When the recorded result is not JSON, no port can be had or the listener breaks.
pub async fn serve(setup: Setup, result: &str) -> Result<(), BenchError> {
    let text = match setup {
        Setup::Default => None,
        Setup::Cheapest => Some(result.into()),
    };
    let config = match setup {
        Setup::Default => StreamableHttpServerConfig::default(),
        Setup::Cheapest => StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None),
    };
    let structured = serde_json::from_str(result)?;
    let echo = Arc::new(Echo { structured, text });
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
    let listener = super::listen().await?;
    super::serve(listener, move |request| {
        let service = service.clone();
        async move { service.handle(request).await }
    })
    .await
}

struct Echo {
    structured: Value,
    text: Option<Box<str>>,
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(text) = &self.text else {
            return Ok(CallToolResult::structured(self.structured.clone()).into());
        };
        let mut result = CallToolResult::success(vec![ContentBlock::text(&**text)]);
        result.structured_content = Some(self.structured.clone());
        Ok(result.into())
    }
}
