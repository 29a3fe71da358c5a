//! Parses the message of a burn (CCTP V2), in the form that the destination chain accepts.
//!
//! This module checks that a message belongs to a bridge. It leaves the attestation to the
//! destination chain.

use alloy_primitives::{Address, B256, U256};

use crate::intent::Bridge;

/// The length of a message with an empty hook.
const LENGTH: usize = 148 + 228;

/// The parts of a burn's message that this crate checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BurnMessage {
    source_domain: u32,
    destination_domain: u32,
    /// The nonce. The destination chain accepts each nonce once.
    pub(crate) nonce: B256,
    burn_token: B256,
    mint_recipient: B256,
    amount: U256,
    sender: B256,
    /// The fee that the protocol deducts.
    pub(crate) fee_executed: U256,
}

impl BurnMessage {
    /// Parses a message. `None` when it has another version or length.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        if message.len() != LENGTH {
            return None;
        }
        let (header, body) = message.split_at_checked(148)?;
        if number(header, 0)? != 1 || number(body, 0)? != 1 {
            return None;
        }
        Some(Self {
            source_domain: number(header, 4)?,
            destination_domain: number(header, 8)?,
            nonce: word(header, 12)?,
            burn_token: word(body, 4)?,
            mint_recipient: word(body, 36)?,
            amount: word(body, 68)?.into(),
            sender: word(body, 100)?,
            fee_executed: word(body, 164)?.into(),
        })
    }

    /// Whether the message belongs to this bridge, pays this wallet, and deducts at most the agreed
    /// fee.
    pub(crate) fn is_of(&self, bridge: &Bridge, wallet: Address) -> bool {
        self.source_domain == bridge.source_domain
            && self.destination_domain == bridge.destination_domain
            && self.burn_token == bridge.burned_token.into_word()
            && self.mint_recipient == wallet.into_word()
            && self.sender == wallet.into_word()
            && self.amount == bridge.amount
            && self.fee_executed <= bridge.max_fee
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

fn word(bytes: &[u8], at: usize) -> Option<B256> {
    let bytes = bytes.get(at..)?.first_chunk::<32>()?;
    Some(B256::from(*bytes))
}
