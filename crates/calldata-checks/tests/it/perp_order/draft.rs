//! A plan that holds, for the tests to change.

use alloy_primitives::{Address, B256, Bytes, address};
use calldata_checks::{
    CheckReport, Commitment, Decimal, DigestStanding, Facts as _, Failure, FeePolicy, UtcSeconds,
    fees::PerpBuilder,
    judge,
    perp_order::{
        AGENT_TYPE, Ask, COMPUTED, CONNECTION_ID_FORMULA, Collateral, DOMAIN_TYPE, Domain,
        ENDPOINT, Example, KIND, PRIMARY_TYPE, PerpOrderFacts, Plan, Recipe, Side, TimeInForce,
        TriggerAsk, Venue, WireAction, WireBuilder, WireOrder, WireOrderKind, hash, msgpack,
    },
};

use crate::swap::sample::free;

pub(crate) const OWNER: Address = address!("14791697260E4c9A71f18484C9f997B308e59325");
pub(crate) const VAULT: Address = address!("1719884eb866cb12b2287399b15f7db5e7d775ea");
pub(crate) const BUILDER: Address = address!("1922810825c90f4270048b96da7b1803cd8609ef");
const NOW: u64 = 1_768_146_914;

pub(crate) fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) ask: Ask,
    pub(crate) plan: Plan,
    pub(crate) policy: FeePolicy,
    pub(crate) commitment: Commitment,
}

impl Draft {
    /// A plain order to buy bitcoin.
    pub(crate) fn plain() -> Self {
        let commitment = Commitment {
            valid_until: UtcSeconds::from_unix(NOW + 60),
            now: UtcSeconds::from_unix(NOW),
            digest: DigestStanding::Sealing,
        };
        let mut draft = Self {
            ask: Ask {
                account: OWNER,
                vault: None,
                coin: "BTC".to_owned(),
                side: Side::Buy,
                price: decimal("100000"),
                size: decimal("0.001"),
                tif: TimeInForce::Gtc,
                reduce_only: false,
                cloid: None,
                take_profit: None,
                stop_loss: None,
            },
            plan: Plan {
                kind: KIND.to_owned(),
                endpoint: ENDPOINT.to_owned(),
                order_owner: OWNER,
                action: WireAction {
                    kind: "order".to_owned(),
                    orders: vec![limit(true, "100000", "0.001")],
                    grouping: "na".to_owned(),
                    builder: None,
                },
                action_msgpack: Bytes::new(),
                recipe: Recipe {
                    connection_id: CONNECTION_ID_FORMULA.to_owned(),
                    vault_address: None,
                    expires_after: Some((NOW + 60) * 1000),
                    preimage_suffix_template: String::new(),
                    domain: Domain {
                        name: "Exchange".to_owned(),
                        version: "1".to_owned(),
                        chain_id: 1337,
                        verifying_contract: Address::ZERO,
                    },
                    domain_type: DOMAIN_TYPE
                        .map(|(n, t)| (n.to_owned(), t.to_owned()))
                        .to_vec(),
                    agent_type: AGENT_TYPE
                        .map(|(n, t)| (n.to_owned(), t.to_owned()))
                        .to_vec(),
                    primary_type: PRIMARY_TYPE.to_owned(),
                    source: "a".to_owned(),
                    message_connection_id: COMPUTED.to_owned(),
                },
                example: Example {
                    nonce: NOW * 1000 + 155,
                    connection_id: B256::ZERO,
                    eip712_digest: B256::ZERO,
                },
                venue: Venue {
                    coin: "BTC".to_owned(),
                    dex: String::new(),
                    dex_index: 0,
                    universe_index: 0,
                    asset_id: 0,
                    size_decimals: 5,
                    delisted: false,
                    collateral: Collateral::usdc(),
                    mark_price: Some(decimal("100200.5")),
                    approved_builder_fee: None,
                    read_at: UtcSeconds::from_unix(NOW),
                },
            },
            policy: free(),
            commitment,
        };
        draft.commit();
        draft
    }

    /// The same order with a limit take-profit and a market stop-loss.
    pub(crate) fn protected() -> Self {
        let mut draft = Self::plain();
        draft.ask.take_profit = Some(TriggerAsk {
            trigger_price: decimal("110000"),
            limit_price: Some(decimal("109500")),
        });
        draft.ask.stop_loss = Some(TriggerAsk {
            trigger_price: decimal("95000"),
            limit_price: None,
        });
        draft.plan.action.orders.extend([
            trigger(false, "109500", "0.001", false, "110000", "tp"),
            trigger(false, "85500", "0.001", true, "95000", "sl"),
        ]);
        draft.plan.action.grouping = "normalTpsl".to_owned();
        draft.commit();
        draft
    }

    /// The same short order, mirrored.
    pub(crate) fn protected_short() -> Self {
        let mut draft = Self::plain();
        draft.ask.side = Side::Sell;
        draft.ask.take_profit = Some(TriggerAsk {
            trigger_price: decimal("90000"),
            limit_price: None,
        });
        draft.ask.stop_loss = Some(TriggerAsk {
            trigger_price: decimal("105000"),
            limit_price: None,
        });
        draft.plan.action.orders = vec![
            limit(false, "100000", "0.001"),
            trigger(true, "99000", "0.001", true, "90000", "tp"),
            trigger(true, "115500", "0.001", true, "105000", "sl"),
        ];
        draft.plan.action.grouping = "normalTpsl".to_owned();
        draft.commit();
        draft
    }

    /// A plain order with the configured builder.
    pub(crate) fn with_builder() -> Self {
        let mut draft = Self::plain();
        draft.policy.perp_builder = Some(PerpBuilder {
            address: BUILDER,
            fee_tenth_bps: 45,
        });
        draft.plan.venue.approved_builder_fee = Some(45);
        draft.plan.action.builder = Some(WireBuilder {
            address: "0x1922810825c90f4270048b96da7b1803cd8609ef".to_owned(),
            fee: 45,
        });
        draft.commit();
        draft
    }

    /// Computes bytes, template and example from the action and the recipe, as an author who knows
    /// the rules would.
    pub(crate) fn commit(&mut self) {
        self.plan.action_msgpack = msgpack::encode(&self.plan.action).unwrap().into();
        self.commit_bytes();
    }

    /// Computes template and example from the bytes.
    pub(crate) fn commit_bytes(&mut self) {
        let (recipe, example) = (&mut self.plan.recipe, &mut self.plan.example);
        let (vault, expires) = (recipe.vault_address, recipe.expires_after);
        recipe.preimage_suffix_template = hash::preimage_suffix_template(vault, expires.is_some());
        example.connection_id =
            hash::connection_id(&self.plan.action_msgpack, example.nonce, vault, expires);
        example.eip712_digest = hash::agent_digest(&recipe.source, example.connection_id);
    }

    pub(crate) fn facts(&self) -> Result<PerpOrderFacts, Failure> {
        PerpOrderFacts::decode(
            self.ask.clone(),
            self.plan.clone(),
            &self.policy,
            self.commitment,
        )
    }

    pub(crate) fn judge(&self) -> Result<CheckReport, Failure> {
        judge(&self.facts()?)
    }

    /// Returns the name of the check that refuses the plan.
    #[track_caller]
    pub(crate) fn refused(&self) -> &'static str {
        self.judge().expect_err("the plan must be refused").check
    }

    /// Returns every check of the table that does not hold.
    pub(crate) fn violated(&self) -> Vec<&'static str> {
        let facts = self.facts().unwrap();
        let failing = PerpOrderFacts::CHECKS
            .iter()
            .filter(|check| (check.judge)(&facts).is_err());
        failing.map(|check| check.name).collect()
    }

    /// Returns the name of the check that refuses the plan after a change that its author committed
    /// to everywhere.
    #[track_caller]
    pub(crate) fn refused_after(mut self, change: impl FnOnce(&mut Self)) -> &'static str {
        assert_eq!(
            self.judge().map(|_| ()),
            Ok(()),
            "the plan holds before the change"
        );
        change(&mut self);
        self.commit();
        self.refused()
    }
}

pub(crate) fn limit(is_buy: bool, price: &str, size: &str) -> WireOrder {
    WireOrder {
        asset: 0,
        is_buy,
        price: price.to_owned(),
        size: size.to_owned(),
        reduce_only: false,
        kind: WireOrderKind::Limit {
            tif: "Gtc".to_owned(),
        },
        cloid: None,
    }
}

pub(crate) fn trigger(
    is_buy: bool,
    price: &str,
    size: &str,
    is_market: bool,
    trigger_price: &str,
    tpsl: &str,
) -> WireOrder {
    WireOrder {
        reduce_only: true,
        kind: WireOrderKind::Trigger {
            is_market,
            trigger_price: trigger_price.to_owned(),
            tpsl: tpsl.to_owned(),
        },
        ..limit(is_buy, price, size)
    }
}
