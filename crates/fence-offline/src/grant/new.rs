//! `grant new`: writes the typed data of a grant for a wallet or a key file to sign.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use clap::{Args, ValueEnum};
use delegation_fence::{AccountKind, Domain, Grant, Name, Policy, TypedData};
use exact::DecimalText;

use super::require_signable;
use crate::{
    CommandOutcome, Failure,
    document::{Destination, hashes},
    now::{self, When},
    policy::{PolicyArguments, compared},
    settings::{self, Settings},
    summary,
};

/// `grant new`.
#[derive(Debug, Args)]
pub struct New {
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The account whose tokens may be swapped
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub account: Address,
    /// The account that may order swaps: an agent's own key, never a key of the service
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub delegate: Address,
    /// The service's public project id
    #[arg(long, value_name = "ID", env = "SVC_FENCE_PROJECT_ID")]
    pub project_id: Option<String>,
    /// The service instance's salt: 0x and 64 hexadecimal digits
    #[arg(long, value_name = "HEX", env = "SVC_FENCE_SALT")]
    pub salt: Option<B256>,
    /// The kind of the account
    #[arg(long, value_name = "KIND", default_value = "eoa7702")]
    pub kind: Kind,
    /// The owner that signs for a sub-wallet
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// The most of one swap in whole tokens, like 1000 or 0.5 [default: the policy's]
    #[arg(long, value_name = "AMOUNT")]
    pub cap: Option<String>,
    /// The end: a span like 90d or a time of RFC 3339 [default: the policy's, 90d]
    #[arg(long, value_name = "SPAN|RFC3339", value_parser = now::parse_when)]
    pub expires: Option<When>,
    /// The beginning [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub not_before: Option<UtcSeconds>,
    /// The grant's id [default: 32 random bytes]
    #[arg(long, value_name = "HEX")]
    pub grant_id: Option<B256>,
    /// Issue as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Where the grant goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Kinds of accounts for which a service sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A key that the service keeps for its owner; the owner signs
    #[value(name = "sub_wallet")]
    SubWallet,
    /// The user's own account with delegation code (EIP-7702); its key signs
    #[value(name = "eoa7702")]
    Eoa7702,
    /// An account without code: refused
    #[value(name = "eoa", hide = true)]
    Eoa,
    /// A Safe: refused
    #[value(name = "safe", hide = true)]
    Safe,
}

impl From<Kind> for AccountKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::SubWallet => Self::SubWallet,
            Kind::Eoa7702 => Self::Eoa7702,
            Kind::Eoa => Self::Eoa,
            Kind::Safe => Self::Safe,
        }
    }
}

/// Writes the typed data of a grant, for signing with `grant sign`, cast or any wallet.
///
/// # Errors
/// Every refusal of the service about such a grant already comes here.
pub fn new(arguments: &New) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let chosen = arguments.policy.choose(&settings)?;
    let project_id = arguments.project_id.clone().or(settings.project_id);
    let project_id = settings::required(project_id, "project-id")?;
    let salt = settings::required(arguments.salt.or(settings.salt), "salt")?;
    let now = arguments.now.unwrap_or_else(now::clock);
    let policy = &chosen.policy;
    let grant = Grant {
        account: arguments.account,
        account_kind: arguments.kind.into(),
        chain_id: policy.chain_id(),
        policy_name: policy.name().clone(),
        rules_digest: policy.digest(),
        project_id: Name::new(&project_id)?,
        capability: policy.capability().clone(),
        delegate: arguments.delegate,
        per_swap_cap: cap(arguments.cap.as_deref(), policy)?,
        grant_id: arguments.grant_id.map_or_else(random_id, Ok)?,
        issued_at: now.unix(),
        not_before: arguments.not_before.unwrap_or(now).unix(),
        expires_at: expiry(arguments.expires, policy, now)?,
    };
    super::owner(&grant, arguments.owner)?;
    let typed_data = TypedData::new(Domain::new(policy.chain_id(), salt), grant)?;
    require_signable(&typed_data, policy, now)?;
    let words = format!(
        "{}\n{}by the time {now}\nNot signed. Next: fence-cli grant sign, or a wallet and fence-cli grant attach\n",
        summary::of_grant(&typed_data, Some(policy), None),
        compared(&chosen.differences),
    );
    let mut about = hashes(&typed_data);
    if let Some(about) = about.as_object_mut() {
        let id = typed_data.message().grant_id;
        about.insert("grant_id".to_owned(), serde_json::json!(id));
    }
    let outcome = arguments
        .destination
        .deliver(&typed_data.to_json(), about)?;
    Ok(outcome.with_note(&words))
}

fn expiry(when: Option<When>, policy: &Policy, now: UtcSeconds) -> Result<u64, Failure> {
    when.unwrap_or(When::After(policy.default_grant_seconds()))
        .from(now)
        .map(UtcSeconds::unix)
        .ok_or_else(|| Failure::usage("--expires lies after the year 9999"))
}

/// An amount in whole tokens, in the policy's smallest unit.
fn cap(text: Option<&str>, policy: &Policy) -> Result<U256, Failure> {
    let Some(text) = text else {
        return Ok(policy.per_swap_cap());
    };
    let decimals = policy.input_decimals();
    let amount = DecimalText::parse(text).and_then(|amount| amount.to_atoms(decimals));
    amount.map_err(|_| {
        Failure::usage(format!(
            "--cap is not an amount with at most {decimals} decimals, like 1000 or 0.5"
        ))
    })
}

fn random_id() -> Result<B256, Failure> {
    let mut id = [0_u8; 32];
    getrandom::fill(&mut id).map_err(|error| Failure::file(format!("no randomness: {error}")))?;
    Ok(B256::new(id))
}
