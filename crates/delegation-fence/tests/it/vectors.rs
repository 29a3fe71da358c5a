//! `fixtures/vectors/delegation.json`: typed data, digests and signatures that any language can
//! replay, and `alloy-dyn-abi`, which hashes typed data from its JSON only, beside our own hashing.

use alloy_dyn_abi::TypedData as Oracle;
use alloy_primitives::{Address, B256, U256, keccak256};
use delegation_fence::{
    AccountKind, Domain, Grant, Limit, Message, Name, Order, Policy, Revocation, Rule, Signed,
    TypedData,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../fixtures/vectors/delegation.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The oracle's result for typed data as JSON.
fn oracle(typed_data: &str) -> (B256, B256, B256, String) {
    let oracle: Oracle = serde_json::from_str(typed_data).unwrap();
    (
        oracle.domain().separator(),
        oracle.hash_struct().unwrap(),
        oracle.eip712_signing_hash().unwrap(),
        oracle.encode_type().unwrap(),
    )
}

/// One vector of a message: its digest, its parts where they are given, its signature, and its
/// signer.
fn check<M: Message + std::fmt::Debug>(vector: &Value, signer: &str) {
    let file = json!({"typed_data": vector["typed_data"], "signature": vector["signature"]});
    let signed = Signed::<M>::parse(&file.to_string()).unwrap();
    let typed_data = signed.typed_data();
    assert_eq!(signed.digest().to_string(), text(&vector["digest"]));
    for (member, hash) in [
        ("domain_separator", typed_data.domain_hash()),
        ("struct_hash", typed_data.message_hash()),
        ("type_hash", keccak256(M::encode_type())),
    ] {
        if let Some(expected) = vector[member].as_str() {
            assert_eq!(hash.to_string(), expected, "{member}");
        }
    }
    if let Some(expected) = vector["encode_type"].as_str() {
        assert_eq!(M::encode_type(), expected);
    }
    assert_eq!(signed.signer().unwrap().to_string(), signer);
    assert_eq!(signed.signature().to_string(), text(&vector["signature"]));

    // The oracle hashes our written form.
    let (domain, message, digest, encoded) = oracle(&typed_data.to_json());
    assert_eq!(
        (domain, message),
        (typed_data.domain_hash(), typed_data.message_hash())
    );
    assert_eq!((digest, encoded), (signed.digest(), M::encode_type()));
    assert_eq!(Signed::<M>::parse(&signed.to_json()).unwrap(), signed);
    // The oracle hashes the vector's own text.
    assert_eq!(oracle(&vector["typed_data"].to_string()).2, signed.digest());
}

const ACCOUNT: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const DELEGATE: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

#[test]
fn messages_hash_and_recover_as_published() {
    let vectors = vectors();
    check::<Grant>(&vectors["grant"], ACCOUNT);
    check::<Grant>(&vectors["grant_sub_wallet"], ACCOUNT);
    check::<Grant>(&vectors["grant_eoa7702"], ACCOUNT);
    check::<Revocation>(&vectors["revocation"], ACCOUNT);
    check::<Limit>(&vectors["FenceLimit"], ACCOUNT);
    check::<Order>(&vectors["FenceOrder"], DELEGATE);
    let call = alloy_primitives::hex::decode(text(&vectors["order_call_data"])).unwrap();
    let order = &vectors["FenceOrder"]["typed_data"]["message"];
    assert_eq!(keccak256(call).to_string(), text(&order["callHash"]));
}

#[test]
fn the_rules_document_has_the_published_bytes_and_digest() {
    let vector = &vectors()["rules_document"];
    let policy = Policy::parse(&vector["document"].to_string()).unwrap();
    assert_eq!(policy.canonical(), text(&vector["jcs_utf8"]));
    assert_eq!(policy.canonical().len(), 972);
    assert_eq!(policy.digest().to_string(), text(&vector["keccak256"]));
    // There is one digest: the other hash of the same bytes differs.
    assert_ne!(policy.digest().to_string(), text(&vector["sha256"]));
}

/// The vector with `rulesDigest` of another kind can be hashed, but its use is refused.
#[test]
fn a_digest_of_a_second_kind_is_never_accepted() {
    let vectors = vectors();
    let policy = Policy::parse(&vectors["rules_document"]["document"].to_string()).unwrap();
    let instance = delegation_fence::Instance {
        domain: Domain::new(8453, B256::repeat_byte(0x11)),
        project_id: Name::new("3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11").unwrap(),
    };
    let fence = delegation_fence::Fence::new(instance, policy).unwrap();
    let mut changed = vectors["grant_eoa7702"].clone();
    changed["typed_data"]["message"]["rulesDigest"] = vectors["rules_document"]["sha256"].clone();
    let unsigned = TypedData::<Grant>::parse(&changed["typed_data"].to_string()).unwrap();
    use alloy_signer::SignerSync as _;
    let key: alloy_signer_local::PrivateKeySigner = text(&vectors["key"]).parse().unwrap();
    let signature = key.sign_hash_sync(&unsigned.digest()).unwrap().as_bytes();
    let signature = delegation_fence::Signature::from_bytes(&signature).unwrap();
    let now = delegation_fence::Now::offline("2026-11-21T07:00:00Z".parse().unwrap());
    let refusal = fence
        .receive(Signed::new(unsigned, signature), key.address(), now)
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantPolicyDigestMismatch);
}

/// Our signers make the signatures of the vectors from the same digests.
#[test]
fn signatures_are_deterministic() {
    use alloy_signer::SignerSync as _;
    let vectors = vectors();
    let key: alloy_signer_local::PrivateKeySigner = text(&vectors["key"]).parse().unwrap();
    for name in [
        "grant",
        "grant_sub_wallet",
        "grant_eoa7702",
        "revocation",
        "FenceLimit",
    ] {
        let digest: B256 = text(&vectors[name]["digest"]).parse().unwrap();
        let signature = key.sign_hash_sync(&digest).unwrap().as_bytes();
        let shown = alloy_primitives::hex::encode_prefixed(signature);
        assert_eq!(shown, text(&vectors[name]["signature"]), "{name}");
    }
}

fn name() -> impl Strategy<Value = Name> {
    "[A-Za-z0-9]([A-Za-z0-9._,-]{0,40}[A-Za-z0-9])?".prop_map(|text| Name::new(&text).unwrap())
}

fn word() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

fn amount() -> impl Strategy<Value = U256> {
    any::<[u8; 32]>().prop_map(U256::from_be_bytes)
}

const LAST: u64 = 253_402_300_799;

proptest! {
    #[test]
    fn any_message_hashes_as_the_oracle_says(
        (account, delegate, grant_id, rules_digest) in (address(), address(), word(), word()),
        (policy_name, project_id, capability) in (name(), name(), name()),
        (cap, outflow) in (amount(), amount()),
        (chain_id, kind, salt) in (1..=u64::MAX >> 11, 0..4_usize, word()),
        (issued_at, not_before, expires_at) in (0..=LAST, 0..=LAST, 0..=LAST),
        max_swaps: u64,
    ) {
        let domain = Domain::new(chain_id, salt);
        let grant = Grant {
            account, account_kind: AccountKind::ALL[kind], chain_id, policy_name, rules_digest,
            project_id: project_id.clone(), capability, delegate, per_swap_cap: cap, grant_id,
            issued_at, not_before, expires_at,
        };
        let revocation = Revocation { account, chain_id, grant_id, project_id, revoked_at: issued_at };
        let limit = Limit { account, grant_id, per_swap_cap: cap, max_swaps, outflow_24h: outflow, issued_at };
        let order = Order {
            account, grant_id, payload_digest: rules_digest, call_hash: salt, output_token: delegate,
            min_amount_out: outflow, deadline: expires_at,
        };
        agree(&domain, grant)?;
        agree(&domain, revocation)?;
        agree(&domain, limit)?;
        agree(&domain, order)?;
    }

    /// After any flipped byte of a signed file, it is the same message by the same signer, or it is
    /// refused, or it is another message or a signature of an unknown key.
    #[test]
    fn a_flipped_byte_is_never_another_accepted_message(at in 0..4096_usize, bit in 0..8_u8) {
        let vector = &vectors()["grant_sub_wallet"];
        let file = json!({"typed_data": vector["typed_data"], "signature": vector["signature"]});
        let mut bytes = file.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let signed = String::from_utf8(bytes).ok().and_then(|text| Signed::<Grant>::parse(&text).ok());
        if let Some(signed) = signed {
            let same = signed.digest().to_string() == text(&vector["digest"]);
            let by_owner = signed.signer().is_ok_and(|signer| signer.to_string() == ACCOUNT);
            let untouched = signed.signature().to_string() == text(&vector["signature"]);
            prop_assert_eq!(same && untouched, by_owner);
        }
    }
}

fn agree<M: Message + std::fmt::Debug>(domain: &Domain, message: M) -> Result<(), TestCaseError> {
    let typed_data = TypedData::new(domain.clone(), message).unwrap();
    let text = typed_data.to_json();
    let (separator, message, digest, encoded) = oracle(&text);
    prop_assert_eq!(separator, typed_data.domain_hash());
    prop_assert_eq!(message, typed_data.message_hash());
    prop_assert_eq!(digest, typed_data.digest());
    prop_assert_eq!(encoded, M::encode_type());
    prop_assert_eq!(TypedData::<M>::parse(&text).unwrap(), typed_data);
    Ok(())
}
