//! `log fetch`: reads the whole log of a grant. `log verify` of `fence-offline` judges it.

use std::path::PathBuf;

use clap::Args;
use delegation_fence::Grant;
use fence_offline::{
    CommandOutcome, Exit, Failure,
    document::{Destination, Document},
    settings::Settings,
};
use serde_json::{Value, json};

use crate::client::{Client, Server};

/// An upper bound: no grant can have plans for more pages.
const MOST_PAGES: usize = 1_000;

/// `log fetch`.
#[derive(Debug, Args)]
pub struct FetchLog {
    /// The grant
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// Where the log goes
    #[command(flatten)]
    pub destination: Destination,
}

/// Reads every page of a grant's log into one. `log verify` then tells whether it is whole and
/// unchanged.
///
/// # Errors
/// `grant_not_found`; a file or server that cannot be used.
pub fn fetch_log(arguments: &FetchLog) -> Result<CommandOutcome, Failure> {
    arguments.destination.check()?;
    let client = arguments.server.connect(&Settings::load()?)?;
    let document = Document::<Grant>::read(&arguments.grant)?;
    let grant = document.typed_data.message();
    let path = format!(
        "/delegation/grants/{}/{}/log",
        grant.account, grant.grant_id
    );
    let records = pages(&client, &path)?;
    let count = records.len();
    let log = json!({"records": records, "next_cursor": null});
    let outcome = arguments
        .destination
        .deliver(&log.to_string(), json!({"records": count}))?;
    Ok(outcome.with_note(&format!("{count} records. Next: fence-cli log verify\n")))
}

fn pages(client: &Client, path: &str) -> Result<Vec<Value>, Failure> {
    let mut records = Vec::new();
    let mut next = String::new();
    for _ in 0..MOST_PAGES {
        let mut page = client.get(&format!("{path}{next}"))?.success()?;
        let Some(Value::Array(more)) = page.get_mut("records").map(Value::take) else {
            return Err(not_a_log());
        };
        records.extend(more);
        match page.get("next_cursor") {
            None | Some(Value::Null) => return Ok(records),
            Some(Value::String(cursor)) if is_plain(cursor) => next = format!("?cursor={cursor}"),
            Some(_) => return Err(not_a_log()),
        }
    }
    Err(not_a_log())
}

/// Whether a text can be part of an address without escaping.
fn is_plain(cursor: &str) -> bool {
    !cursor.is_empty()
        && cursor
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn not_a_log() -> Failure {
    Failure::Error(
        "the server's answer is not the log of a grant".to_owned(),
        Exit::Network,
    )
}
