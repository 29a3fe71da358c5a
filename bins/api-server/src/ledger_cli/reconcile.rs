//! `ledger reconcile`: looks at unknown payments when the operator asks for it.
//!
//! The command looks as a server does: on PostgreSQL it has a lease of its own, and leaves out the
//! payments that a running server holds. Payments that stay unknown belong to the servers again
//! when the command ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ledger::{AnyLedger, EntryId, EntryRecord, Filter, Journal, Recovery, State};
use serde_json::Value;

use super::rows::{object, operation};
use super::{LedgerCliError, each, up_to_date};
use crate::config::{Config, SettlementMode};
use crate::serve::{Reconciler, Stores, reconciler};

/// The states of payments that a look may decide or that a server may have left open.
const OPEN: [State; 4] = [
    State::Reserved,
    State::Working,
    State::Settling,
    State::Unknown,
];

/// A payment before and after the look.
struct Looked {
    record: EntryRecord,
    before: State,
    /// Whether a running server holds the payment.
    held: bool,
}

/// Looks at every open payment, and prints the result for each.
pub(super) async fn run(
    config: &Config,
    stores: &Stores,
    ledger: AnyLedger,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), LedgerCliError> {
    if config.settlement.mode == SettlementMode::Onchain
        && let Some(pending) = stores.pending_transactions().await?
    {
        up_to_date(pending)?;
    }
    let reconciler = reconciler(config, stores, ledger).await?;
    let looked = look(&reconciler).await;
    reconciler.journal().close().await?;
    print(&looked?, json, out)?;
    Ok(out.flush()?)
}

/// Closes the payments that dead servers have left open, and looks at all unknown ones.
async fn look(reconciler: &Reconciler) -> Result<Vec<Looked>, LedgerCliError> {
    let ledger = reconciler.journal();
    let open = Filter {
        states: OPEN.to_vec(),
        ..Filter::default()
    };
    let open: BTreeMap<EntryId, EntryRecord> = records(ledger, &open).await?;
    ledger.recover(reconciler.now()).await?;
    let looked_at = reconciler.look_at_all().await;
    // A settlement that could not be recorded at once is tried once more.
    reconciler.close().await;
    let looked_at: BTreeSet<EntryId> = looked_at?.into_iter().collect();
    let mut all = Vec::new();
    for entry in open.keys().chain(&looked_at).collect::<BTreeSet<_>>() {
        let this = Filter {
            entry: Some(*entry),
            ..Filter::default()
        };
        let now = records(ledger, &this).await?.remove(entry);
        let was = open.get(entry);
        // The payment became unknown after the list of open payments was read.
        let before = was.map_or(State::Unknown, |record| record.state);
        // An authorization that was released and is reserved again has another entry.
        let released = was.map(|record| EntryRecord {
            state: State::Released,
            ..record.clone()
        });
        let Some(record) = now.or(released) else {
            continue;
        };
        let left_open =
            record.state == State::Released && record.cause.as_deref() == Some(Recovery::CAUSE);
        let is_looked_at = looked_at.contains(entry);
        // The other entries belong to calls of running servers.
        if is_looked_at || left_open || before == State::Unknown {
            all.push(Looked {
                held: record.state == State::Unknown && !is_looked_at,
                record,
                before,
            });
        }
    }
    Ok(all)
}

/// The entries that a filter selects.
async fn records(
    ledger: &AnyLedger,
    filter: &Filter,
) -> Result<BTreeMap<EntryId, EntryRecord>, LedgerCliError> {
    let mut records = BTreeMap::new();
    each(ledger, filter, usize::MAX, |record| {
        records.insert(record.entry, record.clone());
        Ok(())
    })
    .await?;
    Ok(records)
}

fn print(looked: &[Looked], json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        for Looked {
            record,
            before,
            held,
        } in looked
        {
            let mut row = object(record);
            if let Value::Object(row) = &mut row {
                row.insert("state_before".to_owned(), before.as_str().into());
                row.insert("held".to_owned(), (*held).into());
            }
            writeln!(out, "{row}")?;
        }
        return Ok(());
    }
    if looked.is_empty() {
        return writeln!(out, "no payment is unknown or left open");
    }
    line(
        out,
        [
            "entry",
            "before",
            "now",
            "amount",
            "payer",
            "operation",
            "transaction",
        ],
    )?;
    for Looked {
        record,
        before,
        held,
    } in looked
    {
        let now = match held {
            true => format!("{}, held", record.state),
            false => record.state.to_string(),
        };
        line(
            out,
            [
                &record.entry.to_string(),
                before.as_str(),
                &now,
                &record.amount.to_string(),
                &record.payer.to_string(),
                &operation(record),
                record.transaction.as_deref().unwrap_or_default(),
            ],
        )?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, columns: [&str; 7]) -> io::Result<()> {
    let [entry, before, now, amount, payer, operation, transaction] = columns;
    let text = format!(
        "{entry:>8}  {before:<9}  {now:<13}  {amount:>12}  {payer:<42}  {operation:<28}  {transaction}"
    );
    writeln!(out, "{}", text.trim_end())
}
