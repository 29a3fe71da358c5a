//! `order new`, `sign` and `attach`: order one plan to be sent once. The plan is verified before an
//! order over it is written.

use std::path::PathBuf;

use alloy_primitives::{U256, keccak256};
use calldata_checks::UtcSeconds;
use clap::Args;
use delegation_fence::{Grant, LEAST_LIFE_SECONDS, Order, PlanFacts, TypedData, judge_plan};

pub use crate::signing::{Attach, Sign};
use crate::{
    CommandOutcome, Failure, Refused,
    document::{Destination, Document, hashes},
    now, plan,
    policy::PolicyArguments,
    settings::Settings,
    signing, source, summary,
};

/// `order new`.
#[derive(Debug, Args)]
pub struct New {
    /// The grant under which the plan is sent
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The plan: the envelope, or the rail's whole answer (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub plan: PathBuf,
    /// The request: the `arguments` that were sent to the tool (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub request: PathBuf,
    /// The reviewed fee configuration (TOML)
    #[arg(long, value_name = "FILE")]
    pub fees: PathBuf,
    /// The least output, in the output token's smallest unit [default: the minimum in the plan's
    /// calldata]
    #[arg(long, value_name = "AMOUNT")]
    pub min_amount_out: Option<U256>,
    /// Until when the first step may begin [default: 30 seconds before the plan's end]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub deadline: Option<UtcSeconds>,
    /// Judge as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Where the order goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Verifies a plan and writes the typed data of the order to send it. The grant's delegate signs
/// it.
///
/// # Errors
/// The failed check of the plan, by name; `envelope_unverified`, `fence_*` for a plan outside the
/// grant, `order_min_out_invalid`, `order_deadline_passed`; a file that cannot be used.
pub fn new(arguments: &New) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let inputs = [&arguments.plan, &arguments.request, &arguments.fees];
    if inputs.iter().filter(|path| source::is_stdin(path)).count() > 1 {
        return Err(Failure::usage(
            "only one of --plan, --request and --fees can be standard input",
        ));
    }
    let document = Document::<Grant>::read(&arguments.grant)?;
    let grant = document.typed_data.message();
    let policy = arguments.policy.choose(&Settings::load()?)?.policy;
    if policy.digest() != grant.rules_digest {
        return Err(Refused::new(
            "grant_policy_digest_mismatch",
            "the grant is for another policy (--policy-file names its document)",
        )
        .comparing(policy.digest(), grant.rules_digest)
        .into());
    }
    let now = arguments.now.unwrap_or_else(now::clock);
    let (request, verified, fees) =
        plan::verified(&arguments.plan, &arguments.request, &arguments.fees, now)?;
    let facts = PlanFacts::read(&request, &verified, &fees)?;
    judge_plan(&policy, grant.account, grant.per_swap_cap, &facts)?;
    let least = arguments.min_amount_out.unwrap_or(facts.min_amount_out);
    if least.is_zero() || least > facts.min_amount_out {
        return Err(Refused::new(
            "order_min_out_invalid",
            "the order's minimum is not one that the calldata guarantees",
        )
        .comparing(
            format_args!("above 0, at most {}", facts.min_amount_out),
            least,
        )
        .into());
    }
    let last = verified
        .valid_until()
        .unix()
        .saturating_sub(LEAST_LIFE_SECONDS);
    let deadline = arguments.deadline.map_or(last, UtcSeconds::unix);
    if deadline < now.unix() {
        return Err(
            Refused::new("order_deadline_passed", "the order's deadline has passed")
                .comparing(format_args!("after {now}"), UtcSeconds::from_unix(deadline))
                .into(),
        );
    }
    let call = verified.steps().last().map(|step| keccak256(&step.data));
    let order = Order {
        account: grant.account,
        grant_id: grant.grant_id,
        payload_digest: verified.payload_digest(),
        call_hash: call.unwrap_or_default(),
        output_token: facts.output_token,
        min_amount_out: least,
        deadline,
    };
    let typed_data = TypedData::new(document.typed_data.domain().clone(), order)?;
    let words = format!(
        "{}\nverified as of {now}. Not signed. Next: fence-cli order sign with the key of {}\n",
        summary::of_order(&typed_data, None),
        grant.delegate
    );
    let outcome = arguments
        .destination
        .deliver(&typed_data.to_json(), hashes(&typed_data))?;
    Ok(outcome.with_note(&words))
}

/// Signs an order with a key file.
///
/// # Errors
/// A key file, password or terminal that cannot be used; `wrong_signer`.
pub fn sign(arguments: &Sign) -> Result<CommandOutcome, Failure> {
    signing::sign::<Order>(arguments, summary::of_order)
}

/// Adds the signature of a wallet to an order.
///
/// # Errors
/// `wrong_signer` and the refusals of signatures.
pub fn attach(arguments: &Attach) -> Result<CommandOutcome, Failure> {
    signing::attach::<Order>(arguments)
}
