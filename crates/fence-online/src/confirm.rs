//! `revoke confirm`: asking until the grant reads back as revoked.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256};
use clap::Args;
use delegation_fence::{AccountKind, Grant};
use fence_offline::{Exit, Failure, Outcome, Printable, document::Document, settings::Settings};
use serde_json::json;

use crate::{
    answers::ReadBack,
    client::{Client, Server},
};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(500);

/// `revoke confirm`.
#[derive(Debug, Args)]
pub struct Confirm {
    /// The grant that was revoked
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// Which server
    #[command(flatten)]
    pub server: Server,
    /// How long to ask, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Asks until the grant is revoked, for `eoa7702` on the chain too; exit code 5 if that is not so in time.
///
/// # Errors
/// A file that cannot be used; a server that cannot be reached.
pub fn confirm(arguments: &Confirm) -> Result<Outcome, Failure> {
    let client = arguments.server.connect(&Settings::load()?)?;
    let grant = Document::<Grant>::read(&arguments.grant)?;
    let target = Target::of(grant.typed_data.message());
    target
        .wait(&client, Duration::from_secs(arguments.timeout))
        .map(|read| target.told(read.as_ref(), arguments.json))
}

/// Which grant, and what its end takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) account: Address,
    pub(crate) grant_id: B256,
    pub(crate) is_on_chain: bool,
}

impl Target {
    pub(crate) fn of(grant: &Grant) -> Self {
        Self {
            account: grant.account,
            grant_id: grant.grant_id,
            is_on_chain: grant.account_kind == AccountKind::Eoa7702,
        }
    }

    /// Asks until it is gone or the time is over; the last answer. A server that fails in between is asked again.
    pub(crate) fn wait(
        self,
        client: &Client,
        patience: Duration,
    ) -> Result<Option<ReadBack>, Failure> {
        let begun = Instant::now();
        loop {
            let read = ReadBack::fetch(client, self.account, self.grant_id);
            let gone = matches!(&read, Ok(Some(read)) if read.is_gone(self.is_on_chain));
            if gone || begun.elapsed().saturating_add(PAUSE) > patience {
                return read;
            }
            thread::sleep(PAUSE);
        }
    }

    /// One line: whether the permission is gone.
    pub(crate) fn told(self, read: Option<&ReadBack>, as_json: bool) -> Outcome {
        let gone = read.is_some_and(|read| read.is_gone(self.is_on_chain));
        let exit = if gone { Exit::Ok } else { Exit::Unconfirmed };
        if as_json {
            return Outcome::json(&json!({"gone": gone, "read_back": read}), exit);
        }
        if gone {
            let said = if self.is_on_chain {
                "the permission is gone: revoked at the service, and its delegations are disabled in a sealed block"
            } else {
                "the permission is gone: the service reads it back as revoked"
            };
            return Outcome::ok(format!("{said}\n"));
        }
        Outcome {
            stdout: format!("{}\n", self.why_not(read)),
            stderr: String::new(),
            exit,
        }
    }

    fn why_not(self, read: Option<&ReadBack>) -> String {
        let Some(read) = read else {
            return "the permission is NOT confirmed as gone: the service says that it has never seen this grant".to_owned();
        };
        if read.state != "revoked" {
            return format!(
                "the permission is NOT gone: the service reads it back as {}",
                Printable(&read.state)
            );
        }
        let transaction = read
            .on_chain
            .as_ref()
            .and_then(|chain| chain.disable_transaction.as_ref());
        let disable = transaction.map_or_else(
            || "the service gives no transaction that disables them".to_owned(),
            |transaction| {
                format!(
                    "send this from {}: {}",
                    self.account,
                    Printable(&transaction.to_string())
                )
            },
        );
        format!(
            "the permission is NOT gone yet: the service has ended it, but its delegations are not disabled on the chain; {disable}"
        )
    }
}
