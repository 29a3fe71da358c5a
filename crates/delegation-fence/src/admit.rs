//! The confirmations before anything is sent for an account.
//!
//! [`admit`] is a function of its inputs: the caller reads the store, the clocks and the prices
//! anew each time. It signs and sends nothing.

mod budget;
mod facts;
mod feasible;
mod rates;
mod record;
mod rules;

use alloy_primitives::{Address, B256, U256, keccak256};
use calldata_checks::{BasisPoints, Decimal, Rail, Step, UtcSeconds};
use plan_builder::{
    AccountKind as PlanAccountKind, Request, Verified, VerifiedPlan, VerifiedSwap, verify,
};
use serde::Deserialize;

pub use self::{
    budget::{Budget, Spent},
    facts::PlanFacts,
    feasible::Foresight,
    rates::{PlanWorth, Rates, WorthTooLow},
    rules::judge_plan,
};
use crate::{
    Account, ActiveGrant, Fence, Now, Order, ReadBack, Refusal, Rule, Signed, refusal::same,
};

/// The least remaining life of a plan when its first step begins, in seconds: time for three blocks
/// of each step.
pub const LEAST_LIFE_SECONDS: u64 = 30;

/// A submission: the request that the plan was built for, the plan, and the order over it.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    /// The account.
    pub account: Address,
    /// The grant.
    pub grant_id: B256,
    /// The tool's arguments, as JSON text.
    pub request: &'a str,
    /// The plan, as JSON text.
    pub envelope: &'a str,
    /// The order of the grant's delegate.
    pub order: &'a Signed<Order>,
}

/// The price of the input token, and its allowed deviation from the peg. It can only refuse: no
/// price loosens a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peg {
    /// US dollars for a whole token.
    pub usd: Decimal,
    /// The allowed deviation from one dollar, in either direction.
    pub max_deviation: BasisPoints,
}

/// The point of a send at which the confirmations are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Before the first step: the order's deadline counts, and 30 seconds of the plan's life are
    /// left.
    Begin,
    /// Before a later step: the plan is not over.
    GoOn,
}

/// All inputs of the confirmations, as they were read now. Nothing here is remembered from an
/// earlier judgement.
#[derive(Debug, Clone, Copy)]
pub struct Confirmation<'a> {
    /// The values that the service pins.
    pub fence: &'a Fence,
    /// The installed policy, by the store.
    pub read_back: &'a ReadBack,
    /// The account's record, by the store.
    pub account: &'a Account,
    /// The owner of the account: for a sub-wallet by custody, for an `eoa7702` account the account
    /// itself.
    pub owner: Address,
    /// The reviewed configuration of plans.
    pub plans: &'a plan_builder::Policy,
    /// The input token's price, where one is read.
    pub peg: Option<Peg>,
    /// Both clocks.
    pub now: Now,
}

/// A submission that passed every confirmation, with the bytes to send: they are the judged ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The account.
    pub account: Address,
    /// The grant.
    pub grant_id: B256,
    /// The digest of the delegate's order.
    pub order_digest: B256,
    /// The plan.
    pub payload_digest: B256,
    /// The chain.
    pub chain_id: u64,
    /// Reset, approval, call.
    pub steps: [Step; 3],
    /// Whether the three steps go out as one transaction, which executes all of them or none.
    /// [`admit`] sets `false`; an account's delegations decide how it is sent for.
    pub as_one: bool,
    /// The input token, whose allowance is read back.
    pub token: Address,
    /// The approved account.
    pub spender: Address,
    /// The approved and spent amount, in the input token's smallest unit.
    pub amount: U256,
    /// Until when the plan is current.
    pub valid_until: UtcSeconds,
    /// Until when its first step may begin.
    pub deadline: UtcSeconds,
    /// The expected output, to be searched for in the logs.
    pub landing: Landing,
}

/// The expected output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landing {
    /// The output token.
    pub token: Address,
    /// Its receiver.
    pub account: Address,
    /// The least amount, in the output token's smallest unit: the minimum in the calldata.
    pub at_least: U256,
}

/// Confirms a submission, in this order: (a) the fence reads back by name and digest; (b) the grant
/// is active past the plan's end and its delegate signed the order; (c) the account is the caller's
/// own; (d) the plan passes the verifier for exactly the request in the body; (e) the plan lies
/// inside the fence. The crate's documentation shows the whole procedure as an example.
///
/// # Errors
/// The first confirmation that fails, by name: (a) `fence_unreadable`, `fence_name_mismatch`,
/// `fence_digest_mismatch`; (b) `grant_not_found`, `grant_not_yet_valid`, `grant_revoked`,
/// `grant_expired`, `grant_superseded`, `grant_expires_before_valid_until`, `domain_*_mismatch`,
/// `order_mismatch`, `order_not_by_delegate`, `order_deadline_passed`, `order_already_used`,
/// `plan_in_flight`; (c) `account_not_owned`; (d) `envelope_unverified` with the check,
/// `plan_expired`, `order_mismatch`, `order_min_out_invalid`; (e) `fence_*`, `limit_*`.
pub fn admit(
    confirmation: &Confirmation<'_>,
    submission: &Submission<'_>,
    phase: Phase,
) -> Result<Admitted, Refusal> {
    let Confirmation { fence, now, .. } = confirmation;
    fence.confirm(confirmation.read_back)?;
    let standing = confirmation
        .account
        .standing(submission.grant_id, fence.policy(), *now)?;
    let active = standing.require_active()?;
    let claimed = claimed_end(submission.envelope);
    claimed.map_or(Ok(()), |end| confirm_outlives(&active, end))?;
    confirm_order(confirmation, submission, &active, phase)?;
    confirm_account(confirmation, submission, &active)?;
    let (request, verified) = confirm_plan(confirmation, submission, phase)?;
    confirm_outlives(&active, verified.valid_until())?;
    let facts = PlanFacts::read(&request, &verified, &confirmation.plans.fees.version)?;
    confirm_terms(submission.order.message(), &verified, &facts)?;
    let account = active.grant().account;
    judge_plan(fence.policy(), account, active.cap(), &facts)?;
    rules::judge_limits(
        &active,
        verified.payload_digest(),
        facts.approve.amount,
        *now,
    )?;
    confirmation.peg.map_or(Ok(()), judge_peg)?;
    admitted(submission, verified, &facts)
}

/// The end that a plan claims. The verification of the plan confirms it again.
fn claimed_end(envelope: &str) -> Option<UtcSeconds> {
    #[derive(Deserialize)]
    struct Claimed {
        valid_until: plan_builder::wire::Time,
    }
    serde_json::from_str::<Claimed>(envelope)
        .ok()
        .map(|claimed| claimed.valid_until.0)
}

/// (b) Checks that the grant is active past the plan's end.
fn confirm_outlives(active: &ActiveGrant<'_>, end: UtcSeconds) -> Result<(), Refusal> {
    let expires_at = active.grant().expires_at;
    if expires_at > end.unix() {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::GrantExpiresBeforeValidUntil,
        "the grant ends before the plan does",
        format_args!("a grant that ends after {end}"),
        UtcSeconds::from_unix(expires_at),
    ))
}

/// (b) Checks that the grant's delegate ordered this plan, and that no other plan blocks it.
fn confirm_order(
    confirmation: &Confirmation<'_>,
    submission: &Submission<'_>,
    active: &ActiveGrant<'_>,
    phase: Phase,
) -> Result<(), Refusal> {
    let signed = submission.order;
    let order = signed.message();
    let instance = confirmation.fence.instance();
    instance.domain.require(signed.typed_data().domain())?;
    same(
        Rule::OrderMismatch,
        "the order names another account than the submission",
        submission.account,
        order.account,
    )?;
    same(
        Rule::OrderMismatch,
        "the order names another grant than the submission",
        submission.grant_id,
        order.grant_id,
    )?;
    signed.require_signer(
        Rule::OrderNotByDelegate,
        "the order is signed by another key than the delegate's",
        active.grant().delegate,
    )?;
    let now = confirmation.now.latest();
    if phase == Phase::Begin && now.unix() > order.deadline {
        return Err(Refusal::new(
            Rule::OrderDeadlinePassed,
            "the order's deadline has passed",
            format_args!("at most {}", UtcSeconds::from_unix(order.deadline)),
            now,
        ));
    }
    confirmation.account.judge_order(signed).map(|_| ())
}

/// (c) Checks that the account is the caller's own.
fn confirm_account(
    confirmation: &Confirmation<'_>,
    submission: &Submission<'_>,
    active: &ActiveGrant<'_>,
) -> Result<(), Refusal> {
    same(
        Rule::AccountNotOwned,
        "the submission is for another account than the grant",
        active.grant().account,
        submission.account,
    )?;
    same(
        Rule::AccountNotOwned,
        "the account has another owner than the one who signed the grant",
        active.received().owner(),
        confirmation.owner,
    )
}

/// (d) Checks that the plan passes the verifier for the request, is the ordered one, and is not
/// over.
fn confirm_plan(
    confirmation: &Confirmation<'_>,
    submission: &Submission<'_>,
    phase: Phase,
) -> Result<(Request, Verified), Refusal> {
    let now = confirmation.now.latest();
    let request = Request::parse(Rail::Swap, submission.request).map_err(Refusal::unverified)?;
    // The verifier names any other defect; an expired plan has its own name.
    if let Some(end) = claimed_end(submission.envelope) {
        let needed = match phase {
            Phase::Begin => LEAST_LIFE_SECONDS,
            Phase::GoOn => 1,
        };
        if now.saturating_add(needed) > end {
            return Err(Refusal::new(
                Rule::PlanExpired,
                "too little is left of the plan's life; ask for a new plan",
                format_args!("{needed} seconds before {end}"),
                now,
            ));
        }
    }
    let verified = verify(&request, submission.envelope, now, confirmation.plans)
        .map_err(Refusal::unverified)?;
    same(
        Rule::OrderMismatch,
        "the order is over another plan",
        verified.payload_digest(),
        submission.order.message().payload_digest,
    )?;
    Ok((request, verified))
}

/// (d) Checks that the terms that the order repeats agree with the plan's bytes.
fn confirm_terms(order: &Order, verified: &Verified, facts: &PlanFacts) -> Result<(), Refusal> {
    let call = verified.steps().last().map(|step| keccak256(&step.data));
    same(
        Rule::OrderMismatch,
        "the order is over another call",
        call.unwrap_or_default(),
        order.call_hash,
    )?;
    same(
        Rule::OrderMismatch,
        "the order names another output token",
        facts.output_token,
        order.output_token,
    )?;
    if order.min_amount_out.is_zero() || order.min_amount_out > facts.min_amount_out {
        return Err(Refusal::new(
            Rule::OrderMinOutInvalid,
            "the order's minimum is not one that the calldata guarantees",
            format_args!("above 0, at most {}", facts.min_amount_out),
            order.min_amount_out,
        ));
    }
    Ok(())
}

fn judge_peg(peg: Peg) -> Result<(), Refusal> {
    const SCALE: u8 = 18;
    let dollar = U256::from(1_000_000_000_000_000_000_u64);
    let within = peg.usd.atoms(SCALE).zip(peg.max_deviation.floor_of(dollar));
    if within.is_some_and(|(usd, most)| usd.abs_diff(dollar) <= most) {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::FencePeg,
        "the input token's price is too far from its peg",
        format_args!("at most {} basis points from 1", peg.max_deviation.get()),
        peg.usd,
    ))
}

fn admitted(
    submission: &Submission<'_>,
    verified: Verified,
    facts: &PlanFacts,
) -> Result<Admitted, Refusal> {
    let order = submission.order.message();
    let (payload_digest, valid_until) = (verified.payload_digest(), verified.valid_until());
    let VerifiedPlan::Swap(VerifiedSwap { steps, .. }) = verified.into_plan() else {
        let message = "only a swap's steps are delegated";
        return Err(Refusal::new(
            Rule::FenceShape,
            message,
            "a swap",
            "another rail",
        ));
    };
    Ok(Admitted {
        account: facts.account,
        grant_id: order.grant_id,
        order_digest: submission.order.digest(),
        payload_digest,
        chain_id: facts.chain_id,
        steps,
        as_one: false,
        token: facts.approve.token,
        spender: facts.approve.spender,
        amount: facts.approve.amount,
        valid_until,
        deadline: UtcSeconds::from_unix(order.deadline),
        landing: Landing {
            token: facts.output_token,
            account: facts.receiver,
            at_least: facts.min_amount_out,
        },
    })
}

/// The kind of account that the fence's plans are built for: an account that sends the steps
/// itself.
const PLAN_ACCOUNT: PlanAccountKind = PlanAccountKind::Eoa;
