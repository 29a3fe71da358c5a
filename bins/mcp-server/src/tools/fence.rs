//! `…_delegation_fence_status`: the public record of the fence (service document 2.6).

use plan_builder::{Problem, Refusal};
use serde_json::{Map, Value, json};

use super::{output, refused};
use crate::mcp::{Annotations, RawArguments, ToolDescription, ToolResult};

/// The record. Without an installed policy every text is empty, the cap is zero and `present` is false.
#[derive(Debug)]
pub(super) struct FenceStatus {
    name: String,
}

impl FenceStatus {
    pub(super) fn new(brand: &str) -> Self {
        Self {
            name: format!("{brand}_delegation_fence_status"),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: self.name.clone(),
            title: "Delegation fence status".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: json!({ "type": "object", "additionalProperties": false }),
            output_schema: output::either(record_schema()),
            annotations: Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
        }
    }

    pub(super) fn call(&self, arguments: &RawArguments<'_>) -> ToolResult {
        let given = serde_json::from_str::<Map<String, Value>>(arguments.json());
        let problems: Vec<Problem> = given
            .unwrap_or_default()
            .keys()
            .take(32)
            .map(|name| Problem {
                path: format!("$.{}", name.chars().take(64).collect::<String>()),
                expected: "no such argument".to_owned(),
                observed: "present".to_owned(),
            })
            .collect();
        if !problems.is_empty() {
            return refused(&Refusal::of_input(problems));
        }
        let record = json!({
            "present": false,
            "policy_name": "",
            "per_swap_cap_usd": 0,
            "project_id": "",
            "rules_digest": "",
        });
        ToolResult {
            structured: record.to_string(),
            is_error: false,
        }
    }
}

const DESCRIPTION: &str = "Reads the public record of the delegation fence: whether a policy is installed and current, \
    its versioned name, the cap of a single swap in US dollars, the public project id to which an agent binds its grant, \
    and the digest of the policy's rules. Takes no arguments; never returns a user, a grant or an address. While no \
    policy is installed, present is false, the texts are empty and the cap is 0.";

fn record_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "present": {
                "type": "boolean",
                "description": "whether the policy is installed and current",
            },
            "policy_name": { "type": "string", "description": "the policy's versioned name" },
            "per_swap_cap_usd": {
                "type": "number",
                "minimum": 0,
                "description": "the most that one delegated swap may spend",
            },
            "project_id": {
                "type": "string",
                "description": "the public project id to which an agent binds its grant",
            },
            "rules_digest": {
                "type": "string",
                "pattern": "^(0x[0-9a-f]{64})?$",
                "description": "keccak-256 of the policy's canonical JSON",
            },
        },
        "required": ["present", "policy_name", "per_swap_cap_usd", "project_id", "rules_digest"],
        "additionalProperties": false,
    })
}
