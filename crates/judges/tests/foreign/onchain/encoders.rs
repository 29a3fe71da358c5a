//! Compares our encoders with MetaMask's own TypeScript tools and viem: they write the same hashes,
//! terms, signatures and calldata.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, U256};
use delegation_fence::onchain::{self as at, ChainGrant, Level};
use delegation_fence::{Grant, Policy};
use dev_chain::base::{CHAIN_ID, ROUTER, USDC};
use judges::{Toolchain, judge};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::onchain::stage::{
    ENFORCER, HOLDER, REDEEMER, USD, delegate, grant, sign_order_in, steps, swap,
};
use alloy_sol_types::SolCall as _;

#[derive(Deserialize)]
struct Verdict {
    hashes: Vec<B256>,
    digests: Vec<B256>,
    signatures: Vec<String>,
    context: Bytes,
    redeem: Bytes,
    disable: Bytes,
    terms: Terms,
    addresses: BTreeMap<String, alloy_primitives::Address>,
}

#[derive(Deserialize)]
struct Terms {
    timestamp: Bytes,
    redeemer: Bytes,
    nonce: Bytes,
    value: Bytes,
    targets: Vec<Bytes>,
    methods: Bytes,
    calldata: Vec<Bytes>,
    revocation: Bytes,
}

async fn ask(message: &Grant, delegations: &ChainGrant, execution: &Value) -> Verdict {
    let toolchain = Toolchain::from_env().unwrap();
    let order = json!({
        "delegations": delegations.delegations().iter().map(|(_, signed)| signed.to_value()).collect::<Vec<_>>(),
        "chain_id": CHAIN_ID,
        "private_key": HOLDER.private_key,
        "redemption": execution,
        "terms": {
            "after": message.not_before - 1,
            "before": message.expires_at,
            "redeemer": REDEEMER.address,
            "nonce": 7,
            "targets": [USDC, ROUTER],
            "selectors": ["0x5fd9ae2e"],
            "calldata": [
                {"offset": 4, "value": ROUTER.into_word()},
                {"offset": 36, "value": Bytes::from(vec![0; 28])},
                {"offset": 100, "value": HOLDER.address.into_word()},
            ],
        },
    });
    judge(toolchain.node("delegations.mjs"), &order)
        .await
        .unwrap()
}

#[tokio::test]
async fn metamasks_tools_write_the_same() {
    let policy = Policy::parse(include_str!(
        "../../../../../docs/fence-policy.example.json"
    ))
    .unwrap();
    let grant = grant(&policy, HOLDER.address, 5_000 * USD);
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let delegations = delegate(&grant, &policy, level, HOLDER, U256::from(7));
        let call: Bytes = swap(USD).abi_encode().into();
        let plan = steps(USD, &call);
        // MetaMask's encoders make the calldata of the stock level's first redemption from the same
        // delegation.
        let order = delegation_fence::Order {
            account: HOLDER.address,
            grant_id: grant.message().grant_id,
            payload_digest: B256::repeat_byte(1),
            call_hash: alloy_primitives::keccak256(&call),
            output_token: dev_chain::base::WETH,
            min_amount_out: U256::ONE,
            deadline: 4_000_000_000,
        };
        let order = sign_order_in(
            grant.domain().clone(),
            &order,
            crate::onchain::stage::DELEGATE,
        );
        let redemptions = delegations.redemptions(&plan, &order).unwrap();
        let packed = crate::onchain::stage::packed(USDC, 0, &plan[0].data);
        let execution = json!({"mode": B256::ZERO, "execution": packed});
        let verdict = ask(grant.message(), &delegations, &execution).await;

        for (index, (_, signed)) in delegations.delegations().iter().enumerate() {
            assert_eq!(verdict.hashes[index], signed.delegation.hash());
            assert_eq!(verdict.digests[index], signed.delegation.digest(CHAIN_ID));
            assert_eq!(verdict.signatures[index], signed.signature.to_string());
        }
        let disable = &delegations.disable_each(&[])[0];
        assert_eq!(verdict.disable, disable.data);
        let (_, first) = &delegations.delegations()[0];
        let of = |enforcer| -> Vec<Bytes> {
            let caveats = delegations
                .delegations()
                .iter()
                .flat_map(|(_, signed)| &signed.delegation.caveats);
            caveats
                .filter(|caveat| caveat.enforcer == enforcer)
                .map(|caveat| caveat.terms.clone())
                .collect()
        };
        let caveats = &first.delegation.caveats;
        assert_eq!(caveats[0].terms, verdict.terms.timestamp);
        assert_eq!(caveats[1].terms, verdict.terms.redeemer);
        assert_eq!(caveats[2].terms, verdict.terms.nonce);
        assert!(
            of(at::APPROVAL_REVOCATION)
                .iter()
                .eq([&verdict.terms.revocation])
        );
        assert!(
            of(at::VALUE_LTE)
                .iter()
                .all(|terms| *terms == verdict.terms.value)
        );
        let purpose =
            crate::onchain::stage::raw(&delegations, delegations.delegations()[0].0, &Bytes::new());
        assert_eq!(
            alloy_sol_types::SolValue::abi_encode(&vec![purpose]),
            verdict.context
        );
        if level == Level::Stock {
            assert_eq!(redemptions[0].call.data, verdict.redeem);
            let targets = of(at::ALLOWED_TARGETS);
            assert_eq!(targets[..2], verdict.terms.targets[..]);
            assert_eq!(of(at::ALLOWED_METHODS)[1], verdict.terms.methods);
            assert_eq!(of(at::ALLOWED_CALLDATA)[..3], verdict.terms.calldata[..]);
        }
        for (name, address) in [
            ("DelegationManager", at::MANAGER),
            ("EIP7702StatelessDeleGatorImpl", at::IMPLEMENTATION),
            ("TimestampEnforcer", at::TIMESTAMP),
            ("RedeemerEnforcer", at::REDEEMER),
            ("NonceEnforcer", at::NONCE),
            ("ValueLteEnforcer", at::VALUE_LTE),
            ("AllowedTargetsEnforcer", at::ALLOWED_TARGETS),
            ("AllowedMethodsEnforcer", at::ALLOWED_METHODS),
            ("AllowedCalldataEnforcer", at::ALLOWED_CALLDATA),
            ("ApprovalRevocationEnforcer", at::APPROVAL_REVOCATION),
        ] {
            assert_eq!(verdict.addresses[name], address, "{name}");
        }
    }
}

/// `cast wallet sign-auth` signs the same authorization as our tool.
#[tokio::test]
async fn cast_signs_the_same_authorization() {
    let toolchain = Toolchain::from_env().unwrap();
    for (nonce, key) in [(0, HOLDER), (7, REDEEMER), (u64::from(u32::MAX), HOLDER)] {
        let authorization = at::Authorization::new(CHAIN_ID, at::IMPLEMENTATION, nonce).unwrap();
        let signature = crate::onchain::stage::sign(key, authorization.digest());
        let mut cast = toolchain.cast().unwrap();
        cast.args(["wallet", "sign-auth", &at::IMPLEMENTATION.to_string()])
            .args(["--private-key", key.private_key])
            .args(["--nonce", &nonce.to_string(), "--chain", "8453"]);
        let said = judges::run(cast, b"").await.unwrap();
        let signed = authorization.sign_with(&signature);
        assert_eq!(said.trim(), signed.to_rlp().to_string());
    }
}

#[test]
fn the_stage_uses_the_shipped_policy() {
    let policy = Policy::parse(include_str!(
        "../../../../../docs/fence-policy.example.json"
    ))
    .unwrap();
    assert_eq!((policy.input_token(), policy.router()), (USDC, ROUTER));
}
