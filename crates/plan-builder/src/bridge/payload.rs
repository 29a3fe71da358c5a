//! `payload` of a bridge plan: the steps, the readings on which they are based, and the caller's
//! later tasks.

use std::borrow::Cow;

use alloy_primitives::U256;
use calldata_checks::{
    Failure, UtcSeconds, Violation,
    bridge::{
        Asked, TransferSpeed,
        account::{AccountCode, DestinationControl, SafeReading, SafeReadings},
        chains::{BridgeChain, MESSAGE_TRANSMITTER},
        checks,
        fees::{FeeError, RouteFees},
    },
};
use serde::{Deserialize, Serialize};

use super::off_route;
use crate::wire::{Digits, Eip55, Exact, StepRecord, Text, Time, Word};

/// The readings for a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Readings {
    pub(super) fees: RouteFees,
    pub(super) fast_allowance: Option<U256>,
    pub(super) control: DestinationControl,
    pub(super) read_at: UtcSeconds,
}

/// The payload of a bridge plan. Except for the chain id and the steps, the request and the
/// readings determine every member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BridgePayload {
    pub(super) chain_id: u64,
    destination: Destination,
    post_submission: PostSubmission,
    quote: Quote,
    pub(super) steps: Vec<StepRecord>,
}

/// Where the mint happens, and who controls the account there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Destination {
    chain_id: u64,
    control: Control,
    domain: u32,
    token: Eip55,
}

/// The readings of the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
enum Control {
    Eoa {
        source_code: CodeRecord,
    },
    Safe {
        on_destination: Box<SafeRecord>,
        on_source: Box<SafeRecord>,
    },
}

/// The code at an address. A contract is shown by the hash of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CodeRecord {
    Contract(Word),
    Delegated,
    Empty,
    NotRead,
}

/// A Safe on one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SafeRecord {
    code: CodeRecord,
    fallback_handler: Eip55,
    guard: Eip55,
    module_guard: Eip55,
    modules: Vec<Eip55>,
    owners: Vec<Eip55>,
    singleton: Eip55,
    singleton_code: CodeRecord,
    threshold: Digits,
    version: String,
}

/// The fees and limits as they were read, and what follows from them. The amount that is minted
/// lies between two bounds and is never exact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    /// The least fee of the source chain. Left out when it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain_min_fee: Option<Digits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fast_allowance: Option<Digits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fast_bps: Option<Exact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forward_fee: Option<Digits>,
    max_fee: Digits,
    max_fee_by: FeeOrigin,
    minted_at_least: Digits,
    minted_at_most: Digits,
    read_at: Time,
    standard_bps: Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FeeOrigin {
    Caller,
    ProtocolRule,
}

/// The caller's tasks on the destination chain after the steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostSubmission {
    attestation: Text,
    attestation_expiry: Text,
    destination_gas: Text,
    mint: Mint,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mint {
    by: Text,
    chain_id: u64,
    function: Text,
    to: Eip55,
}

impl BridgePayload {
    /// Assembles the payload of these steps. Leaves out readings that the request does not need.
    ///
    /// # Errors
    /// `bridge_fee_cap` when the readings give no fee; `bridge_route_enumerated`.
    pub(super) fn assemble(
        asked: &Asked,
        readings: Readings,
        steps: Vec<StepRecord>,
    ) -> Result<Self, Failure> {
        let source = asked.source().map_err(off_route)?;
        let destination = asked.destination().map_err(off_route)?;
        let max_fee = asked.max_fee_from(&readings.fees).map_err(fee_unknown)?;
        let fast = asked.speed == TransferSpeed::Fast;
        Ok(Self {
            chain_id: source.chain_id,
            destination: Destination {
                chain_id: destination.chain_id,
                control: Control::from(readings.control),
                domain: destination.domain,
                token: Eip55::of(destination.usdc),
            },
            post_submission: PostSubmission::of(asked, source, destination),
            quote: Quote {
                chain_min_fee: readings.fees.chain_min_fee.map(Digits),
                fast_allowance: readings.fast_allowance.filter(|_| fast).map(Digits),
                fast_bps: readings.fees.fast_bps.filter(|_| fast).map(Exact),
                forward_fee: readings
                    .fees
                    .forward_fee
                    .filter(|_| asked.forward)
                    .map(Digits),
                max_fee: Digits(max_fee),
                max_fee_by: match asked.max_fee {
                    Some(_) => FeeOrigin::Caller,
                    None => FeeOrigin::ProtocolRule,
                },
                minted_at_least: Digits(asked.amount.saturating_sub(max_fee)),
                minted_at_most: Digits(asked.amount),
                read_at: Time(readings.read_at),
                standard_bps: Exact(readings.fees.standard_bps),
            },
            steps,
        })
    }

    /// The readings that the payload states.
    pub(super) fn readings(&self) -> Readings {
        Readings {
            fees: RouteFees {
                fast_bps: self.quote.fast_bps.map(|bps| bps.0),
                standard_bps: self.quote.standard_bps.0,
                forward_fee: self.quote.forward_fee.map(|fee| fee.0),
                chain_min_fee: self.quote.chain_min_fee.map(|fee| fee.0),
            },
            fast_allowance: self.quote.fast_allowance.map(|allowance| allowance.0),
            control: DestinationControl::from(&self.destination.control),
            read_at: self.read_at(),
        }
    }

    /// When the fees were read.
    pub(super) const fn read_at(&self) -> UtcSeconds {
        self.quote.read_at.0
    }

    /// The highest fee that the protocol may deduct.
    pub(super) const fn max_fee(&self) -> Digits {
        self.quote.max_fee
    }

    /// Returns the first member in which another payload differs, with both texts.
    pub(super) fn first_difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        fn compare<T: PartialEq + Serialize>(
            member: &'static str,
            expected: &T,
            observed: &T,
        ) -> Option<(&'static str, String, String)> {
            let text = |value: &T| serde_json::to_string(value).unwrap_or_default();
            (expected != observed).then(|| (member, text(expected), text(observed)))
        }
        compare("chain_id", &self.chain_id, &other.chain_id)
            .or_else(|| compare("destination", &self.destination, &other.destination))
            .or_else(|| {
                compare(
                    "post_submission",
                    &self.post_submission,
                    &other.post_submission,
                )
            })
            .or_else(|| compare("quote", &self.quote, &other.quote))
    }
}

impl PostSubmission {
    fn of(asked: &Asked, source: &BridgeChain, destination: &BridgeChain) -> Self {
        Self {
            attestation: Cow::Owned(format!(
                "poll GET /v2/messages/{}?transactionHash= with the hash of the call (404 until it is indexed); take message \
                 and attestation from the answer, not from the log",
                source.domain
            )),
            attestation_expiry: Cow::Borrowed(match asked.speed {
                TransferSpeed::Fast => {
                    "expirationBlock of the message; POST /v2/reattest/{nonce} gives a new one"
                }
                TransferSpeed::Standard => "none",
            }),
            destination_gas: Cow::Borrowed(if asked.forward {
                "paid by the relayer, which takes it from the amount"
            } else {
                "paid by whoever submits the mint: native coin is needed on the destination chain"
            }),
            mint: Mint {
                by: Cow::Borrowed(if asked.forward {
                    "the protocol's relayer; anyone when it fails"
                } else {
                    "anyone, usually the caller"
                }),
                chain_id: destination.chain_id,
                function: Cow::Borrowed("receiveMessage(bytes message,bytes attestation)"),
                to: Eip55::of(MESSAGE_TRANSMITTER),
            },
        }
    }
}

impl From<DestinationControl> for Control {
    fn from(control: DestinationControl) -> Self {
        match control {
            DestinationControl::Eoa { source_code } => Self::Eoa {
                source_code: source_code.into(),
            },
            DestinationControl::Safe(readings) => Self::Safe {
                on_destination: Box::new(readings.destination.into()),
                on_source: Box::new(readings.source.into()),
            },
        }
    }
}

impl From<&Control> for DestinationControl {
    fn from(control: &Control) -> Self {
        match control {
            Control::Eoa { source_code } => Self::Eoa {
                source_code: (*source_code).into(),
            },
            Control::Safe {
                on_destination,
                on_source,
            } => Self::Safe(Box::new(SafeReadings {
                source: (&**on_source).into(),
                destination: (&**on_destination).into(),
            })),
        }
    }
}

impl From<Option<AccountCode>> for CodeRecord {
    fn from(code: Option<AccountCode>) -> Self {
        match code {
            None => Self::NotRead,
            Some(AccountCode::Empty) => Self::Empty,
            Some(AccountCode::Delegated) => Self::Delegated,
            Some(AccountCode::Contract { hash }) => Self::Contract(Word(hash)),
        }
    }
}

impl From<CodeRecord> for Option<AccountCode> {
    fn from(record: CodeRecord) -> Self {
        match record {
            CodeRecord::NotRead => None,
            CodeRecord::Empty => Some(AccountCode::Empty),
            CodeRecord::Delegated => Some(AccountCode::Delegated),
            CodeRecord::Contract(Word(hash)) => Some(AccountCode::Contract { hash }),
        }
    }
}

impl From<SafeReading> for SafeRecord {
    fn from(reading: SafeReading) -> Self {
        Self {
            code: Some(reading.code).into(),
            fallback_handler: Eip55::of(reading.fallback_handler),
            guard: Eip55::of(reading.guard),
            module_guard: Eip55::of(reading.module_guard),
            modules: reading.modules.into_iter().map(Eip55::of).collect(),
            owners: reading.owners.into_iter().map(Eip55::of).collect(),
            singleton: Eip55::of(reading.singleton),
            singleton_code: Some(reading.singleton_code).into(),
            threshold: Digits(reading.threshold),
            version: reading.version,
        }
    }
}

impl From<&SafeRecord> for SafeReading {
    fn from(record: &SafeRecord) -> Self {
        // A Safe whose code was not read counts as an account without code.
        let code = |record: CodeRecord| Option::from(record).unwrap_or(AccountCode::Empty);
        let addresses = |list: &[Eip55]| list.iter().map(|entry| entry.address()).collect();
        Self {
            code: code(record.code),
            fallback_handler: record.fallback_handler.address(),
            guard: record.guard.address(),
            module_guard: record.module_guard.address(),
            modules: addresses(&record.modules),
            owners: addresses(&record.owners),
            singleton: record.singleton.address(),
            singleton_code: code(record.singleton_code),
            threshold: record.threshold.0,
            version: record.version.clone(),
        }
    }
}

/// The failure when no fee follows from the readings.
pub(super) fn fee_unknown(error: FeeError) -> Failure {
    Failure::new(
        checks::FEE_CAP,
        Violation::new("the fee cannot be computed", "a fee", error),
    )
}
