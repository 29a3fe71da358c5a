//! Generates bridges over the twenty routes.

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::Rail;
use plan_builder::ports::{Accounts, BridgeFeeReading, BridgeFees, PortError, Simulator};
use plan_builder::{Moment, Policy, Refusal, Request, Sealed, bridge};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{Case, addresses, now};

/// Chain id, CCTP domain, whether fast transfers start there, and the address of native USDC. The
/// list is written out here, so that the judges do not take it from the code that they judge.
pub(crate) const CHAINS: [(u64, u32, bool, &str); 5] = [
    (1, 0, true, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    (137, 7, false, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
    (8453, 6, true, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    (42161, 3, true, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
    (
        43114,
        1,
        false,
        "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
    ),
];

/// A transfer of native USDC to another chain.
#[derive(Debug, Clone)]
pub(crate) struct BridgeCase {
    pub(crate) account: Address,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) amount: u64,
    pub(crate) fast: bool,
    pub(crate) forward: bool,
    pub(crate) names_address: bool,
    pub(crate) fast_bps: u16,
    pub(crate) forward_fee: u64,
}

impl Case for BridgeCase {
    const RAIL: Rail = Rail::Bridge;

    fn arguments(&self) -> Value {
        let (source, _, _, usdc) = CHAINS[self.from];
        json!({
            "accountProfile": {"kind": "eoa", "address": self.account, "chainId": source},
            "fromChainId": source,
            "toChainId": CHAINS[self.to].0,
            "token": if self.names_address { usdc } else { "USDC" },
            "amount": self.amount.to_string(),
            "transferSpeed": if self.fast { "fast" } else { "standard" },
            "forward": self.forward,
        })
    }

    async fn build(
        &self,
        request: &Request,
        simulator: &impl Simulator,
        policy: &Policy,
        moment: &Moment,
    ) -> Result<Sealed, Refusal> {
        let Request::Bridge(request) = request else {
            panic!("a bridge")
        };
        bridge::build(request, self, self, simulator, policy, moment).await
    }
}

impl BridgeFees for BridgeCase {
    async fn fees(
        &self,
        source: u32,
        destination: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        assert_eq!(source, CHAINS[self.from].1);
        assert_eq!(destination, CHAINS[self.to].1);
        let hundredths = calldata_checks::Decimal::new(self.fast_bps.into(), 2);
        Ok(BridgeFeeReading {
            fast_bps: Some(hundredths.unwrap()),
            standard_bps: "0".parse().unwrap(),
            forward_fee: forward.then_some(U256::from(self.forward_fee)),
            read_at: now(),
        })
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        Ok(U256::from(u64::MAX))
    }
}

impl Accounts for BridgeCase {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        assert_eq!((chain_id, address), (CHAINS[self.from].0, self.account));
        Ok(Bytes::new())
    }

    async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        Ok(None)
    }
}

/// Bridges that pass every check.
pub(crate) fn bridges() -> impl Strategy<Value = BridgeCase> {
    (
        addresses(),
        0usize..5,
        any::<Index>(),
        10_000_000u64..=10_000_000_000_000,
        any::<[bool; 3]>(),
        0u16..=1400,
        1u64..5_000_000,
    )
        .prop_map(
            |(account, from, other, amount, [fast, forward, names], fast_bps, forward_fee)| {
                BridgeCase {
                    account,
                    from,
                    to: (from + 1 + other.index(4)) % 5,
                    amount,
                    fast: fast && CHAINS[from].2,
                    forward,
                    names_address: names,
                    fast_bps,
                    forward_fee,
                }
            },
        )
}
