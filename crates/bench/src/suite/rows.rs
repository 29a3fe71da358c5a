//! Paid calls on PostgreSQL over a table that has grown. Of the statements of a paid call only the
//! claim looks at old entries: it looks for its authorization in the index of all of them.

use std::sync::Arc;

use http::StatusCode;

use super::paid::{TARGET, load};
use super::site::{Site, unpaid_answer};
use super::{Cost, Effort, measured_on};
use crate::BenchError;
use crate::payment::{Offer, Payers, Signed};
use crate::postgres::{self, Database};
use crate::process::Server;
use crate::report::{Finding, Limit, Report};

/// A number of entries, and the names of its findings.
struct Size {
    entries: u32,
    cpu: &'static str,
    p50: &'static str,
    p99: &'static str,
}

macro_rules! size {
    ($entries:literal, $power:literal) => {
        Size {
            entries: $entries,
            cpu: concat!("paid call, PostgreSQL, 10^", $power, " entries"),
            p50: concat!("paid call, PostgreSQL, 10^", $power, " entries, p50"),
            p99: concat!("paid call, PostgreSQL, 10^", $power, " entries, p99"),
        }
    };
}

const FEW: Size = size!(1_000, "3");

const MANY: [Size; 3] = [
    size!(100_000, "5"),
    size!(1_000_000, "6"),
    size!(10_000_000, "7"),
];

const BASE: &str = "over 10^3 entries";

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let most = match effort.ten_million {
        true => u32::MAX,
        false => effort.entries,
    };
    let many = || MANY.iter().filter(|size| size.entries <= most);
    let Some(database) = site.database().await? else {
        for size in many() {
            report.miss(&[size.cpu, size.p50, size.p99], postgres::NONE);
        }
        return Ok(());
    };
    let mut tables = Vec::new();
    for size in std::iter::once(&FEW).chain(many()) {
        let server = filled(site, &database, size.entries).await?;
        tables.push((size, server, Vec::new()));
    }
    database.checkpoint().await;
    // The first round warms all up.
    for round in 0..=effort.rounds {
        for (size, server, costs) in &mut tables {
            let payers = Payers::new(Offer::of(&unpaid_answer(server, TARGET).await?)?)?;
            let payments = Arc::new(payers.sign(effort.remote, Signed::ByPayer)?);
            eprintln!("  over {} entries:", size.entries);
            let load = load(effort, TARGET, payments, StatusCode::OK);
            let cost = measured_on(&database, server, load).await?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let mut tables = tables.into_iter();
    if let Some((_, server, few)) = tables.next() {
        server.stop()?;
        for (size, server, many) in tables {
            server.stop()?;
            compare(size, &many, &few, report);
        }
    }
    database.close().await
}

fn compare(size: &Size, many: &[Cost], few: &[Cost], report: &mut Report) {
    let [many, few] = [many, few].map(Cost::middle);
    for (name, ours, base) in [
        (size.cpu, many.cpu(), few.cpu()),
        (size.p50, many.p50(), few.p50()),
        (size.p99, many.p99(), few.p99()),
    ] {
        let limit = Limit::Beside(BASE, base);
        report.add(Finding { name, ours, limit });
    }
}

/// A server over a table with so many entries that were settled just now by authorizations that are
/// still valid, so that none is pruned during the measurement. Their answers are gone, as after a
/// day.
async fn filled(site: &Site, database: &Database, entries: u32) -> Result<Server, BenchError> {
    let url = database.schema(&format!("rows_{entries}")).await?;
    // Creates the tables.
    site.paid_server_at(&url, "accepting")?.stop()?;
    let fill = format!(
        "INSERT INTO ledger_entry (id, attempt, owner, state, open, authorization_digest, request,
             network, asset, payer, nonce, valid_before, reserved_at, changed_at, amount, method,
             path, attempted, transaction_hash)
         SELECT nextval('ledger_entry_id'), decode(md5('attempt' || n), 'hex'), 0, {SETTLED}, 0,
             decode(md5('authorization' || n), 'hex'), sha256(n::text::bytea), 'eip155:196',
             decode('779ded0c9e1022225f8e0630b35a9b54be713736', 'hex'),
             substring(sha256(('payer' || n % 10000)::bytea) FOR 20),
             sha256(('nonce' || n)::bytea), {VALID_BEFORE},
             extract(epoch FROM now())::bigint, extract(epoch FROM now())::bigint,
             2000, 'GET', '{TARGET}', true, '0x' || encode(sha256(('hash' || n)::bytea), 'hex')
         FROM generate_series(1, {entries}) AS n"
    );
    let statements = [
        // An index is built faster than it grows.
        "ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_authorization",
        &fill,
        "ALTER TABLE ledger_entry
             ADD CONSTRAINT ledger_entry_authorization UNIQUE (authorization_digest)",
        // Otherwise the database does this during the measurement.
        "VACUUM (ANALYZE) ledger_entry",
    ];
    database.run_in(&url, &statements).await?;
    site.paid_server_at(&url, "accepting")
}

/// The code of the state `settled` in the ledger's tables.
const SETTLED: u8 = 6;

const VALID_BEFORE: u32 = u32::MAX;
