//! Revocations of people who have nothing here and pay nothing.

use alloy_primitives::{B256, U256};
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::onchain::Level;
use delegation_fence::{Revocation, Signed};

use crate::delegation::onchain::{Node, account, delegated_grant, file};
use crate::delegation::sample::NOW;
use crate::delegation::served::{Answer, Served};
use crate::delegation::stage::{GRANT_ID, key, owner, revocation, sign};

const REVOCATIONS: &str = "/delegation/revocations";

fn revoked_by(key: &PrivateKeySigner, grant_id: B256) -> Signed<Revocation> {
    let message = Revocation {
        account: key.address(),
        ..revocation(grant_id, NOW).message().clone()
    };
    sign(message, key)
}

async fn post_from(served: &Served, address: &str, signed: &Signed<Revocation>) -> Answer {
    let request = served.request("POST", REVOCATIONS);
    let request = request.header("x-forwarded-for", address);
    served.send(request.body(signed.to_json())).await
}

/// 1,200 requests from 20 addresses, 60 of each, which is what an address may send in a minute.
#[tokio::test]
async fn a_crowd_fills_its_own_room_and_no_owners() {
    let node = Node::new(Level::Stock);
    let served = Served::delegated(&node).await;
    let granted = file(delegated_grant(GRANT_ID), Level::Stock);
    let answer = served.post("/delegation/grants", granted.to_json()).await;
    answer.ok(201);
    node.change(|answers| answers.code.clear());

    let (mut kept, mut refused) = (Vec::new(), 0);
    for number in 0..20_u8 {
        let stranger = key(0x80 + number);
        let address = format!("192.0.2.{number}");
        for id in 1..=60_u64 {
            let signed = revoked_by(&stranger, B256::from(U256::from(id)));
            let answer = post_from(&served, &address, &signed).await;
            if answer.status == 200 {
                kept.push(signed);
                continue;
            }
            assert_eq!(answer.error(), (503, "revocations_full".to_owned()));
            let message = answer.json()["error"]["message"].clone();
            let first = message.as_str().unwrap().lines().next().unwrap();
            assert!(first.starts_with("nothing is revoked"), "{first}");
            let path = format!(
                "/delegation/grants/{}/{}",
                stranger.address(),
                signed.message().grant_id
            );
            assert_eq!(served.get(&path).await.status, 404);
            refused += 1;
        }
    }
    assert_eq!((kept.len(), refused), (1000, 200));
    // What was acknowledged is there: the grant that comes later is refused.
    for signed in kept.iter().step_by(97) {
        let of = signed.message();
        let path = format!("/delegation/grants/{}/{}", of.account, of.grant_id);
        assert_eq!(served.get(&path).await.ok(200)["state"], "revoked");
        let again = post_from(&served, "192.0.2.200", signed).await;
        assert_eq!(again.ok(200)["state"], "revoked");
    }
    // All grants of a stranger at once take room too.
    let all = revoked_by(&key(0x77), B256::ZERO);
    let answer = post_from(&served, "192.0.2.201", &all).await;
    assert_eq!(answer.error(), (503, "revocations_full".to_owned()));

    // An account that has delegated its code on the chain has room of its own, before its grant.
    node.change(|answers| *answers = crate::delegation::onchain::ChainAnswers::fresh());
    let early = revoked_by(&key(0x78), GRANT_ID);
    post_from(&served, "192.0.2.202", &early).await.ok(200);
    // The accounts that the service knows: a sub-wallet before its grant, and a grant.
    let wallet = revocation(GRANT_ID, NOW);
    post_from(&served, "192.0.2.203", &wallet).await.ok(200);
    let own = revoked_by(&owner(), GRANT_ID);
    assert_eq!(own.message().account, account());
    post_from(&served, "192.0.2.204", &own).await.ok(200);
    let path = format!("/delegation/grants/{}/{GRANT_ID}", account());
    assert_eq!(served.get(&path).await.ok(200)["state"], "revoked");
}
