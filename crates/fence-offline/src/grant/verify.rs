//! `grant verify`: judges a signed grant by the rules of the service, without the service.

use std::path::PathBuf;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use clap::Args;
use delegation_fence::{
    Account, AccountKind, Domain, Fence, Grant, Instance, Name, Now, onchain::ChainGrant,
};
use serde_json::json;

use super::new::Kind;
use crate::{
    CommandOutcome, Exit, Failure, Refused,
    document::{Document, hashes},
    now, onchain,
    policy::{PolicyArguments, compared},
    settings::{self, Settings},
    summary,
};

/// `grant verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The signed grant (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The policy of the service
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The service's public project id
    #[arg(long, value_name = "ID", env = "SVC_FENCE_PROJECT_ID")]
    pub project_id: Option<String>,
    /// The service instance's salt: 0x and 64 hexadecimal digits
    #[arg(long, value_name = "HEX", env = "SVC_FENCE_SALT")]
    pub salt: Option<B256>,
    /// The required kind of the account
    #[arg(long, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// The owner that signs for a sub-wallet
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// Judge as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// The end of a plan that the grant has to outlive
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub valid_until: Option<UtcSeconds>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Judges a signed grant as the service does, except for facts that only the service knows: whether
/// it was received, revoked or tightened.
///
/// # Errors
/// The first rule that fails, by name.
pub fn verify(arguments: &Verify) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    let document = Document::<Grant>::read(&arguments.input)?;
    let signed = document.clone().signed()?;
    let grant = signed.message().clone();
    let chosen = arguments.policy.choose(&settings)?;
    let project_id = arguments.project_id.clone().or(settings.project_id);
    let project_id = Name::new(&settings::required(project_id, "project-id")?)?;
    let salt = settings::required(arguments.salt.or(settings.salt), "salt")?;
    if let Some(kind) = arguments
        .kind
        .map(AccountKind::from)
        .filter(|kind| *kind != grant.account_kind)
    {
        return Err(Refused::new(
            "account_kind_mismatch",
            "the grant is for an account of another kind",
        )
        .comparing(kind.as_str(), grant.account_kind.as_str())
        .into());
    }
    let owner = match (grant.account_kind, arguments.owner) {
        (AccountKind::SubWallet, None) => {
            return Err(Failure::usage(
                "a sub-wallet's grant is signed by its owner: name the owner with --owner",
            ));
        }
        (_, owner) => owner.unwrap_or(grant.account),
    };
    let at = arguments.now.unwrap_or_else(now::clock);
    let instance = Instance {
        domain: Domain::new(chosen.policy.chain_id(), salt),
        project_id,
    };
    let fence = Fence::new(instance, chosen.policy)?;
    let signer = signed.signer()?;
    let typed_data = signed.typed_data().clone();
    let received = fence.receive(signed, owner, Now::offline(at))?;
    let mut account = Account::new(grant.account);
    account.receive(received)?;
    let standing = account.standing(grant.grant_id, fence.policy(), Now::offline(at))?;
    standing.require_active()?;
    require_outlives(&grant, arguments.valid_until)?;
    let chain = match document.delegations.is_empty() {
        true => None,
        false => Some(onchain::of_document(&document, fence.policy())?),
    };
    if arguments.json {
        let answer = json!({"verified": {
            "account": grant.account.to_string(),
            "grant_id": grant.grant_id,
            "signer": signer.to_string(),
            "expires_at": UtcSeconds::from_unix(grant.expires_at).to_string(),
            "judged_as_of": at.to_string(),
            "hashes": hashes(&typed_data),
            "redeemer": chain.as_ref().map(|chain| chain.redeemer().to_string()),
            "delegations": chain.as_ref().map(ChainGrant::ending),
        }});
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    let mut words = summary::of_grant(&typed_data, Some(fence.policy()), Some(signer));
    if let Some(chain) = &chain {
        words.push_str(&format!(
            "\non the chain      {} delegations, exactly what the grant promises; {} redeems\n",
            chain.delegations().len(),
            chain.redeemer()
        ));
    }
    Ok(CommandOutcome::ok(format!(
        "{words}\n{}judged as of {at}; whether it was revoked is for the service to say: fence-cli status --grant FILE\nverified: grant {}\n",
        compared(&chosen.differences),
        grant.grant_id,
    )))
}

fn require_outlives(grant: &Grant, valid_until: Option<UtcSeconds>) -> Result<(), Failure> {
    match valid_until {
        Some(end) if grant.expires_at <= end.unix() => Err(Refused::new(
            "grant_expires_before_valid_until",
            "the grant ends at or before the plan's end",
        )
        .comparing(
            format_args!("after {end}"),
            UtcSeconds::from_unix(grant.expires_at),
        )
        .into()),
        _ => Ok(()),
    }
}
