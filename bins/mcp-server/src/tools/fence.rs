//! `…_delegation_fence_status`: the public record of the fence.
//!
//! The tool reads the record from the paid API, and reports the fence as present only when every
//! member is the pinned one. It sends nothing under the fence.

use std::time::Duration;

use data_sources::fence_status::{FenceReader, FenceRecord};
use plan_builder::{Problem, Refusal};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{output, refused};
use crate::config::DelegationSection;
use crate::mcp::{Annotations, RawArguments, ToolDescription, ToolResult};

/// The time for which callers share one reading. It counts from before the request.
const SHARED: Duration = Duration::from_secs(3);

/// The tool. Without a pinned policy every text is empty, the cap is zero and `present` is false.
#[derive(Debug)]
pub(super) struct FenceStatus {
    name: String,
    pinned: Option<Pinned>,
}

/// The expected record, and the reader of the fence.
#[derive(Debug)]
pub(crate) struct Pinned {
    reader: FenceReader,
    record: FenceRecord,
    /// The time at which the last reading began, and whether it equalled the pinned record.
    last: Mutex<Option<(Instant, bool)>>,
}

impl Pinned {
    pub(crate) fn new(reader: FenceReader, section: &DelegationSection) -> Self {
        Self {
            reader,
            record: FenceRecord {
                present: true,
                policy_name: section.policy_name.clone(),
                per_swap_cap_usd: section.per_swap_cap_usd,
                project_id: section.project_id.clone(),
                rules_digest: section.policy_digest.clone(),
            },
            last: Mutex::new(None),
        }
    }

    /// Whether every member of a record equals the pinned one.
    fn is_pinned(&self, record: &FenceRecord) -> bool {
        *record == self.record
    }

    /// Whether the fence reads back as pinned. Concurrent callers wait for one reading.
    async fn reads_back(&self) -> bool {
        let mut last = self.last.lock().await;
        if let Some((began, present)) = *last
            && began.elapsed() < SHARED
        {
            return present;
        }
        let began = Instant::now();
        let present = match self.reader.read().await {
            Ok(record) => {
                let same = self.is_pinned(&record);
                if !same {
                    tracing::warn!(?record, "the fence differs from the pinned one");
                }
                same
            }
            Err(error) => {
                tracing::warn!(%error, "the fence cannot be read back");
                false
            }
        };
        *last = Some((began, present));
        present
    }
}

impl FenceStatus {
    pub(super) fn new(brand: &str) -> Self {
        Self {
            name: format!("{brand}_delegation_fence_status"),
            pinned: None,
        }
    }

    pub(super) fn pin(&mut self, pinned: Pinned) {
        self.pinned = Some(pinned);
    }

    /// The five members. They show the pinned values when the fence does not read back.
    async fn record(&self) -> Value {
        let Some(pinned) = &self.pinned else {
            return json!({
                "present": false,
                "policy_name": "",
                "per_swap_cap_usd": 0,
                "project_id": "",
                "rules_digest": "",
            });
        };
        let record = &pinned.record;
        json!({
            "present": pinned.reads_back().await,
            "policy_name": record.policy_name,
            "per_swap_cap_usd": record.per_swap_cap_usd,
            "project_id": record.project_id,
            "rules_digest": record.rules_digest,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: self.name.clone(),
            title: "Delegation fence status".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            output_schema: output::either(record_schema()),
            annotations: Annotations {
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
        }
    }

    pub(super) async fn call(&self, arguments: &RawArguments<'_>) -> ToolResult {
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
        ToolResult {
            structured: self.record().await.to_string(),
            is_error: false,
        }
    }
}

const DESCRIPTION: &str = "Reads the public record of the delegation fence: whether a policy is installed and current, \
    its versioned name, the cap of a single swap in US dollars, the public project id to which an agent binds its grant, \
    and the digest of the policy's rules. Takes no arguments; never returns a user, a grant or an address. While the \
    policy cannot be read back, present is false and the other members show the one that is expected; where none is \
    expected, the texts are empty and the cap is 0.";

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use data_sources::SystemClock;
    use data_sources::transport::Transport;

    use super::*;

    #[tokio::test]
    async fn every_member_has_to_be_the_pinned_one() {
        let section = DelegationSection {
            policy_name: "fence.v3".to_owned(),
            policy_digest: "0x60".to_owned(),
            per_swap_cap_usd: 5000,
            project_id: "shop".to_owned(),
            ..DelegationSection::default()
        };
        let transport = Transport::new().unwrap();
        let clock = Arc::new(SystemClock);
        let reader = FenceReader::new(&transport, "http://127.0.0.1:9", clock).unwrap();
        let pinned = Pinned::new(reader, &section);
        let usual = pinned.record.clone();
        assert!(pinned.is_pinned(&usual));
        let edits: [fn(&mut FenceRecord); 5] = [
            |record| record.present = false,
            |record| record.policy_name.push('0'),
            |record| record.rules_digest.push('0'),
            |record| record.per_swap_cap_usd += 1,
            |record| record.project_id.clear(),
        ];
        for edit in edits {
            let mut other = usual.clone();
            edit(&mut other);
            assert!(!pinned.is_pinned(&other), "{other:?}");
        }
    }
}
