//! The measurements: the load of each server, and the limit of its cost.

mod data;
mod footprint;
mod growth;
mod mcp;
mod paid;
mod plans;
mod settling;
mod site;
mod tool;
mod unpaid;

use std::time::Duration;

use crate::BenchError;
use crate::load::Load;
use crate::measure::{Quantity, median};
use crate::process::Server;
use crate::report::Report;

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
}

impl Effort {
    /// Between three and four minutes: every figure is precise to a few per cent.
    pub const FULL: Self = Self {
        rounds: 5,
        unpaid: 120_000,
        paid: 16_000,
        plans: 400,
        calls: 10_000,
        connections: 64,
        idle_connections: 10_000,
        entries: 1_000_000,
    };

    /// Under a minute: shows large changes.
    pub const QUICK: Self = Self {
        rounds: 3,
        unpaid: 30_000,
        paid: 4_000,
        plans: 50,
        calls: 2_000,
        connections: 64,
        idle_connections: 2_000,
        entries: 100_000,
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
}

impl Group {
    /// All of them, in the order in which they are taken.
    pub const ALL: [Self; 9] = [
        Self::Unpaid,
        Self::Paid,
        Self::Growth,
        Self::Footprint,
        Self::Data,
        Self::Plans,
        Self::Mcp,
        Self::Settling,
        Self::Tool,
    ];
}

/// Takes the measurements of some groups.
///
/// # Errors
/// When a measurement cannot be made; a limit that is not kept is not an error.
pub async fn run(site: &Site, effort: Effort, groups: &[Group]) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for group in groups {
        eprintln!("measuring: {group:?}");
        match group {
            Group::Unpaid => unpaid::run(site, effort, &mut report).await?,
            Group::Paid => paid::run(site, effort, &mut report).await?,
            Group::Growth => growth::run(site, effort, &mut report).await?,
            Group::Footprint => footprint::run(site, effort, &mut report).await?,
            Group::Data => data::run(site, effort, &mut report).await?,
            Group::Plans => plans::run(effort, &mut report).await?,
            Group::Mcp => mcp::run(site, effort, &mut report).await?,
            Group::Settling => settling::run(site, effort, &mut report).await?,
            Group::Tool => tool::run(site, &mut report)?,
        }
    }
    Ok(report)
}

/// How long after a load a server may continue with postponed work, at its own cost.
const AFTERMATH: Duration = Duration::from_millis(300);

/// The cost of a request of a load, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Processor time of the server.
    cpu: Quantity,
    /// The time until the answer, at the median.
    p50: Quantity,
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
    let p50 = u64::try_from(seen.p50.as_nanos()).unwrap_or(u64::MAX);
    Ok(Cost { cpu, p50 })
}

/// The median of measured costs.
fn middle(costs: &[Quantity]) -> Quantity {
    median(costs).unwrap_or_default()
}
