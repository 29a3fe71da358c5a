//! Tests of signers: the sender checks their answers and reports their failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::{Address, Bytes, Signature, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{DEV_ACCOUNTS, GAS_PAYER};
use test_support::eventually;
use tx_sender::{Fees, LocalKey, SignError, SignFuture, TransactionSigner, Unsigned, check};

use crate::conformance::{DYNAMIC, conforms, unsigned};
use crate::support::{World, key, name, submit};

/// The order of the curve's group.
pub(crate) const ORDER: U256 = U256::from_be_bytes(hex!(
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
));

/// The answer of a signer. `None` means that it is lost.
type Answer = Option<Result<Bytes, SignError>>;

/// A signer that answers the first requests in another way.
struct Odd {
    times: AtomicUsize,
    odd: fn(&Unsigned) -> Answer,
}

pub(crate) fn sign(unsigned: &Unsigned, key: [u8; 32]) -> Bytes {
    let key = PrivateKeySigner::from_bytes(&key.into()).unwrap();
    unsigned.with_signature(key.sign_hash_sync(&unsigned.signature_hash()).unwrap())
}

impl TransactionSigner for Odd {
    fn account(&self) -> Address {
        GAS_PAYER.address
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            let left = self.times.load(Ordering::Relaxed);
            self.times.store(left.saturating_sub(1), Ordering::Relaxed);
            if left == 0 {
                return Ok(sign(unsigned, GAS_PAYER.key.0));
            }
            match (self.odd)(unsigned) {
                Some(answer) => answer,
                // The signer has signed, but its answer is lost.
                None => std::future::pending().await,
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_signer_that_misbehaves_holds_the_lane_and_nothing_wrong_is_sent() {
    type Misbehaves = fn(&Unsigned) -> Answer;
    let cases: [(Misbehaves, &str); 5] = [
        (|_| None, "signer_unavailable"),
        (
            |asked| {
                let other = Unsigned {
                    value: U256::from(2),
                    ..asked.clone()
                };
                Some(Ok(sign(&other, GAS_PAYER.key.0)))
            },
            "signer_other_field",
        ),
        (
            |asked| Some(Ok(sign(asked, DEV_ACCOUNTS[3].key.0))),
            "signer_other_account",
        ),
        (
            |_| Some(Ok(Bytes::from_static(&[2, 0xc0]))),
            "signer_malformed",
        ),
        (
            |_| {
                let message = "locked".to_owned();
                Some(Err(SignError::Refused { message }))
            },
            "signer_refused",
        ),
    ];
    for (odd, code) in cases {
        let world = World::new();
        let signer = Odd {
            times: AtomicUsize::new(3),
            odd,
        };
        let nodes = vec![world.node.node()];
        let sender = world
            .sender_over(world.store.clone(), nodes, Arc::new(signer))
            .await;
        submit(&sender, 1).await;
        let seen = eventually("a hold", async || world.hold(&sender)).await;
        assert_eq!(seen, code);
        assert!(world.chain.waiting().is_empty());
        assert_eq!(world.state(&name(1)).await, "claimed");
        world.blocks(45).await;
        assert_eq!(world.state(&name(1)).await, "sealed", "{code}");
        assert_eq!(world.effect(1), U256::from(1));
        assert_eq!(world.hold(&sender), None);
        assert_eq!(world.chain.transactions().len(), 1);
    }
}

/// The folder of the keys may be mounted after the process has started.
#[tokio::test(start_paused = true)]
async fn a_signer_that_comes_later_signs_what_waits() {
    let world = World::new();
    let other = DEV_ACCOUNTS[3].key;
    let other = LocalKey::from_hex(&hex::encode(other).into()).unwrap();
    let nodes = vec![world.node.node()];
    let sender = world
        .sender_over(world.store.clone(), nodes, Arc::new(other))
        .await;
    sender.add_account(GAS_PAYER.address);
    submit(&sender, 1).await;
    let seen = eventually("a hold", async || world.hold(&sender)).await;
    assert_eq!(seen, "signer_unavailable");
    sender.add_signer(key());
    world.blocks(20).await;
    assert_eq!(world.state(&name(1)).await, "sealed");
    // Adding the account again does not remove its signer.
    sender.add_account(GAS_PAYER.address);
    submit(&sender, 2).await;
    world.blocks(5).await;
    assert_eq!(world.state(&name(2)).await, "sealed");
}

#[tokio::test]
async fn a_key_in_the_process_conforms() {
    let key = hex::encode_prefixed(GAS_PAYER.key);
    let signer = LocalKey::from_hex(&format!("{key}\n").into()).unwrap();
    assert_eq!(signer.account(), GAS_PAYER.address);
    conforms(&signer).await;
    for text in ["", "0x12", "s3cret"] {
        let error = LocalKey::from_hex(&text.to_owned().into()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
    }
}

#[test]
fn every_field_is_compared() {
    let account = GAS_PAYER.address;
    let asked = unsigned(DYNAMIC);
    type Change = fn(&mut Unsigned);
    let changes: [(&str, Change); 9] = [
        ("chain id", |tx| tx.chain_id = 1),
        ("nonce", |tx| tx.nonce = 8),
        ("recipient", |tx| tx.to = Address::ZERO),
        ("value", |tx| tx.value = U256::ZERO),
        ("calldata", |tx| tx.input = Bytes::new()),
        ("gas limit", |tx| tx.gas_limit = 90_001),
        ("fee", |tx| tx.fees = Fees::Dynamic { max: 31, tip: 2 }),
        ("priority fee", |tx| {
            tx.fees = Fees::Dynamic { max: 30, tip: 3 }
        }),
        ("type", |tx| tx.fees = Fees::Legacy { price: 30 }),
    ];
    for (member, change) in changes {
        let mut other = asked.clone();
        change(&mut other);
        let refused = check(&sign(&other, GAS_PAYER.key.0), &asked, account).unwrap_err();
        assert_eq!(refused, SignError::OtherField { member });
    }
    let raw = sign(&asked, GAS_PAYER.key.0);
    assert!(check(&raw, &asked, account).is_ok());
    let mut longer = raw.to_vec();
    longer.push(0);
    assert_eq!(
        check(&longer.into(), &asked, account),
        Err(SignError::Malformed)
    );
}

#[test]
fn a_malleable_signature_is_refused() {
    let asked = unsigned(DYNAMIC);
    let key = PrivateKeySigner::from_bytes(&GAS_PAYER.key).unwrap();
    let low = key.sign_hash_sync(&asked.signature_hash()).unwrap();
    let high = Signature::new(low.r(), ORDER - low.s(), !low.v());
    let raw = asked.with_signature(high);
    assert_eq!(
        check(&raw, &asked, GAS_PAYER.address),
        Err(SignError::HighS)
    );
}
