//! The common parts of `limit` and `order`: sign a message with a key file, or add a wallet's
//! signature to it.

use std::path::PathBuf;

use alloy_primitives::Address;
use clap::Args;
use delegation_fence::{Message, Signature, Signed, TypedData};
use serde_json::json;

use crate::{
    CommandOutcome, Failure,
    document::{Destination, Document, Signing, hashes, require_signer},
    settings::Settings,
};

/// `limit sign` and `order sign`.
#[derive(Debug, Args)]
pub struct Sign {
    /// The message that `new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The key that signs, and the consent to it
    #[command(flatten)]
    pub signing: Signing,
    /// The account that must sign [default: the key file's account]
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub signer: Option<Address>,
    /// Where the signed message goes
    #[command(flatten)]
    pub destination: Destination,
}

/// `limit attach` and `order attach`.
#[derive(Debug, Args)]
pub struct Attach {
    /// The message that `new` wrote (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The signature that a wallet gave: 0x and 130 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub signature: String,
    /// The account that must have signed [default: any account]
    #[arg(long, value_name = "ADDRESS", value_parser = exact::address::parse)]
    pub signer: Option<Address>,
    /// Where the signed message goes
    #[command(flatten)]
    pub destination: Destination,
}

pub(crate) fn sign<M: Message>(
    arguments: &Sign,
    words: impl Fn(&TypedData<M>, Option<Address>) -> String,
) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    arguments.destination.check()?;
    let typed_data = Document::<M>::read(&arguments.input)?.typed_data;
    let words = words(&typed_data, None) + "\n";
    let signed = arguments
        .signing
        .sign(typed_data, arguments.signer, &words, &settings)?;
    deliver(&signed, &arguments.destination)
}

pub(crate) fn attach<M: Message>(arguments: &Attach) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let typed_data = Document::<M>::read(&arguments.input)?.typed_data;
    let signed = Signed::new(typed_data, Signature::parse(&arguments.signature)?);
    if let Some(expected) = arguments.signer {
        require_signer(expected, signed.signer()?)?;
    }
    deliver(&signed, &arguments.destination)
}

fn deliver<M: Message>(
    signed: &Signed<M>,
    destination: &Destination,
) -> Result<CommandOutcome, Failure> {
    let signer = signed.signer()?;
    let mut about = hashes(signed.typed_data());
    if let Some(about) = about.as_object_mut() {
        about.insert("signer".to_owned(), json!(signer.to_string()));
    }
    let outcome = destination.deliver(&signed.to_json(), about)?;
    Ok(outcome.with_note(&format!("signed by {signer}\n")))
}
