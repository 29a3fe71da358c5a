//! Tests of the lending market of chain 196: the adapter reads the chain of `dev-chain` like the
//! real one.

use std::{collections::BTreeMap, net::SocketAddr};

use alloy_primitives::U256;
use alloy_sol_types::SolCall;
use data_sources::{aave::Aave, evm::EvmReader, rpc::RpcConfig, transport::Transport};
use dev_chain::{
    BUYER, MINTER,
    abi::AavePool,
    xlayer::{self, USDG},
};

use crate::execution::{approve, clock, held, send, xlayer_stage};

#[tokio::test]
async fn the_adapter_reads_the_lending_market_like_the_real_one() {
    let chain = xlayer_stage();
    let server = chain
        .serve(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let config = RpcConfig {
        chains: BTreeMap::from([(196, vec![server.url().into()])]),
        ..RpcConfig::default()
    };
    let transport = Transport::new().unwrap();
    let aave = || {
        let evm = EvmReader::new(&transport, config.clone(), clock()).unwrap();
        Aave::new(evm, clock())
    };
    let markets = aave().markets(None).await.unwrap().value;
    let rows: Vec<_> = markets
        .iter()
        .map(|row| (row.pool.as_str(), row.apy_pct.to_string()))
        .collect();
    // 4, 3.5 and 3 percent a year, compounded every second.
    assert_eq!(
        rows,
        [
            ("aave-v3-xlayer-usdt0", "4.081077".to_owned()),
            ("aave-v3-xlayer-usdg", "3.561970".to_owned()),
            ("aave-v3-xlayer-usdc", "3.045453".to_owned()),
        ]
    );
    let user = BUYER.address;
    assert!(
        aave()
            .positions(user, None)
            .await
            .unwrap()
            .value
            .positions
            .is_empty()
    );
    let amount = U256::from(100_000_000);
    approve(&chain, user, USDG, xlayer::AAVE_POOL, amount);
    let supply = AavePool::supplyCall {
        asset: USDG,
        amount,
        onBehalfOf: user,
        referralCode: 0,
    };
    send(&chain, user, xlayer::AAVE_POOL, &supply.abi_encode().into()).unwrap();
    let found = aave().positions(user, None).await.unwrap().value;
    assert!(found.complete);
    let row = &found.positions[0];
    assert_eq!(
        (found.positions.len(), row.position_id.as_str()),
        (1, "196-aave-v3-usdg")
    );
    let position = u64::try_from(held(&chain, xlayer::A_USDG, user)).unwrap();
    assert!(position.abs_diff(100_000_000) <= 1, "{position}");
    // A paused reserve takes no deposits, so the adapter does not list it.
    let pause = AavePool::setPausedCall {
        asset: USDG,
        on: true,
    };
    chain
        .call_as(MINTER.address, xlayer::AAVE_POOL, &pause)
        .unwrap();
    assert_eq!(aave().markets(None).await.unwrap().value.len(), 2);
}
