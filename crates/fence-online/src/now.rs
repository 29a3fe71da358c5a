//! `revoke now`: signs a revocation, submits it, and asks until the grant reads back as revoked.

use std::{path::PathBuf, time::Duration};

use alloy_primitives::Address;
use clap::Args;
use delegation_fence::{AccountKind, Grant, Revocation, TypedData};
use fence_offline::{
    CommandOutcome, Exit, Failure,
    document::{Document, Signing},
    now::clock,
    output,
    settings::Settings,
    summary,
};

use crate::{
    client::Server,
    confirm::{OwnReading, Target},
    submit::{keep_receipt, send_revocation, without_receipt},
};

/// `revoke now`.
#[derive(Debug, Args)]
pub struct RevokeNow {
    /// The grant to end
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// The key that signs, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// The owner that signs for a sub-wallet
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub owner: Option<Address>,
    /// How the chain is read, for eoa7702
    #[command(flatten)]
    pub own: OwnReading,
    /// Where to keep the service's receipt (mode 0600)
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// How long to ask whether it is gone, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Ends a grant: signs its revocation, submits it, reads it back, and says in one line whether the
/// permission is gone.
///
/// # Errors
/// A file, key file or server that cannot be used; the service's refusal by its name. Exit code 5
/// when the read-back does not confirm it.
pub fn revoke_now(arguments: &RevokeNow) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    let client = arguments.server.connect(&settings)?;
    if let Some(path) = arguments
        .receipt
        .as_ref()
        .filter(|path| path.symlink_metadata().is_ok())
    {
        return Err(output::OutputError::Exists { path: path.clone() }.into());
    }
    let document = Document::<Grant>::read(&arguments.grant)?;
    let target = Target::of(&document, &arguments.own, &settings)?;
    let grant = document.typed_data.message();
    let signer = match grant.account_kind {
        // The signer of the grant ends it.
        AccountKind::SubWallet => arguments
            .owner
            .map_or_else(|| document.signer(), |owner| Ok(Some(owner)))?,
        _ => Some(grant.account),
    };
    let revocation = Revocation {
        account: grant.account,
        chain_id: grant.chain_id,
        grant_id: grant.grant_id,
        project_id: grant.project_id.clone(),
        revoked_at: clock().unix(),
    };
    let typed_data = TypedData::new(document.typed_data.domain().clone(), revocation)?;
    let words = summary::of_revocation(&typed_data, None) + "\n";
    let signed = arguments
        .signing
        .sign(typed_data, signer, &words, &settings)?;
    let receipt = send_revocation(&client, &signed)?;
    // A failure to keep the receipt is reported after the decisive line.
    let kept = keep_receipt(arguments.receipt.as_ref(), &receipt);
    let patience = Duration::from_secs(arguments.timeout);
    let outcome = match target.wait(&client, patience) {
        Ok(read) => target.outcome(&read, arguments.json),
        // The revocation was accepted, but its effect could not be read.
        Err(Failure::Error(error, _)) => CommandOutcome::error(
            format!("the revocation was accepted, but NOT confirmed by reading back: {error}"),
            Exit::Unconfirmed,
        ),
        Err(refused) => refused.into_outcome(arguments.json),
    };
    Ok(without_receipt(outcome, kept))
}
