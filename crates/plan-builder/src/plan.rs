//! Combines the four constructors: one request type, one schema and one verifier.

use calldata_checks::{Rail, UtcSeconds};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    OwnReadings, Policy, Refusal, Verified, arguments,
    bridge::{self, BridgeRail, BridgeRequest},
    envelope::RailRecord,
    perp_order::{self, PerpOrderRail, PerpOrderRequest},
    pm_order::{self, PmOrderRail, PmOrderRequest},
    seal::{intent_digest, unwritable},
    swap::{self, SwapRail, SwapRequest},
    verify::verify as verify_rail,
};

/// A parsed request of any rail.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// A request of `prepare_swap`.
    Swap(SwapRequest),
    /// A request of `prepare_bridge`.
    Bridge(BridgeRequest),
    /// A request of `prepare_pm_order`.
    PmOrder(PmOrderRequest),
    /// A request of `prepare_perp_order`.
    PerpOrder(PerpOrderRequest),
}

impl Request {
    /// Parses the JSON text of a constructor's arguments.
    ///
    /// # Errors
    /// `input_invalid` with every problem (unknown and duplicate members, wrong types, missing
    /// members), or the named refusal of a chain, token, route or account kind that the rail does
    /// not serve.
    ///
    /// # Example
    /// ```
    /// use calldata_checks::Rail;
    /// use plan_builder::{Refusal, Request};
    ///
    /// # macro_rules! file {
    /// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
    /// # }
    /// let request = Request::parse(Rail::Swap, file!("swap.request.json"))?;
    /// assert_eq!(request.rail(), Rail::Swap);
    ///
    /// let refusal = Request::parse(Rail::Swap, r#"{"chainId": 8453, "fromAmount": -1}"#).unwrap_err();
    /// assert_eq!(refusal.check, Refusal::INPUT_INVALID);
    /// for problem in &refusal.problems {
    ///     println!("{}: {} expected, {} observed", problem.path, problem.expected, problem.observed);
    /// }
    /// assert!(refusal.problems.iter().any(|problem| problem.path == "$.fromAmount"));
    /// # Ok::<(), Refusal>(())
    /// ```
    pub fn parse(rail: Rail, text: &str) -> Result<Self, Refusal> {
        let arguments = arguments::parse(text)?;
        Ok(match rail {
            Rail::Swap => Self::Swap(SwapRequest::parse(&arguments)?),
            Rail::Bridge => Self::Bridge(BridgeRequest::parse(&arguments)?),
            Rail::PmOrder => Self::PmOrder(PmOrderRequest::parse(&arguments)?),
            Rail::PerpOrder => Self::PerpOrder(PerpOrderRequest::parse(&arguments)?),
        })
    }

    /// Returns the JSON Schema (2020-12) of a constructor's arguments.
    ///
    /// # Example
    /// ```
    /// use calldata_checks::Rail;
    /// use plan_builder::Request;
    ///
    /// let schema = Request::schema(Rail::PerpOrder);
    /// assert_eq!(schema["properties"]["side"]["enum"][0], "buy");
    /// ```
    #[must_use]
    pub fn schema(rail: Rail) -> Value {
        arguments::schema_of(match rail {
            Rail::Swap => swap::PROPERTIES,
            Rail::Bridge => bridge::PROPERTIES,
            Rail::PmOrder => pm_order::PROPERTIES,
            Rail::PerpOrder => perp_order::PROPERTIES,
        })
    }

    /// The request's rail.
    #[must_use]
    pub const fn rail(&self) -> Rail {
        match self {
            Self::Swap(_) => Rail::Swap,
            Self::Bridge(_) => Rail::Bridge,
            Self::PmOrder(_) => Rail::PmOrder,
            Self::PerpOrder(_) => Rail::PerpOrder,
        }
    }

    /// Computes `intent_digest`: keccak-256 over the RFC 8785 form of `{"arguments": <normalised>,
    /// "rail": <name>}`.
    ///
    /// # Errors
    /// No parsed request causes an error.
    ///
    /// # Example
    /// ```
    /// use calldata_checks::Rail;
    /// use plan_builder::{Refusal, Request};
    ///
    /// # let text = include_str!(concat!(
    /// #     env!("CARGO_MANIFEST_DIR"), "/tests/data/swap.request.json"));
    /// let request = Request::parse(Rail::Swap, text)?;
    /// let spaced = Request::parse(Rail::Swap, &text.replace(',', ", "))?;
    /// assert_eq!(spaced.intent_digest()?, request.intent_digest()?);
    /// # Ok::<(), Refusal>(())
    /// ```
    pub fn intent_digest(&self) -> Result<alloy_primitives::B256, Refusal> {
        match self {
            Self::Swap(request) => intent_digest::<SwapRail>(request),
            Self::Bridge(request) => intent_digest::<BridgeRail>(request),
            Self::PmOrder(request) => intent_digest::<PmOrderRail>(request),
            Self::PerpOrder(request) => intent_digest::<PerpOrderRail>(request),
        }
        .ok_or_else(unwritable)
    }
}

/// Verifies a plan for exactly the request that it answers. Decodes the plan's bytes again, runs
/// every check again, and judges both digests and the clock. Rebuilds and compares every member
/// that follows from the rest.
///
/// Only the plan's readings are taken from the plan, because no verifier can know them offline: a
/// quote, fees, an account's code, a market. [`Verified::report`] does not list a check that holds
/// only by them as an assertion. A verified plan is the requested plan, not a good price. Set
/// `minAmountOut` if you want a least output.
///
/// # Errors
/// The name of the first check that does not hold.
///
/// # Example
/// ```
/// use plan_builder::{Request, rail_of_plan, verify};
/// # use plan_builder::{FeeDocument, Policy};
///
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// let (arguments, plan) = (file!("swap.request.json"), file!("swap.plan.json"));
/// let request = Request::parse(rail_of_plan(plan)?, arguments)?;
/// let verified = verify(&request, plan, "2026-09-21T14:14:00Z".parse()?, &policy)?;
/// assert_eq!(verified.steps().len(), 3);
///
/// // Later than the plan allows.
/// let late = verify(&request, plan, verified.valid_until(), &policy).unwrap_err();
/// assert_eq!(late.check, "artifact_expiry_committed");
///
/// // For somebody who asked for another amount.
/// let other = arguments.replace("1000000000", "2000000000");
/// let other = Request::parse(request.rail(), &other)?;
/// let refusal = verify(&other, plan, "2026-09-21T14:14:00Z".parse()?, &policy).unwrap_err();
/// assert_eq!(refusal.check, "agg_fee_amount_exact");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    request: &Request,
    plan: &str,
    now: UtcSeconds,
    policy: &Policy,
) -> Result<Verified, Refusal> {
    verify_with(request, plan, now, policy, &OwnReadings::NONE)
}

/// Verifies a plan like [`verify`], but judges the verifier's own readings instead of the plan's. A
/// check that they establish is an assertion of [`Verified::report`].
///
/// The plan's own readings must hold, too: a bridge plan that says `not_read` still needs
/// [`Policy::allow_unread_accounts`].
///
/// # Errors
/// The same as [`verify`]. The name of the check that does not hold by the verifier's own readings.
///
/// # Example
/// ```
/// use plan_builder::{
///     OwnReadings, Request, VerifiedPlan, bridge, rail_of_plan, verify, verify_with,
/// };
/// # use alloy_primitives::{Address, Bytes};
/// # use plan_builder::{FeeDocument, Policy, ports::{Accounts, PortError}};
///
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
/// # struct Node;
/// # impl Accounts for Node {
/// #     async fn code(&self, _: u64, _: Address) -> Result<Bytes, PortError> {
/// #         Ok(Bytes::new())
/// #     }
/// #     async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
/// #         Ok(None)
/// #     }
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// # let now = "2026-09-21T14:14:00Z".parse()?;
/// let (arguments, plan) = (file!("bridge.request.json"), file!("bridge.plan.json"));
/// let request = Request::parse(rail_of_plan(plan)?, arguments)?;
/// let Request::Bridge(bridge_request) = &request else { return Err("not a bridge".into()) };
///
/// // Only the plan says that the account has a key.
/// let control = "bridge_recipient_controlled_on_destination";
/// let verified = verify(&request, plan, now, &policy)?;
/// assert_eq!(verified.report().not_established()[0].name, control);
/// assert!(verified.plan_report().not_established().is_empty());
///
/// // `Node` is the verifier's own access to the source chain.
/// let own = OwnReadings::of_control(ready(bridge::read_control(bridge_request, &Node))?);
/// let verified = verify_with(&request, plan, now, &policy, &own)?;
/// assert!(verified.report().assertions().iter().any(|check| check.name == control));
/// let VerifiedPlan::Bridge(bridge) = verified.into_plan() else { return Err("no bridge".into()) };
/// assert_eq!(bridge.minted_at_least().to_string(), "24996425");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_with(
    request: &Request,
    plan: &str,
    now: UtcSeconds,
    policy: &Policy,
    own: &OwnReadings,
) -> Result<Verified, Refusal> {
    match request {
        Request::Swap(request) => verify_rail::<SwapRail>(request, plan, now, policy, own),
        Request::Bridge(request) => verify_rail::<BridgeRail>(request, plan, now, policy, own),
        Request::PmOrder(request) => verify_rail::<PmOrderRail>(request, plan, now, policy, own),
        Request::PerpOrder(request) => {
            verify_rail::<PerpOrderRail>(request, plan, now, policy, own)
        }
    }
}

/// Reads the rail that a plan names. Reads no other member.
///
/// # Errors
/// `plan_malformed`
///
/// # Example
/// ```
/// use calldata_checks::Rail;
/// use plan_builder::{Refusal, rail_of_plan};
///
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// assert_eq!(rail_of_plan(file!("swap.plan.json")), Ok(Rail::Swap));
/// assert_eq!(rail_of_plan("{}").unwrap_err().check, Refusal::PLAN_MALFORMED);
/// ```
pub fn rail_of_plan(plan: &str) -> Result<Rail, Refusal> {
    #[derive(Deserialize)]
    struct Named {
        rail: RailRecord,
    }
    serde_json::from_str::<Named>(plan)
        .map(|named| named.rail.0)
        .map_err(|_| {
            Refusal::new(
                Refusal::PLAN_MALFORMED,
                "not a plan: no member `rail` with a known rail",
            )
        })
}
