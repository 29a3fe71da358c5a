//! Measures the cost of an idle server: memory, start, idle connections.

use std::time::Duration;

use super::Effort;
use super::growth::fill;
use super::site::{Site, rest, unpaid_answer};
use crate::BenchError;
use crate::exchange::Connection;
use crate::process::raise_file_limit;
use crate::report::{Amount, Finding, Limit, Report};

const STARTS: usize = 11;
const TARGET: &str = "/price";

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    raise_file_limit();
    let ledger = site.file("footprint.db");
    fill(site, &ledger, effort.entries)?;

    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let server = site.api_server(&ledger)?;
        starts.push(server.start_time());
        server.stop()?;
    }
    starts.sort_unstable();
    let start = starts.get(STARTS / 2).copied().unwrap_or(Duration::MAX);
    report.add(Finding {
        name: "start to listening, ledger in place",
        ours: Amount::Time(start),
        limit: Limit::AtMost(Amount::Time(Duration::from_millis(30))),
    });

    let server = site.api_server(&ledger)?;
    unpaid_answer(&server, TARGET).await?;
    rest().await;
    let own = Amount::Memory(server.own_memory_bytes()?);
    report.add(Finding {
        name: "idle memory of its own",
        ours: own,
        limit: Limit::AtMost(Amount::Memory(8 << 20)),
    });
    report.add(Finding {
        name: "idle memory with pages of files",
        ours: Amount::Memory(server.memory_bytes()?),
        limit: Limit::Beside("of its own", own),
    });

    let mut connections = Vec::with_capacity(effort.idle_connections);
    for _ in 0..effort.idle_connections {
        let mut connection = Connection::open(server.address()).await?;
        connection.get(TARGET, None).await?;
        connections.push(connection);
    }
    rest().await;
    report.add(Finding {
        name: if effort.idle_connections >= 10_000 {
            "memory with 10,000 idle connections"
        } else {
            "memory with 2,000 idle connections"
        },
        ours: Amount::Memory(server.memory_bytes()?),
        limit: Limit::AtMost(Amount::Memory(250 << 20)),
    });
    Ok(())
}
