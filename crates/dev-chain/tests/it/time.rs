//! The clock and the blocks.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use alloy_primitives::U64;
use alloy_rpc_types_eth::Block;
use dev_chain::{DevChain, Mining, USDC};
use serde_json::json;

use crate::support::{NOW, TransferWithAuthorization, builder, get, payment, settle, signed};

fn newest(chain: &DevChain) -> (u64, u64) {
    let block: Block = get(chain, "eth_getBlockByNumber", json!(["latest", false]));
    (block.header.number, block.header.timestamp)
}

#[test]
fn readers_see_new_blocks_as_time_passes() {
    let chain = builder().build().unwrap();
    assert_eq!(newest(&chain), (0, NOW));
    chain.advance_time(5);
    assert_eq!(chain.now(), NOW + 5);
    assert_eq!(newest(&chain), (1, NOW + 5));
    assert_eq!(newest(&chain), (1, NOW + 5));
    assert_eq!(
        get::<U64>(&chain, "eth_blockNumber", json!([])),
        U64::from(1)
    );
}

#[test]
fn a_call_runs_at_the_time_of_the_clock() {
    let chain = builder().build().unwrap();
    let later = TransferWithAuthorization {
        validAfter: alloy_primitives::U256::from(NOW + 10),
        validBefore: alloy_primitives::U256::from(NOW + 20),
        ..payment()
    };
    let call = json!([{ "to": USDC, "data": signed(USDC, &later) }, "latest"]);
    let check = |seconds: u64, works: bool| {
        chain.advance_time(seconds);
        assert_eq!(
            crate::support::ask(&chain, "eth_call", call.clone()).is_ok(),
            works
        );
    };
    check(0, false);
    check(10, false);
    check(1, true);
    check(8, true);
    check(1, false);
}

#[test]
fn blocks_of_one_second_share_it() {
    let chain = builder().build().unwrap();
    for nonce in 0..3 {
        let p = TransferWithAuthorization {
            nonce: alloy_primitives::B256::with_last_byte(nonce),
            ..payment()
        };
        assert!(settle(&chain, USDC, signed(USDC, &p)).status());
    }
    assert_eq!(newest(&chain), (3, NOW));
}

#[test]
fn time_never_goes_back() {
    let clock = Arc::new(AtomicU64::new(1000));
    let source = clock.clone();
    let chain = DevChain::builder()
        .clock(move || source.load(Ordering::Relaxed))
        .build()
        .unwrap();
    clock.store(900, Ordering::Relaxed);
    assert_eq!(chain.mine(), 1);
    assert_eq!(newest(&chain), (1, 1000));
    clock.store(1001, Ordering::Relaxed);
    assert_eq!(newest(&chain), (2, 1001));
}

#[test]
fn no_block_comes_by_itself_when_mined_by_hand() {
    let chain = builder().mining(Mining::Manual).build().unwrap();
    chain.advance_time(5);
    assert_eq!(newest(&chain), (0, NOW));
    chain.mine();
    assert_eq!(newest(&chain), (1, NOW + 5));
}
