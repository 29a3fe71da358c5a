//! The stage of these tests: a venue, a policy, a moment and the arguments of an order, from the
//! client's vectors.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use alloy_primitives::{B256, U256, keccak256};
use calldata_checks::{Rail, UtcSeconds};
use plan_builder::{
    Moment, Policy, Refusal, Request, Sealed, Verified, pm_order,
    ports::{PmBuilderFee, PmMarket, PmToken, PmVenue, PortError},
    verify,
};
use serde_json::{Value, json};

use crate::fees::policy_with;

const VECTORS: &str =
    include_str!("../../../../../fixtures/vectors/pm_order/prediction_market_orders.json");

/// The market's condition.
pub(crate) const CONDITION: B256 = B256::repeat_byte(7);

/// Everything from which one order is built.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) arguments: Value,
    pub(crate) market: Result<PmMarket, PortError>,
    pub(crate) builder_fee: Result<PmBuilderFee, PortError>,
    pub(crate) policy: Policy,
    pub(crate) moment: Moment,
}

struct Venue<'a>(&'a Stage);

impl PmVenue for Venue<'_> {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        assert_eq!(self.0.arguments["tokenId"], json!(token_id.to_string()));
        self.0.market.clone()
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        assert_eq!(code, self.0.policy.fees.pm_builder_code);
        assert!(!code.is_zero(), "no fee of no code");
        self.0.builder_fee.clone()
    }
}

pub(crate) fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// A purchase on the normal exchange, a sale on the negative-risk one, and a purchase with a
/// builder code.
pub(crate) fn stages() -> Vec<Stage> {
    vectors().iter().map(Stage::of).collect()
}

pub(crate) fn buy() -> Stage {
    stages().swap_remove(0)
}

pub(crate) fn sell() -> Stage {
    stages().swap_remove(1)
}

/// The output of a future that never waits.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

impl Stage {
    fn of(vector: &Value) -> Self {
        let input = &vector["input"];
        let token_id: U256 = text(&input["tokenID"]).parse().unwrap();
        let now_millis = text(&input["timestampMs"]).parse().unwrap();
        let mut entropy = [0xff; 32];
        let salt: u64 = text(&input["salt"]).parse().unwrap();
        entropy[24..].copy_from_slice(&salt.to_be_bytes());
        let token = |token_id, outcome: &str| PmToken {
            token_id,
            outcome: outcome.to_owned(),
        };
        Self {
            arguments: json!({
                "accountProfile": {
                    "kind": "eoa", "address": vector["order"]["maker"], "chainId": 137,
                },
                "tokenId": input["tokenID"],
                "side": input["side"],
                "price": input["price"],
                "size": input["size"],
            }),
            market: Ok(PmMarket {
                version: 2,
                condition_id: CONDITION,
                tokens: [token(token_id, "Yes"), token(U256::from(5), "No")],
                tick_size: text(&input["tickSize"]).parse().unwrap(),
                min_order_size: "5".parse().unwrap(),
                neg_risk: input["negRisk"].as_bool().unwrap(),
                accepting_orders: true,
                order_book: true,
                active: true,
                closed: false,
                fee_rate: Some("0.02".parse().unwrap()),
                read_at: UtcSeconds::from_unix(now_millis / 1000),
            }),
            builder_fee: Ok(PmBuilderFee {
                maker_bps: "0".parse().unwrap(),
                taker_bps: "12.5".parse().unwrap(),
            }),
            policy: policy(text(&input["builderCode"]).parse().unwrap()),
            moment: Moment {
                now_millis,
                entropy,
            },
        }
    }

    pub(crate) fn market(&mut self) -> &mut PmMarket {
        self.market.as_mut().unwrap()
    }

    pub(crate) fn request(&self) -> Result<Request, Refusal> {
        Request::parse(Rail::PmOrder, &self.arguments.to_string())
    }

    pub(crate) fn build(&self) -> Result<Sealed, Refusal> {
        let Request::PmOrder(request) = self.request()? else {
            panic!("another rail")
        };
        ready(pm_order::build(
            &request,
            &Venue(self),
            &self.policy,
            &self.moment,
        ))
    }

    pub(crate) fn plan(&self) -> Value {
        serde_json::from_str(self.build().unwrap().json()).unwrap()
    }

    pub(crate) fn verify(&self, plan: &str) -> Result<Verified, Refusal> {
        verify(&self.request()?, plan, self.moment.now(), &self.policy)
    }

    /// Returns the name of the refusal when the plan is built.
    #[track_caller]
    pub(crate) fn refusal(&self) -> String {
        self.build().expect_err("a refusal").check.into_owned()
    }

    /// Returns the name of the refusal of a changed plan. Its digest is computed again.
    #[track_caller]
    pub(crate) fn forgery(&self, plan: &Value) -> String {
        self.verify(&resealed(plan))
            .expect_err("a refusal")
            .check
            .into_owned()
    }
}

/// Returns a plan with a recomputed digest.
pub(crate) fn resealed(plan: &Value) -> String {
    let mut plan = plan.clone();
    plan["submission"]
        .as_object_mut()
        .unwrap()
        .remove("payload_digest");
    let digest = keccak256(serde_json_canonicalizer::to_vec(&plan).unwrap());
    plan["submission"]["payload_digest"] = json!(digest.to_string());
    plan.to_string()
}

pub(crate) fn policy(builder_code: B256) -> Policy {
    policy_with(|fees| fees["prediction_market"]["builder_code"] = json!(builder_code))
}
