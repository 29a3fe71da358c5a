//! Our own settlements, with 1, 8 and 64 in flight, against a settler that makes one after the
//! other, including its receipt. Both use one chain, in a separate process with five blocks in a
//! second.

mod parts;
mod payment;
mod plain;

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::hex;
use dev_chain::GAS_PAYER;
use rustix::time::{ClockId, clock_gettime};
use settlement::{
    ChainOptions, ChainReader, GasPolicy, OnchainSettler, Settlement, Settler, Timeouts,
};
use tokio::task::JoinSet;
use tx_sender::{LocalKey, Options, SqliteStore, Store, Takeover};
use x402_wire::Payment;

use self::parts::Parts;
use self::payment::{payment, terms};
use self::plain::Plain;
use super::site::Site;
use super::{Effort, middle};
use crate::BenchError;
use crate::measure::{Quantity, Ratio};
use crate::report::{Amount, Finding, Limit, Report};

const BASELINE: &str = "one after the other, including its receipt";

/// The names of the findings, how many settlements are in flight, how many are measured, and a
/// settlement's limit in the baseline's time. With one in flight both wait for a block each time;
/// with several, ours share blocks.
const GROUPS: [(&str, &str, usize, usize, u64); 3] = [
    (
        "settlements, 1 in flight",
        "settlement, 1 in flight, CPU",
        1,
        10,
        1_300,
    ),
    (
        "settlements, 8 in flight",
        "settlement, 8 in flight, CPU",
        8,
        48,
        350,
    ),
    (
        "settlements, 64 in flight",
        "settlement, 64 in flight, CPU",
        64,
        256,
        150,
    ),
];

/// How many settlements of the baseline are measured. The number of concurrent requests changes
/// nothing there.
const OF_BASELINE: usize = 10;

/// The limit of a settlement's processor time: estimates, proofs and durable records are not part
/// of the baseline.
const MOST_CPU: Ratio = Ratio::thousandths(8_000);

/// The time between blocks.
const BLOCK_TIME: Duration = Duration::from_millis(200);

/// The pause between two requests for a receipt, on both sides.
const POLL: Duration = Duration::from_millis(20);

/// The time and cost of a settlement, and how many were measured.
#[derive(Clone, Copy)]
struct Cost {
    time: Quantity,
    cpu: Quantity,
    count: u64,
}

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let (mut base, mut ours) = (Vec::new(), [const { Vec::new() }; GROUPS.len()]);
    // The first round warms up.
    for round in 0..=effort.rounds {
        let theirs = baseline(site).await?;
        if round > 0 {
            base.push(theirs);
        }
        for ((_, _, in_flight, count, _), ours) in GROUPS.iter().zip(&mut ours) {
            let file = site.file(&format!("settling-{in_flight}-{round}.db"));
            let own = own(site, file, *count, *in_flight).await?;
            if round > 0 {
                ours.push(own);
            }
        }
    }
    let of = |costs: &[Cost], part: fn(&Cost) -> Quantity| {
        middle(&costs.iter().map(part).collect::<Vec<_>>())
    };
    let pace = |costs: &[Cost]| Amount::Pace(Duration::from_nanos(of(costs, |cost| cost.time)));
    let cpu = |costs: &[Cost]| Amount::Cpu(of(costs, |cost| cost.cpu));
    for ((name, cpu_name, _, _, most), ours) in GROUPS.into_iter().zip(&ours) {
        report.add(Finding {
            name,
            ours: pace(ours),
            limit: Limit::Times(Ratio::thousandths(most), BASELINE, pace(&base)),
        });
        report.add(Finding {
            name: cpu_name,
            ours: cpu(ours),
            limit: Limit::Times(MOST_CPU, BASELINE, cpu(&base)),
        });
    }
    Ok(())
}

async fn baseline(site: &Site) -> Result<Cost, BenchError> {
    let node = site.dev_node(BLOCK_TIME)?;
    let plain = Arc::new(Plain::new(&format!("http://{}", node.address()))?);
    let cost = measured(OF_BASELINE, 8, move |payment| {
        let plain = Arc::clone(&plain);
        async move { plain.settle(&payment).await }
    });
    let cost = cost.await?;
    node.stop()?;
    Ok(cost)
}

async fn own(
    site: &Site,
    file: std::path::PathBuf,
    count: usize,
    in_flight: usize,
) -> Result<Cost, BenchError> {
    let (node, parts) = (site.dev_node(BLOCK_TIME)?, Parts::new());
    let url = format!("http://{}", node.address());
    let settler = Arc::new(settler(&url, file, &parts).await?);
    // Requests of the set-up do not count for a settlement.
    parts.of_each(1);
    let cost = measured(count, in_flight, move |payment| {
        let settler = Arc::clone(&settler);
        async move {
            match settler.settle(&payment).await {
                Settlement::Settled(_) => Ok(()),
                _ => Err(BenchError::Answer { what: "settlement" }),
            }
        }
    });
    let cost = cost.await?;
    eprintln!(
        "  {in_flight:>2} in flight: {}; each: {}",
        Amount::Pace(Duration::from_nanos(cost.time)),
        parts.of_each(cost.count)
    );
    node.stop()?;
    Ok(cost)
}

/// Settles this many payments, this many at a time. Returns the time and this process's processor
/// time for each.
async fn measured<F, T>(count: usize, in_flight: usize, settle: F) -> Result<Cost, BenchError>
where
    F: Fn(Payment) -> T,
    T: Future<Output = Result<(), BenchError>> + Send + 'static,
{
    let payments: Vec<Payment> = (0..count).map(|_| payment()).collect::<Result<_, _>>()?;
    let (began, used) = (Instant::now(), process_nanos());
    let (mut settling, mut done) = (JoinSet::new(), 0_usize);
    for payment in payments {
        if settling.len() >= in_flight {
            done = done.saturating_add(ended(settling.join_next().await)?);
        }
        settling.spawn(settle(payment));
    }
    while let Some(settled) = settling.join_next().await {
        done = done.saturating_add(ended(Some(settled))?);
    }
    let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let used = process_nanos().saturating_sub(used);
    let done = u64::try_from(done).unwrap_or(u64::MAX).max(1);
    Ok(Cost {
        time: took / done,
        cpu: used / done,
        count: done,
    })
}

fn ended(
    settled: Option<Result<Result<(), BenchError>, tokio::task::JoinError>>,
) -> Result<usize, BenchError> {
    match settled {
        Some(Ok(Ok(()))) => Ok(1),
        Some(Ok(Err(error))) => Err(error),
        _ => Err(BenchError::Answer { what: "settlement" }),
    }
}

/// The processor time that this process has used so far, in nanoseconds.
fn process_nanos() -> Quantity {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds
        .unwrap_or_default()
        .saturating_mul(1_000_000_000)
        .saturating_add(nanos.unwrap_or_default())
}

fn timeouts() -> Timeouts {
    Timeouts {
        poll_interval: POLL,
        ..Timeouts::default()
    }
}

async fn settler(
    url: &str,
    file: std::path::PathBuf,
    parts: &Parts,
) -> Result<OnchainSettler, BenchError> {
    let unusable = |what| move |_| BenchError::Answer { what };
    let records = SqliteStore::open(file).map_err(|_| BenchError::Answer { what: "records" })?;
    let options = ChainOptions {
        block_time: Some(BLOCK_TIME),
        ..ChainOptions::default()
    };
    let chain = ChainReader::new(&url.to_owned().into(), &terms(), timeouts(), options)
        .map_err(unusable("chain"))?;
    let key = LocalKey::from_hex(&hex::encode(GAS_PAYER.key).into())
        .map_err(|_| BenchError::Answer { what: "key" })?;
    let signer = Arc::new(parts.signer(key));
    let records: Arc<dyn Store> = Arc::new(parts.store(records));
    let options = Options {
        takeover: Takeover::AtOnce,
        ..Options::default()
    };
    let (policy, records) = (GasPolicy::default(), (records, options));
    OnchainSettler::shared(chain, signer, timeouts(), policy, records)
        .await
        .map_err(unusable("settler"))
}
