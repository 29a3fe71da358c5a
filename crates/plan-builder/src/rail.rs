//! The interface between a rail and the code that seals and verifies plans. Each rail implements it
//! once, in its own folder.

use std::borrow::Cow;

use alloy_primitives::Address;
use calldata_checks::{Commitment, Facts, Failure, Rail, UtcSeconds};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    AccountKind, OwnReadings, Policy, VerifiedPlan,
    policy::LifeSeconds,
    signing::{Evm, TypedDataHashes},
    simulation::Simulation,
    swap::Disclosure,
};

/// One rail. All rails share the code that seals and verifies plans.
pub(crate) trait RailPlan {
    /// The parsed request. Its serde form is the normalised request, whose members are declared in
    /// the order of their JSON names.
    type Request: Serialize;
    /// `payload`: the plan's own bytes, and the disclosed readings that the checks need in addition
    /// to the request.
    type Payload: Serialize + DeserializeOwned;
    /// `fee_attribution`.
    type Fees: Serialize + DeserializeOwned;
    /// The facts that are decoded from the payload's bytes.
    type Facts: Facts;

    /// Whether every struct of the payload and the fees declares its members in the order of RFC
    /// 8785. Then its serde form is already canonical. A rail that must keep another order (of a
    /// message that is hashed in it) sets this to false.
    const DECLARED_CANONICAL: bool = true;

    /// Whether a plan states what the output is worth. Other rails state no judgement.
    const JUDGES_WORTH: bool = false;

    /// Decodes the payload's own bytes and compares them with the request, the readings and the
    /// policy.
    fn facts(
        request: &Self::Request,
        payload: &Self::Payload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<Self::Facts, Failure>;

    /// Returns the members of the envelope that the request, the payload and the policy determine.
    /// Called once the checks have passed on these facts.
    fn terms(
        request: &Self::Request,
        payload: &Self::Payload,
        policy: &Policy,
        facts: &Self::Facts,
    ) -> Result<Terms<Self::Fees>, Failure>;

    /// Decodes the facts again, with the verifier's own readings instead of the plan's. `None` when
    /// the verifier made none for this rail.
    fn read_again(
        _facts: &Self::Facts,
        _payload: &Self::Payload,
        _own: &OwnReadings,
    ) -> Result<Option<ReadAgain<Self::Facts>>, Failure> {
        Ok(None)
    }

    /// Returns the content as typed values, once every check of the plan has passed. `None` for a
    /// payload of which no check can have passed.
    fn content(
        payload: &Self::Payload,
        facts: Self::Facts,
        simulation: Option<&Simulation>,
    ) -> Option<VerifiedPlan>;

    /// Returns when the readings of the payload were made.
    fn read_at(payload: &Self::Payload) -> UtcSeconds;

    /// Returns how long a plan is valid.
    fn life(policy: &Policy) -> LifeSeconds;

    /// Returns the latest end of a plan, if its payload sets one.
    fn latest(_payload: &Self::Payload, _policy: &Policy) -> Option<UtcSeconds> {
        None
    }

    /// Returns the steps and their chosen exports. Order rails have none.
    fn evm<'a>(_request: &'a Self::Request, _payload: &'a Self::Payload) -> Option<Evm<'a>> {
        None
    }
}

/// Facts that were decoded with the verifier's own readings.
pub(crate) struct ReadAgain<F> {
    /// The facts.
    pub(crate) facts: F,
    /// The checks whose readings are the verifier's own.
    pub(crate) checks: &'static [&'static str],
}

/// The rail's name.
pub(crate) const fn rail_of<R: RailPlan>() -> Rail {
    <R::Facts as Facts>::RAIL
}

/// The members of an envelope that the request, the payload and the policy determine.
#[derive(Debug)]
pub(crate) struct Terms<F> {
    /// The account that the plan is for.
    pub(crate) account: Address,
    /// The kind of that account.
    pub(crate) kind: AccountKind,
    /// The chain on which the account signs.
    pub(crate) chain_id: u64,
    /// The protocol roles that the account fills.
    pub(crate) roles: &'static [&'static str],
    /// `fee_attribution`.
    pub(crate) fees: F,
    /// Facts that the checks do not cover, for the reader.
    pub(crate) disclosure: Option<Disclosure>,
    /// The fields that the caller's signer sets.
    pub(crate) adapter_owned_fields: &'static [&'static str],
    /// The capabilities that the signer needs.
    pub(crate) required_capabilities: Vec<Cow<'static, str>>,
    /// The name of the mechanism that keeps a signed plan from being executed twice.
    pub(crate) onchain_replay_boundary: &'static str,
    /// The hashes that are signed when a plan has no transactions.
    pub(crate) typed_data: Option<TypedDataHashes>,
}
