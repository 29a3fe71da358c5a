//! `grant sign`, `attach` and `inspect`; `grant new` and `verify` are in submodules.
//!
//! A signing command first judges the grant by every rule of the service that needs no server, so
//! that no useless grant is signed.

mod new;
mod verify;

use std::path::PathBuf;

use alloy_primitives::Address;
use calldata_checks::UtcSeconds;
use clap::Args;
use delegation_fence::{
    AccountKind, Fence, Grant, Instance, Limit, Message as _, Now, Order, Policy, Revocation,
    Signature, Signed, TypedData, primary_type,
};
use serde_json::{Value, json};

pub use self::{
    new::{New, new},
    verify::{Verify, verify},
};
use crate::{
    CommandOutcome, Exit, Failure, Refused,
    document::{Destination, Document, Signing, hashes, require_signer, signature},
    now,
    onchain::{Chain, deliver_with, sign_all, words::of_delegations},
    policy::{Chosen, PolicyArguments, changes, compared, pinned},
    settings::Settings,
    source, summary,
};

/// `grant sign`.
#[derive(Debug, Args)]
pub struct Sign {
    /// The grant that `grant new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The key that signs, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// The owner that signs for a sub-wallet
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// For eoa7702: with a redeemer the delegations on the chain are signed as well
    #[command(flatten)]
    pub chain: Chain,
    /// Judge as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Where the signed grant goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Signs a grant with a key file, after printing in words what it permits.
///
/// # Errors
/// Every refusal of the service about the grant comes before the key is touched.
pub fn sign(arguments: &Sign) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let typed_data = Document::<Grant>::read(&arguments.input)?.typed_data;
    let grant = typed_data.message().clone();
    let chosen = arguments.policy.choose(&settings)?;
    require_policy(&grant, &chosen)?;
    let now = arguments.now.unwrap_or_else(now::clock);
    require_signable(&typed_data, &chosen.policy, now)?;
    let signer = owner(&grant, arguments.owner)?;
    let mut words = summary::of_grant(&typed_data, Some(&chosen.policy), None);
    let is_own = grant.account_kind == AccountKind::Eoa7702;
    let redeemer = match is_own {
        true => arguments.chain.redeemer(&settings),
        // A redeemer on the command line for an account without delegations is a mistake; one in
        // the settings is not.
        false => arguments.chain.redeemer,
    };
    let mut promised = Vec::new();
    if let Some(redeemer) = redeemer {
        let terms = arguments
            .chain
            .terms(&typed_data, &chosen.policy, redeemer, &settings);
        promised = terms.delegations()?;
        words.push_str(&of_delegations(&terms, &promised));
    } else if is_own {
        words.push_str(NO_DELEGATIONS);
    }
    words.push('\n');
    words.push_str(&compared(&chosen.differences));
    let key = arguments.signing.open(signer, &words, &settings)?;
    let signed = Signed::new(typed_data.clone(), signature(&key, typed_data.digest())?);
    let delegations = sign_all(&key, grant.chain_id, promised)?;
    deliver_with(signed, delegations, &arguments.destination)
}

const NO_DELEGATIONS: &str = "\nNothing of it is on the chain yet: the service also needs the account's delegations. Name its redeemer \
    with --redeemer, or sign them later with fence-cli onchain delegation\n";

/// `grant attach`.
#[derive(Debug, Args)]
pub struct Attach {
    /// The grant that `grant new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The signature that a wallet gave: 0x and 130 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub signature: String,
    /// The owner that must have signed for a sub-wallet
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// Where the signed grant goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Adds the signature of a wallet to a grant, if the right key made it.
///
/// # Errors
/// `wrong_signer` and the refusals of signatures.
pub fn attach(arguments: &Attach) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let typed_data = Document::<Grant>::read(&arguments.input)?.typed_data;
    let signed = Signed::new(typed_data, Signature::parse(&arguments.signature)?);
    if let Some(expected) = owner(signed.message(), arguments.owner)? {
        require_signer(expected, signed.signer()?)?;
    }
    deliver(&signed, &arguments.destination)
}

fn deliver(signed: &Signed<Grant>, destination: &Destination) -> Result<CommandOutcome, Failure> {
    deliver_with(signed.clone(), Vec::new(), destination)
}

/// `grant inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// A grant, revocation, limit or order, signed or not (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The policy of the grant, whose tokens and units are shown
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints in words the content of a file and its signer. Nothing is judged.
///
/// # Errors
/// When the file cannot be read, or holds no message of the fence; for a grant also as
/// [`PolicyArguments::choose`].
pub fn inspect(arguments: &Inspect) -> Result<CommandOutcome, Failure> {
    let text = source::read(&arguments.input)?;
    let mut output_tokens = Value::Null;
    let (words, typed_data, about, signer) = match primary_type(&text)? {
        Grant::PRIMARY_TYPE => {
            let policy = arguments.policy.choose(&Settings::load()?)?.policy;
            let grant = described::<Grant>(&text, |typed_data, signer| {
                summary::of_grant(typed_data, Some(&policy), signer)
            })?;
            let rules = grant.1.pointer("/message/rulesDigest");
            if rules.and_then(Value::as_str) == Some(&policy.digest().to_string()) {
                output_tokens = summary::output_tokens(&policy);
            }
            grant
        }
        Revocation::PRIMARY_TYPE => described::<Revocation>(&text, summary::of_revocation)?,
        Limit::PRIMARY_TYPE => described::<Limit>(&text, |typed_data, signer| {
            summary::of_limit(typed_data, None, signer)
        })?,
        _ => described::<Order>(&text, summary::of_order)?,
    };
    if arguments.json {
        let answer = json!({"typed_data": typed_data, "hashes": about, "signer": signer.map(|signer| signer.to_string()), "output_tokens": output_tokens, "judged": false});
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    let standing = if signer.is_some() {
        "\nNOT JUDGED: `fence-cli grant verify` judges a signed grant.\n"
    } else {
        "\nNot signed.\n"
    };
    Ok(CommandOutcome::ok(words + standing))
}

type Described = (String, Value, Value, Option<Address>);

fn described<M: delegation_fence::Message>(
    text: &str,
    words: impl Fn(&TypedData<M>, Option<Address>) -> String,
) -> Result<Described, Failure> {
    let document = Document::<M>::parse(text)?;
    let signer = document.signer()?;
    let typed_data = &document.typed_data;
    let value = serde_json::from_str(&typed_data.to_json()).unwrap_or_default();
    Ok((words(typed_data, signer), value, hashes(typed_data), signer))
}

/// Checks that the grant is for the policy. If it is not, shows the differences from the pinned
/// policy.
fn require_policy(grant: &Grant, chosen: &Chosen) -> Result<(), Failure> {
    if grant.policy_name == *chosen.policy.name() && grant.rules_digest == chosen.policy.digest() {
        return Ok(());
    }
    let code = if grant.policy_name == *chosen.policy.name() {
        "grant_policy_digest_mismatch"
    } else {
        "grant_policy_name_mismatch"
    };
    let side =
        |name: &dyn std::fmt::Display, digest: &dyn std::fmt::Display| format!("{name} {digest}");
    let message = if chosen.named {
        "the grant is for another policy than that of --policy-file; nothing was signed"
    } else {
        "the grant is for another policy than the one that this build pins; nothing was signed \
         (--policy-file names the document that the grant is for)"
    };
    let mut details = chosen.differences.clone();
    if chosen.named && grant.rules_digest == pinned()?.digest() {
        details = changes(&pinned()?, &chosen.policy);
    }
    Err(Refused::new(code, message)
        .comparing(
            side(chosen.policy.name(), &chosen.policy.digest()),
            side(&grant.policy_name, &grant.rules_digest),
        )
        .detailed(details)
        .into())
}

/// The service's refusals of the grant itself.
fn require_signable(
    typed_data: &TypedData<Grant>,
    policy: &Policy,
    now: UtcSeconds,
) -> Result<(), Failure> {
    let grant = typed_data.message();
    let instance = Instance {
        domain: typed_data.domain().clone(),
        project_id: grant.project_id.clone(),
    };
    Fence::new(instance, policy.clone())?.review(grant, Now::offline(now))?;
    require_kind(grant.account_kind)
}

fn require_kind(kind: AccountKind) -> Result<(), Failure> {
    match kind {
        AccountKind::SubWallet | AccountKind::Eoa7702 => Ok(()),
        AccountKind::Eoa | AccountKind::Safe => Err(Refused::new(
            "account_kind_unsupported",
            "nothing is sent for such an account: give it delegation code and grant as eoa7702, or fund a sub-wallet",
        )
        .comparing("sub_wallet or eoa7702", kind.as_str())
        .into()),
    }
}

/// The account whose key signs: the account's own, or the owner of a sub-wallet. `None` for a
/// sub-wallet without a named owner.
fn owner(grant: &Grant, named: Option<Address>) -> Result<Option<Address>, Failure> {
    match grant.account_kind {
        AccountKind::SubWallet => Ok(named),
        _ => match named.filter(|named| *named != grant.account) {
            Some(named) => Err(Refused::new(
                "account_not_owned",
                "only a sub-wallet has an owner; every other account signs for itself",
            )
            .comparing(grant.account, named)
            .into()),
            None => Ok(Some(grant.account)),
        },
    }
}
