//! `revoke new`, `sign` and `attach`: make a signed revocation. `revoke submit` of `fence-online`
//! sends it.

use std::path::PathBuf;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use clap::Args;
use delegation_fence::{Domain, Name, Revocation, Signature, Signed, TypedData};
use serde_json::json;

use crate::{
    CommandOutcome, Failure,
    document::{Destination, Document, Signing, hashes, require_signer},
    now,
    settings::{self, Settings},
    summary,
};

/// `revoke new`.
#[derive(Debug, Args)]
pub struct New {
    /// The account of the grant
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub account: Address,
    /// The grant's id; 32 zero bytes end every grant of the account
    #[arg(long, value_name = "HEX")]
    pub grant_id: B256,
    /// The service's public project id
    #[arg(long, value_name = "ID", env = "SVC_FENCE_PROJECT_ID")]
    pub project_id: Option<String>,
    /// The service instance's salt: 0x and 64 hexadecimal digits
    #[arg(long, value_name = "HEX", env = "SVC_FENCE_SALT")]
    pub salt: Option<B256>,
    /// The chain's id
    #[arg(long, value_name = "ID", default_value = "8453")]
    pub chain_id: u64,
    /// Revoke as of this time; the service takes at most 300 seconds from its own clock [default:
    /// now]
    #[arg(long, value_name = "RFC3339", value_parser = UtcSeconds::parse_rfc3339)]
    pub now: Option<UtcSeconds>,
    /// Where the revocation goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Writes the typed data of a revocation.
///
/// # Errors
/// An invalid project id; a file that cannot be written.
pub fn new(arguments: &New) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let project_id = arguments.project_id.clone().or(settings.project_id);
    let project_id = Name::new(&settings::required(project_id, "project-id")?)?;
    let salt = settings::required(arguments.salt.or(settings.salt), "salt")?;
    let revocation = Revocation {
        account: arguments.account,
        chain_id: arguments.chain_id,
        grant_id: arguments.grant_id,
        project_id,
        revoked_at: arguments.now.unwrap_or_else(now::clock).unix(),
    };
    let typed_data = TypedData::new(Domain::new(arguments.chain_id, salt), revocation)?;
    let words = format!(
        "{}\nNot signed. Next: fence-cli revoke sign, or a wallet and fence-cli revoke attach\n",
        summary::of_revocation(&typed_data, None)
    );
    let outcome = arguments
        .destination
        .deliver(&typed_data.to_json(), hashes(&typed_data))?;
    Ok(outcome.with_note(&words))
}

/// `revoke sign`.
#[derive(Debug, Args)]
pub struct Sign {
    /// The revocation that `revoke new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The key that signs, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// The account that must sign: the owner of a sub-wallet [default: the key file's account]
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// Where the signed revocation goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Signs a revocation with a key file. Only the grant states the kind of the account, so the signer
/// is printed, and compared with `--owner` if that is given.
///
/// # Errors
/// A key file, password or terminal that cannot be used; `wrong_signer`.
pub fn sign(arguments: &Sign) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let typed_data = Document::<Revocation>::read(&arguments.input)?.typed_data;
    let words = summary::of_revocation(&typed_data, None) + "\n";
    let signed = arguments
        .signing
        .sign(typed_data, arguments.owner, &words, &settings)?;
    deliver(&signed, &arguments.destination)
}

/// `revoke attach`.
#[derive(Debug, Args)]
pub struct Attach {
    /// The revocation that `revoke new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The signature that a wallet gave: 0x and 130 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub signature: String,
    /// The account that must have signed: the owner of a sub-wallet [default: any account]
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// Where the signed revocation goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Adds the signature of a wallet to a revocation.
///
/// # Errors
/// `wrong_signer` and the refusals of signatures.
pub fn attach(arguments: &Attach) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let typed_data = Document::<Revocation>::read(&arguments.input)?.typed_data;
    let signed = Signed::new(typed_data, Signature::parse(&arguments.signature)?);
    if let Some(expected) = arguments.owner {
        require_signer(expected, signed.signer()?)?;
    }
    deliver(&signed, &arguments.destination)
}

/// Delivers a signed revocation. States the signer when it is not the account itself.
fn deliver(
    signed: &Signed<Revocation>,
    destination: &Destination,
) -> Result<CommandOutcome, Failure> {
    let signer = signed.signer()?;
    let mut about = hashes(signed.typed_data());
    if let Some(about) = about.as_object_mut() {
        about.insert("signer".to_owned(), json!(signer.to_string()));
    }
    let account = signed.message().account;
    let outcome = destination.deliver(&signed.to_json(), about)?;
    Ok(if signer == account {
        outcome
    } else {
        outcome.with_note(&format!(
            "signed by {signer}, which is not the account {account}: it counts only where that is the owner of a sub-wallet\n"
        ))
    })
}
