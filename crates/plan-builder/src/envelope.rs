//! The envelope of a plan on the wire. Its members are declared in the order of RFC 8785. So serde
//! writes the canonical form when the payload is declared in that order, too.

use std::borrow::Cow;

use alloy_primitives::B256;
use calldata_checks::{Assertion, CheckReport, Rail};
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};

use crate::{
    AccountKind, Judgement,
    device::DeviceDisplay,
    digest,
    exports::Exports,
    rail::RailPlan,
    simulation::Simulation,
    swap::Disclosure,
    wire::{Eip55, Text, Time, Word},
};

/// The version of this form of envelope.
pub(crate) const SCHEMA_VERSION: &str = "1.3";

/// The whole document of a plan. Without `submission.payload_digest` it is the preimage of the
/// digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    bound(
        serialize = "P: Serialize, F: Serialize",
        deserialize = "P: DeserializeOwned, F: DeserializeOwned"
    )
)]
pub(crate) struct Body<'a, P, F> {
    pub(crate) account_binding: AccountBinding,
    pub(crate) artifact_id: String,
    pub(crate) assertions: Vec<AssertionRecord<'a>>,
    pub(crate) device_display: DeviceDisplay,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disclosure: Option<Disclosure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exports: Option<Exports>,
    pub(crate) fee_attribution: F,
    pub(crate) intent_digest: Word,
    /// What the service judged by quotes and prices of that moment. Only swaps have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) judgements: Vec<Judgement>,
    /// The checks for which there was nothing to judge. They are not assertions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_established: Vec<NotEstablished<'a>>,
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

/// The caller's address, and its roles in the plan.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountBinding {
    pub(crate) address: Eip55,
    pub(crate) chain_id: u64,
    pub(crate) kind: AccountKind,
    pub(crate) roles: Vec<Text>,
}

/// A check that passed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertionRecord<'a> {
    establishes: Cow<'a, str>,
    name: Cow<'a, str>,
    observed: Cow<'a, str>,
    result: Pass,
}

/// A check for which there was nothing to judge.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotEstablished<'a> {
    name: Cow<'a, str>,
    why: Cow<'a, str>,
    would_establish: Cow<'a, str>,
}

/// The only result that is ever written, because a check that fails gives a refusal instead.
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

const AFTER_A_REVERTED_CALL: &str = "A reverted call undoes itself only: the allowance that the step approve has set stays. \
    Send payload.steps[0] (approve_reset) again to clear it, before anything else is signed for this token.";

/// The member `replay_disclosure`: the limits of the plan's guarantees.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayDisclosure {
    /// How to clear the allowance when the last step reverts. Absent for orders, which approve
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after_a_reverted_call: Option<Text>,
    pub(crate) artifact_role: Text,
    pub(crate) freshness_boundary: Text,
    pub(crate) onchain_replay_boundary: Text,
    pub(crate) tool_guarantees_single_execution: bool,
}

impl ReplayDisclosure {
    /// Makes the disclosure. `approves` says whether the plan leaves an allowance when its last
    /// step reverts.
    pub(crate) const fn with_boundary(boundary: &'static str, approves: bool) -> Self {
        Self {
            after_a_reverted_call: if approves {
                Some(Cow::Borrowed(AFTER_A_REVERTED_CALL))
            } else {
                None
            },
            artifact_role: Cow::Borrowed("construction_aid"),
            freshness_boundary: Cow::Borrowed("valid_until"),
            onchain_replay_boundary: Cow::Borrowed(boundary),
            tool_guarantees_single_execution: false,
        }
    }
}

/// The fields that the signer sets, and the digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Submission {
    pub(crate) adapter_owned_fields: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload_digest: Option<Word>,
}

/// Converts the assertions of a report to members of an envelope.
pub(crate) fn assertions(report: &CheckReport) -> Vec<AssertionRecord<'_>> {
    fn record(passed: &Assertion) -> AssertionRecord<'_> {
        AssertionRecord {
            establishes: Cow::Borrowed(passed.establishes),
            name: Cow::Borrowed(passed.name),
            observed: Cow::Borrowed(passed.observed.as_str()),
            result: Pass::Pass,
        }
    }
    report.assertions().iter().map(record).collect()
}

/// Converts the open checks of a report to members of an envelope.
pub(crate) fn not_established(report: &CheckReport) -> Vec<NotEstablished<'_>> {
    fn record(open: &Assertion) -> NotEstablished<'_> {
        NotEstablished {
            name: Cow::Borrowed(open.name),
            why: Cow::Borrowed(open.observed.as_str()),
            would_establish: Cow::Borrowed(open.establishes),
        }
    }
    report.not_established().iter().map(record).collect()
}

/// A plan's text and its digest.
#[derive(Debug)]
pub(crate) struct Written {
    /// The JSON text without the digest.
    unsealed: String,
    /// The digest of all other members of the plan.
    pub(crate) digest: B256,
}

/// Enough bytes for a usual plan. A larger plan allocates more.
const USUAL_BYTES: usize = 12 * 1024;

impl<P: Serialize, F: Serialize> Body<'_, P, F> {
    /// Writes the plan without its digest.
    ///
    /// `None` for a value that JSON cannot hold; no payload contains one.
    pub(crate) fn unsealed(&mut self) -> Option<String> {
        self.submission.payload_digest = None;
        let mut text = Vec::with_capacity(USUAL_BYTES);
        serde_json::to_writer(&mut text, self).ok()?;
        String::from_utf8(text).ok()
    }

    /// Writes the plan and computes its digest. Ignores the digest in the body.
    ///
    /// `None` for a value that JSON cannot hold; no payload contains one.
    pub(crate) fn write<R: RailPlan<Payload = P, Fees = F>>(&mut self) -> Option<Written> {
        let unsealed = self.unsealed()?;
        let digest = if R::DECLARED_CANONICAL {
            digest::keccak(unsealed.as_bytes())
        } else {
            digest::keccak(&digest::canonical(self)?)
        };
        Some(Written { unsealed, digest })
    }
}

impl Written {
    /// The JSON text without the digest.
    pub(crate) fn unsealed(&self) -> &str {
        &self.unsealed
    }

    /// Returns the JSON text with the digest. The digest comes right after the list of
    /// `submission`, which is the last list of an envelope.
    ///
    /// `None` for a text without a list; every envelope has one.
    pub(crate) fn sealed(&self) -> Option<String> {
        let (before, after) = self
            .unsealed
            .split_at_checked(self.unsealed.rfind(']')? + 1)?;
        let digest = self.digest;
        Some(format!(r#"{before},"payload_digest":"{digest}"{after}"#))
    }
}
