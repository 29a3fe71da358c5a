//! `limit new`, `sign` and `attach`: make a grant tighter. The service counts a limit from its
//! receipt on.

use std::path::PathBuf;

use alloy_primitives::U256;
use calldata_checks::UtcSeconds;
use clap::Args;
use delegation_fence::{Grant, Limit, TypedData};
use exact::DecimalText;

pub use crate::signing::Attach;
use crate::{
    CommandOutcome, Failure, Refused,
    document::{Destination, Document, hashes},
    now,
    policy::PolicyArguments,
    settings::Settings,
    signing, summary,
};

/// `limit new`.
#[derive(Debug, Args)]
pub struct New {
    /// The grant that is tightened
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The policy of the grant, for the token's decimals
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The most of one swap in whole tokens, like 100 or 0.5 [default: no limit of its own]
    #[arg(long, value_name = "AMOUNT")]
    pub cap: Option<String>,
    /// The most swaps under the grant, those that were sent included [default: no limit of its own]
    #[arg(long, value_name = "NUMBER")]
    pub max_swaps: Option<u64>,
    /// The most of all swaps of any 24 hours in whole tokens [default: no limit of its own]
    #[arg(long = "outflow-24h", value_name = "AMOUNT")]
    pub outflow_24h: Option<String>,
    /// Issue as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Where the limit goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Writes the typed data of a limit. The signer of the grant signs it.
///
/// # Errors
/// A limit without a bound; an invalid amount; a file that cannot be used;
/// `grant_policy_digest_mismatch`.
pub fn new(arguments: &New) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let document = Document::<Grant>::read(&arguments.grant)?;
    let grant = document.typed_data.message();
    let policy = arguments.policy.choose(&Settings::load()?)?.policy;
    if policy.digest() != grant.rules_digest {
        return Err(Refused::new(
            "grant_policy_digest_mismatch",
            "the grant is for another policy: amounts in whole tokens need its decimals (--policy-file)",
        )
        .comparing(policy.digest(), grant.rules_digest)
        .into());
    }
    let amount = |flag: &str, text: &Option<String>| {
        text.as_deref().map_or(Ok(U256::ZERO), |text| {
            DecimalText::parse(text)
                .and_then(|amount| amount.to_atoms(policy.input_decimals()))
                .ok()
                .filter(|atoms| !atoms.is_zero())
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "--{flag} is not an amount above zero with at most {} decimals, like 100 or 0.5",
                        policy.input_decimals()
                    ))
                })
        })
    };
    if arguments.max_swaps == Some(0) {
        return Err(Failure::usage(
            "--max-swaps 0 would mean no limit: to allow no swap at all, revoke the grant",
        ));
    }
    let limit = Limit {
        account: grant.account,
        grant_id: grant.grant_id,
        per_swap_cap: amount("cap", &arguments.cap)?,
        max_swaps: arguments.max_swaps.unwrap_or_default(),
        outflow_24h: amount("outflow-24h", &arguments.outflow_24h)?,
        issued_at: arguments.now.unwrap_or_else(now::clock).unix(),
    };
    if limit.per_swap_cap.is_zero() && limit.max_swaps == 0 && limit.outflow_24h.is_zero() {
        return Err(Failure::usage(
            "the limit limits nothing: give --cap, --max-swaps or --outflow-24h",
        ));
    }
    let typed_data = TypedData::new(document.typed_data.domain().clone(), limit)?;
    let words = format!(
        "{}\nNot signed. Next: fence-cli limit sign, or a wallet and fence-cli limit attach\n",
        summary::of_limit(&typed_data, Some(&policy), None)
    );
    let outcome = arguments
        .destination
        .deliver(&typed_data.to_json(), hashes(&typed_data))?;
    Ok(outcome.with_note(&words))
}

/// `limit sign`.
#[derive(Debug, Args)]
pub struct SignLimit {
    /// The message and its signer
    #[command(flatten)]
    pub sign: signing::Sign,
    /// The policy of the grant, for the token's decimals
    #[command(flatten)]
    pub policy: PolicyArguments,
}

/// Signs a limit with a key file.
///
/// # Errors
/// A key file, password or terminal that cannot be used; `wrong_signer`.
pub fn sign(arguments: &SignLimit) -> Result<CommandOutcome, Failure> {
    // A limit only tightens: without the policy's decimals its amounts are shown in the smallest
    // unit.
    let chosen = arguments.policy.choose(&Settings::load()?).ok();
    let policy = chosen.as_ref().map(|chosen| &chosen.policy);
    signing::sign::<Limit>(&arguments.sign, |typed_data, signer| {
        summary::of_limit(typed_data, policy, signer)
    })
}

/// Adds the signature of a wallet to a limit.
///
/// # Errors
/// `wrong_signer` and the refusals of signatures.
pub fn attach(arguments: &Attach) -> Result<CommandOutcome, Failure> {
    signing::attach::<Limit>(arguments)
}
