use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use alloy_sol_types::SolCall as _;

use super::{
    bind::bind,
    decode::MAX_CALLDATA,
    layout::{
        BaseRequest, PmmRequest, RouterPath, dagSwapByOrderIdCall, dagSwapToCall,
        smartSwapByOrderIdCall, smartSwapToCall, uniswapV3SwapToCall, unxswapByOrderIdCall,
        unxswapToCall,
    },
    *,
};
use crate::step::approveCall;

mod figures;
mod properties;
mod suffix;

const NOW: u64 = 1_795_222_800;
const USER: Address = address!("1111111111111111111111111111111111111111");
const THIEF: Address = address!("dEaDdEaDdEaDdEaDdEaDdEaDdEaDdEaDdEaDdEaD");
const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");
const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");
const QUOTED: u64 = 120_273_456;
const MIN: u64 = 119_070_721;

fn asked() -> SwapAsked {
    SwapAsked {
        account: USER,
        from_token: USDT0,
        to_token: WOKB,
        amount: U256::from(12_500_000),
        slippage: SlippageTolerance::default(),
    }
}

fn word(address: Address) -> U256 {
    U256::from_be_bytes(address.into_word().0)
}

fn base() -> BaseRequest {
    BaseRequest {
        fromToken: word(USDT0),
        toToken: WOKB,
        fromTokenAmount: U256::from(12_500_000),
        minReturnAmount: U256::from(MIN),
        deadLine: U256::from(NOW + 600),
    }
}

fn path() -> RouterPath {
    RouterPath {
        mixAdapters: vec![Address::repeat_byte(0xa1)],
        assetTo: vec![Address::repeat_byte(0xa2)],
        rawData: vec![U256::from(7)],
        extraData: vec![Bytes::from_static(&[1, 2, 3])],
        fromToken: word(USDT0),
    }
}

fn dag() -> dagSwapByOrderIdCall {
    dagSwapByOrderIdCall {
        orderId: U256::from(42),
        baseRequest: base(),
        paths: vec![path()],
    }
}

fn trim_words(above: u64, per_mille: u64) -> Vec<u8> {
    let flag = hex!("777777771111");
    let recipient = [0x39; 20];
    let mut second = [0u8; 12];
    second[..6].copy_from_slice(&flag);
    let above = U256::from(above).to_be_bytes::<32>();
    let mut first = [0u8; 12];
    first[..6].copy_from_slice(&flag);
    first[6..].copy_from_slice(&per_mille.to_be_bytes()[2..]);
    [&second[..], &above[12..], &first[..], &recipient[..]].concat()
}

fn attribution() -> Vec<u8> {
    [
        b"svc_app".as_slice(),
        &[7, 0],
        &hex!("80218021802180218021802180218021"),
    ]
    .concat()
}

fn judged(data: &[u8]) -> Result<SwapFacts, Refusal> {
    judged_call(|offered| offered.data = data)
}

fn judged_call<'a>(change: impl FnOnce(&mut OfferedCall<'a>)) -> Result<SwapFacts, Refusal> {
    let mut offered = OfferedCall {
        to: address!("7c5bEE2a8091C3ef39072f64F18Fac913060AEaF"),
        from: USER,
        value: U256::ZERO,
        data: &[],
        quoted_output: U256::from(QUOTED),
        min_output: U256::from(MIN),
    };
    change(&mut offered);
    bind(&offered, &asked(), &ReviewedContracts::default(), NOW)
}

fn code(result: Result<SwapFacts, Refusal>) -> &'static str {
    result.map_or_else(|refusal| refusal.code(), |_| "accepted")
}

#[test]
fn functions_that_name_both_tokens_are_accepted() {
    let smart = |receiver: Option<Address>| {
        let (order, amounts) = (U256::from(1), vec![U256::from(12_500_000)]);
        let (batches, makers) = (vec![vec![path()]], Vec::<PmmRequest>::new());
        match receiver {
            Some(receiver) => {
                smartSwapToCall::new((order, receiver, base(), amounts, batches, makers))
                    .abi_encode()
            }
            None => {
                smartSwapByOrderIdCall::new((order, base(), amounts, batches, makers)).abi_encode()
            }
        }
    };
    let dag_to = dagSwapToCall {
        orderId: U256::ZERO,
        receiver: USER,
        baseRequest: base(),
        paths: vec![path()],
    };
    for (data, function) in [
        (dag().abi_encode(), "dagSwapByOrderId"),
        (dag_to.abi_encode(), "dagSwapTo"),
        (smart(None), "smartSwapByOrderId"),
        (smart(Some(USER)), "smartSwapTo"),
    ] {
        let facts = judged(&data).unwrap();
        assert_eq!(
            (facts.function, facts.trailing_bytes, facts.trim),
            (function, 0, None)
        );
        assert_eq!(
            (facts.amount, facts.min_output),
            (U256::from(12_500_000), U256::from(MIN))
        );
    }
}

#[test]
fn functions_that_name_pools_cannot_prove_a_token() {
    let pools = vec![B256::repeat_byte(5)];
    let (amount, min) = (U256::from(12_500_000), U256::from(MIN));
    let source = word(USDT0) | (U256::from(77) << 160);
    let by_order = unxswapByOrderIdCall {
        srcToken: source,
        amount,
        minReturn: min,
        pools: pools.clone(),
    };
    let facts = decode(&by_order.abi_encode()).unwrap();
    assert_eq!(
        (facts.input_token, facts.output_token, facts.deadline),
        (Some(USDT0), None, None)
    );
    assert_eq!(
        code(judged(&by_order.abi_encode())),
        "output_token_unproven"
    );
    let to = unxswapToCall {
        srcToken: source,
        amount,
        minReturn: min,
        receiver: USER,
        pools: pools.clone(),
    };
    assert_eq!(code(judged(&to.abi_encode())), "output_token_unproven");
    let stolen = unxswapToCall {
        receiver: THIEF,
        ..to
    };
    assert_eq!(code(judged(&stolen.abi_encode())), "receiver_mismatch");
    let v3 = uniswapV3SwapToCall {
        receiver: word(USER) | (U256::from(77) << 160),
        amount,
        minReturn: min,
        pools: vec![U256::from(5)],
    };
    assert_eq!(
        decode(&v3.abi_encode()).unwrap().receiver,
        Receiver::Address(USER)
    );
    assert_eq!(code(judged(&v3.abi_encode())), "input_token_unproven");
}

#[test]
fn every_lie_in_the_transaction_has_its_name() {
    let data = dag().abi_encode();
    assert_eq!(code(judged(&data)), "accepted");
    let offer = |change: fn(&mut OfferedCall<'_>)| {
        code(judged_call(|offered| {
            offered.data = &data;
            change(offered);
        }))
    };
    assert_eq!(
        offer(|o| o.to = address!("8b773D83bc66Be128c60e07E17C8901f7a64F000")),
        "router_unreviewed"
    );
    assert_eq!(offer(|o| o.value = U256::from(1)), "value_not_zero");
    assert_eq!(offer(|o| o.from = THIEF), "sender_mismatch");
    assert_eq!(
        offer(|o| o.min_output = U256::from(MIN + 1)),
        "min_output_mismatch"
    );
    assert_eq!(
        offer(|o| o.quoted_output = U256::from(QUOTED * 2)),
        "min_output_below_floor"
    );
    assert_eq!(offer(|o| o.quoted_output = U256::MAX), "quote_output");
    assert_eq!(offer(|o| o.quoted_output = U256::from(1)), "quote_output");
}

#[test]
fn every_lie_in_the_calldata_has_its_name() {
    let base_of = |change: fn(&mut BaseRequest)| {
        let mut call = dag();
        change(&mut call.baseRequest);
        code(judged(&call.abi_encode()))
    };
    assert_eq!(
        base_of(|b| b.fromToken = word(WOKB)),
        "input_token_mismatch"
    );
    assert_eq!(
        base_of(|b| b.fromToken |= U256::from(1) << 160),
        "calldata_malformed"
    );
    assert_eq!(
        base_of(|b| b.toToken = NATIVE_COIN),
        "output_token_mismatch"
    );
    assert_eq!(
        base_of(|b| b.fromTokenAmount += U256::from(1)),
        "amount_mismatch"
    );
    assert_eq!(
        base_of(|b| b.minReturnAmount -= U256::from(1)),
        "min_output_below_floor"
    );
    assert_eq!(
        base_of(|b| b.minReturnAmount += U256::from(1)),
        "min_output_mismatch"
    );
    assert_eq!(base_of(|b| b.deadLine = U256::from(NOW)), "deadline_past");
    assert_eq!(base_of(|b| b.deadLine = U256::MAX), "deadline_absurd");
    let other_path = dagSwapByOrderIdCall {
        paths: vec![RouterPath {
            fromToken: word(WOKB),
            ..path()
        }],
        ..dag()
    };
    assert_eq!(
        code(judged(&other_path.abi_encode())),
        "input_token_mismatch"
    );
    assert_eq!(
        code(judged(
            &dagSwapByOrderIdCall {
                paths: vec![],
                ..dag()
            }
            .abi_encode()
        )),
        "calldata_malformed"
    );
    for receiver in [THIEF, Address::ZERO] {
        let to = dagSwapToCall {
            orderId: U256::ZERO,
            receiver,
            baseRequest: base(),
            paths: vec![path()],
        };
        assert_eq!(code(judged(&to.abi_encode())), "receiver_mismatch");
    }
}

#[test]
fn odd_encodings_are_refused() {
    let data = dag().abi_encode();
    for short in 0..data.len() {
        assert_ne!(code(judged(&data[..short])), "accepted", "{short} bytes");
    }
    // The offset points one word further, and the gap is filled: the chain would accept it.
    let mut gap = data.clone();
    let offset = 4 + 32 * 6;
    gap[offset + 30..offset + 32].copy_from_slice(&[1, 0]);
    gap.splice(offset + 32..offset + 32, [0u8; 32]);
    assert_eq!(code(judged(&gap)), "calldata_not_canonical");
    // Dirty bytes above an address.
    let mut dirty = data.clone();
    dirty[4 + 32 * 2] = 1;
    assert!(matches!(
        code(judged(&dirty)),
        "calldata_not_canonical" | "calldata_malformed"
    ));
    assert_eq!(
        code(judged(&[&hex!("e1842255")[..], &data[4..]].concat())),
        "selector_unreviewed"
    );
    assert_eq!(
        code(judged(&vec![0xf2; MAX_CALLDATA + 1])),
        "calldata_malformed"
    );
    let narrow = ReviewedContracts {
        selectors: vec![],
        ..ReviewedContracts::default()
    };
    let offered = OfferedCall {
        to: narrow.routers[0],
        from: USER,
        value: U256::ZERO,
        data: &data,
        quoted_output: U256::from(QUOTED),
        min_output: U256::from(MIN),
    };
    assert_eq!(
        code(bind(&offered, &asked(), &narrow, NOW)),
        "selector_unreviewed"
    );
}

#[test]
fn an_approval_is_exactly_an_approve_call() {
    let reviewed = ReviewedContracts::default();
    let spender = reviewed.spender;
    let amount = U256::from(10_000_000);
    let of = |stated: Address, data: &[u8]| {
        let offered = OfferedApproval {
            spender: stated,
            data,
        };
        judge_approval(&offered, amount, &reviewed).map_err(|refusal| refusal.code())
    };
    let call = |spender, amount| approveCall { spender, amount }.abi_encode();
    let data = call(spender, amount);
    assert_eq!(of(spender, &data), Ok(()));
    assert_eq!(of(THIEF, &data), Err("spender_unreviewed"));
    for (data, code) in [
        ([&data[..], &[0]].concat(), "approval_calldata"),
        (data[..67].to_vec(), "approval_calldata"),
        (call(THIEF, amount), "spender_unreviewed"),
        (call(spender, U256::MAX), "approval_amount"),
    ] {
        assert_eq!(of(spender, &data), Err(code));
    }
}

/// Offsets that all point to the same array: 18 kB of calldata that decode to sixteen million
/// bytes.
#[test]
fn aliased_arrays_are_not_unfolded() {
    let word = |value: usize| U256::from(value).to_be_bytes::<32>();
    let (outer, inner, amounts) = (16usize, 16usize, 2000usize);
    let mut words = vec![word(1), word(7)];
    words.extend([word(1); 5]);
    words.extend([10 * 32, 12 * 32, 11 * 32, 0, 0, outer].map(word));
    let first = 13 + outer;
    words.extend(vec![word((first - 13) * 32); outer]);
    words.push(word(inner));
    let path = first + 1 + inner;
    words.extend(vec![word((path - first - 1) * 32); inner]);
    let list = path + 5;
    let data = list + 1 + amounts;
    words.extend([word((list - path) * 32); 3]);
    words.extend([word((data - path) * 32), word(1), word(amounts)]);
    words.extend(vec![word(0); amounts + 1]);
    let bytes = [&hex!("03b87e5f")[..], &words.concat()].concat();
    assert!(bytes.len() < 128 * 1024);
    assert_eq!(
        decode(&bytes).unwrap_err(),
        Refusal::CalldataMalformed {
            reason: "arguments do not decode"
        }
    );
}
