//! The tests that every custody provider has to pass. The crates of the providers that are services
//! run this very file over each of them.

use std::sync::Arc;

use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, B256, Bytes, Signature, U256, address};
use custody::{Custody, CustodyError, Owner, Purpose, Subject, lend};
use serde_json::json;
use tx_sender::{Fees, Unsigned};

pub(crate) const ALICE: Owner =
    Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
pub(crate) const BOB: Owner = Owner::new(196, address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"));

const PURPOSE: Purpose = Purpose::FencedPlan;

/// The number of concurrent creators.
const CREATORS: usize = 16;

fn unsigned(nonce: u64) -> Unsigned {
    Unsigned {
        chain_id: 8453,
        nonce,
        to: Address::repeat_byte(9),
        value: U256::from(5),
        input: Bytes::from_static(&[1, 2, 3]),
        gas_limit: 90_000,
        fees: Fees::Dynamic { max: 30, tip: 2 },
    }
}

fn note(text: &str) -> TypedData {
    serde_json::from_value(json!({
        "types": {
            "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
            "Note": [{"name": "text", "type": "string"}],
        },
        "primaryType": "Note",
        "domain": {"name": "test", "chainId": 8453},
        "message": {"text": text},
    }))
    .unwrap()
}

fn assert_signed(signature: Signature, hash: &B256, by: Address) {
    assert!(signature.s() <= SECP256K1N_HALF);
    assert_eq!(signature.recover_address_from_prehash(hash).unwrap(), by);
}

/// Each call of `open` is another process, or this one after a restart, with the same keys; at
/// first there are none.
pub(crate) async fn conforms<C: Custody>(open: impl Fn() -> C) {
    let processes: Vec<Arc<C>> = (0..4).map(|_| Arc::new(open())).collect();
    let [one, two, ..] = processes.as_slice() else {
        panic!("four")
    };
    // A read creates no wallet.
    assert_eq!(one.find(ALICE).await, Ok(None));
    assert_eq!(one.wallet_at(Address::ZERO).await, Ok(None));
    assert_eq!(one.attest(ALICE).await, Ok(None));

    // Concurrent creators in several processes get one wallet.
    let asked = (0..CREATORS).map(|number| {
        let custody = Arc::clone(&processes[number % processes.len()]);
        tokio::spawn(async move { custody.get_or_create(ALICE).await })
    });
    let asked: Vec<_> = asked.collect();
    let mut wallets = Vec::new();
    for task in asked {
        wallets.push(task.await.unwrap().unwrap());
    }
    let alice = wallets[0];
    assert!(wallets.iter().all(|wallet| *wallet == alice), "{wallets:?}");
    assert_eq!((alice.owner, alice.exported), (ALICE, false));
    assert_ne!(alice.address, ALICE.address());

    // Another owner has another wallet, and so has the same account on another chain.
    let bob = one.get_or_create(BOB).await.unwrap();
    let elsewhere = Owner::new(8453, ALICE.address());
    let third = one.get_or_create(elsewhere).await.unwrap();
    assert_ne!(alice.address, bob.address);
    assert_ne!(alice.address, third.address);
    assert_eq!(two.wallet_at(bob.address).await, Ok(Some(bob)));
    assert_eq!(two.find(BOB).await, Ok(Some(bob)));

    // A restart changes nothing.
    let again = Arc::new(open());
    assert_eq!(again.wallet_at(alice.address).await, Ok(Some(alice)));
    assert_eq!(again.find(ALICE).await, Ok(Some(alice)));
    assert_eq!(again.get_or_create(ALICE).await, Ok(alice));
    assert_eq!(again.find(elsewhere).await, Ok(Some(third)));

    // The provider signs exactly the given transaction with the key of the named wallet.
    let (first, second) = (unsigned(7), unsigned(8));
    for wallet in [alice, bob] {
        let subject = Subject::Transaction(&first);
        let signature = again.sign(wallet.address, subject, PURPOSE).await.unwrap();
        assert_signed(signature, &first.signature_hash(), wallet.address);
        let other = signature.recover_address_from_prehash(&second.signature_hash());
        assert_ne!(other.ok(), Some(wallet.address));

        let typed_data = note("hello");
        let subject = Subject::TypedData(&typed_data);
        let signature = again.sign(wallet.address, subject, PURPOSE).await.unwrap();
        let digest = typed_data.eip712_signing_hash().unwrap();
        assert_signed(signature, &digest, wallet.address);
    }
    let mut malformed = note("hello");
    malformed.primary_type = "Nothing".to_owned();
    let refused = again.sign(alice.address, Subject::TypedData(&malformed), PURPOSE);
    assert_eq!(refused.await, Err(CustodyError::TypedData));

    // A wallet that does not exist signs nothing; an owner's address is no wallet.
    for unknown in [Address::ZERO, ALICE.address()] {
        let refused = again.sign(unknown, Subject::Transaction(&first), PURPOSE);
        assert_eq!(refused.await, Err(CustodyError::UnknownWallet(unknown)));
    }

    let attested = again.attest(ALICE).await.unwrap().unwrap();
    assert_eq!(attested.wallet, alice);
    let address = alice.address.to_string();
    assert!(attested.statement.contains(&address), "{attested:?}");
    assert!(attested.statement.contains(alice.provider.holds()));

    // As a signer for the sender it passes the sender's own suite.
    crate::signer_conformance::conforms(&*lend(again, alice.address, PURPOSE)).await;
}
