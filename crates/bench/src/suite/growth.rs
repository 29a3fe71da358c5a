//! Paid calls over a small ledger and over a large one.

use std::path::Path;
use std::sync::Arc;

use http::StatusCode;
use rusqlite::{Connection, params};

use super::paid::{TARGET, load};
use super::site::{Site, unpaid_answer};
use super::{Effort, cost, middle};
use crate::BenchError;
use crate::payment::{Offer, Payers, Signed};
use crate::report::{Amount, Finding, Limit, Report};

const FEW: u32 = 1_000;

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let (small, large) = (site.file("small.db"), site.file("large.db"));
    fill(site, &small, FEW)?;
    fill(site, &large, effort.entries)?;
    let servers = [
        site.paid_server(&small, "accepting")?,
        site.paid_server(&large, "accepting")?,
    ];
    let mut costs = [const { Vec::new() }; 2];
    for round in 0..=effort.rounds {
        for (server, costs) in servers.iter().zip(&mut costs) {
            let payers = Payers::new(Offer::of(&unpaid_answer(server, TARGET).await?)?)?;
            let payments = Arc::new(payers.sign(effort.paid, Signed::ByPayer)?);
            let cost = cost(server, load(effort, TARGET, payments, StatusCode::OK)).await?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let [few, many] = costs.map(|costs| middle(&costs));
    report.add(Finding {
        name: if effort.entries >= 1_000_000 {
            "paid call over 10^6 entries"
        } else {
            "paid call over 10^5 entries"
        },
        ours: Amount::Cpu(many),
        limit: Limit::Beside("over 10^3 entries", Amount::Cpu(few)),
    });
    for server in servers {
        server.stop()?;
    }
    Ok(())
}

/// A ledger that the server created, with this many entries that were settled just now by
/// authorizations that are still valid, so that none is pruned during the measurement.
pub(super) fn fill(site: &Site, ledger: &Path, entries: u32) -> Result<(), BenchError> {
    site.paid_server(ledger, "accepting")?.stop()?;
    let mut connection = Connection::open(ledger)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "cache_size", -262_144)?;
    let transaction = connection.transaction()?;
    transaction.execute(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
         INSERT INTO receipt (id, entry, transaction_hash, header)
         SELECT n, n, '0x' || lower(hex(randomblob(32))), hex(randomblob(140)) FROM number",
        params![entries],
    )?;
    transaction.execute(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1)
         INSERT INTO entry (id, state, authorization, request, payer, valid_before, reserved_at,
                            changed_at, receipt, amount, method, path)
         SELECT n, ?2, randomblob(16), randomblob(32), randomblob(20), ?3, unixepoch(), unixepoch(),
                n, '2000', 'GET', '/all-tokens' FROM number",
        params![entries, SETTLED, i64::from(u32::MAX)],
    )?;
    transaction.commit()?;
    Ok(())
}

/// The code of the state `settled` in the ledger's schema.
const SETTLED: u8 = 6;
