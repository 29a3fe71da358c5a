//! A plan against the least possible work on its bytes, and its verification against building it.
//! In process.

use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use alloy_primitives::keccak256;
use alloy_sol_types::SolCall as _;
use calldata_checks::Rail;
use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call as SwapCall;
use data_sources::Clock;
use jiff::Timestamp;
use plan_builder::ports::NoSimulator;
use plan_builder::swap::{self, SwapRequest};
use plan_builder::{Moment, Policy, Request, Sealed, verify};

use super::Effort;
use crate::BenchError;
use crate::measure::{Ratio, in_turns};
use crate::report::{Amount, Finding, Limit, Report};
use crate::swap::{ARGUMENTS, KeptQuote, policy};

/// A clock that stands at [`MOMENT`].
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        i64::try_from(MOMENT.now_millis)
            .ok()
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .unwrap_or_default()
    }
}

/// A time at which the plan is made and verified.
const MOMENT: Moment = Moment {
    now_millis: 1_790_000_000_000,
    entropy: [0x5a; 32],
};

/// Rounds of each work.
const ROUNDS: usize = 51;

pub(super) async fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let (quotes, policy) = (
        KeptQuote::of_the_recording(Arc::new(Standing)).await?,
        policy()?,
    );
    let request = parsed()?;
    // The only time that the quote is fetched; from here on nothing waits.
    let sealed = swap::build(&request, &quotes, &NoSimulator, &policy, &MOMENT).await?;
    let kept = quotes.kept().ok_or(BenchError::Answer { what: "quote" })?;
    let calldata = &kept.call_data;

    let decode_and_hash = || match SwapCall::abi_decode(calldata) {
        Ok(call) => kept_alive(Ok((
            call,
            keccak256(calldata),
            keccak256(black_box(sealed.json())),
        ))),
        Err(_) => Err(BenchError::Answer { what: "calldata" }),
    };
    let plan = || kept_alive(build(&request, &quotes, &policy));
    let arguments_to_plan = || kept_alive(build(&parsed()?, &quotes, &policy));
    let arguments_to_verified = || {
        let request = Request::parse(Rail::Swap, black_box(ARGUMENTS))?;
        let verified = verify(&request, black_box(sealed.json()), MOMENT.now(), &policy);
        kept_alive(verified.map_err(BenchError::from))
    };
    let [least, plan, made, verified] = in_turns(
        [
            &decode_and_hash,
            &plan,
            &arguments_to_plan,
            &arguments_to_verified,
        ],
        ROUNDS,
        effort.plans,
    )?;
    eprintln!(
        "  {} bytes of calldata, a plan of {} bytes; {least}, {plan}, {made}, {verified} ns",
        calldata.len(),
        sealed.json().len(),
    );
    report.add(Finding {
        name: "swap plan: decode, judge, seal, write",
        ours: Amount::Cpu(plan),
        limit: Limit::Times(
            Ratio::thousandths(2_000),
            "abi_decode, keccak of its calldata and of itself",
            Amount::Cpu(least),
        ),
    });
    report.add(Finding {
        name: "swap plan: parse and verify",
        ours: Amount::Cpu(verified),
        limit: Limit::Times(
            Ratio::thousandths(2_000),
            "parse and build",
            Amount::Cpu(made),
        ),
    });
    Ok(())
}

/// Prevents that a result is optimised away; returns only whether there is one.
fn kept_alive<T>(result: Result<T, BenchError>) -> Result<(), BenchError> {
    result.map(|result| drop(black_box(result)))
}

fn parsed() -> Result<SwapRequest, BenchError> {
    match Request::parse(Rail::Swap, black_box(ARGUMENTS))? {
        Request::Swap(request) => Ok(request),
        _ => Err(BenchError::Answer { what: "swap" }),
    }
}

/// Builds with ports that answer immediately.
fn build(request: &SwapRequest, quotes: &KeptQuote, policy: &Policy) -> Result<Sealed, BenchError> {
    let building = pin!(swap::build(request, quotes, &NoSimulator, policy, &MOMENT));
    match building.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(sealed) => Ok(sealed?),
        Poll::Pending => Err(BenchError::Answer { what: "kept quote" }),
    }
}
