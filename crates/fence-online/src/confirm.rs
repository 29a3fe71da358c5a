//! `revoke confirm`: asks until the grant reads back as revoked.
//!
//! The answer is what was read last. For an `eoa7702` account the chain decides too, and the
//! holder's own endpoint is believed before the service.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes};
use clap::Args;
use delegation_fence::{
    AccountKind, Grant,
    onchain::{ChainGrant, MANAGER},
};
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable,
    document::Document,
    onchain::{of_document, transaction},
    policy::PolicyArguments,
    settings::Settings,
};
use serde_json::{Value, json};

use crate::{
    answers::ReadBack,
    client::{Client, Server},
    node::{ChainState, Node},
};

/// The pause between two requests.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);

/// `revoke confirm`.
#[derive(Debug, Args)]
pub struct Confirm {
    /// The grant that was revoked
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The server
    #[command(flatten)]
    pub server: Server,
    /// How the chain is read, for eoa7702
    #[command(flatten)]
    pub own: OwnReading,
    /// How long to ask, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The holder's own reading of the chain.
#[derive(Debug, Args)]
pub struct OwnReading {
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// An endpoint of the chain, for eoa7702: without one the service's word is taken for what the
    /// chain says
    #[arg(
        long,
        value_name = "URL",
        env = "SVC_FENCE_RPC_URL",
        hide_env_values = true
    )]
    pub rpc_url: Option<String>,
    /// How many blocks have to be above the block that is read
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub confirmations: u64,
}

/// Asks until the grant is revoked, for `eoa7702` on the chain too; exit code 5 if that is not so
/// in time.
///
/// # Errors
/// A file that cannot be used; a server that cannot be reached.
pub fn confirm(arguments: &Confirm) -> Result<CommandOutcome, Failure> {
    let settings = Settings::load()?;
    let client = arguments.server.connect(&settings)?;
    let grant = Document::<Grant>::read(&arguments.grant)?;
    let target = Target::of(&grant, &arguments.own, &settings)?;
    target
        .wait(&client, Duration::from_secs(arguments.timeout))
        .map(|read| target.outcome(&read, arguments.json))
}

/// A grant, and the conditions of its end.
pub(crate) struct Target {
    pub(crate) account: Address,
    grant_id: B256,
    /// Whether delegations on a chain are a part of it.
    pub(crate) is_on_chain: bool,
    /// Its delegations, if the file has them.
    delegations: Option<ChainGrant>,
    /// The reader of the chain.
    reader: ChainReader,
}

/// The reader of the chain.
enum ChainReader {
    /// The service: the holder names no endpoint, or no part of the grant is on a chain.
    Service,
    /// This tool, at the holder's endpoint.
    Own(Node),
    /// No reader, for this reason: the holder names an endpoint, but the file does not determine
    /// what to read there.
    Unavailable(String),
}

/// The last readings.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// The service's answer. `None` when it has never received the grant.
    service: Option<ReadBack>,
    /// The chain's own state.
    chain: Option<ChainState>,
}

impl Readings {
    /// Whether the service has ended the grant.
    pub(crate) fn is_revoked(&self) -> bool {
        self.service.as_ref().is_some_and(ReadBack::is_revoked)
    }
}

impl Target {
    /// # Errors
    /// An unusable endpoint is an error. Delegations that are not those of the grant are no error
    /// here, because a revocation must not wait for them: the state of the chain then stays
    /// unconfirmed.
    pub(crate) fn of(
        document: &Document<Grant>,
        own: &OwnReading,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let grant = document.typed_data.message();
        let is_on_chain = grant.account_kind == AccountKind::Eoa7702;
        let delegations = own
            .policy
            .choose(settings)
            .and_then(|chosen| of_document(document, &chosen.policy));
        let url = own.rpc_url.as_ref().or(settings.rpc_url.as_ref());
        let reader = match (url.filter(|_| is_on_chain), &delegations) {
            (None, _) => ChainReader::Service,
            (Some(url), Ok(_)) => ChainReader::Own(Node::new(url, own.confirmations)?),
            (Some(_), Err(failure)) => ChainReader::Unavailable(failure.to_string()),
        };
        Ok(Self {
            account: grant.account,
            grant_id: grant.grant_id,
            is_on_chain,
            delegations: delegations.ok().filter(|_| is_on_chain),
            reader,
        })
    }

    /// Asks until the permission has ended or the time is over. Returns the last answers. A failing
    /// server or endpoint is asked again.
    pub(crate) fn wait(&self, client: &Client, patience: Duration) -> Result<Readings, Failure> {
        let begun = Instant::now();
        loop {
            let read = self.read(client);
            let gone = read.as_ref().is_ok_and(|read| self.is_gone(read));
            if gone || begun.elapsed().saturating_add(PAUSE) > patience {
                return read;
            }
            thread::sleep(PAUSE);
        }
    }

    fn read(&self, client: &Client) -> Result<Readings, Failure> {
        let service = ReadBack::fetch(client, self.account, self.grant_id)?;
        let chain = match (&self.reader, &self.delegations) {
            (ChainReader::Own(node), Some(delegations)) => Some(node.state(delegations)?),
            _ => None,
        };
        Ok(Readings { service, chain })
    }

    /// Revoked at the service, and, for an account with delegation code, disabled on the chain: by
    /// the holder's own reading if an endpoint is named, otherwise by the service's word.
    fn is_gone(&self, read: &Readings) -> bool {
        let Some(service) = &read.service else {
            return false;
        };
        service.is_revoked()
            && (!self.is_on_chain
                || match (&read.chain, &self.reader) {
                    (Some(chain), _) => chain.is_over(),
                    (None, ChainReader::Service) => service.is_disabled(),
                    (None, _) => false,
                })
    }

    /// One line: whether the permission has ended.
    pub(crate) fn outcome(&self, read: &Readings, as_json: bool) -> CommandOutcome {
        let gone = self.is_gone(read);
        let exit = if gone { Exit::Ok } else { Exit::Unconfirmed };
        if as_json {
            let mut answer = json!({"gone": gone, "read_back": read.service});
            if let Some(members) = answer.as_object_mut().filter(|_| self.is_on_chain) {
                members.insert("chain".to_owned(), json!(read.chain));
                let rest = self.disable(read).filter(|_| !gone);
                members.insert("disable_transaction".to_owned(), json!(rest));
                if let ChainReader::Unavailable(why) = &self.reader {
                    members.insert("chain_not_read".to_owned(), json!(why));
                }
            }
            return CommandOutcome::json(&answer, exit);
        }
        if !gone {
            return CommandOutcome {
                stdout: format!("{}\n", self.why_not(read)),
                stderr: String::new(),
                exit,
            };
        }
        let state = match (self.is_on_chain, &read.chain) {
            (false, _) => "the service reads it back as revoked".to_owned(),
            (true, Some(chain)) => format!(
                "revoked at the service, and its delegations are disabled in a sealed block, read in block {} {}",
                chain.block_number, chain.block_hash
            ),
            (true, None) => "revoked at the service, and its delegations are disabled in a sealed block, by the service's word \
                 (--rpc-url reads the chain itself)"
                .to_owned(),
        };
        CommandOutcome::ok(format!("the permission is gone: {state}\n"))
    }

    /// One line: why the permission does not count as ended.
    pub(crate) fn why_not(&self, read: &Readings) -> String {
        let Some(service) = &read.service else {
            return "the permission is NOT confirmed as gone: the service says that it has never seen this grant".to_owned();
        };
        if !service.is_revoked() {
            return format!(
                "the permission is NOT gone: the service reads it back as {}",
                Printable(&service.state)
            );
        }
        let transaction = self.disable(read);
        let send = |transaction| format!("send this from {}: {transaction}", self.account);
        if let ChainReader::Unavailable(why) = &self.reader {
            let rest = transaction.map(|transaction| format!("; {}", send(transaction)));
            return format!(
                "the permission is NOT confirmed as gone: the service has ended it, but the chain was not read at the endpoint that is \
                 named, because the grant's file does not say what to read: {}{}",
                Printable(why),
                rest.unwrap_or_default()
            );
        }
        let disable = transaction.map_or_else(
            || "the grant's file has no delegations of it, and the service gives no transaction that disables them".to_owned(),
            send,
        );
        format!(
            "the permission is NOT gone yet: the service has ended it, but its delegations are not disabled on the chain; {disable}"
        )
    }

    /// The transaction that disables the remaining delegations, from the delegations that the
    /// holder signed. The service's transaction is shown only when the file has none, and only if
    /// it calls the manager's disabling function.
    pub(crate) fn disable(&self, read: &Readings) -> Option<Value> {
        if let Some(delegations) = &self.delegations {
            let already = read.chain.as_ref().map(ChainState::already);
            return delegations
                .disable(&already.unwrap_or_default())
                .as_ref()
                .map(transaction);
        }
        let given = read.service.as_ref()?.disable_transaction()?;
        let text = |member: &str| given.get(member).and_then(Value::as_str);
        let to: Address = text("to")?.parse().ok()?;
        let data: Bytes = text("data")?.parse().ok()?;
        let is_plain = text("value").is_none_or(|value| matches!(value, "0" | "0x0"));
        let chain_id = given.get("chain_id").and_then(Value::as_u64);
        (to == MANAGER && data.starts_with(&DISABLE) && is_plain).then(|| {
            json!({"chain_id": chain_id, "from": self.account.to_string(), "to": to.to_string(), "value": "0", "data": data})
        })
    }
}

/// `disableDelegation` of the manager.
const DISABLE: [u8; 4] = [0x49, 0x93, 0x40, 0x47];
