//! An agent that embeds the crate. It asks for a swap, verifies the plan as if a stranger had sent
//! it, and prints what it would sign. It signs nothing.
//!
//! ```sh
//! cargo run -p plan-builder --example agent
//! ```

#![allow(clippy::print_stdout, reason = "the example prints what it does")]

#[path = "../tests/it/vectors/recorded.rs"]
#[allow(dead_code, reason = "the example asks for a swap only")]
mod recorded;

use std::{
    error::Error,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{SystemTime, UNIX_EPOCH},
};

use calldata_checks::{Rail, UtcSeconds, abi::selector_text};
use plan_builder::{
    FeeDocument, Moment, Policy, Request, VerifiedPlan, ports::NoSimulator, swap, verify,
};
use recorded::Recorded;

const FEES: &str = include_str!("../../../fixtures/vectors/plans/fees.toml");
const ARGUMENTS: &str =
    include_str!("../../../fixtures/vectors/plans/swap_with_minimum.request.json");

fn main() -> Result<(), Box<dyn Error>> {
    // The agent's operator has reviewed this configuration.
    let policy = Policy::new(toml::from_str::<FeeDocument>(FEES)?.review()?);

    // The agent wants this swap. The parser names all unknown, missing or mistyped arguments at
    // once.
    let request = Request::parse(Rail::Swap, ARGUMENTS)?;
    let Request::Swap(swap_request) = &request else {
        return Err("not a swap".into());
    };

    // The program that embeds the crate supplies the time and the randomness. Here the quote comes
    // from memory; in an agent the port asks the aggregator.
    let now_millis = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let moment = Moment {
        now_millis,
        entropy: [0x5a; 32],
    };
    let quotes = Recorded {
        read_at: moment.now(),
    };
    let building = swap::build(swap_request, &quotes, &NoSimulator, &policy, &moment);
    let plan = ready(building)?;

    // The text may come from anybody. The verifier takes only the readings from it. The request
    // itself sets the least output (`minAmountOut`), because a verified plan is the requested plan,
    // not a good price.
    let verified = verify(&request, plan.json(), moment.now(), &policy)?;
    println!(
        "{} checks hold, plan {}",
        verified.report().assertions().len(),
        verified.payload_digest()
    );
    for open in verified.report().not_established() {
        println!(
            "not established: {} ({})",
            open.name,
            open.observed.as_str()
        );
    }
    println!("valid until {}\n", verified.valid_until());

    // The agent signs the verified values and not the text.
    let VerifiedPlan::Swap(swap) = verified.plan() else {
        return Err("not a swap".into());
    };
    println!(
        "{} of {} for at least {} of {}",
        swap.from_amount, swap.from_token, swap.min_amount_out, swap.to_token
    );
    println!("to be signed, one after another, each when the one before is in a block:");
    for step in &swap.steps {
        println!(
            "  {:13} to {} value {} data {}… ({} bytes)",
            step.kind.as_str(),
            step.to,
            step.value,
            selector_text(&step.data),
            step.data.len()
        );
    }

    // The verifier refuses a plan with one changed digit.
    let tampered = plan
        .json()
        .replacen("fromAmount\":\"1", "fromAmount\":\"2", 1)
        .replacen("\"from_amount\":\"1", "\"from_amount\":\"2", 1);
    let later = UtcSeconds::from_unix(moment.now().unix() + 600);
    for (what, text, now) in [
        ("tampered with", tampered.as_str(), moment.now()),
        ("ten minutes later", plan.json(), later),
    ] {
        match verify(&request, text, now, &policy) {
            Ok(_) => return Err(format!("a plan {what} was accepted").into()),
            Err(refusal) => println!("\n{what}: refused by {}", refusal.check),
        }
    }
    Ok(())
}

/// Runs a future to its end. A port that answers from memory never waits. An agent would await on
/// its own runtime.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
    }
}

#[test]
fn the_example_runs() {
    main().expect("every step holds");
}
