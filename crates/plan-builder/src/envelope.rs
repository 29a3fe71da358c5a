//! The envelope of service document 2.5, as it stands on the wire. Members are declared in the order of RFC 8785, so that
//! the serde form of a canonically declared payload is the canonical one.

use std::borrow::Cow;

use plan_checks::{Assertion, CheckReport, Rail};
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};

use crate::{
    digest,
    exports::Exports,
    rail::{AccountKind, RailPlan},
    simulation::Simulation,
    wire::{Eip55, Time, Word},
};

/// The version of this form.
pub(crate) const SCHEMA_VERSION: &str = "1.0";

pub(crate) type Text = Cow<'static, str>;

/// Everything that is returned. With `submission.payload_digest` empty it is the preimage of the digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    bound(
        serialize = "P: Serialize, F: Serialize",
        deserialize = "P: DeserializeOwned, F: DeserializeOwned"
    )
)]
pub(crate) struct Body<P, F> {
    pub(crate) account_binding: AccountBinding,
    pub(crate) artifact_id: String,
    pub(crate) assertions: Vec<AssertionRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exports: Option<Exports>,
    pub(crate) fee_attribution: F,
    pub(crate) intent_digest: Word,
    pub(crate) payload: P,
    pub(crate) rail: RailRecord,
    pub(crate) replay_disclosure: ReplayDisclosure,
    pub(crate) required_capabilities: Vec<Text>,
    pub(crate) schema_version: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) simulation: Option<Simulation>,
    pub(crate) submission: Submission,
    pub(crate) valid_until: Time,
}

/// The address that the caller gave, and what it is in the plan.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountBinding {
    pub(crate) address: Eip55,
    pub(crate) chain_id: u64,
    pub(crate) kind: AccountKind,
    pub(crate) roles: Vec<Text>,
}

/// A passed check.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertionRecord {
    pub(crate) establishes: Text,
    pub(crate) name: Text,
    pub(crate) observed: Text,
    pub(crate) result: Pass,
}

/// The only result that is ever written: what does not pass is refused.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Pass {
    #[serde(rename = "pass")]
    Pass,
}

/// The rail's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RailRecord(pub(crate) Rail);

impl Serialize for RailRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for RailRecord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Rail::ALL
            .into_iter()
            .find(|rail| rail.as_str() == name)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("an unknown rail"))
    }
}

/// What the plan does not guarantee (service document 2.5).
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayDisclosure {
    pub(crate) artifact_role: Text,
    pub(crate) freshness_boundary: Text,
    pub(crate) onchain_replay_boundary: Text,
    pub(crate) tool_guarantees_single_execution: bool,
}

impl ReplayDisclosure {
    pub(crate) const fn with_boundary(boundary: &'static str) -> Self {
        Self {
            artifact_role: Cow::Borrowed("construction_aid"),
            freshness_boundary: Cow::Borrowed("valid_until"),
            onchain_replay_boundary: Cow::Borrowed(boundary),
            tool_guarantees_single_execution: false,
        }
    }
}

/// What the signer fills in, and the digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submission {
    pub(crate) adapter_owned_fields: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload_digest: Option<Word>,
}

/// The members of an envelope that a report gives.
pub(crate) fn assertions(report: CheckReport) -> Vec<AssertionRecord> {
    report
        .into_assertions()
        .into_iter()
        .map(
            |Assertion {
                 name,
                 establishes,
                 observed,
             }| AssertionRecord {
                establishes: Cow::Borrowed(establishes),
                name: Cow::Borrowed(name),
                observed: observed.into_text(),
                result: Pass::Pass,
            },
        )
        .collect()
}

/// A plan's text together with its digest.
#[derive(Debug)]
pub(crate) struct Written {
    /// The JSON text, digest included.
    pub(crate) text: String,
    /// The digest of everything else.
    pub(crate) digest: Word,
}

/// Where the digest stands in a serialised body.
const SUBMISSION: &str = r#""submission":{"adapter_owned_fields":["#;

impl<P: Serialize, F: Serialize> Body<P, F> {
    /// Writes the plan and computes its digest; whatever digest the body carries is not looked at.
    ///
    /// `None` for what JSON cannot hold, which no payload contains.
    pub(crate) fn write<R: RailPlan<Payload = P, Fees = F>>(&mut self) -> Option<Written> {
        self.submission.payload_digest = None;
        let bare = serde_json::to_string(self).ok()?;
        let digest = if R::DECLARED_CANONICAL {
            digest::keccak(bare.as_bytes())
        } else {
            digest::keccak(&digest::canonical(self)?)
        };
        let digest = Word(digest);
        self.submission.payload_digest = Some(digest);
        // Quotes inside strings are escaped, so this text is the member itself, and its list ends at the first bracket
        // after it: the fields' names hold none.
        let fields = bare.rfind(SUBMISSION)? + SUBMISSION.len();
        let end = fields + bare.get(fields..)?.find(']')? + 1;
        let mut text = String::with_capacity(bare.len() + 90);
        text.push_str(bare.get(..end)?);
        text.push_str(r#","payload_digest":""#);
        text.push_str(&digest.0.to_string());
        text.push('"');
        text.push_str(bare.get(end..)?);
        Some(Written { text, digest })
    }
}
