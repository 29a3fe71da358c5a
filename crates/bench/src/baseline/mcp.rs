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

/// Gives the same result to every call of any tool, as structured content and as text. Without sessions and streams,
/// which is how the SDK answers cheapest.
///
/// # Errors
/// When the recorded result is not JSON, no port can be had or the listener breaks.
pub async fn serve(result: &str) -> Result<(), BenchError> {
    let echo = Echo {
        structured: serde_json::from_str(result)?,
        text: result.into(),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None);
    let echo = Arc::new(echo);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
    let listener = super::listen().await?;
    super::serve(listener, move |request| {
        let service = service.clone();
        async move { service.handle(request).await }
    })
    .await
}

/// The text is kept beside the value, so that it is not written again for every call.
struct Echo {
    structured: Value,
    text: Box<str>,
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
        let mut result = CallToolResult::success(vec![ContentBlock::text(&*self.text)]);
        result.structured_content = Some(self.structured.clone());
        Ok(result.into())
    }
}
