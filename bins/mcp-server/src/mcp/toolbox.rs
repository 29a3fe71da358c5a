//! The port to the tools.

use std::future::Future;
use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

/// A set of tools that does not change while the server runs.
pub trait Toolbox: Send + Sync + 'static {
    /// The tools, in the order of `tools/list`.
    fn tools(&self) -> &[ToolDescription];

    /// Calls a tool; `None` when no tool has this name.
    fn call(&self, call: &ToolCall<'_>) -> impl Future<Output = Option<ToolResult>> + Send;
}

/// One call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: RawArguments<'a>,
    /// The address that distinguishes callers. A pipe has one caller and no address.
    pub client: Option<IpAddr>,
}

/// A tool as `tools/list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// 1 to 128 characters of `A-Za-z0-9_-.`.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// A description of its work, for the model that chooses it.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, with an object at its root.
    pub input_schema: Value,
    /// JSON Schema of every result, refusals included, with an object at its root.
    pub output_schema: Value,
    /// Hints about what a call does.
    pub annotations: Annotations,
}

/// Hints about what a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the four hints of the protocol"
)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// The same call again has no further effect.
    pub idempotent_hint: bool,
    /// It talks to systems outside.
    pub open_world_hint: bool,
}

/// A call's arguments: the JSON text of one object, nested no deeper than the protocol layer reads.
/// The text is the caller's own; a name may occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawArguments<'a>(&'a str);

impl<'a> RawArguments<'a> {
    pub(crate) const NONE: RawArguments<'static> = RawArguments("{}");

    /// The arguments, when the text is an object.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        text.starts_with('{').then_some(Self(text))
    }

    /// The JSON text.
    #[must_use]
    pub fn json(&self) -> &'a str {
        self.0
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The JSON text of one object that conforms to the tool's `output_schema`; sent unchanged.
    pub structured: String,
    /// Whether it is a refusal.
    pub is_error: bool,
}
