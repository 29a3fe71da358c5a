//! Tools that exist only for tests.

use mcp_server::{Annotations, ToolCall, ToolDescription, ToolResult, Toolbox};
use serde_json::{Value, json};

/// The tool `echo` returns its arguments, and `refuse` refuses. `Δ tool` has a name that a header
/// cannot carry unencoded.
pub(crate) struct TestTools(Vec<ToolDescription>);

/// The result of `echo` without arguments: a text with every character that JSON escapes.
pub(crate) const DIFFICULT: &str = r#"{"text":"quotes \" backslash \\ newline \n tab \t null \u0000 é 世界 😀 \u2028 </script>","n":12345678901234567890}"#;

pub(crate) const REFUSAL: &str = r#"{"refused":{"check":"no","message":"never"}}"#;

impl TestTools {
    pub(crate) fn new() -> Self {
        let tool = |name: &str| ToolDescription {
            name: name.to_owned(),
            title: format!("The tool {name}"),
            description: "For tests.".to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: json!({ "type": "object" }),
            annotations: Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
        };
        // The order of the names is neither alphabetical nor that of a hash.
        Self(["refuse", "echo", "Δ tool", "another"].map(tool).to_vec())
    }
}

impl Toolbox for TestTools {
    fn tools(&self) -> &[ToolDescription] {
        &self.0
    }

    async fn call(&self, call: &ToolCall<'_>) -> Option<ToolResult> {
        let arguments = call.arguments.json();
        let result = |structured: &str, is_error| ToolResult {
            structured: structured.to_owned(),
            is_error,
        };
        Some(match call.name {
            "echo" if arguments == "{}" => result(DIFFICULT, false),
            "echo" => result(&json!({ "arguments": arguments }).to_string(), false),
            "refuse" => result(REFUSAL, true),
            "Δ tool" => result(r#"{"delta":true}"#, false),
            _ => return None,
        })
    }
}

/// The `_meta` of a request in the current revision.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    })
}
