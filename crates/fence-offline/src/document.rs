//! Files of grants, revocations, limits and orders: typed data, alone or beside its signature; and
//! the keys that sign them.
//!
//! A document is read strictly and judged by the commands. Every file is written for its owner
//! only.

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256};
use clap::Args;
use delegation_fence::{
    Grant, Message, Refusal, Signature, Signed, TypedData,
    onchain::{GrantFile, SignedDelegation},
};
use serde_json::{Value, json};

use crate::{
    CommandOutcome, Exit, Failure, Refused, key_files, output,
    settings::{self, Settings},
    source, terminal,
};
use keystore::Key;

/// Typed data, with its signature where there is one.
#[derive(Debug, Clone)]
pub struct Document<M> {
    /// The typed data.
    pub typed_data: TypedData<M>,
    /// The signature.
    pub signature: Option<Signature>,
    /// The delegations beside a signed grant.
    pub delegations: Vec<SignedDelegation>,
}

impl<M: Message> Document<M> {
    /// Reads a file of either form.
    ///
    /// # Errors
    /// A file that cannot be read; the refusals of [`TypedData::parse`] and [`Signed::parse`].
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Ok(Self::parse(&source::read(path)?)?)
    }

    /// Reads a text of either form.
    ///
    /// # Errors
    /// The refusals of [`TypedData::parse`] and [`Signed::parse`].
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if !is_signed(text) {
            return Ok(Self {
                typed_data: TypedData::parse(text)?,
                signature: None,
                delegations: Vec::new(),
            });
        }
        let (signed, delegations) = if M::PRIMARY_TYPE == Grant::PRIMARY_TYPE {
            let (rest, delegations) = GrantFile::split(text)?;
            (Signed::<M>::parse(&rest)?, delegations)
        } else {
            (Signed::<M>::parse(text)?, Vec::new())
        };
        Ok(Self {
            typed_data: signed.typed_data().clone(),
            signature: Some(*signed.signature()),
            delegations,
        })
    }

    /// The signer; `None` without a signature.
    ///
    /// # Errors
    /// `signature_unrecoverable`
    pub fn signer(&self) -> Result<Option<Address>, Refusal> {
        self.signature
            .map(|signature| signature.recover(self.typed_data.digest()))
            .transpose()
    }

    /// The document with its signature.
    ///
    /// # Errors
    /// `not_signed`
    pub fn signed(self) -> Result<Signed<M>, Refused> {
        match self.signature {
            Some(signature) => Ok(Signed::new(self.typed_data, signature)),
            None => Err(Refused::new(
                "not_signed",
                "the file is not signed yet: `sign` it with a key file, or `attach` the signature of a wallet",
            )),
        }
    }
}

/// Whether a text is a file with a member `typed_data`. The parsers of the two forms judge the
/// rest.
fn is_signed(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("typed_data").is_some())
}

/// The destination of a document, and the form of the answer about it.
#[derive(Debug, Args)]
pub struct Destination {
    /// Where to write (mode 0600); `-`: standard output [default: -]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Destination {
    /// Fails before anything is signed when the document could not be written afterwards.
    ///
    /// # Errors
    /// When the file already exists.
    pub fn check(&self) -> Result<(), Failure> {
        match self.file() {
            Some(path) if !self.force && path.symlink_metadata().is_ok() => {
                Err(output::OutputError::Exists {
                    path: path.to_owned(),
                }
                .into())
            }
            _ => Ok(()),
        }
    }

    /// Writes a document. Standard output gets the document, or a line about the written file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn deliver(&self, document: &str, hashes: Value) -> Result<CommandOutcome, Failure> {
        let line = format!("{document}\n");
        let Some(path) = self.file() else {
            return Ok(CommandOutcome::ok(line));
        };
        output::write(path, line.as_bytes(), self.force)?;
        let shown = path.display().to_string();
        if !self.json {
            return Ok(CommandOutcome::ok("").with_note(&format!("written to {shown}\n")));
        }
        let mut answer = json!({"out": shown});
        if let (Some(answer), Value::Object(hashes)) = (answer.as_object_mut(), hashes) {
            answer.extend(hashes);
        }
        Ok(CommandOutcome::json(&answer, Exit::Ok))
    }

    fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| !source::is_stdin(path))
    }
}

/// The hashes that a wallet's screen shows, as JSON.
pub fn hashes<M: Message>(typed_data: &TypedData<M>) -> Value {
    json!({
        "domain_hash": typed_data.domain_hash(),
        "message_hash": typed_data.message_hash(),
        "digest": typed_data.digest(),
    })
}

/// The key that signs, and the consent to it.
#[derive(Debug, Args)]
pub struct Signing {
    /// The key file (Web3 Secret Storage), or the name of one in ~/.foundry/keystores
    #[arg(long, value_name = "FILE", env = "SVC_FENCE_KEYSTORE")]
    pub keystore: Option<PathBuf>,
    /// A file with the password (`-`: standard input, /dev/fd/N: a descriptor) [default: ask]
    #[arg(long, value_name = "FILE", env = "SVC_FENCE_PASSWORD_FILE")]
    pub password_file: Option<PathBuf>,
    /// Sign without asking; needed where there is no terminal
    #[arg(long)]
    pub yes: bool,
}

impl Signing {
    /// Asks for consent, opens the key file and signs. The description of the message is printed
    /// before the question.
    ///
    /// # Errors
    /// `not_confirmed`; a key file, password or terminal that cannot be used; `wrong_signer` for
    /// the key of another address than `signer`.
    pub fn sign<M: Message>(
        &self,
        typed_data: TypedData<M>,
        signer: Option<Address>,
        words: &str,
        settings: &Settings,
    ) -> Result<Signed<M>, Failure> {
        let key = self.open(signer, words, settings)?;
        let signature = signature(&key, typed_data.digest())?;
        Ok(Signed::new(typed_data, signature))
    }

    /// Asks for consent and opens the key file. The description of the message is printed before
    /// the question.
    ///
    /// # Errors
    /// As [`Self::sign`].
    pub fn open(
        &self,
        signer: Option<Address>,
        words: &str,
        settings: &Settings,
    ) -> Result<Key, Failure> {
        let named = self.keystore.as_ref().or(settings.keystore.as_ref());
        let path = key_files::locate(settings::required(named, "keystore")?);
        let text = source::read(&path)?;
        if let (Some(expected), Some(beside)) = (signer, keystore::address_beside(&text)?) {
            require_signer(expected, beside)?;
        }
        print_now(words);
        if let Some(warning) = key_files::open_to_others(&path) {
            print_now(&warning);
        }
        if !self.yes && !terminal::confirm("Sign this?")? {
            return Err(Refused::new("not_confirmed", "nothing was signed").into());
        }
        let password =
            terminal::password(self.password_file.as_deref(), "Password of the key file: ")?;
        let key = keystore::decrypt(&text, password.as_bytes())
            .map_err(|error| Failure::file(format!("{}: {error}", path.display())))?;
        if let Some(expected) = signer {
            require_signer(expected, key.address())?;
        }
        Ok(key)
    }
}

/// The signature of a key over a digest.
///
/// # Errors
/// When the key cannot sign it.
pub fn signature(key: &Key, digest: B256) -> Result<Signature, Failure> {
    let bytes = key
        .sign(digest)
        .ok_or_else(|| Failure::file("the key cannot sign this digest"))?;
    Ok(Signature::from_bytes(&bytes)?)
}

/// Checks that the required key made a signature.
///
/// # Errors
/// `wrong_signer`
pub fn require_signer(expected: Address, observed: Address) -> Result<(), Refused> {
    if expected == observed {
        return Ok(());
    }
    Err(Refused::new("wrong_signer", "the key is of another address").comparing(expected, observed))
}

/// Prints words for the person at once: they must be visible before a question.
#[allow(
    clippy::print_stderr,
    reason = "the words come before the question that they are about"
)]
fn print_now(words: &str) {
    eprint!("{words}");
}
