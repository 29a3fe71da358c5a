//! A provider behind the policy.

use std::sync::Arc;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, Bytes, U256, hex};
use custody::{
    Custody, CustodyError, Guarded, PolicyRefusal, Purpose, SigningPolicy, Subject, Target, lend,
};
use serde_json::json;
use tx_sender::{Fees, SignError, Unsigned, check};

use crate::conformance::{ALICE, BOB};
use crate::{SECRET, open};

const TOKEN: Address = Address::repeat_byte(0x11);
const ROUTER: Address = Address::repeat_byte(0x22);

fn policy() -> SigningPolicy {
    let selector = |text: &str| text.parse().unwrap();
    let transfer = selector("0xa9059cbb");
    let token = Target::new(8453, TOKEN, [Target::APPROVE, transfer], "token");
    let router = Target::new(8453, ROUTER, [selector("0x5fd9ae2e")], "router");
    SigningPolicy::default()
        .with(token.unwrap())
        .with(router.unwrap())
}

/// A call of the token with an address and an amount.
fn call(selector: [u8; 4], party: Address) -> Unsigned {
    let amount = U256::from(5).to_be_bytes::<32>();
    Unsigned {
        chain_id: 8453,
        nonce: 7,
        to: TOKEN,
        value: U256::ZERO,
        input: Bytes::from([&selector[..], party.into_word().as_slice(), &amount].concat()),
        gas_limit: 90_000,
        fees: Fees::Dynamic { max: 30, tip: 2 },
    }
}

fn approve(spender: Address) -> Unsigned {
    call(hex!("095ea7b3"), spender)
}

fn withdraw(to: Address) -> Unsigned {
    call(hex!("a9059cbb"), to)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_signs_what_the_policy_admits_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let custody = Guarded::new(open(&folder, SECRET).unwrap(), policy());
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let bob = custody.get_or_create(BOB).await.unwrap();
    // The provider does everything but signing.
    assert_eq!(custody.find(ALICE).await, Ok(Some(alice)));
    assert_eq!(custody.wallet_at(bob.address).await, Ok(Some(bob)));
    let attested = custody.attest(ALICE).await.unwrap().unwrap();
    assert_eq!(attested.wallet, alice);
    assert_eq!(custody.policy().targets().count(), 2);

    let custody: Arc<dyn Custody> = Arc::new(custody);
    let of_alice = lend(Arc::clone(&custody), alice.address, Purpose::FencedPlan);
    let noop = Unsigned {
        to: alice.address,
        input: Bytes::new(),
        ..approve(ROUTER)
    };
    for admitted in [approve(ROUTER), withdraw(ALICE.address()), noop.clone()] {
        let raw = of_alice.sign(&admitted).await.unwrap();
        assert_eq!(check(&raw, &admitted, alice.address).unwrap().raw, raw);
    }
    // The wallet gives tokens to its own owner only, and calls no other wallet.
    for (refused, code) in [
        (withdraw(BOB.address()), "wallet_recipient_not_owner"),
        (withdraw(alice.address), "wallet_recipient_not_owner"),
        (approve(BOB.address()), "wallet_spender_unreviewed"),
        (
            Unsigned {
                to: bob.address,
                ..noop
            },
            "wallet_target_unreviewed",
        ),
    ] {
        let message = code.to_owned();
        assert_eq!(
            of_alice.sign(&refused).await,
            Err(SignError::Refused { message })
        );
    }
    let of_bob = lend(Arc::clone(&custody), bob.address, Purpose::FencedPlan);
    assert!(of_bob.sign(&withdraw(BOB.address())).await.is_ok());
    let foreign = withdraw(ALICE.address());
    let refusal = PolicyRefusal::RecipientNotOwner {
        expected: BOB.address(),
        observed: ALICE.address(),
    };
    let subject = Subject::Transaction(&foreign);
    let refused = custody.sign(bob.address, subject, Purpose::FencedPlan);
    assert_eq!(refused.await, Err(CustodyError::Refused(refusal)));

    // An unknown wallet is reported as unknown, whatever is to be signed.
    let unknown = custody.sign(Address::ZERO, subject, Purpose::FencedPlan);
    let unknown = unknown.await.unwrap_err();
    assert_eq!(unknown, CustodyError::UnknownWallet(Address::ZERO));

    let typed_data: TypedData = serde_json::from_value(json!({
        "types": {"EIP712Domain": [], "Note": [{"name": "text", "type": "string"}]},
        "primaryType": "Note", "domain": {}, "message": {"text": "hello"},
    }))
    .unwrap();
    let subject = Subject::TypedData(&typed_data);
    let refused = custody.sign(alice.address, subject, Purpose::FencedPlan);
    assert_eq!(refused.await.unwrap_err().code(), "wallet_typed_data");
}
