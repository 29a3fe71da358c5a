//! Limit orders of the perpetuals venue (Hyperliquid), optionally with a take-profit and a
//! stop-loss. The caller's own account or its agent wallet signs them.
//!
//! An order plan has no steps. It has the action whose bytes are hashed, a recipe for the message
//! to sign, one worked example, and the asset as the venue described it. The signer chooses the
//! nonce, which is part of the hash. The venue itself enforces `valid_until`, because it is the
//! order's `expiresAfter`. A plan does not promise that the venue accepts the order.

mod action;
mod draft;
mod payload;
mod request;
mod triggers;

use std::borrow::Cow;

use calldata_checks::{
    Commitment, Failure, FeePolicy, UtcSeconds, Violation, perp_order as checks,
};
use serde::{Deserialize, Serialize};

pub(crate) use self::request::PROPERTIES;
pub use self::request::PerpOrderRequest;
use self::{
    draft::Draft,
    payload::{Disclosures, LowerAddress, PerpOrderPayload},
    request::SIGNING_CHAIN_ID,
};
use crate::{
    Moment, Policy, Refusal, Sealed, VerifiedPerpOrder, VerifiedPlan,
    policy::LifeSeconds,
    ports::PerpVenue,
    rail::{RailPlan, Terms},
    seal::Judged,
    simulation::Simulation,
    wire::Text,
};

/// Builds the plan of an order from its asset as the venue describes it now.
///
/// # Errors
/// The venue's failure, or the first check that does not hold.
///
/// # Example
/// ```
/// use calldata_checks::perp_order::hash::{MAINNET_SOURCE, agent_digest};
/// use plan_builder::perp_order::{self, PerpOrderRequest};
/// use plan_builder::ports::{PerpAsset, PerpVenue, PortError};
/// use plan_builder::{Moment, Refusal, Request, VerifiedPlan, verify};
/// # use alloy_primitives::{Address, address};
/// # use calldata_checks::perp_order::Side;
/// # use plan_builder::{FeeDocument, Policy};
///
/// struct Venue;
/// impl PerpVenue for Venue {
///     async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
///         Ok(PerpAsset {
///             coin: coin.to_owned(),
/// #           dex: String::new(),
/// #           dex_index: 0,
/// #           universe_index: 0,
/// #           max_leverage: 40,
/// #           delisted: false,
/// #           collateral_token: 0,
/// #           collateral: "USDC".to_owned(),
///             asset_id: 0,
///             size_decimals: 5,
///             mark_price: Some("100000".parse().unwrap()),
///             read_at: "2026-09-21T14:13:20Z".parse().unwrap(),
///             // …
///         })
///     }
///     async fn max_builder_fee(&self, _: Address, _: Address) -> Result<u64, PortError> {
///         Ok(100)
///     }
/// }
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// # fn ready<T>(future: impl Future<Output = T>) -> T {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!("a port that answers from memory never waits"),
/// #     }
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// # let account = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// let moment = Moment { now_millis: 1_790_000_000_000, entropy: [7; 32] };
/// let buy_at = |price: &str| -> Result<_, Refusal> {
///     let (price, size) = (price.parse().unwrap(), "0.001".parse().unwrap());
///     let request = PerpOrderRequest::new(account, "BTC", Side::Buy, price, size)?;
///     let plan = ready(perp_order::build(&request, &Venue, &policy, &moment))?;
///     verify(&Request::PerpOrder(request), plan.json(), moment.now(), &policy)
/// };
/// let verified = buy_at("99000")?;
/// let VerifiedPlan::PerpOrder(order) = verified.plan() else { return Err("no order".into()) };
/// let nonce = moment.now_millis;
/// println!("sign {}", order.signing_digest(nonce));
/// let agent = order.connection_id(nonce); // for a signer of typed data
/// assert_eq!(agent_digest(MAINNET_SOURCE, agent), order.signing_digest(nonce));
///
/// // A slip of a digit.
/// assert_eq!(buy_at("990000").unwrap_err().check, "perp_price_band");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn build<V: PerpVenue + ?Sized>(
    request: &PerpOrderRequest,
    venue: &V,
    policy: &Policy,
    moment: &Moment,
) -> Result<Sealed, Refusal> {
    let asset = venue.asset(&request.coin).await?;
    let approved_builder_fee = match policy.fees.perp_builder {
        // The master account approves the builder, whichever vault it trades for.
        Some(builder) => Some(
            venue
                .max_builder_fee(request.account_profile.address, builder.address)
                .await?,
        ),
        None => None,
    };
    let valid_until = moment
        .now()
        .saturating_add(PerpOrderRail::life(policy).get());
    let payload = Draft {
        request,
        asset: &asset,
        approved_builder_fee,
        fees: &policy.fees,
        nonce: moment.now_millis,
        expires_after: valid_until.unix_millis(),
    }
    .payload()?;
    Judged::<PerpOrderRail>::judge(request, payload, policy, moment)?.seal()
}

/// The perpetuals rail.
#[derive(Debug)]
pub(crate) struct PerpOrderRail;

impl RailPlan for PerpOrderRail {
    type Request = PerpOrderRequest;
    type Payload = PerpOrderPayload;
    type Fees = FeeAttribution;
    type Facts = checks::PerpOrderFacts;

    /// The members of the action keep the order in which the venue hashes them.
    const DECLARED_CANONICAL: bool = false;

    fn facts(
        request: &PerpOrderRequest,
        payload: &PerpOrderPayload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<checks::PerpOrderFacts, Failure> {
        if payload.disclosures != Disclosures::stated() {
            return Err(Failure::new(
                Refusal::PLAN_REBUILT,
                Violation::new(
                    "member payload.disclosures differs from the text of every plan of this rail",
                    "the rail's disclosures",
                    "others",
                ),
            ));
        }
        checks::PerpOrderFacts::decode(request.asked(), payload.plan(), &policy.fees, commitment)
    }

    fn terms(
        request: &PerpOrderRequest,
        payload: &PerpOrderPayload,
        policy: &Policy,
        _: &Self::Facts,
    ) -> Result<Terms<FeeAttribution>, Failure> {
        let profile = request.account_profile;
        let mut required_capabilities = vec![Cow::Borrowed("sign_eip712_typed_data_chain_1337")];
        if let Some(builder) = policy.fees.perp_builder {
            let approval = format!("builder_fee_approval>={}", builder.fee_tenth_bps);
            required_capabilities.push(Cow::Owned(approval));
        }
        Ok(Terms {
            account: profile.address,
            kind: profile.kind,
            chain_id: profile.chain_id,
            roles: match request.vault_address {
                None => &["order_owner"],
                Some(_) => &["order_owner", "vault_address"],
            },
            fees: FeeAttribution::of(&policy.fees),
            disclosure: None,
            adapter_owned_fields: &["nonce", "gas", "serialization"],
            required_capabilities,
            onchain_replay_boundary: "venue_signer_nonce",
            typed_data: Some(payload.example_hashes()),
        })
    }

    fn content(
        _: &PerpOrderPayload,
        facts: checks::PerpOrderFacts,
        _: Option<&Simulation>,
    ) -> Option<VerifiedPlan> {
        let (plan, action) = facts.into_parts();
        Some(VerifiedPlan::PerpOrder(VerifiedPerpOrder {
            action,
            action_msgpack: plan.action_msgpack,
            coin: plan.venue.coin,
            vault: plan.recipe.vault_address,
            expires_after: plan.recipe.expires_after,
        }))
    }

    fn read_at(payload: &PerpOrderPayload) -> UtcSeconds {
        payload.venue.read_at.0
    }

    fn life(policy: &Policy) -> LifeSeconds {
        policy.validity.perp_order
    }
}

/// `fee_attribution`: the only fee of this rail is the builder fee in the signed action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeAttribution {
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "action::never_null"
    )]
    builder: Option<LowerAddress>,
    /// In tenths of a basis point.
    fee_tenth_bps: u16,
    mechanism: Text,
    venue_fee: Text,
    version: Text,
}

impl FeeAttribution {
    fn of(fees: &FeePolicy) -> Self {
        let builder = fees.perp_builder;
        Self {
            builder: builder.map(|builder| LowerAddress(builder.address)),
            fee_tenth_bps: builder.map_or(0, |builder| builder.fee_tenth_bps),
            mechanism: if builder.is_some() {
                "venue_builder_fee"
            } else {
                "none"
            }
            .into(),
            venue_fee: "charged by the venue when the order fills; no member of the order".into(),
            version: fees.version.clone().into(),
        }
    }
}
