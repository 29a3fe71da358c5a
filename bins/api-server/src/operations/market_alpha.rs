//! `GET /market-alpha`: live prices of the curated tokens, and of the most liquid and trending
//! ones. The prices are the core; the rankings only add rows.

use data_sources::okx::Okx;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{Error, SourceError, SourceErrorKind, Sourced};
use readings::token::board::{Board, board};
use readings::token::market::HotToken;
use readings::token::{curated, search};

use super::fault;
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

const FRESH_SECONDS: u64 = 90;
/// The number of tokens beside the curated ones: so many with the deepest pools, and so many that
/// trend.
const MORE_OF_EACH: usize = 6;
/// The time limit of the rankings, which only add rows.
const RANKING_PATIENCE: Duration = Duration::from_millis(2_500);

pub(super) async fn answer(
    context: &Context,
    okx: &Okx,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let max_age = call.max_age();
    let chain_id = okx.reviewed().chain_id;
    let (liquid, hot) = tokio::join!(
        in_time(okx.liquid_tokens(chain_id, max_age)),
        in_time(okx.hot_tokens(Some(chain_id), max_age)),
    );
    let mut report = SourceReport::default();
    let mut names = BTreeMap::new();
    let mut order = Vec::new();
    let mut unranked = false;
    for ranking in [liquid, hot] {
        match ranking {
            Ok(ranking) => {
                for (address, symbol) in others(&report.accept(ranking)) {
                    if names.insert(address, symbol).is_none() {
                        order.push(address);
                    }
                }
            }
            Err(error) => {
                unranked = true;
                report.failed(context, &error);
            }
        }
    }
    let curated = curated::XLAYER.iter().map(|token| token.address);
    let tokens: Vec<Address> = curated.chain(order).collect();
    let markets = okx
        .markets(&tokens, max_age)
        .await
        .map_err(|error| fault::reply(&error))?;
    let markets = report.accept(markets);
    let board = board(chain_id, markets.to_vec(), |address| {
        names.get(&address).cloned()
    });
    if board.coverage.is_too_small() {
        let reason = "fewer_than_half_priced";
        return Err(fault::core_missing("tokens", reason));
    }
    let warnings = warnings(&board, unranked);
    let movers = &board.movers;
    report.cut("movers.gainers", movers.gainers.len(), movers.risen);
    report.cut("movers.losers", movers.losers.len(), movers.fallen);
    // The prices are the core of the answer.
    report
        .sources
        .sort_by_key(|source| source.source != "okx.price-info");
    Ok(Answered {
        warnings,
        ..Answered::new(&board, FRESH_SECONDS)
            .with_report(report)
            .origin("tokens", "okx.price-info", Method::Direct)
            .origin("movers", "okx.price-info", Method::Derived)
            .origin("total_volume_24h_usd", "okx.price-info", Method::Derived)
    })
}

type Ranking = Sourced<Arc<[HotToken]>>;

async fn in_time(ranking: impl Future<Output = Result<Ranking, Error>>) -> Result<Ranking, Error> {
    tokio::time::timeout(RANKING_PATIENCE, ranking)
        .await
        .unwrap_or_else(|_| {
            let limit_ms = u64::try_from(RANKING_PATIENCE.as_millis()).unwrap_or(u64::MAX);
            Err(Error::Source(SourceError {
                source: "okx.hot-tokens",
                kind: SourceErrorKind::Timeout { limit_ms },
            }))
        })
}

/// The tokens that a ranking adds, without curated ones, imitations and high risks.
fn others(ranking: &[HotToken]) -> Vec<(Address, String)> {
    ranking
        .iter()
        .filter(|token| !token.is_high_risk() && !search::is_imitation(&token.symbol))
        .filter_map(|token| Some((token.address()?, token.symbol.clone())))
        .filter(|(address, _)| curated::find(*address).is_none())
        .take(MORE_OF_EACH)
        .collect()
}

fn warnings(board: &Board, unranked: bool) -> Vec<Warning> {
    let priced: Vec<Address> = board.tokens.iter().map(|row| row.market.address).collect();
    let missing: Vec<&str> = curated::XLAYER
        .iter()
        .filter(|token| !priced.contains(&token.address))
        .map(|token| token.symbol)
        .collect();
    let mut warnings = Vec::new();
    if !missing.is_empty() {
        warnings.push(Warning {
            code: "tokens_not_priced",
            message: format!("no price is known for {}", missing.join(", ")),
        });
    }
    if unranked {
        warnings.push(Warning {
            code: "ranking_missing",
            message: "a ranking did not answer: tokens beside the curated ones may be missing"
                .to_owned(),
        });
    }
    if board.total_volume_24h_usd.is_some() {
        warnings.push(Warning {
            code: "volume_counts_both_sides",
            message: "the total adds up the volumes of the tokens: a swap between two of them \
                      counts twice"
                .to_owned(),
        });
    }
    if board.coverage.with_volume < board.tokens.len() {
        warnings.push(Warning {
            code: "volume_incomplete",
            message: format!(
                "the total volume is of {} of {} tokens",
                board.coverage.with_volume,
                board.tokens.len()
            ),
        });
    }
    warnings
}
