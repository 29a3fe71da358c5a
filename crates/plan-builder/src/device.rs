//! `device_display`: what a signing device can show of a plan, and the digests by which a person
//! compares the rest.
//!
//! A device shows calldata clearly when it has a descriptor of the function (ERC-7730) and enough
//! memory for the calldata. It signs everything else blindly, or shows a digest of it, for which
//! ERC-8213 gives names and formulas. This module asks no device. A verifier recomputes the member
//! from the plan's own bytes and the descriptors below.

use alloy_primitives::{Address, B256, U256, address};
use serde::{Deserialize, Serialize};

use crate::{
    AccountKind, digest,
    signing::{Evm, TypedDataHashes},
    wire::{KindRecord, StepRecord, Text, Word},
};

/// The version of the registry from which the descriptors were read.
const REGISTRY: &str = "ethereum/clear-signing-erc7730-registry@3b66ba28, 2026-08-20";
/// The most bytes of calldata that devices of both makers show clearly. Trezor's firmware of August
/// 2026 holds 6144, that of May 4096. Ledger's Ethereum app 1.22 holds the calldata in a heap of 16
/// KiB, together with everything else.
const MOST_CALLDATA: usize = 4096;

/// The descriptor of ERC-20's `approve`. The devices of both makers have it built in.
const ERC20: &str = "ercs/calldata-erc20-tokens.json";
/// The selector of ERC-20's `approve(address,uint256)`.
const APPROVE: [u8; 4] = [0x09, 0x5e, 0xa7, 0xb3];
/// The length of that call: a selector and two words.
const APPROVE_BYTES: usize = 4 + 2 * 32;

/// The descriptor of LI.FI's router.
const LIFI: &str = "registry/lifi/calldata-LIFIDiamond.json";
/// The router that the descriptor covers.
const LIFI_ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
/// The chains that the descriptor covers at that address.
const LIFI_CHAINS: [u64; 27] = [
    1, 10, 25, 30, 56, 100, 122, 137, 146, 196, 204, 252, 288, 480, 1135, 1284, 1329, 1625, 5000,
    8453, 13371, 34443, 42161, 42220, 43114, 81457, 534352,
];
/// The selectors of `swapTokensMultipleV3ERC20ToERC20`, `swapTokensSingleV3ERC20ToERC20` and
/// `swapTokensGeneric`.
const LIFI_SELECTORS: [[u8; 4]; 3] = [
    [0x5f, 0xd9, 0xae, 0x2e],
    [0x46, 0x66, 0xfc, 0x80],
    [0x46, 0x30, 0xa0, 0xd8],
];
/// The members that the descriptor leaves out.
const LIFI_HIDDEN: &[&str] = &[
    "integrator",
    "fee recipients and amounts",
    "exchanges and their calldata",
];

/// The member `device_display`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceDisplay {
    clear_signing_limit_bytes: u64,
    registry: Text,
    signed_as: SignedAs,
    steps: Vec<StepDisplay>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typed_data: Option<TypedDisplay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SignedAs {
    /// An owner of a Safe signs a transaction of the Safe, which contains the step.
    SafeTransaction,
    /// Each step is a transaction.
    Transaction,
    /// The signer signs a message (EIP-712).
    TypedData,
}

/// How a device shows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// As a digest or as raw bytes, which the signer cannot read.
    Blind,
    /// The members that the descriptor names. Amounts are readable only when the device knows the
    /// token.
    ClearIfTokenKnown,
    /// Every member as it is, with amounts in the smallest unit and tokens by their ids.
    Fields,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepDisplay {
    calldata_bytes: u64,
    /// The Calldata Digest of ERC-8213.
    calldata_digest: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    descriptor: Option<Text>,
    /// The members that the descriptor leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<Text>,
    kind: KindRecord,
    ledger: Shown,
    trezor: Shown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedDisplay {
    /// The Domain Hash of ERC-8213.
    domain_hash: Word,
    /// The EIP-712 Digest of ERC-8213.
    eip712_digest: Word,
    ledger: Shown,
    /// The Message Hash of ERC-8213.
    message_hash: Word,
    trezor: Shown,
}

/// The descriptor of a function.
struct Descriptor {
    path: &'static str,
    hidden: &'static [&'static str],
}

impl DeviceDisplay {
    /// Describes how devices display a plan with this account, these steps and this message.
    pub(crate) fn of(
        kind: AccountKind,
        evm: Option<Evm<'_>>,
        typed_data: Option<TypedDataHashes>,
    ) -> Self {
        let signed_as = match (&typed_data, kind) {
            (Some(_), _) => SignedAs::TypedData,
            (None, AccountKind::Eoa) => SignedAs::Transaction,
            (None, AccountKind::Safe) => SignedAs::SafeTransaction,
        };
        let steps = evm.map(|evm| {
            let display = |step| StepDisplay::of(step, evm.chain_id, signed_as);
            evm.steps.iter().map(display).collect()
        });
        Self {
            clear_signing_limit_bytes: bytes(MOST_CALLDATA),
            registry: REGISTRY.into(),
            signed_as,
            steps: steps.unwrap_or_default(),
            typed_data: typed_data.map(TypedDisplay::of),
        }
    }
}

impl StepDisplay {
    fn of(step: &StepRecord, chain_id: u64, signed_as: SignedAs) -> Self {
        let data = &step.data.0;
        let descriptor = descriptor(chain_id, step.to.address(), data);
        let clear = descriptor.is_some()
            && data.len() <= MOST_CALLDATA
            && signed_as == SignedAs::Transaction;
        let shown = if clear {
            Shown::ClearIfTokenKnown
        } else {
            Shown::Blind
        };
        let hidden = descriptor.as_ref().map_or(&[][..], |found| found.hidden);
        Self {
            calldata_bytes: bytes(data.len()),
            calldata_digest: Word(calldata_digest(data)),
            descriptor: descriptor.as_ref().map(|found| found.path.into()),
            hidden: hidden.iter().map(|part| (*part).into()).collect(),
            kind: step.kind,
            ledger: shown,
            trezor: shown,
        }
    }
}

impl TypedDisplay {
    /// Describes the display of a message. No registry has a descriptor of the messages that plans
    /// sign. Trezor shows the members of any message. Ledger shows the hash of a message without a
    /// descriptor.
    fn of(hashes: TypedDataHashes) -> Self {
        Self {
            domain_hash: Word(hashes.domain),
            eip712_digest: Word(hashes.digest),
            ledger: Shown::Blind,
            message_hash: Word(hashes.message),
            trezor: if hashes.is_readable {
                Shown::Fields
            } else {
                Shown::Blind
            },
        }
    }
}

fn descriptor(chain_id: u64, to: Address, data: &[u8]) -> Option<Descriptor> {
    let selector: [u8; 4] = data.get(..4)?.try_into().ok()?;
    if selector == APPROVE && data.len() == APPROVE_BYTES {
        return Some(Descriptor {
            path: ERC20,
            hidden: &[],
        });
    }
    let lifi =
        to == LIFI_ROUTER && LIFI_CHAINS.contains(&chain_id) && LIFI_SELECTORS.contains(&selector);
    lifi.then_some(Descriptor {
        path: LIFI,
        hidden: LIFI_HIDDEN,
    })
}

/// Computes ERC-8213's `keccak256(uint256(len(calldata)) || calldata)`.
fn calldata_digest(data: &[u8]) -> B256 {
    let length = U256::from(data.len()).to_be_bytes::<32>();
    digest::keccak(&[&length, data].concat())
}

/// Converts a length to an integer that JSON readers keep exact.
fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Bytes, b256, hex};

    use super::*;
    use crate::wire::{Digits, Eip55, Hex};

    fn step(to: Address, data: Vec<u8>) -> StepRecord {
        StepRecord {
            data: Hex(Bytes::from(data)),
            kind: KindRecord::Call,
            to: Eip55::of(to),
            value: Digits(U256::ZERO),
        }
    }

    fn shown(to: Address, data: Vec<u8>, chain_id: u64, signed_as: SignedAs) -> (bool, Shown) {
        let display = StepDisplay::of(&step(to, data), chain_id, signed_as);
        assert_eq!(display.ledger, display.trezor);
        (display.descriptor.is_some(), display.ledger)
    }

    /// The first case is the test case of ERC-8213, the second one is empty calldata.
    #[test]
    fn the_calldata_digest_is_the_standard_s() {
        let transfer = hex!(
            "a9059cbb0000000000000000000000004675c7e5baafbffbca748158becba61ef3b0a263"
            "0000000000000000000000000000000000000000000000000de0b6b3a7640000"
        );
        assert_eq!(
            calldata_digest(&transfer),
            b256!("812cee5d9cc7461c04bbcd7b70af9c28b243ac5d74d3453b008b93b7dac69985")
        );
        assert_eq!(calldata_digest(&[]), digest::keccak(&[0; 32]));
    }

    #[test]
    fn only_a_known_function_of_a_size_that_fits_is_clear() {
        use SignedAs::{SafeTransaction, Transaction};
        let other = Address::repeat_byte(7);
        let call = |selector: [u8; 4], length: usize| {
            let mut data = selector.to_vec();
            data.resize(length, 0);
            data
        };
        let clear = (true, Shown::ClearIfTokenKnown);
        let blind = (true, Shown::Blind);
        let unknown = (false, Shown::Blind);
        for (to, data, chain_id, signed_as, expected) in [
            (other, call(APPROVE, 68), 1, Transaction, clear),
            (other, call(APPROVE, 68), 1, SafeTransaction, blind),
            (other, call(APPROVE, 69), 1, Transaction, unknown),
            (
                other,
                call([0x8e, 2, 0x50, 0xee], 228),
                8453,
                Transaction,
                unknown,
            ),
            (
                LIFI_ROUTER,
                call(LIFI_SELECTORS[0], 4096),
                8453,
                Transaction,
                clear,
            ),
            (
                LIFI_ROUTER,
                call(LIFI_SELECTORS[0], 4097),
                8453,
                Transaction,
                blind,
            ),
            (
                LIFI_ROUTER,
                call(LIFI_SELECTORS[1], 900),
                137,
                Transaction,
                clear,
            ),
            (
                LIFI_ROUTER,
                call(LIFI_SELECTORS[0], 900),
                59144,
                Transaction,
                unknown,
            ),
            (
                LIFI_ROUTER,
                call([1, 2, 3, 4], 900),
                8453,
                Transaction,
                unknown,
            ),
            (
                other,
                call(LIFI_SELECTORS[0], 900),
                8453,
                Transaction,
                unknown,
            ),
            (other, vec![0x09, 0x5e, 0xa7], 1, Transaction, unknown),
        ] {
            let length = data.len();
            assert_eq!(
                shown(to, data, chain_id, signed_as),
                expected,
                "{to} {length} {chain_id}"
            );
        }
    }

    #[test]
    fn the_display_names_members_that_a_descriptor_leaves_out() {
        let mut data = LIFI_SELECTORS[0].to_vec();
        data.resize(900, 0);
        let display = StepDisplay::of(&step(LIFI_ROUTER, data), 8453, SignedAs::Transaction);
        assert_eq!(display.hidden.len(), LIFI_HIDDEN.len());
        assert!(
            display
                .hidden
                .contains(&"fee recipients and amounts".into())
        );
    }
}
