//! `grant submit` and `revoke submit`: send a signed file to the server, unchanged.

use std::path::PathBuf;

use clap::Args;
use delegation_fence::{Grant, Limit, Revocation, Signed, onchain::GrantFile};
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable, document::Document, output, policy::PolicyArguments,
    settings::Settings, summary,
};
use serde_json::{Value, json};

use crate::client::{Client, Server, Unanswered};

/// `grant submit`.
#[derive(Debug, Args)]
pub struct SubmitGrant {
    /// The signed grant (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Gives a signed grant to the service.
///
/// # Errors
/// The service's refusal by its name; a file or server that cannot be used.
pub fn submit_grant(arguments: &SubmitGrant) -> Result<CommandOutcome, Failure> {
    let client = arguments.server.connect(&Settings::load()?)?;
    let document = Document::<Grant>::read(&arguments.input)?;
    let file = GrantFile {
        delegations: document.delegations.clone(),
        signed: document.signed()?,
    };
    let answer = client
        .post("/delegation/grants", &file.to_json())?
        .success()?;
    let signed = file.signed;
    if arguments.json {
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    let text = |member: &str| member_text(&answer, member);
    Ok(CommandOutcome::ok(format!(
        "the service has the grant {}: {}, until {}\n",
        signed.message().grant_id,
        Printable(&text("state")),
        Printable(&text("expires_at")),
    )))
}

/// `revoke submit`.
#[derive(Debug, Args)]
pub struct SubmitRevocation {
    /// The signed revocation (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// Where to keep the service's receipt (mode 0600)
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Gives a signed revocation to the service. `revoke confirm` tells whether the permission has
/// ended.
///
/// # Errors
/// As [`submit_grant`].
pub fn submit_revocation(arguments: &SubmitRevocation) -> Result<CommandOutcome, Failure> {
    let client = arguments.server.connect(&Settings::load()?)?;
    let signed = Document::<Revocation>::read(&arguments.input)?.signed()?;
    let answer = match send_revocation(&client, &signed) {
        Ok(answer) => answer,
        Err(unacknowledged) => return Ok(unacknowledged.outcome(arguments.json)),
    };
    let kept = keep_receipt(arguments.receipt.as_ref(), &answer);
    let told = if arguments.json {
        CommandOutcome::json(&answer, Exit::Ok)
    } else {
        CommandOutcome::ok(format!(
            "the service says {} since {}; fence-cli revoke confirm reads it back\n",
            Printable(&member_text(&answer, "state")),
            Printable(&member_text(&answer, "revoked_at")),
        ))
    };
    Ok(without_receipt(told, kept))
}

/// `limit submit`.
#[derive(Debug, Args)]
pub struct SubmitLimit {
    /// The signed limit (`-`: standard input)
    #[arg(long = "in", value_name = "FILE")]
    pub input: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// The policy of the grant, for the token's decimals
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Gives a signed limit to the service, which counts it at once.
///
/// # Errors
/// As [`submit_grant`].
pub fn submit_limit(arguments: &SubmitLimit) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    let client = arguments.server.connect(&settings)?;
    let signed = Document::<Limit>::read(&arguments.input)?.signed()?;
    let answer = client
        .post("/delegation/limits", &signed.to_json())?
        .success()?;
    if arguments.json {
        return Ok(CommandOutcome::json(&answer, Exit::Ok));
    }
    // A limit only tightens: an amount in the smallest unit must not prevent its submission.
    let policy = arguments.policy.choose(&settings).ok();
    let amount = |member: &str| match answer.get(member) {
        Some(Value::Null) => "no limit".to_owned(),
        given => given
            .and_then(Value::as_str)
            .and_then(|digits| digits.parse().ok())
            .map_or_else(
                || member_text(&answer, member),
                |atoms| summary::in_token(policy.as_ref().map(|chosen| &chosen.policy), atoms),
            ),
    };
    Ok(CommandOutcome::ok(format!(
        "the service counts for the grant {}: per swap {}, swaps {}, per 24 hours {}\n",
        signed.message().grant_id,
        Printable(&amount("per_swap_cap")),
        Printable(&amount("max_swaps")),
        Printable(&amount("outflow_24h")),
    )))
}

/// Why the service has not acknowledged a revocation.
#[derive(Debug)]
pub(crate) enum Unacknowledged {
    /// Nothing is revoked by it: it was not sent, or the service refuses it.
    Nothing(Failure),
    /// The service may have carried it out: its answer was lost or is a failure.
    Unknown(Failure),
}

impl Unacknowledged {
    /// The first line says what is known.
    fn outcome(self, as_json: bool) -> CommandOutcome {
        let (words, revoked, failure) = match self {
            Self::Nothing(failure) => (nothing_revoked(&failure), json!(false), failure),
            Self::Unknown(failure) => {
                let words = format!(
                    "it is UNKNOWN whether anything is revoked: {failure}\nfence-cli revoke confirm reads it back\n"
                );
                (words, Value::Null, failure)
            }
        };
        let exit = failure.exit();
        if as_json {
            let mut answer = failure.to_json();
            if let Some(members) = answer.as_object_mut() {
                members.insert("revoked".to_owned(), revoked);
            }
            return CommandOutcome::json(&answer, exit);
        }
        CommandOutcome {
            stdout: words,
            stderr: String::new(),
            exit,
        }
    }
}

/// Says that nothing is revoked, in the first line, and why.
pub(crate) fn nothing_revoked(failure: &Failure) -> String {
    format!("nothing is revoked: {}", failure.to_words())
}

/// The code of a full store of revocations: nothing was written.
const REVOCATIONS_FULL: &str = "revocations_full";

/// Gives a signed revocation to the service, once.
pub(crate) fn send_revocation(
    client: &Client,
    signed: &Signed<Revocation>,
) -> Result<Value, Unacknowledged> {
    let answer = client.send("/delegation/revocations", &signed.to_json());
    let answer = answer.map_err(|unanswered| match unanswered {
        Unanswered::NotSent(failure) => Unacknowledged::Nothing(failure),
        Unanswered::Lost(failure) => Unacknowledged::Unknown(failure),
    })?;
    // Of the errors from 500 on, only this one says that nothing was written.
    let is_refused = answer.error_code().is_some_and(|code| {
        (400..500).contains(&answer.status) || (answer.status == 503 && code == REVOCATIONS_FULL)
    });
    answer.success().map_err(|failure| match is_refused {
        true => Unacknowledged::Nothing(failure),
        false => Unacknowledged::Unknown(failure),
    })
}

/// Keeps the service's receipt, which names the record of the revocation in the grant's log.
pub(crate) fn keep_receipt(path: Option<&PathBuf>, answer: &Value) -> Result<(), Failure> {
    match path {
        Some(path) => Ok(output::write(
            path,
            format!("{answer}\n").as_bytes(),
            false,
        )?),
        None => Ok(()),
    }
}

/// Adds to an outcome that the receipt could not be kept. A success becomes a file error.
pub(crate) fn without_receipt(
    mut told: CommandOutcome,
    kept: Result<(), Failure>,
) -> CommandOutcome {
    if let Err(failure) = kept {
        told.stderr.push_str(&format!(
            "error: the receipt was not kept: {failure}; the same command with another --receipt gets it again\n"
        ));
        if told.exit == Exit::Ok {
            told.exit = Exit::File;
        }
    }
    told
}

pub(crate) fn member_text(answer: &Value, member: &str) -> String {
    match answer.get(member) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "(not said)".to_owned(),
    }
}
