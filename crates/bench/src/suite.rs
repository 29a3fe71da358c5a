//! The measurements: the load of each server, and the limit of its cost.
//!
//! Most groups measure the server against a baseline that does the least possible work. Both take
//! turns in rounds, and medians are compared.

mod data;
mod facilitator;
mod footprint;
mod growth;
mod instances;
mod mcp;
mod paid;
mod plans;
mod rows;
mod settling;
mod site;
mod stores;
mod tool;
mod unpaid;
mod wallets;

use std::time::Duration;

use crate::BenchError;
use crate::load::Load;
use crate::measure::{Quantity, median};
use crate::postgres::{Database, Used};
use crate::process::Server;
use crate::report::{Amount, Report};

pub use site::Site;

/// The extent of a run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Measurements of each server, taken in turns.
    pub rounds: usize,
    /// Unpaid calls in one measurement.
    pub unpaid: usize,
    /// Paid calls in one measurement.
    pub paid: usize,
    /// Paid calls in one measurement of a slower server, with a database or a facilitator.
    pub remote: usize,
    /// Plans in one round, of many.
    pub plans: u64,
    /// Tool calls in one measurement.
    pub calls: usize,
    /// Connections of a load.
    pub connections: usize,
    /// Connections of the measurement of idle ones.
    pub idle_connections: usize,
    /// Entries of the large ledger.
    pub entries: u32,
    /// Whether a table of ten million entries is measured too.
    pub ten_million: bool,
}

impl Effort {
    /// A full run: about ten minutes, and every figure is precise to a few per cent.
    pub const FULL: Self = Self {
        rounds: 5,
        unpaid: 120_000,
        paid: 16_000,
        remote: 8_000,
        plans: 400,
        calls: 10_000,
        connections: 64,
        idle_connections: 10_000,
        entries: 1_000_000,
        ten_million: false,
    };

    /// A quick run: about two minutes, which show large changes only.
    pub const QUICK: Self = Self {
        rounds: 3,
        unpaid: 30_000,
        paid: 4_000,
        remote: 2_000,
        plans: 50,
        calls: 2_000,
        connections: 64,
        idle_connections: 2_000,
        entries: 100_000,
        ten_million: false,
    };
}

/// A group of measurements that can be taken alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Group {
    /// Unpaid calls and malformed payments.
    Unpaid,
    /// Genuine and forged payments.
    Paid,
    /// Paid calls over a ledger that has grown.
    Growth,
    /// Paid calls on PostgreSQL and on SQLite, over 64 connections and over 1,024.
    Stores,
    /// Two servers on one PostgreSQL database against one.
    Instances,
    /// Paid calls over a PostgreSQL table that has grown.
    Rows,
    /// Paid calls that a facilitator verifies and settles, against `x402-axum`.
    Facilitator,
    /// Memory, start, idle connections.
    Footprint,
    /// Paid calls of data routes, memory with all datasets, the largest body of an upstream.
    Data,
    /// A swap plan and its verification, in process.
    Plans,
    /// Tool calls over MCP.
    Mcp,
    /// Settlements by transactions of our own, with 1, 8 and 64 in flight.
    Settling,
    /// Size and start of `fence-cli`.
    Tool,
    /// Opening the wallets of many owners, in process.
    Wallets,
}

impl Group {
    /// All of them, in the order in which they are taken.
    pub const ALL: [Self; 14] = [
        Self::Unpaid,
        Self::Paid,
        Self::Growth,
        Self::Stores,
        Self::Instances,
        Self::Rows,
        Self::Facilitator,
        Self::Footprint,
        Self::Data,
        Self::Plans,
        Self::Mcp,
        Self::Settling,
        Self::Tool,
        Self::Wallets,
    ];
}

/// Takes the measurements of some groups.
///
/// # Errors
/// When a measurement cannot be made; an exceeded limit is not an error.
pub async fn run(site: &Site, effort: Effort, groups: &[Group]) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for group in groups {
        eprintln!("measuring: {group:?}");
        match group {
            Group::Unpaid => unpaid::run(site, effort, &mut report).await?,
            Group::Paid => paid::run(site, effort, &mut report).await?,
            Group::Growth => growth::run(site, effort, &mut report).await?,
            Group::Stores => stores::run(site, effort, &mut report).await?,
            Group::Instances => instances::run(site, effort, &mut report).await?,
            Group::Rows => rows::run(site, effort, &mut report).await?,
            Group::Facilitator => facilitator::run(site, effort, &mut report).await?,
            Group::Footprint => footprint::run(site, effort, &mut report).await?,
            Group::Data => data::run(site, effort, &mut report).await?,
            Group::Plans => plans::run(effort, &mut report).await?,
            Group::Mcp => mcp::run(site, effort, &mut report).await?,
            Group::Settling => settling::run(site, effort, &mut report).await?,
            Group::Tool => tool::run(site, &mut report)?,
            Group::Wallets => wallets::run(effort, &mut report).await?,
        }
    }
    Ok(report)
}

/// How long after a load a server may continue with postponed work, at its own cost.
const AFTERMATH: Duration = Duration::from_millis(300);

/// The cost of a request of a load, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Processor time of the server, and of the database's server.
    cpu: Quantity,
    /// The part of the database's server.
    database: Quantity,
    /// The time until the answer, at the median.
    p50: Quantity,
    /// The time until the answer that 99 of 100 do not exceed.
    p99: Quantity,
    /// The time of the load for each answer.
    pace: Quantity,
    /// Answers.
    count: Quantity,
}

impl Cost {
    /// The medians of several loads.
    fn middle(costs: &[Self]) -> Self {
        let of = |part: fn(&Self) -> Quantity| middle(&costs.iter().map(part).collect::<Vec<_>>());
        Self {
            cpu: of(|cost| cost.cpu),
            database: of(|cost| cost.database),
            p50: of(|cost| cost.p50),
            p99: of(|cost| cost.p99),
            pace: of(|cost| cost.pace),
            count: of(|cost| cost.count),
        }
    }

    /// Adds the use of a database for the same load, and prints its parts.
    fn with_database(self, used: &Used) -> Self {
        let each = |all: Quantity| all / self.count.max(1);
        let database = each(used.cpu());
        eprintln!(
            "            database, each: statements {} ns, background {} ns, log {} bytes",
            each(used.statements),
            each(used.background),
            each(used.log_bytes),
        );
        Self {
            cpu: self.cpu.saturating_add(database),
            database,
            ..self
        }
    }

    fn cpu(&self) -> Amount {
        Amount::Cpu(self.cpu)
    }

    fn p50(&self) -> Amount {
        Amount::Time(Duration::from_nanos(self.p50))
    }

    fn p99(&self) -> Amount {
        Amount::Time(Duration::from_nanos(self.p99))
    }

    fn pace(&self) -> Amount {
        Amount::Pace(Duration::from_nanos(self.pace))
    }
}

/// The processor time of a server per request of a load, in nanoseconds.
async fn cost(server: &Server, load: Load) -> Result<Quantity, BenchError> {
    measured(server, load).await.map(|cost| cost.cpu)
}

/// The cost of a request of a load.
async fn measured(server: &Server, load: Load) -> Result<Cost, BenchError> {
    let before = server.cpu_nanos()?;
    let seen = load.run(server.address()).await?;
    tokio::time::sleep(AFTERMATH).await;
    let used = server.cpu_nanos()?.saturating_sub(before);
    let cpu = used / seen.answered.max(1);
    eprintln!(
        "  {:>9} requests in {:>5} ms, p50 {:>6} µs, p99 {:>6} µs, {cpu:>6} ns of CPU each",
        seen.answered,
        seen.elapsed.as_millis(),
        seen.p50.as_micros(),
        seen.p99.as_micros(),
    );
    Ok(Cost {
        cpu,
        database: 0,
        p50: nanos(seen.p50),
        p99: nanos(seen.p99),
        pace: nanos(seen.elapsed) / seen.answered.max(1),
        count: seen.answered,
    })
}

/// The cost of a request of a load on a server with a database.
async fn measured_on(database: &Database, server: &Server, load: Load) -> Result<Cost, BenchError> {
    let before = database.reading().await?;
    let cost = measured(server, load).await?;
    let used = database.used_since(&before).await?;
    Ok(cost.with_database(&used))
}

fn nanos(time: Duration) -> Quantity {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The median of measured costs.
fn middle(costs: &[Quantity]) -> Quantity {
    median(costs).unwrap_or_default()
}
