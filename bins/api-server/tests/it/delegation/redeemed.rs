//! Tests of a whole server with a key that redeems delegations. On the chain of these tests, the
//! contracts at the framework's addresses answer zero and do nothing.
//! `crates/judges/tests/foreign/sending` tests the published contracts.

use alloy_primitives::{Address, Bytes, U256, hex};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::onchain::{ChainTerms, GrantFile, IMPLEMENTATION, Level, MANAGER, NONCE};
use delegation_fence::{AccountKind, Grant, Signature};
use dev_chain::{DEV_ACCOUNTS, DevChain};
use serde_json::{Value, json};

use crate::delegation::sample::BASE;
use crate::delegation::sending::{Round, policy, sign};
use crate::delegation::stage::GRANT_ID;

/// Bytecode that returns 32 zero bytes.
const ZERO: [u8; 7] = hex!("5f5f5260205ff3");
const GRANTS: &str = "/delegation/grants";

async fn open(account: Address, code: Vec<u8>) -> Round {
    let mut chain = DevChain::builder().base_stage();
    for contract in [MANAGER, NONCE, IMPLEMENTATION] {
        chain = chain.code(contract, Bytes::from_static(&ZERO));
    }
    if !code.is_empty() {
        chain = chain.code(account, code.into());
    }
    let mut round = Round::start(chain.build().unwrap(), |config| {
        config.custody = None;
        let section = config.delegation.as_mut().unwrap();
        section.redeemer_key = Some(DEV_ACCOUNTS[3].key.to_string().into());
    })
    .await;
    round.wallet = account;
    round.fund(5_000_000_000);
    round
}

fn pointer() -> Vec<u8> {
    [&[0xef, 0x01, 0x00], IMPLEMENTATION.as_slice()].concat()
}

fn file(round: &Round, owner: &PrivateKeySigner, delegate: Address) -> GrantFile {
    let grant = Grant {
        account_kind: AccountKind::Eoa7702,
        ..round.grant(delegate)
    };
    let signed = sign(grant, owner);
    let policy = policy();
    let terms = ChainTerms {
        grant: signed.typed_data(),
        policy: &policy,
        redeemer: DEV_ACCOUNTS[3].address,
        level: Level::Stock,
        nonce: U256::ZERO,
    };
    let promised = terms.delegations().unwrap().into_iter();
    let delegations = promised.map(|(_, delegation)| {
        let signature = owner.sign_hash_sync(&delegation.digest(BASE)).unwrap();
        delegation.sign_with(Signature::from_bytes(&signature.as_bytes()).unwrap())
    });
    GrantFile {
        delegations: delegations.collect(),
        signed,
    }
}

/// The redeemer sends, but the manager on this chain does nothing. The server reads the allowance
/// back, sees that it has not changed, and halts the plan.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_redeemer_sends_for_an_account_of_the_users_own() {
    let (owner, delegate) = (PrivateKeySigner::random(), PrivateKeySigner::random());
    let round = open(owner.address(), pointer()).await;
    let own = file(&round, &owner, delegate.address()).to_json();
    assert_eq!(round.post(GRANTS, own).await.0, 201);
    let path = format!("{GRANTS}/{}/{GRANT_ID}", owner.address());
    let read: Value = serde_json::from_str(&round.get(&path).await).unwrap();
    assert_eq!(read["on_chain"]["disabled"], false);
    assert!(read["on_chain"]["block_hash"].is_string(), "{read}");

    let (body, digest) = round.ordered(1, &delegate).await;
    let submitted = round.post("/delegation/submissions", body.to_string());
    let (status, said) = submitted.await;
    assert_eq!(status, 202, "{said}");
    let said = round.ended(&digest).await;
    assert_eq!(said["state"], "halted_clean", "{said}");
    assert_eq!(said["reason"], "allowance_unexpected", "{said}");
    assert_eq!(said["halted_at"], "approve");
    let steps = said["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{said}");
    // The account of the user has no gas, and the server gave it none.
    assert_eq!(round.base.native_balance(owner.address()), U256::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_the_service_are_no_delegates_and_the_account_needs_its_code() {
    let owner = PrivateKeySigner::random();
    let round = open(owner.address(), Vec::new()).await;
    let refused = async |file: GrantFile| {
        let (status, said) = round.post(GRANTS, file.to_json()).await;
        (status, said["error"]["code"].clone())
    };
    let of = |delegate| GrantFile {
        // The server judges the delegate before the delegations.
        delegations: Vec::new(),
        signed: sign(
            Grant {
                account_kind: AccountKind::Eoa7702,
                ..round.grant(delegate)
            },
            &owner,
        ),
    };
    for number in [2, 3] {
        let delegate = DEV_ACCOUNTS[number].address;
        let expected = (403, json!("grant_delegate_is_service"));
        assert_eq!(refused(of(delegate)).await, expected, "{delegate}");
    }
    let stranger = PrivateKeySigner::random().address();
    let expected = (403, json!("account_code_mismatch"));
    assert_eq!(refused(file(&round, &owner, stranger)).await, expected);
}
