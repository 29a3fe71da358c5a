//! Tests, over HTTP, of grants whose delegations the chain enforces as well.

use delegation_fence::onchain::{Delegation, GrantFile, Level};
use delegation_fence::{Grant, Revocation, RevocationReceipt};
use serde_json::{Value, json};

use crate::delegation::after_the_shared_seconds;
use crate::delegation::onchain::{
    ChainAnswers, LEVELS, Node, REDEEMER, account, delegated_grant, delegated_order, delegations,
    edited, file,
};
use crate::delegation::sample::{ACCOUNT, NOW, WETH};
use crate::delegation::served::{Served, body};
use crate::delegation::stage::{GRANT_ID, grant, owner, revocation, sign};

const GRANTS: &str = "/delegation/grants";
const SUBMISSIONS: &str = "/delegation/submissions";
const AMOUNT: u64 = 1_000_000_007;

async fn granted(level: Level) -> (Served, Node, GrantFile) {
    let node = Node::new(level);
    let served = Served::delegated(&node).await;
    let file = file(delegated_grant(GRANT_ID), level);
    served.post(GRANTS, file.to_json()).await.ok(201);
    (served, node, file)
}

#[tokio::test]
async fn every_delegation_that_is_not_the_promised_one_has_its_code() {
    for level in LEVELS {
        let node = Node::new(level);
        let served = Served::delegated(&node).await;
        let good = file(delegated_grant(GRANT_ID), level);
        let with = |edit: fn(&mut Delegation)| edited(&good, edit).to_json();
        let of = |edit: fn(&mut Grant)| {
            let mut grant = delegated_grant(GRANT_ID);
            edit(&mut grant);
            let signed = sign(grant, &owner());
            let delegations = good.delegations.clone();
            GrantFile {
                signed,
                delegations,
            }
            .to_json()
        };
        let mut fewer = good.clone();
        fewer.delegations.pop();
        let mut foreign = good.clone();
        foreign.delegations[0].signature = foreign.delegations[1].signature;
        let mut redeemer = good.clone();
        redeemer.delegations = delegations(&good.signed, WETH, level, 0);
        let mut more = good.clone();
        more.delegations
            .push(delegations(&sign(grant_of(0x23), &owner()), REDEEMER, level, 0)[0].clone());
        let sub_wallet = GrantFile {
            signed: sign(grant(GRANT_ID), &owner()),
            delegations: good.delegations.clone(),
        };
        let passed_on = good.to_json().replace(&"ff".repeat(32), &"fe".repeat(32));
        for (text, status, code) in [
            (passed_on, 422, "delegation_malformed"),
            (fewer.to_json(), 403, "delegations_missing"),
            (good.signed.to_json(), 403, "delegations_missing"),
            (more.to_json(), 403, "delegation_unexpected"),
            (sub_wallet.to_json(), 403, "delegation_unexpected"),
            (foreign.to_json(), 403, "delegation_not_by_account"),
            (redeemer.to_json(), 403, "delegation_redeemer_mismatch"),
            (
                with(|delegation| delegation.delegator = ACCOUNT),
                403,
                "delegation_delegator_mismatch",
            ),
            (
                with(|delegation| drop(delegation.caveats.pop())),
                403,
                "delegation_caveat_missing",
            ),
            (
                with(|delegation| delegation.caveats.swap(0, 1)),
                403,
                "delegation_caveat_unexpected",
            ),
            (
                with(|delegation| delegation.caveats[0].terms = vec![0; 32].into()),
                403,
                "delegation_caveat_terms",
            ),
            (
                of(|grant| grant.delegate = REDEEMER),
                403,
                "grant_delegate_is_service",
            ),
            (
                of(|grant| grant.delegate = ACCOUNT),
                403,
                "grant_delegate_is_service",
            ),
        ] {
            let answer = served.post(GRANTS, text).await;
            assert_eq!(answer.error(), (status, code.to_owned()), "{answer:?}");
        }
        let reset = |edit: fn(&mut ChainAnswers)| {
            node.change(|answers| {
                *answers = ChainAnswers::fresh();
                edit(answers);
            });
        };
        let refused = async |status: u16, code: &str| {
            let answer = served.post(GRANTS, good.to_json()).await;
            assert_eq!(answer.error(), (status, code.to_owned()));
        };
        reset(|answers| answers.code.clear());
        refused(403, "account_code_mismatch").await;
        let hash = good.delegations[0].delegation.hash();
        reset(|_| {});
        node.change(|answers| answers.disabled.push(hash));
        refused(403, "delegation_disabled").await;
        reset(|answers| answers.is_away = true);
        refused(503, "chain_unavailable").await;
        if level == Level::Stock {
            reset(|answers| answers.allowances.extend([(WETH, 1)]));
            refused(403, "router_allowance_open").await;
        }
        reset(|_| {});
        served.post(GRANTS, good.to_json()).await.ok(201);
        served.post(GRANTS, good.to_json()).await.ok(200);
    }
}

fn grant_of(id: u8) -> Grant {
    delegated_grant(alloy_primitives::B256::repeat_byte(id))
}

#[tokio::test]
async fn an_order_is_compared_with_the_state_on_the_chain() {
    let (served, node, file) = granted(Level::Stock).await;
    let submit = async |amount: u64| {
        let plan = body(&delegated_order(amount, GRANT_ID), None).to_string();
        served.post(SUBMISSIONS, plan).await
    };
    let above = u64::from(u32::MAX) + 1;
    let refused = (403, "delegation_cap".to_owned());
    assert_eq!(submit(above).await.error(), refused);
    let tried = body(&delegated_order(above, GRANT_ID), Some(true)).to_string();
    let tried = served.post(SUBMISSIONS, tried).await.ok(200);
    assert_eq!(tried["refused_by"], "delegation_cap");

    node.change(|answers| answers.nonce = 1);
    let refused = (403, "delegation_nonce_mismatch".to_owned());
    assert_eq!(submit(AMOUNT).await.error(), refused);
    node.change(|answers| *answers = ChainAnswers::fresh());
    let hash = file.delegations[2].delegation.hash();
    node.change(|answers| answers.disabled.push(hash));
    let refused = (403, "delegation_disabled".to_owned());
    assert_eq!(submit(AMOUNT).await.error(), refused);
    node.change(|answers| *answers = ChainAnswers::fresh());
    node.change(|answers| answers.code.clear());
    let refused = (403, "account_code_mismatch".to_owned());
    assert_eq!(submit(AMOUNT).await.error(), refused);
    node.change(|answers| *answers = ChainAnswers::fresh());
    node.change(|answers| answers.is_away = true);
    let refused = (503, "chain_unavailable".to_owned());
    assert_eq!(submit(AMOUNT).await.error(), refused);
    node.change(|answers| *answers = ChainAnswers::fresh());
    submit(AMOUNT).await.ok(202);
}

/// The server reads the state on the chain for this answer, and returns it beside its own state.
#[tokio::test]
async fn the_end_is_read_back_from_the_chain_too() {
    for level in LEVELS {
        let (served, node, file) = granted(level).await;
        let path = format!("{GRANTS}/{}/{GRANT_ID}", account());
        let block = node.block().hash.to_string();
        let read = served.get(&path).await.ok(200);
        assert_eq!(read["state"], "active");
        assert_eq!(read["on_chain"]["disabled"], false);
        assert_eq!(read["on_chain"]["block_hash"], block);

        let message = Revocation {
            account: account(),
            ..revocation(GRANT_ID, NOW).message().clone()
        };
        let signed = sign(message, &owner()).to_json();
        let answer = served.post("/delegation/revocations", signed.clone()).await;
        // The holder can keep the whole answer as the receipt.
        let receipt = RevocationReceipt::parse(&answer.text).unwrap();
        let ended = answer.ok(200);
        assert_eq!(
            (&ended["state"], &ended["read_back"]),
            (&json!("revoked"), &json!(true))
        );
        assert_eq!(ended["on_chain"]["disabled"], false);
        let call = &ended["on_chain"]["disable_transaction"];
        assert_eq!(call["chain_id"], 8453);
        assert_eq!(call["from"], account().to_string());
        assert_eq!(call["to"], delegation_fence::onchain::MANAGER.to_string());
        assert_eq!(call["value"], "0");
        assert!(call["data"].as_str().unwrap().starts_with("0x49934047"));

        node.change(|answers| answers.is_away = true);
        after_the_shared_seconds().await;
        let read = served.get(&path).await.ok(200);
        let on_chain = &read["on_chain"];
        assert_eq!(
            (&on_chain["disabled"], &on_chain["block_hash"]),
            (&json!(false), &Value::Null)
        );
        let hashes = file
            .delegations
            .iter()
            .map(|signed| signed.delegation.hash());
        let hashes: Vec<_> = hashes.collect();
        node.change(|answers| {
            *answers = ChainAnswers::fresh();
            answers.disabled = hashes;
        });
        after_the_shared_seconds().await;
        let again = served.post("/delegation/revocations", signed).await;
        assert_eq!(RevocationReceipt::parse(&again.text), Ok(receipt));
        let over = json!({"disabled": true, "block_hash": block});
        assert_eq!(again.ok(200)["on_chain"], over);
        let read = served.get(&path).await.ok(200);
        assert_eq!(
            (&read["state"], &read["on_chain"]),
            (&json!("revoked"), &over)
        );
    }
}
