//! A venue whose answers a test chooses, and plans that are built from them.

use std::{
    pin::pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use alloy_primitives::{Address, address, keccak256};
use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{
    Moment, Policy, Refusal, Request, Sealed, Verified, perp_order,
    ports::{PerpAsset, PerpVenue, PortError, PortErrorReason},
    verify,
};
use serde_json::{Value, json};

use crate::fees::policy_with;

pub(crate) const ACCOUNT: &str = "0x14791697260E4c9A71f18484C9f997B308e59325";
pub(crate) const BUILDER: Address = address!("1922810825c90f4270048b96da7b1803cd8609ef");
pub(crate) const NOW_MILLIS: u64 = 1_768_146_914_155;

pub(crate) fn now() -> UtcSeconds {
    UtcSeconds::from_unix(NOW_MILLIS / 1000)
}

/// A venue that answers with these facts.
pub(crate) struct Venue {
    pub(crate) asset: PerpAsset,
    pub(crate) approved: u64,
    /// The pairs of user and builder whose approval was read.
    pub(crate) asked: Mutex<Vec<(Address, Address)>>,
    pub(crate) failure: Option<PortErrorReason>,
}

impl Venue {
    pub(crate) fn bitcoin() -> Self {
        Self {
            asset: PerpAsset {
                coin: "BTC".to_owned(),
                dex: String::new(),
                dex_index: 0,
                universe_index: 0,
                asset_id: 0,
                size_decimals: 5,
                max_leverage: 40,
                delisted: false,
                collateral_token: 0,
                collateral: "USDC".to_owned(),
                mark_price: Some("100200.5".parse().unwrap()),
                read_at: now(),
            },
            approved: 0,
            asked: Mutex::default(),
            failure: None,
        }
    }

    fn fail(&self) -> Result<(), PortError> {
        match self.failure.clone() {
            Some(reason) => Err(PortError {
                source_name: "hyperliquid".into(),
                reason,
            }),
            None => Ok(()),
        }
    }
}

impl PerpVenue for Venue {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        self.fail()?;
        if coin == self.asset.coin {
            return Ok(self.asset.clone());
        }
        let reason = PortErrorReason::Unknown {
            subject: "coin".to_owned(),
        };
        Err(PortError {
            source_name: "hyperliquid".into(),
            reason,
        })
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        self.asked.lock().unwrap().push((user, builder));
        Ok(self.approved)
    }
}

pub(crate) fn policy() -> Policy {
    reviewing(&[])
}

/// Makes a policy that reviews these perpetuals: coin, asset id, and decimals of a size.
pub(crate) fn reviewing(assets: &[(&str, u32, u8)]) -> Policy {
    let row = |(coin, asset, decimals): &(&str, u32, u8)| json!({"coin": coin, "asset": asset, "sz_decimals": decimals});
    let assets: Vec<_> = assets.iter().map(row).collect();
    policy_with(|fees| {
        fees["perpetuals"] = json!({"max_trigger_slippage_bps": 1000, "assets": assets});
    })
}

pub(crate) fn policy_with_builder() -> Policy {
    policy_with_fee(10)
}

pub(crate) fn policy_with_fee(tenth_bps: u16) -> Policy {
    policy_with(|fees| {
        fees["perpetuals"] = json!({
            "builder": BUILDER, "fee_tenth_bps": tenth_bps, "max_trigger_slippage_bps": 1000,
        });
    })
}

/// The arguments of a plain order. `changes` replaces members, and removes them by `null`.
pub(crate) fn arguments(changes: Value) -> Value {
    let mut arguments = json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT},
        "coin": "BTC", "side": "buy", "price": "100000", "size": "0.001",
    });
    for (name, value) in changes.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// The arguments of a purchase with both protections.
pub(crate) fn protected() -> Value {
    arguments(json!({
        "takeProfit": {"triggerPrice": "110000", "limitPrice": "109500"},
        "stopLoss": {"triggerPrice": "95000"},
    }))
}

pub(crate) fn parse(arguments: &Value) -> Result<Request, Refusal> {
    Request::parse(Rail::PerpOrder, &arguments.to_string())
}

pub(crate) fn build(arguments: &Value, venue: &Venue, policy: &Policy) -> Result<Sealed, Refusal> {
    let Request::PerpOrder(request) = parse(arguments)? else {
        panic!("a request of another rail");
    };
    let moment = Moment {
        now_millis: NOW_MILLIS,
        entropy: [7; 32],
    };
    ready(perp_order::build(&request, venue, policy, &moment))
}

pub(crate) fn plan(arguments: &Value) -> Sealed {
    build(arguments, &Venue::bitcoin(), &policy()).unwrap()
}

pub(crate) fn check(arguments: &Value, plan: &str) -> Result<Verified, Refusal> {
    verify(&parse(arguments).unwrap(), plan, now(), &policy())
}

/// Computes the digest of a changed plan again, and sets it.
pub(crate) fn reseal(plan: &mut Value) {
    plan["submission"]
        .as_object_mut()
        .unwrap()
        .remove("payload_digest");
    let canonical = serde_json_canonicalizer::to_vec(plan).unwrap();
    plan["submission"]["payload_digest"] = json!(keccak256(canonical).to_string());
}

/// Runs a future to its end. The ports here never wait, so the first poll gives the output.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the venue of a test waits for nothing"),
    }
}
