//! `revoke now`: signs a revocation, submits it, and asks until the grant reads back as revoked.
//!
//! Whatever is known of the permission afterwards is on standard output, in the first line; what
//! remains to be done follows there.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use alloy_primitives::Address;
use clap::Args;
use delegation_fence::{
    AccountKind, Grant, REVOCATION_SKEW_SECONDS, Revocation, Signed, TypedData,
};
use exact::UtcSeconds;
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable,
    document::{Document, Signing},
    now::clock,
    output,
    settings::Settings,
    source, summary,
};
use serde_json::{Value, json};

use crate::{
    client::{Client, Server},
    confirm::{OwnReading, Readings, Target},
    submit::{Unacknowledged, keep_receipt, nothing_revoked, send_revocation, without_receipt},
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
/// permission is gone. If the service does not acknowledge the revocation, the first line says that
/// nothing is revoked, or that this is unknown, and the signed file is kept.
///
/// # Errors
/// A file or key file that cannot be used: nothing was sent. Otherwise the exit is 1 when the
/// service refuses by name, 4 when it cannot be reached, and 5 when nothing confirms the end.
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
    let attempt = Attempt {
        arguments,
        client: &client,
        target: &target,
        grant,
        signed: &signed,
    };
    Ok(match send_revocation(&client, &signed) {
        Ok(receipt) => attempt.acknowledged(&receipt),
        Err(Unacknowledged::Nothing(failure)) => attempt.refused(&failure),
        Err(Unacknowledged::Unknown(failure)) => attempt.lost(failure),
    })
}

/// A revocation that was signed and, where possible, sent.
struct Attempt<'a> {
    arguments: &'a RevokeNow,
    client: &'a Client,
    target: &'a Target,
    grant: &'a Grant,
    signed: &'a Signed<Revocation>,
}

impl Attempt<'_> {
    fn acknowledged(&self, receipt: &Value) -> CommandOutcome {
        // A failure to keep the receipt is reported after the decisive line.
        let kept = keep_receipt(self.arguments.receipt.as_ref(), receipt);
        let outcome = match self.read_back() {
            Ok(read) => self.target.outcome(&read, self.arguments.json),
            Err(failure) => {
                let words = format!(
                    "the revocation was accepted, but NOT confirmed by reading back: {failure}\n{}",
                    self.ask()
                );
                self.outcome(words, failure.to_json(), Exit::Unconfirmed)
            }
        };
        without_receipt(outcome, kept)
    }

    /// Nothing was sent, or the service refuses.
    fn refused(&self, failure: &Failure) -> CommandOutcome {
        let mut words = nothing_revoked(failure);
        let mut json = failure.to_json();
        insert(&mut json, "revoked", json!(false));
        match failure {
            Failure::Refused(_) => {
                words.push_str("run the same command again when that is mended\n");
            }
            Failure::Error(..) => self.keep(&mut words, &mut json),
        }
        self.add_end_on_chain(&Readings::default(), &mut words, &mut json);
        self.outcome(words, json, failure.exit())
    }

    /// The service may have carried the revocation out, so the grant is read back.
    fn lost(&self, failure: Failure) -> CommandOutcome {
        let mut json = failure.to_json();
        let read = self.read_back();
        let mut words = match &read {
            // The service has ended the grant. Only its receipt is missing.
            Ok(read) if read.is_revoked() => {
                let receipt = self
                    .arguments
                    .receipt
                    .as_ref()
                    .map_or(Ok(()), |_| Err(failure));
                let outcome = self.target.outcome(read, self.arguments.json);
                return without_receipt(outcome, receipt);
            }
            Ok(read) => format!(
                "{}\nthe service has not acknowledged the revocation: {failure}\n",
                self.target.why_not(read)
            ),
            Err(unread) => format!(
                "it is UNKNOWN whether anything is revoked: the service has not acknowledged it: {failure}\n\
                 the grant cannot be read back: {unread}\n"
            ),
        };
        insert(&mut json, "revoked", Value::Null);
        self.keep(&mut words, &mut json);
        words.push_str(&self.ask());
        self.add_end_on_chain(&read.unwrap_or_default(), &mut words, &mut json);
        self.outcome(words, json, Exit::Unconfirmed)
    }

    fn read_back(&self) -> Result<Readings, Failure> {
        let patience = Duration::from_secs(self.arguments.timeout);
        self.target.wait(self.client, patience)
    }

    /// Keeps the signed revocation in a file, and says until when it counts and how to send it.
    fn keep(&self, words: &mut String, json: &mut Value) {
        let signed_at = self.signed.message().revoked_at;
        let path = beside(&self.arguments.grant, signed_at);
        let text = self.signed.to_json();
        let until = UtcSeconds::from_unix(signed_at.saturating_add(REVOCATION_SKEW_SECONDS));
        insert(json, "counts_until", json!(until.to_string()));
        let shown = path.display().to_string();
        // Writing to a string cannot fail.
        let _ = match keep_once(&path, &format!("{text}\n")) {
            Ok(()) => {
                insert(json, "signed", json!(shown));
                writeln!(
                    words,
                    "the signed revocation is kept in {}; the service takes it until {until}, {REVOCATION_SKEW_SECONDS} seconds after it was signed\n\
                     until then:    fence-cli revoke submit --in {} --url {}",
                    Printable(&shown),
                    quoted(&shown),
                    quoted(self.client.shown())
                )
            }
            Err(error) => {
                insert(
                    json,
                    "signed",
                    serde_json::from_str(&text).unwrap_or_default(),
                );
                writeln!(
                    words,
                    "the signed revocation is not kept: {error}; the service takes it until {until}: {text}"
                )
            }
        };
        words.push_str("after that:    the same command again, which signs anew\n");
    }

    /// How to ask for the grant's state.
    fn ask(&self) -> String {
        format!(
            "to ask again:  fence-cli revoke confirm --grant {} --url {}\n",
            quoted(&self.arguments.grant.display().to_string()),
            quoted(self.client.shown())
        )
    }

    /// Adds what ends the permission without the service.
    fn add_end_on_chain(&self, read: &Readings, words: &mut String, json: &mut Value) {
        let until = UtcSeconds::from_unix(self.grant.expires_at);
        // Writing to a string cannot fail.
        let _ = match self.target.disable(read) {
            Some(transaction) => {
                insert(json, "disable_transaction", transaction.clone());
                writeln!(
                    words,
                    "without the service, on the chain: send this from {}: {transaction}",
                    self.target.account
                )
            }
            None if self.target.is_on_chain => writeln!(
                words,
                "without the service, on the chain: fence-cli onchain disable --grant FILE, with the file that was submitted: this one has \
                 no delegations of the grant"
            ),
            None => writeln!(
                words,
                "only the service can end this grant, because it has the account's key; the grant ends by itself at {until}"
            ),
        };
    }

    fn outcome(&self, words: String, json: Value, exit: Exit) -> CommandOutcome {
        if self.arguments.json {
            let mut json = json;
            insert(&mut json, "gone", json!(false));
            return CommandOutcome::json(&json, exit);
        }
        CommandOutcome {
            stdout: words,
            stderr: String::new(),
            exit,
        }
    }
}

fn insert(json: &mut Value, member: &str, value: Value) {
    if let Some(members) = json.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
}

/// Writes a file, unless it has this text already: two runs within one second sign the same.
fn keep_once(path: &Path, text: &str) -> Result<(), output::OutputError> {
    match output::write(path, text.as_bytes(), false) {
        Err(output::OutputError::Exists { .. })
            if source::read(path).is_ok_and(|kept| kept == text) =>
        {
            Ok(())
        }
        written => written,
    }
}

/// The file for a signed revocation: beside its grant, with the time of the signature in its name,
/// so that no other one is there.
fn beside(grant: &Path, signed_at: u64) -> PathBuf {
    if source::is_stdin(grant) {
        return PathBuf::from(format!("revocation-{signed_at}.json"));
    }
    let stem = grant.file_stem().unwrap_or_default().to_string_lossy();
    grant.with_file_name(format!("{stem}.revocation-{signed_at}.json"))
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_beside_its_grant() {
        let at = |grant: &str| beside(Path::new(grant), 7).display().to_string();
        assert_eq!(at("a/signed.json"), "a/signed.revocation-7.json");
        assert_eq!(at("signed"), "signed.revocation-7.json");
        assert_eq!(at("-"), "revocation-7.json");
    }

    #[test]
    fn a_word_stays_one_word() {
        for (word, expected) in [
            ("https://api.example:8402", "https://api.example:8402"),
            ("my grant.json", "'my grant.json'"),
            ("it's", "'it'\\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
