//! The judgement of transactions.

mod lists;
mod lookalikes;

use std::sync::LazyLock;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{address, hex};
use proptest::prelude::*;
use serde_json::json;
use tx_sender::Fees;

use super::*;

const OWNER: Owner = Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
const WALLET: Address = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const WETH: Address = address!("4200000000000000000000000000000000000006");
const ROUTER: Address = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
const PROXY: Address = address!("8b773D83bc66Be128c60e07E17C8901f7a64F000");
const VAULT: Address = address!("1111111111111111111111111111111111111111");
const POOL: Address = address!("2222222222222222222222222222222222222222");
const MESSENGER: Address = address!("28b5a0e9C621a5BadaA536219b3a228C8168cf5d");
const NOBODY: Address = address!("dEad000000000000000000000000000000000000");
const APPROVE: &str = "095ea7b3";
const TRANSFER: &str = "a9059cbb";
const SWAP: &str = "5fd9ae2e";

const FILE: &str = r#"
version = "2026-11-25"

[[targets]]
chain_id = 8453
contract = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
selectors = ["0x095ea7b3", "0xa9059cbb", "0xe3ee160e", "0xcf092995"]
what = "USDC"

[[targets]]
chain_id = 8453
contract = "0x4200000000000000000000000000000000000006"
selectors = ["0x095ea7b3"]
what = "WETH"

[[targets]]
chain_id = 8453
contract = "0x1231deb6f5749ef6ce6943a275a1d3e7486f4eae"
selectors = ["0x5fd9ae2e"]
what = "router"

[[targets]]
chain_id = 8453
contract = "0x8b773D83bc66Be128c60e07E17C8901f7a64F000"
spender_only = true
what = "approve proxy"

[[targets]]
chain_id = 8453
contract = "0x1111111111111111111111111111111111111111"
selectors = ["0x6e553f65", "0x94bf804d", "0xb460af94", "0xba087652"]
what = "vault"
product_id = "7"
protocol = "erc4626"
asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

[[targets]]
chain_id = 8453
contract = "0x2222222222222222222222222222222222222222"
selectors = ["0x617ba037", "0x69328dec"]
what = "pool"

[[targets]]
chain_id = 8453
contract = "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"
selectors = ["0x8e0250ee"]
what = "messenger"
"#;

fn policy() -> SigningPolicy {
    SigningPolicy::parse(FILE).unwrap()
}

fn word(address: Address) -> String {
    hex::encode(address.into_word())
}

fn amount(atoms: U256) -> String {
    hex::encode(atoms.to_be_bytes::<32>())
}

/// A call of a function with words of arguments.
fn call(to: Address, selector: &str, words: &[String]) -> Unsigned {
    Unsigned {
        chain_id: 8453,
        nonce: 7,
        to,
        value: U256::ZERO,
        input: hex::decode(selector.to_owned() + &words.concat())
            .unwrap()
            .into(),
        gas_limit: 90_000,
        fees: Fees::Dynamic { max: 30, tip: 2 },
    }
}

fn approve(token: Address, spender: Address, atoms: U256) -> Unsigned {
    call(token, APPROVE, &[word(spender), amount(atoms)])
}

fn transfer(to: Address) -> Unsigned {
    call(USDC, TRANSFER, &[word(to), amount(U256::from(5))])
}

/// `transferWithAuthorization` in either form; the members that are not judged are zero.
fn principal(selector: &str, from: Address, to: Address) -> Unsigned {
    let mut words = vec![word(from), word(to)];
    let zero = || amount(U256::ZERO);
    match selector {
        "cf092995" => {
            words.extend((0..4).map(|_| zero()));
            words.extend([amount(U256::from(7 * 32)), zero()]);
        }
        _ => words.extend((0..7).map(|_| zero())),
    }
    call(USDC, selector, &words)
}

/// `depositForBurn` of CCTP V2 for this recipient.
fn burn(recipient: Address) -> Unsigned {
    let zero = || amount(U256::ZERO);
    let words = [
        zero(),
        zero(),
        word(recipient),
        word(USDC),
        zero(),
        zero(),
        zero(),
    ];
    call(MESSENGER, "8e0250ee", &words)
}

/// The policy, read once: one of the tests judges half a million transactions.
static POLICY: LazyLock<SigningPolicy> = LazyLock::new(policy);

fn judge(unsigned: &Unsigned) -> Result<(), PolicyRefusal> {
    let subject = Subject::Transaction(unsigned);
    POLICY.judge(OWNER, WALLET, subject, Purpose::FencedPlan)
}

fn code(unsigned: &Unsigned) -> &'static str {
    judge(unsigned).map_or_else(|refusal| refusal.code(), |()| "admitted")
}

fn admitted() -> [Unsigned; 9] {
    [
        approve(USDC, ROUTER, U256::from(1_000_000_007)),
        transfer(OWNER.address()),
        call(ROUTER, SWAP, &[word(NOBODY)]),
        call(VAULT, "6e553f65", &[amount(U256::from(5)), word(WALLET)]),
        call(
            POOL,
            "69328dec",
            &[word(USDC), amount(U256::MAX), word(OWNER.address())],
        ),
        principal("e3ee160e", OWNER.address(), WALLET),
        principal("cf092995", OWNER.address(), WALLET),
        burn(WALLET),
        burn(OWNER.address()),
    ]
}

#[test]
fn reviewed_calls_are_admitted() {
    for unsigned in admitted() {
        assert_eq!(judge(&unsigned), Ok(()), "{unsigned:?}");
    }
    for spender in [ROUTER, PROXY, VAULT, POOL] {
        let exact = approve(USDC, spender, U256::from(u128::MAX));
        assert_eq!(code(&exact), "admitted");
    }
    // An allowance may be revoked from any spender, and a nonce may be freed on chains with a
    // target.
    assert_eq!(code(&approve(USDC, NOBODY, U256::ZERO)), "admitted");
    let mut free = call(WALLET, "", &[]);
    assert_eq!(code(&free), "admitted");
    free.chain_id = 1;
    assert_eq!(code(&free), "wallet_target_unreviewed");
}

/// The names are part of the contract: operators read them in logs, and halted plans contain them.
#[test]
fn every_refusal_is_provoked_and_its_name_is_stable() {
    let mut rich = transfer(OWNER.address());
    rich.value = U256::from(1);
    let mut trailing = transfer(OWNER.address());
    trailing.input = [trailing.input.as_ref(), &[0]].concat().into();
    let five = U256::from(5);
    let provoked = [
        call(NOBODY, SWAP, &[]),
        call(USDC, "23b872dd", &[]),
        rich,
        trailing,
        approve(USDC, NOBODY, five),
        approve(USDC, ROUTER, U256::MAX),
        transfer(WALLET),
        principal("e3ee160e", OWNER.address(), NOBODY),
    ];
    let mut refusals: Vec<_> = provoked.iter().map(|it| judge(it).unwrap_err()).collect();
    let note: TypedData = serde_json::from_value(json!({
        "types": {"EIP712Domain": [], "Note": [{"name": "text", "type": "string"}]},
        "primaryType": "Note", "domain": {}, "message": {"text": "hello"},
    }))
    .unwrap();
    let typed = Subject::TypedData(&note);
    let refused = policy().judge(OWNER, WALLET, typed, Purpose::FencedPlan);
    refusals.push(refused.unwrap_err());

    // A further variant does not compile until it is provoked above.
    let places = refusals.iter().map(|refusal| match refusal {
        PolicyRefusal::TargetUnreviewed { .. } => 0,
        PolicyRefusal::SelectorUnreviewed { .. } => 1,
        PolicyRefusal::ValueNotZero { .. } => 2,
        PolicyRefusal::CalldataMalformed { .. } => 3,
        PolicyRefusal::SpenderUnreviewed { .. } => 4,
        PolicyRefusal::ApprovalUnlimited { .. } => 5,
        PolicyRefusal::RecipientNotOwner { .. } => 6,
        PolicyRefusal::PrincipalElsewhere { .. } => 7,
        PolicyRefusal::TypedData { .. } => 8,
    });
    assert!(places.eq(0..9));
    let named = refusals.iter().map(|it| format!("{}: {it}", it.code()));
    insta::assert_snapshot!(named.collect::<Vec<_>>().join("\n"), @r"
    wallet_target_unreviewed: expected a reviewed contract of chain 8453, observed 0xdEad000000000000000000000000000000000000
    wallet_selector_unreviewed: expected a reviewed function of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, observed 0x23b872dd
    wallet_value_not_zero: expected no coins, observed 1 wei
    wallet_calldata_malformed: expected canonical calldata for 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, observed another form of 69 bytes
    wallet_spender_unreviewed: expected a reviewed spender of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, observed 0xdEad000000000000000000000000000000000000
    wallet_approval_unlimited: expected an approval of an exact amount of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, observed 115792089237316195423570985008687907853269984665640564039457584007913129639935
    wallet_recipient_not_owner: expected the owner 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 as the recipient, observed 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC
    wallet_principal_elsewhere: expected tokens from 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 to 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC, observed from 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 to 0xdEad000000000000000000000000000000000000
    wallet_typed_data: expected a transaction for fenced_plan, observed typed data
    ");
}

proptest! {
    /// Judged by its words alone, an admitted call gives tokens to the owner, to the wallet or to a
    /// reviewed contract only.
    #[test]
    fn an_admitted_call_gives_nothing_away(
        to in prop::sample::select(vec![USDC, WETH, ROUTER, PROXY, VAULT, POOL, MESSENGER, WALLET, NOBODY]),
        selector in prop::sample::select(vec![
            APPROVE, TRANSFER, SWAP, "23b872dd", "6e553f65", "b460af94", "617ba037", "69328dec",
            "e3ee160e", "cf092995", "8e0250ee", "",
        ]),
        parties in prop::collection::vec(
            prop::sample::select(vec![OWNER.address(), WALLET, ROUTER, PROXY, USDC, NOBODY]), 0..4,
        ),
        tail in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut unsigned = call(to, selector, &parties.iter().map(|it| word(*it)).collect::<Vec<_>>());
        unsigned.input = [unsigned.input.as_ref(), &tail].concat().into();
        if judge(&unsigned).is_ok() {
            let own = [OWNER.address(), WALLET];
            let party = |place: usize| parties[place];
            match selector {
                // The second word is an address here, which is an exact amount only below 2^128.
                APPROVE => prop_assert!(false, "an approval of {:?}", parties),
                TRANSFER => prop_assert_eq!((to, party(0)), (USDC, OWNER.address())),
                "6e553f65" | "b460af94" => prop_assert!(to == VAULT && own.contains(&party(1))),
                "617ba037" | "69328dec" => prop_assert!(to == POOL && own.contains(&party(2))),
                SWAP => prop_assert_eq!(to, ROUTER),
                "" => prop_assert!(to == WALLET && unsigned.input.is_empty()),
                other => prop_assert!(false, "{other} was admitted"),
            }
        }
    }
}
