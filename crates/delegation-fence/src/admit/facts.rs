//! The facts in the bytes of a verified plan, as the fence reads them.

use alloy_primitives::{Address, Selector, U256};
use calldata_checks::{
    Step, Steps,
    step::Allowance,
    swap::calldata::{SwapCall, SwapData},
};
use plan_builder::{AccountKind, Request, Verified};

use crate::{Refusal, Rule};

/// The effects of a plan, decoded from the steps that are sent. No statement of the envelope about
/// itself is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFacts {
    /// The chain of the request that the plan was verified for.
    pub chain_id: u64,
    /// The account of the request.
    pub account: Address,
    /// The kind of the account in the request.
    pub account_kind: AccountKind,
    /// The version of the fees in the verification.
    pub fee_version: String,
    /// The integrator in the calldata.
    pub integrator: String,
    /// The first step.
    pub reset: Allowance,
    /// The second step.
    pub approve: Allowance,
    /// The target of the third step.
    pub call_to: Address,
    /// The native coin that it carries, in wei.
    pub call_value: U256,
    /// The function that it calls.
    pub selector: Option<Selector>,
    /// The receiver of the router's payment.
    pub receiver: Address,
    /// The least output that the router accepts, in the output token's smallest unit.
    pub min_amount_out: U256,
    /// The router's deposits from the account: token and amount, once for each leg that deposits.
    pub deposits: Vec<(Address, U256)>,
    /// The quoted gross input, in the input token's smallest unit: the verifier has compared it
    /// with the quote.
    pub quoted: U256,
    /// The input token of the request.
    pub input_token: Address,
    /// The output token of the request.
    pub output_token: Address,
}

impl PlanFacts {
    /// Reads a verified plan.
    ///
    /// # Errors
    /// `envelope_unverified` for a plan of another rail than the swap's, and for steps that do not
    /// decode, which no verified plan has.
    pub fn read(
        request: &Request,
        verified: &Verified,
        fee_version: &str,
    ) -> Result<Self, Refusal> {
        let Request::Swap(swap) = request else {
            return Err(undecodable("a swap", request.rail().as_str()));
        };
        let (asked, profile) = (swap.asked(), swap.account());
        let steps: &[Step] = verified.steps();
        let decoded =
            Steps::decode(steps).map_err(|failure| undecodable("three steps", failure))?;
        let call = SwapCall::decode(&decoded.call.data)
            .map_err(|error| undecodable("a call of the router", error))?;
        Ok(Self {
            chain_id: asked.chain_id,
            account: profile.address,
            account_kind: profile.kind,
            fee_version: fee_version.to_owned(),
            integrator: call.integrator,
            reset: decoded.reset,
            approve: decoded.approve,
            call_to: decoded.call.to,
            call_value: decoded.call.value,
            selector: decoded.call.data.first_chunk::<4>().map(Selector::from),
            receiver: call.receiver,
            min_amount_out: call.min_amount_out,
            deposits: call.legs.iter().filter_map(deposit).collect(),
            quoted: asked.from_amount,
            input_token: asked.from_token,
            output_token: asked.to_token,
        })
    }

    /// The sum of the deposits; `None` when it overflows 256 bits.
    #[must_use]
    pub fn deposited(&self) -> Option<U256> {
        self.deposits
            .iter()
            .try_fold(U256::ZERO, |sum, (_, amount)| sum.checked_add(*amount))
    }
}

fn deposit(leg: &SwapData) -> Option<(Address, U256)> {
    leg.requiresDeposit
        .then_some((leg.sendingAssetId, leg.fromAmount))
}

fn undecodable(expected: &'static str, observed: impl ToString) -> Refusal {
    Refusal::new(
        Rule::EnvelopeUnverified,
        "the plan's steps do not decode",
        expected,
        observed,
    )
}
