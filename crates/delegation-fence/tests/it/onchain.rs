//! `fixtures/vectors/onchain.json`: the delegations of a grant and the calldata that follows from
//! them. `UPDATE_VECTORS=1` writes it again. MetaMask's own tools judge the same encodings in
//! `crates/judges/tests/foreign/onchain`.

use std::path::Path;

use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use calldata_checks::{Step, StepKind};
use delegation_fence::onchain::{ChainTerms, Level, UnsentTransaction};
use delegation_fence::{Grant, Order, Policy, Signature, Signed};
use serde_json::{Value, json};

const REDEEMER: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
const ENFORCER: Address = address!("fe0ce00000000000000000000000000000000001");

fn delegation_vectors() -> Value {
    serde_json::from_str(include_str!("../../../../fixtures/vectors/delegation.json")).unwrap()
}

fn file(vector: &Value) -> String {
    json!({"typed_data": vector["typed_data"], "signature": vector["signature"]}).to_string()
}

fn step(kind: StepKind, to: Address, data: Bytes) -> Step {
    Step {
        kind,
        to,
        value: U256::ZERO,
        data,
    }
}

fn written(call: &UnsentTransaction) -> Value {
    json!({"from": call.from.to_string(), "to": call.to.to_string(), "value": "0", "data": call.data})
}

fn of_level(grant: &Signed<Grant>, policy: &Policy, order: &Signed<Order>, level: Level) -> Value {
    let key = b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
    let key = PrivateKeySigner::from_bytes(&key).unwrap();
    let terms = ChainTerms {
        grant: grant.typed_data(),
        policy,
        redeemer: REDEEMER,
        level,
        nonce: U256::ZERO,
    };
    let promised = terms.delegations().unwrap();
    let signed: Vec<_> = promised
        .into_iter()
        .map(|(_, delegation)| {
            let signature = key.sign_hash_sync(&delegation.digest(8453)).unwrap();
            delegation.sign_with(Signature::from_bytes(&signature.as_bytes()).unwrap())
        })
        .collect();
    let chain = terms.accept(&signed).unwrap();
    let approve = |amount: u64| {
        let (spender, amount) = (policy.router().into_word(), B256::from(U256::from(amount)));
        [
            &[0x09, 0x5e, 0xa7, 0xb3][..],
            spender.as_slice(),
            amount.as_slice(),
        ]
        .concat()
    };
    let call: Bytes = delegation_vectors()["order_call_data"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let steps = [
        step(
            StepKind::ApproveReset,
            policy.input_token(),
            approve(0).into(),
        ),
        step(
            StepKind::Approve,
            policy.input_token(),
            approve(1_000_000_000).into(),
        ),
        step(StepKind::Call, policy.router(), call),
    ];
    let redemptions = chain.redemptions(&steps, order).unwrap();
    json!({
        "delegations": chain.delegations().iter().map(|(purpose, signed)| json!({
            "purpose": purpose.as_str(),
            "delegation": signed.to_value(),
            "hash": signed.delegation.hash(),
            "digest": signed.delegation.digest(8453),
        })).collect::<Vec<_>>(),
        "most_on_chain": chain.most_on_chain().to_string(),
        "redemptions": redemptions.iter().map(|redemption| json!({
            "steps": redemption.steps.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
            "transaction": written(&redemption.call),
        })).collect::<Vec<_>>(),
        "clear": written(&chain.clear()),
        "disable": written(&chain.disable(&[]).unwrap()),
    })
}

#[test]
fn the_vectors_are_what_is_computed() {
    let vectors = delegation_vectors();
    let policy = Policy::parse(&vectors["rules_document"]["document"].to_string()).unwrap();
    let grant = Signed::<Grant>::parse(&file(&vectors["grant_eoa7702"])).unwrap();
    let order = Signed::<Order>::parse(&file(&vectors["FenceOrder"])).unwrap();
    let level = |level| of_level(&grant, &policy, &order, level);
    let computed = json!({
        "note": "The delegations of grant_eoa7702 of delegation.json under its rules_document, with number 0, and the transactions that \
                 follow from them: for the order of FenceOrder, with order_call_data as the plan's call and 1000 USDC. Test key only.",
        "redeemer": REDEEMER.to_string(),
        "chain_id": 8453,
        "stock": level(Level::Stock),
        "enforcer": {"address": ENFORCER.to_string(), "vectors": level(Level::Enforcer(ENFORCER))},
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/onchain.json");
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        let text = serde_json::to_string_pretty(&computed).unwrap() + "\n";
        std::fs::write(&path, text).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        kept == computed,
        "fixtures/vectors/onchain.json is not what is computed: UPDATE_VECTORS=1 writes it again"
    );
}
