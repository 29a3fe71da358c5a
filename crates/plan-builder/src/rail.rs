//! What a rail gives so that its plans can be sealed and verified: one implementation per folder.

use std::borrow::Cow;

use alloy_primitives::Address;
use calldata_checks::{Commitment, Facts, Failure, Rail, UtcSeconds};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    AccountKind, Policy, VerifiedPlan,
    policy::LifeSeconds,
    signing::{Evm, TypedDataHashes},
    simulation::Simulation,
    swap::Disclosure,
};

/// One rail. Sealing and verifying are the same code for all of them.
pub(crate) trait RailPlan {
    /// The parsed request. Its serde form is the normalised request: members declared in the order
    /// of their JSON names.
    type Request: Serialize;
    /// `payload`: the plan's own bytes, and the disclosed readings that the checks need beside the
    /// request.
    type Payload: Serialize + DeserializeOwned;
    /// `fee_attribution`.
    type Fees: Serialize + DeserializeOwned;
    /// What is decoded of the payload's bytes.
    type Facts: Facts;

    /// Whether every struct of the payload and the fees declares its members in the order of RFC
    /// 8785, so that its serde form already is canonical. A rail that must keep another order (a
    /// message that is hashed in it) says no.
    const DECLARED_CANONICAL: bool = true;

    /// Decodes the payload's own bytes and puts them beside the request, the readings and the
    /// policy.
    fn facts(
        request: &Self::Request,
        payload: &Self::Payload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<Self::Facts, Failure>;

    /// The members of the envelope that follow from request, payload and policy, once the checks
    /// have passed on these facts.
    fn terms(
        request: &Self::Request,
        payload: &Self::Payload,
        policy: &Policy,
        facts: &Self::Facts,
    ) -> Result<Terms<Self::Fees>, Failure>;

    /// The content as typed values, once everything of the plan holds. `None` for a payload that no
    /// check can have passed.
    fn content(
        payload: &Self::Payload,
        facts: Self::Facts,
        simulation: Option<&Simulation>,
    ) -> Option<VerifiedPlan>;

    /// When the reading was taken that the payload is built on.
    fn read_at(payload: &Self::Payload) -> UtcSeconds;

    /// How long a plan lives.
    fn life(policy: &Policy) -> LifeSeconds;

    /// When a plan of this payload ends at the latest, for what only its payload says.
    fn latest(_payload: &Self::Payload, _policy: &Policy) -> Option<UtcSeconds> {
        None
    }

    /// The steps, and which exports of them were asked for. Order rails have none.
    fn evm<'a>(_request: &'a Self::Request, _payload: &'a Self::Payload) -> Option<Evm<'a>> {
        None
    }
}

/// The rail's name.
pub(crate) const fn rail_of<R: RailPlan>() -> Rail {
    <R::Facts as Facts>::RAIL
}

/// The members of an envelope that follow from request, payload and policy.
#[derive(Debug)]
pub(crate) struct Terms<F> {
    /// To whom the plan is bound.
    pub(crate) account: Address,
    /// What that account is.
    pub(crate) kind: AccountKind,
    /// The chain on which the account signs.
    pub(crate) chain_id: u64,
    /// The protocol roles it fills.
    pub(crate) roles: &'static [&'static str],
    /// Fees.
    pub(crate) fees: F,
    /// What the reader should know beside what was checked.
    pub(crate) disclosure: Option<Disclosure>,
    /// What the caller's signer fills in.
    pub(crate) adapter_owned_fields: &'static [&'static str],
    /// What the signer needs.
    pub(crate) required_capabilities: Vec<Cow<'static, str>>,
    /// What keeps a signed plan from running twice.
    pub(crate) onchain_replay_boundary: &'static str,
    /// What is signed of a plan without transactions.
    pub(crate) typed_data: Option<TypedDataHashes>,
}
