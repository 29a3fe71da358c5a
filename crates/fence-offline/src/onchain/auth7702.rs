//! `onchain auth7702`: signs the EIP-7702 authorization of an account. Another tool sends it.

use alloy_primitives::Address;
use clap::Args;
use delegation_fence::onchain::{Authorization, IMPLEMENTATION};
use serde_json::json;

use crate::{
    CommandOutcome, Failure,
    document::{Destination, Signing, signature},
    settings::Settings,
    units,
};

/// `onchain auth7702`.
#[derive(Debug, Args)]
pub struct Auth7702 {
    /// The account's next nonce; one more where the account itself sends the transaction
    #[arg(long, value_name = "NUMBER")]
    pub nonce: u64,
    /// The chain's id
    #[arg(long, value_name = "ID", default_value = "8453")]
    pub chain_id: u64,
    /// Take the code away instead: the account is a plain one again
    #[arg(long)]
    pub clear: bool,
    /// The code: MetaMask's EIP7702StatelessDeleGator 1.3.0 and no other
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse, conflicts_with = "clear")]
    pub implementation: Option<Address>,
    /// The account that must sign [default: the key file's account]
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub account: Option<Address>,
    /// The account's key, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// Where the authorization goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Signs the authorization that gives an account the framework's code (EIP-7702), or takes it away.
///
/// # Errors
/// `authorization_any_chain`, `authorization_implementation`; a key file, password or terminal that
/// cannot be used.
pub fn auth7702(arguments: &Auth7702) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let code = match arguments.clear {
        true => Address::ZERO,
        false => arguments.implementation.unwrap_or(IMPLEMENTATION),
    };
    let authorization = Authorization::new(arguments.chain_id, code, arguments.nonce)?;
    let digest = authorization.digest();
    let chain = units::chain(Some(arguments.chain_id));
    let words = if arguments.clear {
        format!(
            "The account gives its code up (EIP-7702)\n\nchain             {chain}\nnonce             {}\n\
             means             nothing can be redeemed while it has none. With the same code again, every delegation that was not\n\
             \u{20}                 disabled counts again: disable them first\n",
            arguments.nonce
        )
    } else {
        format!(
            "The account runs the code of another contract (EIP-7702)\n\nchain             {chain}\n\
             code              {code}, MetaMask's EIP7702StatelessDeleGator 1.3.0\nnonce             {}\n\
             means             whatever the account delegates can be redeemed for it, until the delegation is disabled or the\n\
             \u{20}                 code is given up. Your key stays the account's key\n",
            arguments.nonce
        )
    };
    let words = format!("{words}digest            {digest}\n\n");
    let key = arguments
        .signing
        .open(arguments.account, &words, &settings)?;
    let signed = authorization.sign_with(&signature(&key, digest)?);
    let document = json!({
        "account": key.address().to_string(),
        "authorization": signed.to_value(),
        "rlp": signed.to_rlp(),
    });
    let outcome = arguments.destination.deliver(
        &document.to_string(),
        json!({"account": key.address().to_string(), "digest": digest}),
    )?;
    Ok(outcome.with_note(
        "signed. Whoever sends it pays the gas, for example: cast send ACCOUNT --auth RLP --account NAME --rpc-url URL\n",
    ))
}
