//! One burn: the message that the chain logged, and the message that the service attests, which
//! differs from it in the members that the service fills in.

use std::ops::Range;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};

use super::State;

/// The positions of members in a message.
const SOURCE: Range<usize> = 4..8;
const DESTINATION: Range<usize> = 8..12;
const NONCE: Range<usize> = 12..44;
const SENDER: Range<usize> = 44..76;
const RECIPIENT: Range<usize> = 76..108;
const CALLER: Range<usize> = 108..140;
const MIN_THRESHOLD: Range<usize> = 140..144;
const THRESHOLD: Range<usize> = 144..148;
const BODY: usize = 148;
/// The positions of members in the body, counted from the message's start.
const BURN_TOKEN: Range<usize> = BODY + 4..BODY + 36;
const MINT_RECIPIENT: Range<usize> = BODY + 36..BODY + 68;
const AMOUNT: Range<usize> = BODY + 68..BODY + 100;
const MESSAGE_SENDER: Range<usize> = BODY + 100..BODY + 132;
const MAX_FEE: Range<usize> = BODY + 132..BODY + 164;
const FEE: Range<usize> = BODY + 164..BODY + 196;
const EXPIRATION: Range<usize> = BODY + 196..BODY + 228;
const HOOK: usize = BODY + 228;

const FAST: u32 = 1000;
const FINAL: u32 = 2000;
/// One hundred percent, in hundredths of a basis point.
const WHOLE: u64 = 1_000_000;

/// Domains without fast transfers: Avalanche and Polygon.
pub(super) const SLOW_DOMAINS: [u32; 2] = [1, 7];

/// A logged message.
pub(super) struct Burn {
    nonce: B256,
    message: Vec<u8>,
}

impl Burn {
    /// `None` for a message that is too short for a burn.
    pub(super) fn read(transaction: B256, log_index: u64, message: Vec<u8>) -> Option<Self> {
        let preimage = [transaction.as_slice(), &log_index.to_be_bytes()].concat();
        let nonce = keccak256(preimage);
        (message.len() >= HOOK).then_some(Self { nonce, message })
    }

    /// The answer before the burn is attested.
    pub(super) fn pending(&self) -> Value {
        json!({
            "message": "0x",
            "eventNonce": self.nonce,
            "attestation": "PENDING",
            "decodedMessage": null,
            "cctpVersion": 2,
            "status": "pending_confirmations",
            "delayReason": null,
        })
    }

    /// The answer after the attestation. `None` when the key cannot sign.
    pub(super) fn attested(mut self, service: &State) -> Option<Value> {
        let delay = self.fill(service);
        let attestation = sign(&service.key, keccak256(&self.message))?;
        Some(json!({
            "message": Bytes::copy_from_slice(&self.message),
            "eventNonce": self.nonce,
            "attestation": attestation,
            "decodedMessage": self.decoded(),
            "cctpVersion": 2,
            "status": "complete",
            "delayReason": delay,
        }))
    }

    /// Fills in the members that the burn left open. Returns why a fast transfer became a final
    /// one.
    fn fill(&mut self, service: &State) -> Option<&'static str> {
        let amount = self.number(AMOUNT);
        let fee = amount
            .saturating_mul(U256::from(service.fee_hundredths))
            .div_ceil(U256::from(WHOLE));
        let wants_fast = self.small(MIN_THRESHOLD) <= FAST;
        let affordable = fee <= self.number(MAX_FEE);
        let fast = wants_fast && affordable && !SLOW_DOMAINS.contains(&self.small(SOURCE));
        let (threshold, fee) = if fast {
            (FAST, fee)
        } else {
            (FINAL, U256::ZERO)
        };
        self.write(NONCE, self.nonce.as_slice().to_vec());
        self.write(THRESHOLD, threshold.to_be_bytes().to_vec());
        self.write(FEE, service.fee.unwrap_or(fee).to_be_bytes_vec());
        if fast {
            let expiration = U256::from(service.expiration_block);
            self.write(EXPIRATION, expiration.to_be_bytes_vec());
        }
        if let Some(recipient) = service.recipient {
            self.write(MINT_RECIPIENT, recipient.into_word().to_vec());
        }
        (wants_fast && !affordable).then_some("insufficient_fee")
    }

    fn decoded(&self) -> Value {
        let body = self.message.get(BODY..).unwrap_or_default();
        let hook = self.message.get(HOOK..).filter(|hook| !hook.is_empty());
        json!({
            "sourceDomain": self.small(SOURCE).to_string(),
            "destinationDomain": self.small(DESTINATION).to_string(),
            "nonce": self.nonce,
            "sender": self.address(SENDER),
            "recipient": self.address(RECIPIENT),
            "destinationCaller": self.word(CALLER),
            "minFinalityThreshold": self.small(MIN_THRESHOLD).to_string(),
            "finalityThresholdExecuted": self.small(THRESHOLD).to_string(),
            "messageBody": Bytes::copy_from_slice(body),
            "decodedMessageBody": {
                "burnToken": self.address(BURN_TOKEN),
                "mintRecipient": self.address(MINT_RECIPIENT),
                "amount": self.number(AMOUNT).to_string(),
                "messageSender": self.address(MESSAGE_SENDER),
                "maxFee": self.number(MAX_FEE).to_string(),
                "feeExecuted": self.number(FEE).to_string(),
                "expirationBlock": self.number(EXPIRATION).to_string(),
                "hookData": hook.map(Bytes::copy_from_slice),
            },
        })
    }

    fn write(&mut self, place: Range<usize>, bytes: Vec<u8>) {
        // Every position lies before the hook, and a shorter message is not read.
        if self.message.get(place.clone()).map(<[u8]>::len) == Some(bytes.len()) {
            self.message.splice(place, bytes);
        }
    }

    fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.message.get(place).unwrap_or_default()
    }

    fn number(&self, place: Range<usize>) -> U256 {
        U256::from_be_slice(self.bytes(place))
    }

    fn word(&self, place: Range<usize>) -> B256 {
        self.number(place).into()
    }

    fn address(&self, place: Range<usize>) -> Address {
        Address::from_word(self.word(place))
    }

    fn small(&self, place: Range<usize>) -> u32 {
        u32::try_from(self.number(place)).unwrap_or(u32::MAX)
    }
}

/// 65 bytes, the last of which is 27 or 28.
fn sign(key: &SigningKey, digest: B256) -> Option<Bytes> {
    let (signature, recovery) = key.sign_prehash_recoverable(digest.as_slice()).ok()?;
    let last = recovery.to_byte().checked_add(27)?;
    let signature: [u8; 64] = signature.to_bytes().into();
    Some([signature.as_slice(), &[last]].concat().into())
}
