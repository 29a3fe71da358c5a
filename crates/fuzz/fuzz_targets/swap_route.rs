//! Reads calldata of a swap. Decoded calldata is the one encoding of its values, within the bounds.
//! A call that every check passes pays the account the quoted amount, and only the reviewed fees
//! are taken.
#![no_main]

use std::sync::LazyLock;

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::SolCall as _;
use calldata_checks::{
    BasisPoints, Commitment, DigestStanding, Step, StepKind, UtcSeconds, judge,
    step::approval,
    swap::{
        self, SwapAsked, SwapQuoted,
        calldata::{MAX_LEGS, MAX_RECIPIENTS, decode_fees, decode_swap},
    },
};
use fuzz::POLICY;
use libfuzzer_sys::fuzz_target;

const CHAIN: u64 = 8453;
const ACCOUNT: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const WETH: Address = address!("4200000000000000000000000000000000000006");
const GROSS: U256 = U256::from_limbs([1_000_000_000, 0, 0, 0]);
const LEAST: U256 = U256::from_limbs([395_811_000_000_000_000, 0, 0, 0]);
const OWN_FEE: U256 = U256::from_limbs([3_000_000, 0, 0, 0]);
const MOST_FEES: U256 = U256::from_limbs([6_000_000, 0, 0, 0]);

/// The request of the recorded plan.
static ASKED: LazyLock<SwapAsked> = LazyLock::new(|| SwapAsked {
    account: ACCOUNT,
    account_chain_id: CHAIN,
    chain_id: CHAIN,
    from_token: USDC,
    to_token: WETH,
    from_amount: GROSS,
    max_slippage: BasisPoints::new(50).unwrap(),
    min_amount_out: None,
});

fuzz_target!(|data: &[u8]| {
    if let Ok(fees) = decode_fees(data) {
        assert!(fees._distributions.len() <= MAX_RECIPIENTS);
        assert_eq!(fees.abi_encode(), data);
    }
    let decoded = decode_swap(data);
    if let Ok(call) = &decoded {
        assert!(call._swapData.len() <= MAX_LEGS);
        assert_eq!(call.abi_encode(), data);
    }
    let router = POLICY.fees.chain(CHAIN).unwrap().router;
    let steps = [
        approval(StepKind::ApproveReset, USDC, router, U256::ZERO),
        approval(StepKind::Approve, USDC, router, GROSS),
        Step {
            kind: StepKind::Call,
            to: router,
            value: U256::ZERO,
            data: data.to_vec().into(),
        },
    ];
    let commitment = Commitment {
        valid_until: UtcSeconds::from_unix(1_790_000_300),
        now: UtcSeconds::from_unix(1_790_000_000),
        digest: DigestStanding::Sealing,
    };
    let facts = swap::decode(
        *ASKED,
        quoted(router),
        CHAIN,
        &steps,
        &POLICY.fees,
        commitment,
    );
    // An unreadable call has no facts.
    let (Ok(facts), Ok(call)) = (&facts, &decoded) else {
        assert!(facts.is_err());
        return;
    };
    assert_eq!(facts.receiver(), call._receiver);
    assert_eq!(facts.min_amount_out(), call._minAmountOut);
    assert_eq!(facts.legs().len() + 1, call._swapData.len());
    if judge(facts).is_err() {
        return;
    }
    assert_eq!(call._integrator, POLICY.fees.integrator);
    assert_eq!(call._receiver, ACCOUNT);
    assert!(call._minAmountOut >= LEAST);
    assert_eq!(call._swapData.last().unwrap().receivingAssetId, WETH);
    let fees = decode_fees(&call._swapData[0].callData).unwrap();
    let mut total = U256::ZERO;
    for part in &fees._distributions {
        let reviewed = POLICY
            .fees
            .recipients
            .iter()
            .find(|known| known.address == part.recipient)
            .unwrap();
        if reviewed.role == calldata_checks::FeePolicy::OWN {
            assert_eq!(part.amount, OWN_FEE);
        }
        total += part.amount;
    }
    assert!(total <= MOST_FEES);
    let mut deposited = U256::ZERO;
    for leg in call._swapData.iter().filter(|leg| leg.requiresDeposit) {
        assert_eq!(leg.sendingAssetId, USDC);
        deposited = deposited.checked_add(leg.fromAmount).unwrap();
    }
    assert_eq!(deposited, GROSS);
    let chain = POLICY.fees.chain(CHAIN).unwrap();
    for leg in &call._swapData[1..] {
        assert!(chain.legs.iter().any(|known| {
            known.contract == leg.callTo
                && known
                    .selectors
                    .iter()
                    .any(|selector| leg.callData.starts_with(selector.as_slice()))
        }));
    }
});

fn quoted(router: Address) -> SwapQuoted {
    SwapQuoted {
        integrator: POLICY.fees.integrator.clone(),
        from_chain_id: CHAIN,
        to_chain_id: CHAIN,
        from_token: USDC,
        to_token: WETH,
        from_amount: GROSS,
        sender: ACCOUNT,
        receiver: ACCOUNT,
        to_amount: U256::from(397_800_000_000_000_000_u64),
        to_amount_min: LEAST,
        approval_address: router,
        call_to: router,
        call_from: Some(ACCOUNT),
        call_chain_id: CHAIN,
        call_value: U256::ZERO,
        from_usd: None,
        to_usd: None,
        read_at: UtcSeconds::from_unix(1_790_000_000),
    }
}
