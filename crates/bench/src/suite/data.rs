//! Data routes over recorded answers: the cost of a cached answer beside the bare payment, the
//! memory with everything loaded, and the cost of reading the largest body.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use replay::{Recordings, ReplayServer};
use route_catalog::{Method, Operation};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::paid::{self, load};
use super::site::{Site, expect, rest, unpaid_answer};
use super::{Effort, cost, middle};
use crate::BenchError;
use crate::exchange::{Connection, HttpAnswer};
use crate::measure::Ratio;
use crate::payment::{Offer, Payers, Signed};
use crate::process::Server;
use crate::report::{Amount, Finding, Limit, Report};

/// A route that answers from a cache of an upstream, and one that answers from a dataset.
const ROUTES: [(&str, &str); 2] = [
    ("cached data route, paid", "/token-details?symbol=OKB"),
    ("dataset route, paid", "/crypto-news"),
];

const BASELINE: &str = "the paid call that is measured by itself";

const MIB: usize = 1 << 20;

/// The size of the largest body: just below the limit of the list of yield pools, whose real size
/// is 12 MiB.
const LARGEST_BODY: usize = 31 * MIB;

/// How long the datasets may take until they are loaded.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let replay = ReplayServer::start(Recordings::embedded()?).await?;
    let pools = site.fixed(&pools(&replay).await?)?;
    let server = site.selling_server(&replay.url(), pools.address())?;
    loaded(&server).await?;
    report.add(Finding {
        name: "peak memory, 31 MiB of pools read",
        ours: Amount::Memory(server.peak_memory_bytes()?),
        limit: Limit::AtMost(Amount::Memory(96 << 20)),
    });
    every_route(&server).await?;
    rest().await;
    report.add(Finding {
        name: "memory, datasets and routes loaded",
        ours: Amount::Memory(server.memory_bytes()?),
        limit: Limit::AtMost(Amount::Memory(64 << 20)),
    });
    cached(site, &server, effort, report).await?;
    server.stop()
}

#[derive(Deserialize)]
struct Freshness<'a> {
    #[serde(borrow)]
    datasets: Vec<Dataset<'a>>,
}

#[derive(Deserialize)]
struct Dataset<'a> {
    dataset: &'a str,
    verdict: &'a str,
}

#[derive(Deserialize)]
struct Pools {
    data: Vec<Map<String, Value>>,
}

/// Data from memory, against the payment only: the call of the payment benchmark.
async fn cached(
    site: &Site,
    server: &Server,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let bare = site.paid_server(&site.file("bare.db"), "accepting")?;
    let calls = [
        (&bare, paid::TARGET),
        (server, ROUTES[0].1),
        (server, ROUTES[1].1),
    ];
    let mut costs = [const { Vec::new() }; 3];
    for round in 0..=effort.rounds {
        for ((server, target), costs) in calls.into_iter().zip(&mut costs) {
            let payers = Payers::new(Offer::of(&unpaid_answer(server, target).await?)?)?;
            let payments = Arc::new(payers.sign(effort.paid, Signed::ByPayer)?);
            let cost = cost(server, load(effort, target, payments, StatusCode::OK)).await?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    bare.stop()?;
    let [bare, routes @ ..] = costs.map(|costs| middle(&costs));
    for ((name, _), ours) in ROUTES.into_iter().zip(routes) {
        let limit = Limit::Times(Ratio::thousandths(1_500), BASELINE, Amount::Cpu(bare));
        report.add(Finding {
            name,
            ours: Amount::Cpu(ours),
            limit,
        });
    }
    Ok(())
}

/// Waits until every dataset is loaded.
async fn loaded(server: &Server) -> Result<(), BenchError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = Connection::open(server.address())
            .await?
            .get("/freshness", None)
            .await?;
        let body = expect(answer, 200)?.body;
        let Freshness { datasets } = serde_json::from_slice(&body)?;
        // The token list is fetched by the first call for it.
        let there = |set: &Dataset<'_>| {
            matches!(set.verdict, "fresh" | "stale") || set.dataset == "token-list"
        };
        if datasets.iter().all(there) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(BenchError::Answer { what: "dataset" });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Calls every read route, paid, as its documentation shows it. Routes that are not sold answer
/// with an error.
async fn every_route(server: &Server) -> Result<(), BenchError> {
    let mut sold = 0_usize;
    for operation in Operation::ALL {
        let route = operation.route();
        if route.method != Method::Get {
            continue;
        }
        let target = route.example_call().target;
        let payers = Payers::new(Offer::of(&unpaid_answer(server, &target).await?)?)?;
        let mut connection = Connection::open(server.address()).await?;
        for payment in payers.sign(1, Signed::ByPayer)? {
            let answer = connection.get(&target, Some(&payment)).await?;
            sold += usize::from(answer.status == StatusCode::OK);
        }
    }
    if sold < 30 {
        return Err(BenchError::Answer {
            what: "sale of most routes",
        });
    }
    Ok(())
}

/// A list of pools in its upstream's form, as long as it may be.
async fn pools(replay: &ReplayServer) -> Result<HttpAnswer, BenchError> {
    let address: SocketAddr = replay
        .url()
        .trim_start_matches("http://")
        .parse()
        .map_err(|_| BenchError::Answer { what: "address" })?;
    let recorded = Connection::open(address)
        .await?
        .get("/yields.llama.fi/pools", None)
        .await?;
    let mut answer = expect(recorded, 200)?;
    let Pools { data } = serde_json::from_slice(&answer.body)?;
    let mut rows = String::with_capacity(LARGEST_BODY);
    for (number, row) in data.iter().cycle().enumerate() {
        let mut row = row.clone();
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        row.insert("pool".to_owned(), json!(id));
        row.insert("tvlUsd".to_owned(), json!(1_000_000 + number));
        let row = Value::Object(row).to_string();
        if rows.len() + row.len() + 64 > LARGEST_BODY {
            break;
        }
        if number > 0 {
            rows.push(',');
        }
        rows.push_str(&row);
    }
    answer.body = Bytes::from(format!("{{\"status\":\"success\",\"data\":[{rows}]}}"));
    Ok(answer)
}
