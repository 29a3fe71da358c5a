//! The perpetuals rail: a limit order, optionally with take-profit and stop-loss, as a canonical
//! action of the venue (Hyperliquid) and a recipe for its EIP-712 digest.
//!
//! [`msgpack::decode`] decodes the bytes that the venue hashes, `action_msgpack`. The checks
//! compare them with the request, the venue's reading of the asset, and the reviewed configuration.
//! The JSON beside the bytes decides nothing: it must agree with them.

mod action;
mod assets;
mod binding;
mod commitments;
pub mod hash;
pub mod msgpack;
mod numbers;
mod plan;
mod triggers;
mod wire;

use alloy_primitives::Bytes;

pub use self::{
    action::{Action, Builder, Grouping, Order, OrderKind, Protection, Side, TimeInForce, Trigger},
    assets::{PERP_DEX_SIZE, asset_id, is_perpetual},
    binding::{ENDPOINT, KIND},
    commitments::{
        AGENT_TYPE, COMPUTED, CONNECTION_ID_FORMULA, DOMAIN_TYPE, MAX_APPROVED_BUILDER_FEE,
        MAX_BUILDER_FEE, PRIMARY_TYPE,
    },
    numbers::{MIN_NOTIONAL_USD, price_on_tick, size_on_lot, worst_price},
    plan::{Ask, Collateral, Domain, Example, Plan, Recipe, TriggerAsk, Venue},
    wire::{WireAction, WireBuilder, WireOrder, WireOrderKind},
};
use crate::{
    BasisPoints, Check, Commitment, Facts, Failure, FeePolicy, Observed, Rail, Violation,
    commitment::{
        ARTIFACT_EXPIRY, ARTIFACT_EXPIRY_ESTABLISHES, PAYLOAD_DIGEST, PAYLOAD_DIGEST_ESTABLISHES,
    },
    fees::{PerpBuilder, ReviewedPerpAsset},
};

/// The name of the check that an action's bytes belong to.
pub const ACTION_CANONICAL: &str = "perp_action_canonical";

/// A perpetuals plan with its bytes decoded, and the request, readings and review that it is judged
/// against.
///
/// # Example
/// ```
/// use alloy_primitives::{Bytes, address, hex};
/// use calldata_checks::perp_order::{Ask, PerpOrderFacts, Plan, Side, TimeInForce};
/// use calldata_checks::{Commitment, DigestStanding, UtcSeconds, judge};
/// # use alloy_primitives::{Address, B256};
/// # use calldata_checks::fees::{
/// #     BasisPoints, BridgeCaps, FeeModel, FeePolicy, Rounding,
/// # };
/// # use calldata_checks::perp_order::{
/// #     AGENT_TYPE, COMPUTED, CONNECTION_ID_FORMULA, Collateral, DOMAIN_TYPE, Domain, ENDPOINT,
/// #     Example, KIND, PRIMARY_TYPE, Recipe, Venue, decode_action, hash,
/// # };
///
/// # let policy = FeePolicy {
/// #     version: "2026-11-01".to_owned(), fee_model: FeeModel::ForwarderV2,
/// #     integrator: "svc".to_owned(), aggregate_cap: BasisPoints::new(60).unwrap(),
/// #     rounding: Rounding::Floor, recipients: Vec::new(), chains: Vec::new(),
/// #     deny_tools: Vec::new(), pm_builder_code: B256::ZERO,
/// #     pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE, perp_builder: None,
/// #     perp_max_trigger_slippage: BasisPoints::new(1_000).unwrap(),
/// #     perp_price_band: FeePolicy::PERP_PRICE_BAND, perp_assets: Vec::new(),
/// #     bridge_caps: BridgeCaps::DEFAULT,
/// # };
/// let account = address!("14791697260E4c9A71f18484C9f997B308e59325");
/// let now = UtcSeconds::from_unix(1_768_146_914);
/// let commitment = Commitment {
///     valid_until: now.saturating_add(60), now, digest: DigestStanding::Sealing,
/// };
/// // Buys 0.00123 bitcoin at 123,456 dollars.
/// let action_msgpack = Bytes::from_static(&hex!("83a474797065a56f72646572a66f72646572739186a16100
///     a162c3a170a6313233343536a173a7302e3030313233a172c2a17481a56c696d697481a3746966a3477463
///     a867726f7570696e67a26e61"));
/// # let expires_after = Some(commitment.valid_until.unix_millis());
/// # let nonce = 1_768_146_914_155;
/// # let connection_id = hash::connection_id(&action_msgpack, nonce, None, expires_after);
/// # let recipe = Recipe {
/// #     connection_id: CONNECTION_ID_FORMULA.to_owned(), vault_address: None, expires_after,
/// #     preimage_suffix_template: hash::preimage_suffix_template(None, true),
/// #     domain: Domain {
/// #         name: "Exchange".to_owned(), version: "1".to_owned(), chain_id: 1337,
/// #         verifying_contract: Address::ZERO,
/// #     },
/// #     domain_type: DOMAIN_TYPE.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
/// #     agent_type: AGENT_TYPE.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
/// #     primary_type: PRIMARY_TYPE.to_owned(), source: hash::MAINNET_SOURCE.to_owned(),
/// #     message_connection_id: COMPUTED.to_owned(),
/// # };
/// # let (action, _) = decode_action(&action_msgpack)?;
/// # let (kind, endpoint, order_owner) = (KIND.to_owned(), ENDPOINT.to_owned(), account);
/// # let example = Example {
/// #     nonce, connection_id,
/// #     eip712_digest: hash::agent_digest(hash::MAINNET_SOURCE, connection_id),
/// # };
/// # let venue = Venue {
/// #     coin: "BTC".to_owned(), dex: String::new(), dex_index: 0, universe_index: 0, asset_id: 0,
/// #     size_decimals: 5, delisted: false, collateral: Collateral::usdc(),
/// #     mark_price: Some("123456".parse()?), approved_builder_fee: None, read_at: now,
/// # };
/// // The members of the plan's payload. `policy` is like the example of `FeePolicy`.
/// let plan = Plan {
///     kind, endpoint, order_owner, action, action_msgpack, recipe, example, venue,
/// };
/// let ask = Ask {
///     account, vault: None, coin: "BTC".to_owned(), side: Side::Buy, price: "123456".parse()?,
///     size: "0.00123".parse()?, tif: TimeInForce::Gtc, reduce_only: false, cloid: None,
///     take_profit: None, stop_loss: None,
/// };
/// let facts = PerpOrderFacts::decode(ask.clone(), plan.clone(), &policy, commitment)?;
/// judge(&facts)?;
/// let (_, action) = facts.into_parts();
/// assert_eq!((action.orders().count(), action.entry.side.opposite()), (1, Side::Sell));
/// assert!(action.entry.trigger().is_none());
///
/// // The request was to sell.
/// let other = Ask { side: Side::Sell, ..ask };
/// let facts = PerpOrderFacts::decode(other, plan, &policy, commitment)?;
/// assert_eq!(judge(&facts).unwrap_err().check, "perp_side_price_size_bound");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerpOrderFacts {
    ask: Ask,
    plan: Plan,
    /// `action_msgpack`, decoded.
    decoded: WireAction,
    /// The decoded action.
    action: Action,
    builder: Option<PerpBuilder>,
    max_trigger_slippage: BasisPoints,
    price_band: BasisPoints,
    /// The review of the requested coin.
    reviewed: Option<ReviewedPerpAsset>,
    commitment: Commitment,
}

impl PerpOrderFacts {
    /// Decodes the bytes of a plan.
    ///
    /// # Errors
    /// `perp_action_canonical`: the bytes are not the canonical msgpack of an order action, or hold
    /// a number, a name or an id that is not in canonical form.
    pub fn decode(
        ask: Ask,
        plan: Plan,
        policy: &FeePolicy,
        commitment: Commitment,
    ) -> Result<Self, Failure> {
        let (decoded, action) = decode_action(&plan.action_msgpack)?;
        let reviewed = policy.perp_asset(&ask.coin).cloned();
        Ok(Self {
            ask,
            plan,
            decoded,
            action,
            builder: policy.perp_builder,
            max_trigger_slippage: policy.perp_max_trigger_slippage,
            price_band: policy.perp_price_band,
            reviewed,
            commitment,
        })
    }

    /// Marks an observation about the asset: without a review of the coin it rests on a reading.
    fn by_asset(&self, observed: Observed) -> Observed {
        match self.reviewed {
            Some(_) => observed,
            None => observed.by_readings("the venue's list of assets"),
        }
    }

    /// Returns the decoded action.
    #[must_use]
    pub const fn action(&self) -> &Action {
        &self.action
    }

    /// Returns the plan and its decoded action.
    #[must_use]
    pub fn into_parts(self) -> (Plan, Action) {
        (self.plan, self.action)
    }
}

/// Decodes `action_msgpack` to its text on the wire and its values.
///
/// # Errors
/// `perp_action_canonical`
///
/// # Example
/// ```
/// use alloy_primitives::{Bytes, hex};
/// use calldata_checks::perp_order::{Side, decode_action, hash};
///
/// // Buys 0.00123 bitcoin at 123,456 dollars.
/// let bytes = Bytes::from_static(&hex!("83a474797065a56f72646572a66f72646572739186a16100a162c3a170a6313233343536a173
///     a7302e3030313233a172c2a17481a56c696d697481a3746966a3477463a867726f7570696e67
///     a26e61"));
/// let (_, action) = decode_action(&bytes)?;
/// assert_eq!((action.entry.asset, action.entry.side), (0, Side::Buy));
/// assert_eq!(action.entry.price.to_string(), "123456");
///
/// // What the account signs.
/// let connection = hash::connection_id(&bytes, 1_768_146_914_155, None, None);
/// let digest = hash::agent_digest(hash::MAINNET_SOURCE, connection);
/// assert_eq!(digest.0, hex!("1f22b153b12cbd3ee6ae4103a164d70eb5b32baf50c77e22b038dafa4fe80e52"));
///
/// let longer = Bytes::from([&bytes[..], &[0xc0]].concat());
/// assert_eq!(decode_action(&longer).unwrap_err().check, "perp_action_canonical");
/// # Ok::<(), calldata_checks::Failure>(())
/// ```
pub fn decode_action(bytes: &Bytes) -> Result<(WireAction, Action), Failure> {
    let refuse = |violation| Failure::new(ACTION_CANONICAL, violation);
    let decoded = msgpack::decode(bytes).map_err(|error| {
        refuse(Violation::new(
            "action_msgpack is not the canonical msgpack of an order action",
            "the smallest encoding, keys in wire order, no nil, nothing after it",
            error,
        ))
    })?;
    let action = Action::parse(&decoded).map_err(refuse)?;
    Ok((decoded, action))
}

impl crate::engine::sealed::Sealed for PerpOrderFacts {}

impl Facts for PerpOrderFacts {
    const RAIL: Rail = Rail::PerpOrder;
    const CHECKS: &'static [Check<Self>] = &[
        Check {
            name: "perp_account_bound",
            establishes: "the order owner and the vault, if any, are the supplied addresses, and the recipe names no other",
            judge: binding::account,
        },
        Check {
            name: "perp_network_exact",
            establishes: "source, endpoint and signing domain are those of the venue's main network",
            judge: binding::network,
        },
        Check {
            name: "perp_asset_bound",
            establishes: "every decoded asset id is that of the requested coin, as reviewed or else as the venue says, in the perpetuals range and not delisted; its collateral is named",
            judge: assets::asset,
        },
        Check {
            name: "perp_side_price_size_bound",
            establishes: "decoded side, price, size, time in force, reduce-only and triggers equal the request exactly",
            judge: binding::order,
        },
        Check {
            name: "perp_price_tick_exact",
            establishes: "every price and trigger price is an integer, or has at most 5 significant figures and 6 - szDecimals decimals",
            judge: numbers::tick,
        },
        Check {
            name: "perp_size_lot_exact",
            establishes: "every size is a positive multiple of the lot",
            judge: numbers::lot,
        },
        Check {
            name: "perp_min_notional",
            establishes: "limit price times size is at least 10 USD, unless the order only reduces",
            judge: numbers::min_notional,
        },
        Check {
            name: "perp_tpsl_reduce_only",
            establishes: "the entry is a plain order; every trigger only reduces, on the opposite side",
            judge: triggers::reduce_only,
        },
        Check {
            name: "perp_tpsl_direction",
            establishes: "at most one take-profit and one stop-loss, each on its side of the entry, and of the mark price unless the entry rests first",
            judge: triggers::direction,
        },
        Check {
            name: "perp_tpsl_size_bound",
            establishes: "every trigger's size is the entry's",
            judge: triggers::size,
        },
        Check {
            name: "perp_tpsl_limit_bound",
            establishes: "every trigger's limit price is on the executable side of its trigger price, within the tolerance; a market trigger's is the worst within it",
            judge: triggers::limit,
        },
        Check {
            name: "perp_grouping_exact",
            establishes: "na without triggers, normalTpsl with triggers",
            judge: triggers::grouping,
        },
        Check {
            name: "perp_builder_fee_exact",
            establishes: "the builder is absent, or exactly the configured address and fee, which the account has approved",
            judge: commitments::builder_fee,
        },
        Check {
            name: ACTION_CANONICAL,
            establishes: "decoded and encoded again, action_msgpack has the same bytes, and the JSON action says the same",
            judge: commitments::canonical,
        },
        Check {
            name: "perp_action_hash_committed",
            establishes: "connection id and digest recompute from action_msgpack, nonce, vault and expiry",
            judge: commitments::hash,
        },
        Check {
            name: "perp_expiry_committed",
            establishes: "the venue's own expiry is valid_until, and is inside the hash",
            judge: commitments::expiry,
        },
        Check {
            name: "perp_cloid_bound",
            establishes: "the entry carries exactly the requested client order id, and no other order carries one",
            judge: binding::cloid,
        },
        Check {
            name: "perp_price_band",
            establishes: "the entry pays at most the configured share more, or asks at most that share less, than the mark price",
            judge: numbers::band,
        },
        Check {
            name: PAYLOAD_DIGEST,
            establishes: PAYLOAD_DIGEST_ESTABLISHES,
            judge: |facts| facts.commitment.judge_digest(),
        },
        Check {
            name: ARTIFACT_EXPIRY,
            establishes: ARTIFACT_EXPIRY_ESTABLISHES,
            judge: |facts| facts.commitment.judge_expiry(),
        },
    ];
}
