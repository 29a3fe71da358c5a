//! `GET /hyperliquid-market`: the perpetuals of a Hyperliquid dex, or one with its book and
//! candles.

use data_sources::hyperliquid_info::HyperliquidInfo;
use readings::derivatives::{PerpContext, PerpMarket};
use route_catalog::ErrorCode;
use serde_json::{Map, Value, json};

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// For how many seconds a market counts as fresh. It is read again after five seconds.
const FRESH_SECONDS: u64 = 10;
/// The number of prices on each side of the book.
const DEPTH: usize = 5;
const MARKETS: &str = "hyperliquid.markets";
const BOOK: &str = "hyperliquid.book";
const CANDLES: &str = "hyperliquid.candles";

pub(super) async fn answer(
    context: &Context,
    hyperliquid: &HyperliquidInfo,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let max_age = call.max_age();
    let parameter = |name: &str| call.parameters.text(name).map(str::trim);
    let (coin, interval) = (parameter("coin"), parameter("interval"));
    let prefix = coin
        .and_then(|coin| coin.split_once(':'))
        .map(|(dex, _)| dex);
    let dex = match (parameter("dex"), prefix) {
        (Some(dex), Some(prefix)) if dex != prefix => {
            return Err(fault::bad_parameter(
                "dex",
                "the coin belongs to another dex",
            ));
        }
        (dex, prefix) => dex.or(prefix).unwrap_or_default(),
    };
    let mut report = SourceReport::default();
    let found = hyperliquid.markets(dex, max_age).await;
    let markets = report.accept(found.map_err(|error| fault::reply(&error))?);
    let mut data = Map::new();
    let Some(coin) = coin else {
        let rows: Vec<_> = markets.iter().map(PerpMarket::from).collect();
        list_missing(&rows, &mut report);
        data.insert("markets".to_owned(), json!(rows));
        return Ok(answered(data, report));
    };
    let market = find(&markets, dex, coin).ok_or_else(|| {
        let message = format!("there is no market {coin:?}");
        ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "coin_not_found")
    })?;
    let rows = [PerpMarket::from(market)];
    list_missing(&rows, &mut report);
    data.insert("markets".to_owned(), json!(rows));
    let candles = async {
        match interval {
            Some(interval) => Some(hyperliquid.candles(&market.coin, interval, max_age).await),
            None => None,
        }
    };
    let (book, candles) = tokio::join!(hyperliquid.book(&market.coin, max_age), candles);
    let book = report.take(context, "book", book);
    for (side, levels) in book
        .iter()
        .flat_map(|book| [("bids", &book.bids), ("asks", &book.asks)])
    {
        report.cut(
            &format!("book.{side}"),
            levels.len().min(DEPTH),
            levels.len(),
        );
    }
    let book = book.map(|book| book.top(DEPTH));
    data.insert("book".to_owned(), json!(book));
    let has_book = report.has(BOOK);
    if let Some(candles) = candles {
        let candles = report.take(context, "candles", candles);
        data.insert("candles".to_owned(), json!(candles.as_deref()));
    }
    let has_candles = report.has(CANDLES);
    let mut answered = answered(data, report);
    if has_book {
        answered = answered.origin("book", BOOK, Method::Direct);
    }
    if has_candles {
        answered = answered.origin("candles", CANDLES, Method::Direct);
    }
    Ok(answered)
}

fn answered(data: Map<String, Value>, report: SourceReport) -> Answered {
    Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("markets", MARKETS, Method::Direct)
        .origin("markets/*/open_interest_usd", MARKETS, Method::Derived)
        .origin("markets/*/funding_apr_pct", MARKETS, Method::Derived)
}

/// Finds the requested market: by the venue's spelling, without the prefix of the dex, or in
/// another letter case if only one market fits.
fn find<'a>(markets: &'a [PerpContext], dex: &str, coin: &str) -> Option<&'a PerpContext> {
    let full = match dex {
        "" => coin.to_owned(),
        _ if coin.contains(':') => coin.to_owned(),
        dex => format!("{dex}:{coin}"),
    };
    let exact = markets.iter().find(|market| market.coin == full);
    exact.or_else(|| {
        let mut alike = markets
            .iter()
            .filter(|market| market.coin.eq_ignore_ascii_case(&full));
        alike.next().filter(|_| alike.next().is_none())
    })
}

fn list_missing(rows: &[PerpMarket], report: &mut SourceReport) {
    if rows.iter().any(|row| row.mid.is_none()) {
        report.missing("markets[].mid", "one_sided_book", MARKETS);
    }
}
