//! The tests that every signer must pass. The crates of signers that are services run this same
//! file on each of them.

use std::time::Duration;

use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, Bytes, U256};
use tx_sender::{Fees, SignError, TransactionSigner, Unsigned, signed};

/// How long the tests wait for an answer.
#[allow(dead_code, reason = "not every signer is a service that can be silent")]
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) const DYNAMIC: Fees = Fees::Dynamic { max: 30, tip: 2 };

pub(crate) fn unsigned(fees: Fees) -> Unsigned {
    Unsigned {
        chain_id: 196,
        nonce: 7,
        to: Address::repeat_byte(9),
        value: U256::from(5),
        input: Bytes::from_static(&[1, 2, 3]),
        gas_limit: 90_000,
        fees,
    }
}

/// Checks that both kinds of transactions come back as requested. It decodes the bytes itself,
/// without the check of the sender.
pub(crate) async fn conforms(signer: &dyn TransactionSigner) {
    for fees in [DYNAMIC, Fees::Legacy { price: 9 }] {
        for nonce in 0..8 {
            let asked = Unsigned {
                nonce,
                ..unsigned(fees)
            };
            let checked = signed(signer, &asked, Duration::from_secs(10))
                .await
                .unwrap();
            let read = TxEnvelope::decode_2718_exact(&checked.raw).unwrap();
            assert_eq!(*read.tx_hash(), checked.hash);
            assert_eq!(read.signature_hash(), asked.signature_hash());
            assert!(read.signature().s() <= SECP256K1N_HALF);
            let by = read
                .signature()
                .recover_address_from_prehash(&asked.signature_hash());
            assert_eq!(by.unwrap(), signer.account());
            let members = (
                read.chain_id(),
                read.nonce(),
                read.to(),
                read.value(),
                read.gas_limit(),
            );
            let wanted = (
                Some(196),
                nonce,
                Some(asked.to),
                asked.value,
                asked.gas_limit,
            );
            assert_eq!(members, wanted);
            assert_eq!(*read.input(), asked.input);
        }
    }
}

/// How the service behind a signer behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "not every signer is a service that can do all of it"
)]
pub(crate) enum Behaviour {
    /// It signs.
    Signs,
    /// It signs, with the higher `s`.
    HighS,
    /// It signs, and `r` begins with a byte of zeros.
    ShortR,
    /// Somebody has exchanged the key of the name.
    Rotated,
    /// The signature is of another hash.
    OtherHash,
    /// It refuses, because of a permission, a disabled key, or a policy.
    Refuses,
    /// It fails temporarily.
    Fails,
    /// It limits the rate of requests.
    Busy,
    /// It never answers.
    Silent,
    /// It closes the connection.
    Closes,
    /// Its answer has the right form, and contains no signature.
    Garbage,
    /// Its answer has another form.
    OtherForm,
}

/// Checks each behaviour of the service: the signer returns the requested transaction, or an error
/// with the right name. Then it answers the next request as usual.
#[allow(dead_code, reason = "not every signer is a service")]
pub(crate) async fn withstands(signer: &dyn TransactionSigner, behave: impl Fn(Behaviour)) {
    use Behaviour::*;
    let cases: [(Behaviour, &[&str]); 11] = [
        // A signer of whole transactions is refused for a high `s`. For a signer of hashes, the
        // sender takes the lower one.
        (HighS, &["signed", "signer_high_s"]),
        (ShortR, &["signed"]),
        (Rotated, &["signer_other_account"]),
        (
            OtherHash,
            &[
                "signer_other_account",
                "signer_malformed",
                "signer_other_field",
            ],
        ),
        (Refuses, &["signer_refused"]),
        (Fails, &["signer_unavailable"]),
        (Busy, &["signer_unavailable"]),
        (Silent, &["signer_unavailable"]),
        (Closes, &["signer_unavailable"]),
        (Garbage, &["signer_malformed"]),
        (OtherForm, &["signer_malformed"]),
    ];
    let asked = unsigned(DYNAMIC);
    for (behaviour, expected) in cases {
        behave(behaviour);
        let outcome = signed(signer, &asked, PATIENCE).await;
        let code = outcome.as_ref().map_or_else(SignError::code, |_| "signed");
        assert!(expected.contains(&code), "{behaviour:?}: {outcome:?}");
        behave(Signs);
        conforms(signer).await;
    }
}
