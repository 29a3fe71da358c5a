//! `policy show`, `policy digest` and `policy lint`, and the choice of a command's policy: the
//! pinned one unless a file is named.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use alloy_primitives::B256;
use clap::Args;
use delegation_fence::{Policy, differences};
use serde_json::{Value, json};

use crate::{
    CommandOutcome, Exit, Failure, Printable, Refused, plan, settings::Settings, source, units,
};

/// The policy that this build pins. It is used when no file is named.
const PINNED: &str = include_str!("../../../docs/fence-policy.example.json");

/// The arguments that select the policy.
#[derive(Debug, Args)]
pub struct PolicyArguments {
    /// The policy document [default: the policy that this build pins]
    #[arg(long, value_name = "FILE", env = "SVC_FENCE_POLICY_FILE")]
    pub policy_file: Option<PathBuf>,
    /// Refuse a policy document that has another digest
    #[arg(long, value_name = "DIGEST", env = "SVC_FENCE_POLICY_DIGEST")]
    pub policy_digest: Option<B256>,
}

/// `policy show`, `policy digest` and `policy lint`.
#[derive(Debug, Args)]
pub struct OfPolicy {
    /// The policy
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `policy lint`.
#[derive(Debug, Args)]
pub struct Lint {
    /// The policy, and the form of the answer
    #[command(flatten)]
    pub of: OfPolicy,
    /// Refuse a policy under which a service with this fee configuration (TOML) would not start:
    /// one without output_tokens, or with a router or fees that the configuration does not review
    #[arg(long, value_name = "FILE")]
    pub fees: Option<PathBuf>,
}

/// A policy, and its differences from the pinned one.
#[derive(Debug)]
pub struct Chosen {
    /// The policy.
    pub policy: Policy,
    /// Whether a file was named.
    pub named: bool,
    /// The differences from the pinned policy of the same name or family, in lines.
    pub differences: Vec<String>,
}

impl PolicyArguments {
    /// Reads the chosen policy.
    ///
    /// # Errors
    /// A file that cannot be used; `policy_malformed`, `policy_unenforceable`;
    /// `fence_digest_mismatch`, with the differences.
    pub fn choose(&self, settings: &Settings) -> Result<Chosen, Failure> {
        let file = self.policy_file.as_ref().or(settings.policy_file.as_ref());
        let pinned = pinned()?;
        let policy = match file {
            Some(path) => read(path)?,
            None => pinned.clone(),
        };
        let differences = changes(&pinned, &policy);
        let wanted = self.policy_digest.or(settings.policy_digest);
        if let Some(wanted) = wanted.filter(|wanted| *wanted != policy.digest()) {
            let mut details = Vec::new();
            if wanted == pinned.digest() {
                details = differences;
            }
            return Err(Refused::new(
                "fence_digest_mismatch",
                "the policy is not the pinned one; nothing is signed under it",
            )
            .comparing(wanted, policy.digest())
            .detailed(details)
            .into());
        }
        Ok(Chosen {
            policy,
            named: file.is_some(),
            differences,
        })
    }
}

/// The policy of this build.
///
/// # Errors
/// A build that passed its tests has none.
pub fn pinned() -> Result<Policy, Failure> {
    Ok(Policy::parse(PINNED)?)
}

/// The differences between two policies, a line for each member.
#[must_use]
pub fn changes(pinned: &Policy, other: &Policy) -> Vec<String> {
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    differences(pinned, other)
        .iter()
        .map(|change| {
            format!(
                "{}: pinned {}, here {}",
                change.path,
                side(&change.before),
                side(&change.after)
            )
        })
        .collect()
}

fn read(path: &Path) -> Result<Policy, Failure> {
    let text = source::read(path)?;
    Policy::parse(&text).map_err(|refusal| {
        let mut failure = Failure::from(refusal);
        if let Failure::Refused(refused) = &mut failure {
            refused.message = format!("{}: {}", path.display(), refused.message);
        }
        failure
    })
}

/// `policy show`: the policy's permissions, in words.
///
/// # Errors
/// As [`PolicyArguments::choose`].
pub fn show(arguments: &OfPolicy) -> Result<CommandOutcome, Failure> {
    let Chosen {
        policy,
        differences,
        ..
    } = arguments.policy.choose(&Settings::load()?)?;
    if arguments.json {
        let document: Value = serde_json::from_str(policy.canonical()).unwrap_or_default();
        let answer = json!({
            "policy_name": policy.name(),
            "rules_digest": policy.digest(),
            "document": document,
            "differs_from_pinned": differences,
        });
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    Ok(CommandOutcome::ok(
        describe(&policy) + &compared(&differences),
    ))
}

/// `policy digest`: the digest.
///
/// # Errors
/// As [`PolicyArguments::choose`].
pub fn digest(arguments: &OfPolicy) -> Result<CommandOutcome, Failure> {
    let policy = arguments.policy.choose(&Settings::load()?)?.policy;
    Ok(if arguments.json {
        let answer = json!({"policy_name": policy.name(), "rules_digest": policy.digest()});
        CommandOutcome::json(&answer, Exit::Ok)
    } else {
        CommandOutcome::ok(format!("{}\n", policy.digest()))
    })
}

/// `policy lint`: advice for its author, and the refusals of a service that would send under it.
///
/// # Errors
/// As [`PolicyArguments::choose`]; with a fee configuration also the names of
/// [`Policy::require_reviewed`], and a file that cannot be used.
pub fn lint(arguments: &Lint) -> Result<CommandOutcome, Failure> {
    let policy = arguments.of.policy.choose(&Settings::load()?)?.policy;
    if let Some(fees) = &arguments.fees {
        policy.require_reviewed(&plan::reviewed(fees)?.fees)?;
    }
    let advice = policy.lint();
    if arguments.of.json {
        let advice: Vec<_> = advice
            .iter()
            .map(|advice| json!({"code": advice.code, "message": advice.message}))
            .collect();
        let answer = json!({"policy_name": policy.name(), "advice": advice});
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    let mut said = format!("{} can be enforced\n", policy.name());
    if arguments.fees.is_some() {
        let version = Printable(policy.fee_config_version());
        let _ = writeln!(said, "the fee configuration {version} reviews its router");
    }
    for advice in &advice {
        let _ = writeln!(said, "{}: {}", advice.code, Printable(&advice.message));
    }
    Ok(CommandOutcome::ok(said))
}

fn describe(policy: &Policy) -> String {
    const DAY: u64 = 86_400;
    let cap = exact::format_units(policy.per_swap_cap(), policy.input_decimals());
    let symbol = Printable(policy.input_symbol());
    let mut said = format!(
        "policy            {}\n\
         digest            {}\n\
         chain             {}\n\
         swaps of          {symbol} {}\n\
         at most           {cap} {symbol} in one swap, fees included; no daily and no total limit\n\
         through           {}\n",
        policy.name(),
        policy.digest(),
        units::chain(Some(policy.chain_id())),
        policy.input_token(),
        policy.router(),
    );
    for shape in policy.shapes() {
        let _ = writeln!(
            said,
            "function          {} {}",
            shape.selector,
            Printable(&shape.signature)
        );
    }
    for (index, token) in policy.output_tokens().iter().enumerate() {
        let label = if index == 0 { "ends in" } else { "" };
        let (symbol, source) = (Printable(&token.symbol), Printable(&token.source));
        let _ = writeln!(said, "{label:18}{symbol} {} ({source})", token.address);
    }
    if policy.output_tokens().is_empty() {
        said.push_str("ends in           no token: output_tokens are not named\n");
    }
    let _ = writeln!(
        said,
        "output goes to    the account of the grant\n\
         a grant lives     {} days, at most {}\n\
         fees              version {}, integrator {}",
        policy.default_grant_seconds() / DAY,
        policy.max_grant_seconds() / DAY,
        Printable(policy.fee_config_version()),
        Printable(policy.integrator().unwrap_or("not named")),
    );
    said
}

/// The relation of a policy to the pinned one.
#[must_use]
pub fn compared(differences: &[String]) -> String {
    if differences.is_empty() {
        return "this is the policy that this build of fence-cli pins\n".to_owned();
    }
    let mut said = "NOT the policy that this build of fence-cli pins:\n".to_owned();
    for line in differences {
        let _ = writeln!(said, "  {}", Printable(line));
    }
    said
}
