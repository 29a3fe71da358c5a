//! Two servers on one PostgreSQL database against one.

use std::sync::Arc;

use http::StatusCode;

use super::paid::TARGET;
use super::site::{Site, unpaid_answer};
use super::{AFTERMATH, Cost, Effort, measured_on, nanos};
use crate::BenchError;
use crate::load::{Load, Requests};
use crate::payment::{Offer, Payers, Signed};
use crate::postgres::{self, Database};
use crate::process::Server;
use crate::report::{Finding, Limit, Report};

const ONE: &str = "one server, as many connections";

const CPU: &str = "paid call, two servers with the database";
const PACE: &str = "paid calls, two servers";
const P99: &str = "paid call, two servers, p99";

/// A server and its payers.
struct Seller {
    server: Server,
    payers: Payers,
}

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let Some(database) = site.database().await? else {
        report.miss(&[CPU, PACE, P99], postgres::NONE);
        return Ok(());
    };
    let url = database.schema("instances").await?;
    let first = Seller::start(site, &url).await?;
    let second = Seller::start(site, &url).await?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    // The first round warms both up.
    for round in 0..=effort.rounds {
        let load = first.load(effort.remote, effort.connections)?;
        let alone = measured_on(&database, &first.server, load).await?;
        let both = both(&database, [&first, &second], effort).await?;
        if round > 0 {
            one.push(alone);
            two.push(both);
        }
    }
    first.server.stop()?;
    second.server.stop()?;
    let [one, two] = [one, two].map(|costs| Cost::middle(&costs));
    for (name, ours, base) in [
        (CPU, two.cpu(), one.cpu()),
        (PACE, two.pace(), one.pace()),
        (P99, two.p99(), one.p99()),
    ] {
        let limit = Limit::Beside(ONE, base);
        report.add(Finding { name, ours, limit });
    }
    database.close().await
}

impl Seller {
    async fn start(site: &Site, url: &str) -> Result<Self, BenchError> {
        let server = site.paid_server_at(url, "accepting")?;
        let payers = Payers::new(Offer::of(&unpaid_answer(&server, TARGET).await?)?)?;
        Ok(Self { server, payers })
    }

    fn load(&self, requests: usize, connections: usize) -> Result<Load, BenchError> {
        Ok(Load {
            target: TARGET.to_owned(),
            requests: Requests::Paying(Arc::new(self.payers.sign(requests, Signed::ByPayer)?)),
            connections,
            expected: StatusCode::OK,
        })
    }
}

/// The cost of a load of which each server gets one half, at the same time.
async fn both(
    database: &Database,
    sellers: [&Seller; 2],
    effort: Effort,
) -> Result<Cost, BenchError> {
    let half = |seller: &Seller| seller.load(effort.remote / 2, effort.connections / 2);
    let (left, right) = (half(sellers[0])?, half(sellers[1])?);
    let used = || {
        let used = sellers.map(|seller| seller.server.cpu_nanos());
        let [left, right] = used;
        Ok::<_, BenchError>(left?.saturating_add(right?))
    };
    let (before, reading) = (used()?, database.reading().await?);
    let (left, right) = tokio::try_join!(
        left.run(sellers[0].server.address()),
        right.run(sellers[1].server.address())
    )?;
    tokio::time::sleep(AFTERMATH).await;
    let servers = used()?.saturating_sub(before);
    let count = left.answered.saturating_add(right.answered).max(1);
    let elapsed = left.elapsed.max(right.elapsed);
    let used = database.used_since(&reading).await?;
    eprintln!(
        "  two servers: {count} requests in {} ms, {} ns of CPU each",
        elapsed.as_millis(),
        servers / count
    );
    let cost = Cost {
        cpu: servers / count,
        database: 0,
        p50: nanos(left.p50.max(right.p50)),
        p99: nanos(left.p99.max(right.p99)),
        pace: nanos(elapsed) / count,
        count,
    };
    Ok(cost.with_database(&used))
}
