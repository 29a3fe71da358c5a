//! Generates orders for the prediction market. The test holds the key of each order's account.

use alloy_primitives::{B256, U256};
use calldata_checks::{Decimal, Rail};
use plan_builder::ports::{PmBuilderFee, PmMarket, PmToken, PmVenue, PortError, Simulator};
use plan_builder::{Moment, Policy, Refusal, Request, Sealed, pm_order};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{Case, Signer, moment, now, policy_with, signers};

/// The venue's ticks, each as a number and its decimals: `(5, 3)` is 0.005.
const TICKS: [(u128, u8); 6] = [(1, 1), (1, 2), (5, 3), (25, 4), (1, 3), (1, 4)];

/// An order of the prediction market.
#[derive(Debug, Clone)]
pub(crate) struct PmCase {
    pub(crate) signer: Signer,
    pub(crate) token_id: U256,
    pub(crate) other_token_id: U256,
    pub(crate) condition_id: B256,
    pub(crate) buys: bool,
    pub(crate) tick: Decimal,
    pub(crate) price: Decimal,
    pub(crate) size: Decimal,
    pub(crate) neg_risk: bool,
    pub(crate) post_only: bool,
    pub(crate) builder_code: B256,
    pub(crate) entropy: [u8; 32],
}

impl Case for PmCase {
    const RAIL: Rail = Rail::PmOrder;

    fn arguments(&self) -> Value {
        json!({
            "accountProfile": {"kind": "eoa", "address": self.signer.address, "chainId": 137},
            "tokenId": self.token_id.to_string(),
            "side": self.side(),
            "price": self.price.to_string(),
            "size": self.size.to_string(),
            "postOnly": self.post_only,
        })
    }

    fn policy(&self) -> Policy {
        policy_with(|fees| fees["prediction_market"]["builder_code"] = json!(self.builder_code))
    }

    fn moment(&self) -> Moment {
        moment(self.entropy)
    }

    async fn build(
        &self,
        request: &Request,
        _: &impl Simulator,
        policy: &Policy,
        moment: &Moment,
    ) -> Result<Sealed, Refusal> {
        let Request::PmOrder(request) = request else {
            panic!("an order")
        };
        pm_order::build(request, self, policy, moment).await
    }
}

impl PmCase {
    pub(crate) fn side(&self) -> &'static str {
        if self.buys { "BUY" } else { "SELL" }
    }
}

impl PmVenue for PmCase {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        assert_eq!(token_id, self.token_id);
        let token = |token_id, outcome: &str| PmToken {
            token_id,
            outcome: outcome.to_owned(),
        };
        Ok(PmMarket {
            version: 2,
            condition_id: self.condition_id,
            tokens: [
                token(self.other_token_id, "Yes"),
                token(self.token_id, "No"),
            ],
            tick_size: self.tick,
            min_order_size: "5".parse().unwrap(),
            neg_risk: self.neg_risk,
            accepting_orders: true,
            order_book: true,
            active: true,
            closed: false,
            fee_rate: None,
            read_at: now(),
        })
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        assert_eq!(code, self.builder_code);
        Ok(PmBuilderFee {
            maker_bps: "0.5".parse().unwrap(),
            taker_bps: "10".parse().unwrap(),
        })
    }
}

/// Orders that pass every check, with at most this many shares.
pub(crate) fn orders(most_shares: u64) -> impl Strategy<Value = PmCase> {
    let market = (
        any::<[u8; 32]>(),
        any::<[u8; 32]>(),
        any::<[u8; 32]>(),
        0usize..TICKS.len(),
    );
    let order = (
        signers(),
        any::<Index>(),
        500..=most_shares * 100,
        any::<[bool; 4]>(),
    );
    (market, order, any::<[u8; 32]>(), any::<[u8; 32]>()).prop_filter_map(
        "two tokens",
        |((token, other, condition, tick), (signer, price, cents, flags), builder, entropy)| {
            let (step, scale) = TICKS[tick];
            let (token_id, other_token_id) =
                (U256::from_be_bytes(token), U256::from_be_bytes(other));
            let steps = 10u128.pow(scale.into()) / step;
            let at = price.index(usize::try_from(steps - 1).unwrap());
            let price = step * (1 + u128::try_from(at).unwrap());
            let [buys, neg_risk, post_only, has_builder] = flags;
            (token_id != other_token_id).then_some(PmCase {
                signer,
                token_id,
                other_token_id,
                condition_id: condition.into(),
                buys,
                tick: Decimal::new(step, scale).unwrap(),
                price: Decimal::new(price, scale).unwrap(),
                size: Decimal::new(cents.into(), 2).unwrap(),
                neg_risk,
                post_only,
                builder_code: if has_builder {
                    builder.into()
                } else {
                    B256::ZERO
                },
                entropy,
            })
        },
    )
}
