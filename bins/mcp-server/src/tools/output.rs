//! JSON Schemas of results. Each admits a plan or a refusal, because clients check both against a
//! tool's schema.

use calldata_checks::Rail;
use serde_json::{Value, json};

/// The schema of a result or a refusal.
pub(super) fn either(result: Value) -> Value {
    json!({ "type": "object", "properties": {}, "oneOf": [result, refusal()] })
}

/// The envelope of a plan.
pub(super) fn plan(rail: Rail) -> Value {
    json!({
        "type": "object",
        "properties": {
            "schema_version": { "type": "string" },
            "rail": { "const": rail.as_str() },
            "artifact_id": { "type": "string" },
            "intent_digest": digest("keccak-256 of the normalised request"),
            "account_binding": {
                "type": "object",
                "properties": {
                    "address": address(),
                    "kind": { "enum": ["eoa", "safe"] },
                    "chain_id": { "type": "integer" },
                    "roles": texts(),
                },
                "required": ["address", "kind", "chain_id", "roles"],
                "additionalProperties": false,
            },
            "payload": payload(rail),
            "assertions": {
                "type": "array",
                "description": "the checks that were run on the plan's own bytes",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "establishes": { "type": "string" },
                        "result": { "const": "pass" },
                        "observed": { "type": "string" },
                    },
                    "required": ["name", "establishes", "result", "observed"],
                    "additionalProperties": false,
                },
            },
            "not_established": {
                "type": "array",
                "description": "checks that had nothing to judge; the plan does not establish what they are for",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "why": { "type": "string" },
                        "would_establish": { "type": "string" },
                    },
                    "required": ["name", "why", "would_establish"],
                    "additionalProperties": false,
                },
            },
            "judgements": {
                "type": "array",
                "description": "of a swap: what this server judged by prices of that moment; its own statement, which no verifier can repeat",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "establishes": { "type": "string" },
                        "result": { "enum": ["holds", "unknown"] },
                        "observed": { "type": "string" },
                    },
                    "required": ["name", "establishes", "result", "observed"],
                    "additionalProperties": false,
                },
            },
            "device_display": {
                "type": "object",
                "properties": {},
                "description": "what a hardware wallet can show of each step or message, and the digests to compare (ERC-8213)",
            },
            "valid_until": {
                "type": "string",
                "description": "after this the plan is stale (RFC 3339, UTC)",
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
            },
            "submission": {
                "type": "object",
                "properties": {
                    "adapter_owned_fields": texts(),
                    "payload_digest": digest("keccak-256 of the canonical JSON of the plan without this member"),
                },
                "required": ["adapter_owned_fields", "payload_digest"],
                "additionalProperties": false,
            },
            "required_capabilities": texts(),
            "fee_attribution": { "type": "object", "properties": {} },
            "replay_disclosure": {
                "type": "object",
                "properties": {
                    "after_a_reverted_call": {
                        "type": "string",
                        "description": "how to clear the allowance when the last step reverts",
                    },
                    "artifact_role": { "const": "construction_aid" },
                    "freshness_boundary": { "const": "valid_until" },
                    "onchain_replay_boundary": { "type": "string" },
                    "tool_guarantees_single_execution": { "const": false },
                },
                "required": [
                    "artifact_role",
                    "freshness_boundary",
                    "onchain_replay_boundary",
                    "tool_guarantees_single_execution",
                ],
                "additionalProperties": false,
            },
            "disclosure": {
                "type": "object",
                "description": "of a swap: its legs, the reference of the minimum output, and everything that was not examined",
                "properties": { "notes": texts() },
                "required": ["legs", "minimum_output", "notes", "transfer_fees"],
            },
            "exports": { "type": "object", "properties": {} },
            "simulation": { "type": "object", "properties": {} },
        },
        "required": [
            "schema_version",
            "rail",
            "artifact_id",
            "intent_digest",
            "account_binding",
            "payload",
            "assertions",
            "device_display",
            "valid_until",
            "submission",
            "required_capabilities",
            "fee_attribution",
            "replay_disclosure",
        ],
        "additionalProperties": false,
    })
}

/// A refusal.
fn refusal() -> Value {
    json!({
        "type": "object",
        "properties": {
            "refused": {
                "type": "object",
                "properties": {
                    "check": {
                        "type": "string",
                        "description": "the first check that does not hold, or the kind of the refusal",
                    },
                    "message": { "type": "string" },
                    "expected": { "type": "string" },
                    "observed": { "type": "string" },
                    "request_path": {
                        "type": "string",
                        "description": "JSON path of the argument that it is about",
                    },
                    "retry_after": {
                        "type": "integer",
                        "description": "seconds after which the same call may succeed",
                        "minimum": 1,
                    },
                    "problems": {
                        "type": "array",
                        "description": "every problem of the arguments",
                        "items": {
                            "type": "object",
                            "properties": {
                                "path": { "type": "string" },
                                "expected": { "type": "string" },
                                "observed": { "type": "string" },
                            },
                            "required": ["path", "expected", "observed"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["check", "message"],
                "additionalProperties": false,
            },
        },
        "required": ["refused"],
        "additionalProperties": false,
    })
}

/// The part of a plan that is signed or sent. Orders have no steps.
fn payload(rail: Rail) -> Value {
    let steps = match rail {
        Rail::Swap | Rail::Bridge => json!({
            "type": "array",
            "description": "transactions to send in this order",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "kind": { "enum": ["approve_reset", "approve", "call"] },
                    "to": address(),
                    "value": { "type": "string", "pattern": "^[0-9]+$" },
                    "data": { "type": "string", "pattern": "^0x([0-9a-f]{2})*$" },
                },
                "required": ["kind", "to", "value", "data"],
                "additionalProperties": false,
            },
        }),
        Rail::PmOrder | Rail::PerpOrder => json!({ "type": "array", "maxItems": 0 }),
    };
    json!({
        "type": "object",
        "properties": { "steps": steps },
        "required": ["steps"],
    })
}

fn address() -> Value {
    json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$" })
}

fn digest(description: &str) -> Value {
    json!({ "type": "string", "description": description, "pattern": "^0x[0-9a-f]{64}$" })
}

fn texts() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}
