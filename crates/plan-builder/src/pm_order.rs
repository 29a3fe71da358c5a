//! Limit orders of the prediction market, good till cancelled. The caller's own EOA on Polygon
//! signs them.
//!
//! An order plan has no steps. It has the message that the caller signs (`typed_data`), its hash
//! (`order_hash`), the order to post (`order`, `post`), the market as it was read, and what the
//! caller must do before the order. A plan does not promise that the venue accepts the order.

mod draft;
mod payload;
mod request;

use std::borrow::Cow;

use calldata_checks::{Commitment, Decimal, Failure, UtcSeconds, Violation, pm_order as checks};
use serde::{Deserialize, Serialize};

use self::payload::{BuilderFee, PmOrderPayload, Venue};
pub(crate) use self::request::PROPERTIES;
pub use self::request::PmOrderRequest;
use crate::{
    Moment, Policy, Refusal, Sealed, VerifiedPlan, VerifiedPmOrder,
    policy::LifeSeconds,
    ports::PmVenue,
    rail::{RailPlan, Terms},
    seal::Judged,
    signing::TypedDataHashes,
    simulation::Simulation,
    wire::{Exact, Text, Word},
};

/// Builds the plan of an order from the market of its token as the venue describes it now.
///
/// # Errors
/// The venue's failure, or the first check that does not hold.
///
/// # Example
/// ```
/// use plan_builder::pm_order::{self, PmOrderRequest};
/// use plan_builder::ports::{PmBuilderFee, PmMarket, PmToken, PmVenue, PortError};
/// use plan_builder::{Moment, Refusal, Request, VerifiedPlan, verify};
/// # use alloy_primitives::{B256, U256, address};
/// # use calldata_checks::pm_order::Side;
/// # use plan_builder::{FeeDocument, Policy};
///
/// struct Venue;
/// impl PmVenue for Venue {
///     async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
///         let token = |token_id, outcome: &str| PmToken { token_id, outcome: outcome.to_owned() };
///         Ok(PmMarket {
///             tokens: [token(token_id, "Yes"), token(U256::from(7), "No")],
///             tick_size: "0.01".parse().unwrap(),
///             min_order_size: "5".parse().unwrap(),
///             read_at: "2026-09-21T14:13:20Z".parse().unwrap(),
/// #           version: 2,
/// #           condition_id: B256::repeat_byte(1),
/// #           neg_risk: false,
/// #           accepting_orders: true,
/// #           order_book: true,
/// #           active: true,
/// #           closed: false,
/// #           fee_rate: None,
///             // …
///         })
///     }
///     async fn builder_fee(&self, _: B256) -> Result<PmBuilderFee, PortError> {
///         Ok(PmBuilderFee { maker_bps: "0".parse().unwrap(), taker_bps: "12.5".parse().unwrap() })
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
///     let (price, size) = (price.parse().unwrap(), "100".parse().unwrap());
///     let request = PmOrderRequest::new(account, U256::from(9), Side::Buy, price, size)?;
///     let plan = ready(pm_order::build(&request, &Venue, &policy, &moment))?;
///     verify(&Request::PmOrder(request), plan.json(), moment.now(), &policy)
/// };
/// let verified = buy_at("0.5")?;
/// let VerifiedPlan::PmOrder(order) = verified.plan() else { return Err("no order".into()) };
/// println!("sign {}", order.order_hash);
///
/// assert_eq!(buy_at("0.505").unwrap_err().check, "pm_price_tick_aligned");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn build<V: PmVenue + ?Sized>(
    request: &PmOrderRequest,
    venue: &V,
    policy: &Policy,
    moment: &Moment,
) -> Result<Sealed, Refusal> {
    let market = venue.market(request.token_id.0).await?;
    let code = policy.fees.pm_builder_code;
    let builder_fee = match code.is_zero() {
        true => None,
        false => Some(venue.builder_fee(code).await?),
    };
    let payload = draft::payload(request, &market, code, builder_fee, moment);
    Judged::<PmOrderRail>::judge(request, payload, policy, moment)?.seal()
}

/// The prediction-market rail.
#[derive(Debug)]
pub(crate) struct PmOrderRail;

impl RailPlan for PmOrderRail {
    type Request = PmOrderRequest;
    type Payload = PmOrderPayload;
    type Fees = FeeAttribution;
    type Facts = checks::PmOrderFacts;

    fn facts(
        request: &PmOrderRequest,
        payload: &PmOrderPayload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<checks::PmOrderFacts, Failure> {
        let salt = payload.post.body_template.order.salt.to_string();
        checks::PmOrderFacts::decode(
            &payload.text(&salt),
            request.asked(),
            payload.market.as_facts(),
            checks::PmBuilder {
                code: policy.fees.pm_builder_code,
                max_fee: policy.fees.pm_max_builder_fee,
                fee: payload.builder_fee.map(BuilderFee::as_read),
            },
            commitment,
        )
    }

    fn terms(
        request: &PmOrderRequest,
        payload: &PmOrderPayload,
        policy: &Policy,
        facts: &Self::Facts,
    ) -> Result<Terms<FeeAttribution>, Failure> {
        // No check decodes the labels and disclosures. They are fixed, or follow from the side.
        let [prerequisite] = &payload.prerequisites;
        same(
            "prerequisites",
            &prerequisite.relabelled(request.side),
            prerequisite,
        )?;
        same("venue", &Venue::stated(), &payload.venue)?;
        let profile = request.account_profile;
        Ok(Terms {
            account: profile.address,
            kind: profile.kind,
            chain_id: profile.chain_id,
            roles: &["maker", "signer"],
            fees: FeeAttribution::of(facts.builder(), &policy.fees.version),
            disclosure: None,
            // The exchange has no nonce, and the caller sends no transaction. Only the signature
            // and the credentials add these fields.
            adapter_owned_fields: &["signature", "owner", "authenticated_headers"],
            required_capabilities: vec![
                Cow::Borrowed("sign_typed_data_v4"),
                Cow::Borrowed("polymarket_l2_api_credentials"),
            ],
            onchain_replay_boundary: "venue_order_hash",
            typed_data: Some(TypedDataHashes {
                domain: facts.decoded().domain.separator(),
                message: facts.decoded().order.struct_hash(),
                digest: facts.decoded().order_hash,
                is_readable: true,
            }),
        })
    }

    fn content(
        payload: &PmOrderPayload,
        facts: checks::PmOrderFacts,
        _: Option<&Simulation>,
    ) -> Option<VerifiedPlan> {
        let builder = *facts.builder();
        let decoded = facts.into_decoded();
        Some(VerifiedPlan::PmOrder(VerifiedPmOrder {
            order: decoded.order,
            domain: decoded.domain,
            order_hash: decoded.order_hash,
            post_only: decoded.post_only,
            approval: decoded.approval,
            builder,
            typed_data: serde_json::to_string(&payload.typed_data).ok()?,
        }))
    }

    fn read_at(payload: &PmOrderPayload) -> UtcSeconds {
        payload.market.read_at()
    }

    /// Returns the configured life, or a shorter one when a tick cannot be relied on for so long.
    fn life(policy: &Policy) -> LifeSeconds {
        let configured = policy.validity.pm_order;
        LifeSeconds::new(checks::MAX_LIFE_SECONDS).map_or(configured, |most| most.min(configured))
    }
}

/// `fee_attribution`: the only fee of this rail is the builder code in the signed order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeAttribution {
    builder_code: Word,
    /// In basis points of the order's worth, when another order matches this one.
    maker_fee_bps: Exact,
    /// The most that either fee may be.
    max_fee_bps: u16,
    mechanism: Text,
    platform_fee: Text,
    rate: Text,
    /// In basis points of the order's worth, when this order matches another one.
    taker_fee_bps: Exact,
    version: Text,
}

impl FeeAttribution {
    fn of(builder: &checks::PmBuilder, version: &str) -> Self {
        let (mechanism, rate) = if builder.code.is_zero() {
            ("none", "no builder fee")
        } else {
            (
                "venue_builder_code",
                "read at the venue, which sets it for this code when the order matches; added to the platform fee",
            )
        };
        let fee = |read: fn(checks::PmBuilderFee) -> Decimal| {
            Exact(builder.fee.map_or(Decimal::ZERO, read))
        };
        Self {
            builder_code: Word(builder.code),
            maker_fee_bps: fee(|fee| fee.maker_bps),
            max_fee_bps: builder.max_fee.get(),
            mechanism: mechanism.into(),
            platform_fee: "set by the venue when the order matches; no member of the order".into(),
            rate: rate.into(),
            taker_fee_bps: fee(|fee| fee.taker_bps),
            version: version.to_owned().into(),
        }
    }
}

fn same<T: PartialEq + Serialize>(
    member: &'static str,
    expected: &T,
    observed: &T,
) -> Result<(), Failure> {
    if observed == expected {
        return Ok(());
    }
    let text = |value: &T| -> String {
        serde_json::to_string(value)
            .unwrap_or_default()
            .chars()
            .take(400)
            .collect()
    };
    let message = format!("member payload.{member} differs from the plan's own bytes");
    let violation = Violation::new(message, text(expected), text(observed));
    Err(Failure::new(Refusal::PLAN_REBUILT, violation))
}
