//! A tool of the official Rust SDK that returns its input, or a recorded result: the cost of a call
//! there before any work is done.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{tool, tool_handler, tool_router};
use serde_json::Value;

use crate::BenchError;

/// The set-up of the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Setup {
    /// The set-up of its documentation, with an echo: a tool with parsed parameters and structured
    /// content, which the SDK writes twice; answers are streams of one event.
    Echo,
    /// The cheapest set-up: no parameters are read, the result is written beforehand, no sessions,
    /// no streams.
    Cheapest,
}

/// Serves a tool: an echo, or one that returns a recorded result for every call.
///
/// # Errors
/// When the recorded result is not JSON, no port is available or the listener breaks.
pub async fn serve(setup: Setup, recorded: &str) -> Result<(), BenchError> {
    match setup {
        Setup::Echo => {
            let echo = Arc::new(Echo {
                tool_router: Echo::tool_router(),
            });
            serve_tools(echo, StreamableHttpServerConfig::default()).await
        }
        Setup::Cheapest => {
            let recorded = Arc::new(Recorded {
                structured: serde_json::from_str(recorded)?,
                text: recorded.into(),
            });
            let cheapest = StreamableHttpServerConfig::default()
                .with_legacy_session_mode(false)
                .with_json_response(true)
                .with_sse_keep_alive(None);
            serve_tools(recorded, cheapest).await
        }
    }
}

async fn serve_tools<T: ServerHandler>(
    tools: Arc<T>,
    config: StreamableHttpServerConfig,
) -> Result<(), BenchError> {
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    let listener = super::listen().await?;
    super::serve(listener, move |request| {
        let service = service.clone();
        async move { service.handle(request).await }
    })
    .await
}

/// Returns its input.
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(name = "svc_prepare_swap", description = "Says what it is sent")]
    async fn say(&self, Parameters(said): Parameters<JsonObject>) -> Json<JsonObject> {
        Json(said)
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Returns one result for every call of any tool, as structured content and as text.
struct Recorded {
    structured: Value,
    text: Box<str>,
}

impl ServerHandler for Recorded {
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
