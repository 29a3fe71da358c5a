//! `onchain delegation`: signs the delegations that a grant promises, and puts them beside the
//! grant.

use std::path::PathBuf;

use clap::Args;
use delegation_fence::{Grant, Signature, Signed, onchain::GrantFile};
use serde_json::{Value, json};

use super::{Chain, sign_all, words};
use crate::{
    CommandOutcome, Exit, Failure,
    document::{Destination, Document, Signing, require_signer},
    policy::PolicyArguments,
    settings::{self, Settings},
};

/// `onchain delegation`.
#[derive(Debug, Args)]
pub struct Delegate {
    /// The signed grant of an eoa7702 account (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The redeemer and the enforcing contracts
    #[command(flatten)]
    pub chain: Chain,
    /// Print the typed data of each delegation for a wallet, as a JSON list, and sign nothing
    #[arg(long, conflicts_with = "signature")]
    pub typed_data: bool,
    /// The signatures that a wallet gave, in the order of the list
    #[arg(long, value_name = "HEX")]
    pub signature: Vec<String>,
    /// The account's key, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// Where the grant with its delegations goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Signs the delegations of a grant, and adds them to it: the body of `POST /delegation/grants`.
///
/// # Errors
/// `account_kind_unsupported`, `grant_policy_digest_mismatch`, `delegation_redeemer_invalid`,
/// `grant_delegate_is_service`; a key file or a wallet's signature of another account.
pub fn delegation(arguments: &Delegate) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let signed = Document::<Grant>::read(&arguments.grant)?.signed()?;
    let account = signed.message().account;
    require_signer(account, signed.signer()?)?;
    let policy = arguments.policy.choose(&settings)?.policy;
    let redeemer = settings::required(arguments.chain.redeemer(&settings), "redeemer")?;
    let terms = arguments
        .chain
        .terms(signed.typed_data(), &policy, redeemer, &settings);
    let promised = terms.delegations()?;
    let chain_id = policy.chain_id();
    let said = words::of_delegations(&terms, &promised);
    if arguments.typed_data {
        let list: Vec<Value> = promised
            .iter()
            .map(|(_, delegation)| delegation.typed_data(chain_id))
            .collect();
        return Ok(CommandOutcome::json(&json!(list), Exit::Ok).with_note(&said));
    }
    let delegations = if arguments.signature.is_empty() {
        let key = arguments
            .signing
            .open(Some(account), &(said + "\n"), &settings)?;
        sign_all(&key, chain_id, promised)?
    } else {
        if arguments.signature.len() != promised.len() {
            return Err(Failure::usage(format!(
                "there are {} delegations: give --signature for each, in the order of --typed-data",
                promised.len()
            )));
        }
        promised
            .into_iter()
            .zip(&arguments.signature)
            .map(|((_, delegation), text)| {
                let signed = delegation.sign_with(Signature::parse(text)?);
                require_signer(account, signed.signer(chain_id)?)?;
                Ok(signed)
            })
            .collect::<Result<_, Failure>>()?
    };
    terms.accept(&delegations)?;
    deliver(signed.clone(), delegations, &arguments.destination)
}

/// Delivers a grant with its delegations.
pub(crate) fn deliver(
    signed: Signed<Grant>,
    delegations: Vec<delegation_fence::onchain::SignedDelegation>,
    destination: &Destination,
) -> Result<CommandOutcome, Failure> {
    let mut about = crate::document::hashes(signed.typed_data());
    if let Some(about) = about.as_object_mut() {
        about.insert("signer".to_owned(), json!(signed.signer()?.to_string()));
        about.insert("grant_id".to_owned(), json!(signed.message().grant_id));
        if !delegations.is_empty() {
            let hashes: Vec<_> = delegations
                .iter()
                .map(|signed| json!(signed.delegation.hash()))
                .collect();
            about.insert("delegations".to_owned(), json!(hashes));
        }
    }
    let file = GrantFile {
        signed,
        delegations,
    };
    destination.deliver(&file.to_json(), about)
}
