//! Paid calls on SQLite and on PostgreSQL, against the bare baseline and against each other, over
//! 64 connections and over 1,024.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::paid::{self, BASELINE, TARGET};
use super::site::{Site, unpaid_answer};
use super::{Cost, Effort, measured, measured_on};
use crate::BenchError;
use crate::load::{Load, Requests};
use crate::payment::{Offer, Payers, Signed};
use crate::postgres::Database;
use crate::process::{Server, raise_file_limit};
use crate::report::{Amount, Finding, Limit, Report};

/// Connections of the second load; the first has the usual number.
const MANY: usize = 1_024;

/// The pace that has to be kept: 2,000 calls a second, the least that two processors can do for
/// server and database together.
const LEAST_PACE: Duration = Duration::from_micros(500);

const SQLITE: &str = "on SQLite";

const TOGETHER: &str = "paid call, PostgreSQL with its database";
const TO_BASELINE: &str = "paid call, PostgreSQL, to the baseline";
const ALONE: &str = "paid call, PostgreSQL, the server alone";
const OF_TWO_CORES: &str = "paid calls, PostgreSQL, two cores' worth";
const PACE: &str = "paid calls, PostgreSQL, 64 connections";
const P99: &str = "paid call, PostgreSQL, p99, 64 conn.";
const P99_MANY: &str = "paid call, PostgreSQL, p99, 1,024 conn.";

/// The reason why the latency over many connections is missing.
const OVERLOADED: &str = "the database was too slow for them, and calls were answered 503";

/// The findings that need a database.
const ON_POSTGRES: [&str; 7] = [
    TOGETHER,
    TO_BASELINE,
    ALONE,
    OF_TWO_CORES,
    PACE,
    P99,
    P99_MANY,
];

/// A server and its payers.
struct Seller<'a> {
    server: &'a Server,
    database: Option<&'a Database>,
    payers: Payers,
    /// In all rounds but the first one.
    usual: Vec<Cost>,
    many: Vec<Cost>,
}

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    raise_file_limit();
    let database = site.database().await?;
    let sqlite = site.paid_server(&site.file("stores.db"), "accepting")?;
    let postgres = match &database {
        Some(database) => {
            let url = database.schema("stores").await?;
            Some(site.paid_server_at(&url, "accepting")?)
        }
        None => None,
    };
    let bare = paid::baseline(site, &sqlite, &payers(&sqlite).await?).await?;
    let mut sellers = vec![
        // The baseline sells the offer of the real server, so that both read the same payments.
        Seller::new(&bare, None, payers(&sqlite).await?),
        Seller::new(&sqlite, None, payers(&sqlite).await?),
    ];
    if let Some(server) = &postgres {
        sellers.push(Seller::new(
            server,
            database.as_ref(),
            payers(server).await?,
        ));
    }
    // The first round warms all up.
    for round in 0..=effort.rounds {
        for seller in &mut sellers {
            seller.round(effort, round > 0).await?;
        }
    }
    if let [bare, sqlite, postgres @ ..] = &sellers[..] {
        let (bare, sqlite) = (bare.middle(), sqlite.middle());
        on_sqlite(bare, sqlite, report);
        match postgres {
            [ours, ..] => on_postgres(bare[0], sqlite, ours, effort.rounds, report),
            [] => report.miss(&ON_POSTGRES, crate::postgres::NONE),
        }
    }
    drop(sellers);
    sqlite.stop()?;
    if let Some(server) = postgres {
        server.stop()?;
    }
    match database {
        Some(database) => database.close().await,
        None => Ok(()),
    }
}

impl<'a> Seller<'a> {
    fn new(server: &'a Server, database: Option<&'a Database>, payers: Payers) -> Self {
        Self {
            server,
            database,
            payers,
            usual: Vec::new(),
            many: Vec::new(),
        }
    }

    async fn round(&mut self, effort: Effort, counts: bool) -> Result<(), BenchError> {
        let usual = self.load(effort.remote, effort.connections).await?;
        let many = match self.load(effort.remote, MANY).await {
            Ok(cost) => Some(cost),
            // A call waits two seconds at most for a connection to the database.
            Err(BenchError::Status { observed: 503, .. }) if self.database.is_some() => None,
            Err(error) => return Err(error),
        };
        if counts {
            self.usual.push(usual);
            self.many.extend(many);
        }
        Ok(())
    }

    async fn load(&self, requests: usize, connections: usize) -> Result<Cost, BenchError> {
        let payments = self.payers.sign(requests, Signed::ByPayer)?;
        let load = Load {
            target: TARGET.to_owned(),
            requests: Requests::Paying(Arc::new(payments)),
            connections,
            expected: StatusCode::OK,
        };
        match self.database {
            Some(database) => measured_on(database, self.server, load).await,
            None => measured(self.server, load).await,
        }
    }

    /// The medians over the usual connections, and over many.
    fn middle(&self) -> [Cost; 2] {
        [Cost::middle(&self.usual), Cost::middle(&self.many)]
    }
}

async fn payers(server: &Server) -> Result<Payers, BenchError> {
    Payers::new(Offer::of(&unpaid_answer(server, TARGET).await?)?)
}

/// The costs of a paid call over the usual connections, and over many.
type Costs = [Cost; 2];

fn on_sqlite([bare, bare_many]: Costs, [sqlite, sqlite_many]: Costs, report: &mut Report) {
    for (name, ours, base) in [
        ("paid call, SQLite", sqlite.cpu(), bare.cpu()),
        (
            "paid calls, SQLite, 64 connections",
            sqlite.pace(),
            bare.pace(),
        ),
        ("paid call, SQLite, p99, 64 conn.", sqlite.p99(), bare.p99()),
        (
            "paid call, SQLite, p99, 1,024 conn.",
            sqlite_many.p99(),
            bare_many.p99(),
        ),
    ] {
        let limit = Limit::Beside(BASELINE, base);
        report.add(Finding { name, ours, limit });
    }
}

fn on_postgres(
    bare: Cost,
    [sqlite, sqlite_many]: Costs,
    seller: &Seller<'_>,
    rounds: usize,
    report: &mut Report,
) {
    let [ours, ours_many] = seller.middle();
    let alone = Amount::Cpu(ours.cpu.saturating_sub(ours.database));
    let two_cores = Amount::Pace(Duration::from_nanos(ours.cpu / 2));
    let least = Amount::Pace(LEAST_PACE);
    for (name, ours, limit) in [
        (TOGETHER, ours.cpu(), Limit::Beside(SQLITE, sqlite.cpu())),
        (TO_BASELINE, ours.cpu(), Limit::Beside(BASELINE, bare.cpu())),
        (ALONE, alone, Limit::Beside(SQLITE, sqlite.cpu())),
        (OF_TWO_CORES, two_cores, Limit::AtMost(least)),
        (PACE, ours.pace(), Limit::Beside(SQLITE, sqlite.pace())),
        (P99, ours.p99(), Limit::Beside(SQLITE, sqlite.p99())),
    ] {
        report.add(Finding { name, ours, limit });
    }
    if seller.many.len() == rounds {
        report.add(Finding {
            name: P99_MANY,
            ours: ours_many.p99(),
            limit: Limit::Beside(SQLITE, sqlite_many.p99()),
        });
    } else {
        report.miss(&[P99_MANY], OVERLOADED);
    }
}
