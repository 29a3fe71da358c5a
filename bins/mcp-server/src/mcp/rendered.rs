//! The constant parts of answers, rendered once.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ToolDescription;
use super::era::{LEGACY, SUPPORTED};

/// How long a client may keep the list of tools: an hour. The list is fixed for the life of the
/// process.
const TTL_MS: u64 = 3_600_000;

/// The server's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// Its name in `serverInfo`.
    pub(crate) name: String,
    /// The name for people.
    pub(crate) title: String,
    /// Its version.
    pub(crate) version: String,
    /// Instructions for the model that uses the tools.
    pub(crate) instructions: String,
}

/// Results as JSON text.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) discover: String,
    pub(crate) tools_modern: String,
    pub(crate) tools_legacy: String,
    /// By the index of the revision in [`LEGACY`].
    pub(crate) initialize: [String; LEGACY.len()],
    /// The end of a modern result: its `_meta` and the brace.
    pub(crate) modern_tail: String,
}

impl Rendered {
    pub(crate) fn new(about: &About, tools: &[ToolDescription]) -> Self {
        let server = json!({ "name": about.name, "title": about.title, "version": about.version });
        let meta = json!({ "io.modelcontextprotocol/serverInfo": server });
        let list = json!({ "tools": tools });
        let modern = |result: Value| {
            let mut members = Map::new();
            members.insert("resultType".to_owned(), json!("complete"));
            if let Value::Object(result) = result {
                members.extend(result);
            }
            members.insert("ttlMs".to_owned(), json!(TTL_MS));
            members.insert("cacheScope".to_owned(), json!("public"));
            members.insert("_meta".to_owned(), meta.clone());
            text(&members)
        };
        Self {
            discover: modern(json!({
                "supportedVersions": SUPPORTED,
                "capabilities": { "tools": {} },
                "instructions": about.instructions,
            })),
            tools_modern: modern(list.clone()),
            tools_legacy: text(&list),
            initialize: LEGACY.map(|version| {
                text(&json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": {} },
                    "serverInfo": server,
                    "instructions": about.instructions,
                }))
            }),
            modern_tail: format!(",\"_meta\":{}}}", text(&meta)),
        }
    }
}

fn text(value: &impl Serialize) -> String {
    // Maps with text keys and plain values cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
