//! `status`: compares the service's fence with the pinned policy, and reads back one grant.

use std::path::PathBuf;

use clap::Args;
use delegation_fence::{Grant, Policy};
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable, Refused, document::Document, policy::PolicyArguments,
    settings::Settings,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    answers::ReadBack,
    client::{Client, Server},
};

/// `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// The policy that the service has to enforce
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// Also read back this grant
    #[arg(long, value_name = "FILE")]
    pub grant: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The public record of the fence; exactly these members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    present: bool,
    policy_name: String,
    per_swap_cap_usd: serde_json::Number,
    project_id: String,
    rules_digest: String,
}

/// Reads the service's fence back and compares it with the policy; with a grant, its state too.
///
/// # Errors
/// `fence_unreadable`, `fence_name_mismatch`, `fence_digest_mismatch`; a server that cannot be
/// used.
pub fn status(arguments: &Status) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    let client = arguments.server.connect(&settings)?;
    let policy = arguments.policy.choose(&settings)?.policy;
    let record = fetch(&client)?;
    require_pinned(&record, &policy)?;
    let grant = arguments
        .grant
        .as_ref()
        .map(|path| {
            let grant = Document::<Grant>::read(path)?;
            let grant = grant.typed_data.message();
            let read = ReadBack::fetch(&client, grant.account, grant.grant_id)?;
            read.ok_or_else(|| {
                Failure::from(Refused::new(
                    "grant_not_found",
                    "the service has never seen this grant",
                ))
            })
        })
        .transpose()?;
    if arguments.json {
        return Ok(CommandOutcome::json(
            &json!({"fence": record, "grant": grant}),
            Exit::Ok,
        ));
    }
    let mut said = format!(
        "the service enforces {} {}, at most {} US dollars in one swap, for project {}\n",
        Printable(&record.policy_name),
        Printable(&record.rules_digest),
        record.per_swap_cap_usd,
        Printable(&record.project_id),
    );
    if let Some(grant) = grant {
        said.push_str(&format!(
            "the grant reads back as {}\n",
            Printable(&grant.state)
        ));
    }
    Ok(CommandOutcome::ok(said))
}

fn fetch(client: &Client) -> Result<Record, Failure> {
    let body = client.get("/delegation/status")?.success()?;
    serde_json::from_value(body).map_err(|_| {
        Failure::Error(
            "the server's answer is not a fence status record".to_owned(),
            Exit::Network,
        )
    })
}

fn require_pinned(record: &Record, policy: &Policy) -> Result<(), Failure> {
    if !record.present {
        return Err(Refused::new(
            "fence_unreadable",
            "the service says that its fence is not present: nothing is sent",
        )
        .into());
    }
    let sides = [
        (
            "fence_name_mismatch",
            policy.name().to_string(),
            &record.policy_name,
        ),
        (
            "fence_digest_mismatch",
            policy.digest().to_string(),
            &record.rules_digest,
        ),
    ];
    for (code, expected, observed) in sides {
        if expected != *observed {
            return Err(Refused::new(
                code,
                "the service enforces another policy than the one that is expected here",
            )
            .comparing(expected, observed)
            .into());
        }
    }
    Ok(())
}
