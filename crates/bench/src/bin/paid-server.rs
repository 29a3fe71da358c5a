//! The API server with a settler that does nothing and one upstream that answers at once, so that a
//! paid call costs only the server's own part. With `--upstreams` all routes sell, from the
//! recorded answers at that address.
#![allow(clippy::print_stderr, reason = "a command-line tool")]
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use api_server::config::{UpstreamMode, UpstreamTable};
use api_server::{ApiServer, Config, Parts, Sources, recorded_clock, replay_upstreams};
use bench::baseline;
use clap::{Parser, ValueEnum};
use data_sources::{Clock, SystemClock};
use ledger::AnyLedger;
use settlement::{Cause, Readiness, Receipt, Reconciliation, Settlement, Settler, Verification};
use storage::postgres::{Address, Postgres, PostgresOptions};
use storage::{SqliteStore, StoreOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use x402_wire::Payment;

#[derive(Debug, Parser)]
struct Arguments {
    /// The ledger, `sqlite://PATH` or `postgres://…`.
    #[arg(long)]
    ledger: String,
    /// The settler.
    #[arg(long, value_enum)]
    settler: Without,
    /// The address of recorded answers of all upstreams, `http://HOST:PORT`. Without it only the
    /// token list is sold.
    #[arg(long)]
    upstreams: Option<String>,
    /// The address of the list of yield pools, instead of the recorded one.
    #[arg(long, requires = "upstreams")]
    yields: Option<String>,
}

/// A settler without a chain or a facilitator.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Without {
    /// Takes every payment at once.
    Accepting,
    /// Can never be reached.
    Unreachable,
}

impl Without {
    fn cause(call: settlement::RemoteCall) -> Cause {
        Cause::Unreachable { call }
    }
}

impl Settler for Without {
    /// Says yes, as a settler that can read balances does: payers without credit may then have
    /// several calls in flight.
    fn reads_chain(&self) -> bool {
        true
    }

    async fn verify(&self, _payment: &Payment, _committed: U256, _now: u64) -> Verification {
        match self {
            Self::Accepting => Verification::Valid,
            Self::Unreachable => Verification::Unavailable {
                cause: Self::cause(settlement::RemoteCall::Verify),
            },
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        match self {
            Self::Accepting => Settlement::Settled(Receipt::of(
                payment,
                payment.authorization().nonce.to_string(),
            )),
            Self::Unreachable => Settlement::Unknown {
                transaction: None,
                cause: Self::cause(settlement::RemoteCall::Settle),
            },
        }
    }

    async fn reconcile(
        &self,
        _payment: &Payment,
        transaction: Option<&str>,
        _now: u64,
    ) -> Reconciliation {
        let cause = Self::cause(settlement::RemoteCall::SettleStatus);
        Reconciliation::Undecided {
            transaction: transaction.map(str::to_owned),
            cause,
        }
    }

    async fn readiness(&self) -> Readiness {
        match self {
            Self::Accepting => Readiness::Ready {
                aggr_deferred: true,
                settlements_left: None,
            },
            Self::Unreachable => Readiness::NotReady {
                reason: Self::cause(settlement::RemoteCall::Supported),
            },
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut config = Config::parse(CONFIG, [])?;
    let terms = config.payment.terms().ok_or("no payee")?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let parts = Parts {
        settler: arguments.settler,
        journal: ledger(&arguments.ledger).await?,
        sources: arguments.sources(&mut config).await?,
        clock,
    };
    let service = ApiServer::compose(&config, &terms, parts).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    eprintln!("listening on http://{}", service.local_addr());
    service
        .run(async move {
            terminated.recv().await;
        })
        .await;
    Ok(())
}

/// The ledger as the server opens it with the defaults of its configuration.
async fn ledger(url: &str) -> Result<AnyLedger, Box<dyn Error>> {
    const LEASE: Duration = Duration::from_secs(15);
    let database = match Address::is_postgres(url) {
        true => Some(Postgres::new(url.parse()?, PostgresOptions::default())?),
        false => None,
    };
    let options = ledger::Options::default();
    Ok(AnyLedger::open(url, database.as_ref(), options, LEASE).await?)
}

impl Arguments {
    async fn sources(&self, config: &mut Config) -> Result<Sources, Box<dyn Error>> {
        let Some(root) = &self.upstreams else {
            let okx = UpstreamTable {
                base_url: Some(one_token().await?),
                mode: Some(UpstreamMode::Replay),
                ..UpstreamTable::default()
            };
            config.upstreams.0.insert("okx".to_owned(), okx);
            return Ok(Sources::connect(config, Arc::new(SystemClock))?);
        };
        replay_upstreams(config, root);
        if let (Some(url), Some(table)) = (&self.yields, config.upstreams.0.get_mut("defillama")) {
            table.set_url("yields_url", url.clone());
        }
        let store = SqliteStore::beside(&self.ledger, StoreOptions::default())?;
        Ok(Sources::connect(config, recorded_clock())?.with_store(Arc::new(store.into())))
    }
}

/// The defaults of the server; the settler of this configuration is not used.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[payment]
pay_to = "0x1111111111111111111111111111111111111111"
[settlement]
mode = "facilitator"
facilitator_url = "http://127.0.0.1:9"
"#;

/// The URL of an aggregator that answers with a list of one token, which the server keeps after the
/// first call.
async fn one_token() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(baseline::serve(listener, baseline::facilitator::answer));
    Ok(base_url)
}
