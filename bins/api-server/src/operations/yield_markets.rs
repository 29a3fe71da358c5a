//! `GET /yield-markets`: the yield markets of several sources as one list, with filters and pages.

use std::collections::BTreeSet;

use data_sources::{Error, Sourced, aave};
use readings::Figure;
use readings::defi::market::{self, Cursor, Filter, Market, Quoted, Sort};
use readings::symbol::SymbolKey;
use serde_json::json;

use super::fault;
use super::yields::{NONE, edition};
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::{Defi, EDITION_FRESH_SECONDS, USUAL_TOKENS};

/// The unavailable field when a source beside the edition fails: its readings, and the rows that
/// only it has.
const BESIDE: &str = "markets[].also_reported";
const DEFAULT_LIMIT: u64 = 50;

type SideReading = Result<Sourced<std::sync::Arc<Vec<Quoted>>>, Error>;

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let text = |name: &str| call.parameters.text(name);
    let sort: Sort = text("sort")
        .and_then(|sort| sort.parse().ok())
        .unwrap_or(Sort::Apy);
    let cursor = text("cursor")
        .map(|cursor| Cursor::parse(cursor, sort))
        .transpose();
    let cursor = cursor.map_err(|error| fault::bad_parameter("cursor", &error.to_string()))?;
    let filter = Filter {
        chain_id: call.parameters.chain("chain").map(|chain| chain.id),
        asset: text("asset").and_then(SymbolKey::new),
        protocol: text("protocol").map(str::to_owned),
        stable: call.parameters.boolean("stable"),
        min_tvl: text("min_tvl")
            .and_then(|least| least.parse::<Figure>().ok())
            .map(Figure::get),
    };
    let edition = edition(defi, context.now()).await?;
    let mut report = SourceReport::default();
    edition.count_in(&mut report);

    let chain_id = filter.chain_id.unwrap_or(aave::CHAIN_ID);
    let (okx, aave) = other_sources(defi, call, &filter, chain_id).await;
    let mut others = Vec::new();
    for reading in [Some(okx), aave].into_iter().flatten() {
        let quoted = report.take(context, BESIDE, reading);
        others.extend(
            quoted
                .iter()
                .flat_map(|rows| rows.iter())
                .filter_map(Market::of_quoted),
        );
    }
    // The other sources cover one chain, so only its rows can change.
    let (there, elsewhere): (Vec<&Market>, Vec<&Market>) = edition
        .markets
        .iter()
        .partition(|row| row.chain_id == Some(chain_id));
    let there = market::merged(there.into_iter().cloned().collect(), others);
    let wanted = elsewhere
        .into_iter()
        .chain(&there)
        .filter(|row| filter.wants(row));
    let limit = call.parameters.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = market::page(wanted.collect(), sort, cursor.as_ref(), limit);
    name_unsplit(&page.rows, &mut report);

    let data = json!({
        "count": page.count,
        "markets": page.rows,
        "next_cursor": page.next_cursor,
        "snapshot_id": edition.snapshot_id(),
    });
    Ok(Answered {
        none: NONE,
        ..Answered::new(data, EDITION_FRESH_SECONDS)
            .with_report(report)
            .origin("markets", yield_pools::SOURCE, Method::Direct)
            .origin("markets/*/risk_grade", yield_pools::SOURCE, Method::Derived)
    })
}

/// Lists the unknown parts of a yield that its source states as a sum. `null` does not mean that
/// there is no reward.
fn name_unsplit(rows: &[Market], report: &mut SourceReport) {
    let mut named = BTreeSet::new();
    for row in rows.iter().filter(|row| !row.reward_known) {
        let parts = [
            ("markets[].apy_base_pct", row.apy_base_pct.is_none()),
            ("markets[].apy_reward_pct", row.apy_reward_pct.is_none()),
        ];
        for (field, _) in parts.into_iter().filter(|(_, unknown)| *unknown) {
            if named.insert((field, row.source)) {
                report.missing(field, "split_not_stated", row.source);
            }
        }
    }
}

/// Reads the sources beside the edition at the same time. Aave is read on its own chain only.
async fn other_sources(
    defi: &Defi,
    call: &Call,
    filter: &Filter,
    chain_id: u64,
) -> (SideReading, Option<SideReading>) {
    let tokens = match &filter.asset {
        Some(asset) => vec![asset.to_string()],
        None => USUAL_TOKENS.map(str::to_owned).to_vec(),
    };
    let max_age = call.max_age();
    let aave = async {
        match chain_id {
            aave::CHAIN_ID => Some(defi.aave.markets(max_age).await),
            _ => None,
        }
    };
    tokio::join!(defi.okx.products(chain_id, &tokens, max_age), aave)
}
