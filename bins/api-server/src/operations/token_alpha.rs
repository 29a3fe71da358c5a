//! `GET /token-alpha`: news, social mood, derivatives and price of one symbol. Venues list coins by
//! tickers, so figures of another coin with the symbol are left out.

use data_sources::{Error, Provenance, Sourced};
use readings::derivatives::SymbolMarket;
use readings::news::{Article, mentions_symbol, rank};
use readings::social::Mood;
use readings::symbol::SymbolKey;
use readings::token::coin::Coin;
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use super::crypto_news::{core_source, snapshot, undated};
use super::{fault, funding_rates, token_deep_dive, token_details};
use crate::answer::{Answered, Method, Part, Unavailable};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, NewsDigest};
use crate::source_report::SourceReport;
use crate::sources::Derivatives;
use crate::sources::News;
use crate::sources::Tokens;

/// For how many seconds the statements about a symbol count as fresh. They are read again after two
/// minutes, but carry the time of their source's last count.
const FRESH_SECONDS: u64 = 900;
/// The most headlines of an answer.
const MOST: usize = 20;
const NEWS: &str = "okx.news";

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    derivatives: &Derivatives,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let asked = call.parameters.text("symbol").unwrap_or_default();
    let symbol =
        SymbolKey::new(asked).ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol"))?;
    let max_age = call.max_age();
    let (told, mood, snapshot, funding, coin) = tokio::join!(
        news.desk.news_of(&symbol, max_age),
        mood(news, &symbol, call),
        snapshot(context, news),
        funding_rates::for_symbol(context, derivatives, &symbol, max_age),
        token_details::details(context, tokens, &symbol, max_age),
    );
    let mut report = SourceReport::default();
    let now = context.now();
    let mut ages = Vec::new();
    let mut aged =
        |name, provenance: &[Provenance], fresh| ages.push(Part::of(name, provenance, fresh));
    let funding = of_the_coin(funding, coin.as_ref().ok().map(|coin| &coin.value));
    if let Ok((_, of_market)) = &funding {
        aged(
            "derivatives",
            &of_market.sources,
            funding_rates::FRESH_SECONDS,
        );
    }
    let market = market(funding, &mut report);
    if let Ok(coin) = &coin {
        let fresh = token_details::fresh_seconds(&coin.sources);
        aged("price", &coin.sources, fresh);
    }
    let paid = report
        .take(context, "price", coin)
        .and_then(|coin| price(&coin, &mut report));
    let social_source = core(mood.as_ref().map(|mood| mood.sources.as_slice()));
    if let Ok(mood) = &mood {
        aged("social", &mood.sources, FRESH_SECONDS);
    }
    let social_block = report
        .take(context, "social", mood)
        .map(|mood| social(&mood));
    let (mut news_source, mut as_of) = (NEWS, None);
    let news = match told {
        Ok(told) => {
            aged("news", &told.sources, FRESH_SECONDS);
            news_source = core(Ok::<_, &Error>(told.sources.as_slice()));
            Some(report.accept(told))
        }
        // The hourly snapshot knows less about a token, but is available when the source of symbols
        // is not.
        Err(error) => {
            report.failed(context, &error);
            let of_snapshot = snapshot.ok().map(|snapshot| {
                let provenance = snapshot.provenance();
                let fresh = NewsDigest::PACE.fresh.as_secs();
                ages.push(Part::at("news", snapshot.as_of, fresh));
                as_of = Some(snapshot.as_of);
                news_source = core_source(&snapshot);
                let about = |article: &&Article| mentions_symbol(article, &symbol);
                let articles: Vec<Article> = snapshot
                    .value
                    .articles
                    .iter()
                    .filter(about)
                    .cloned()
                    .collect();
                report.accept(Sourced {
                    value: articles,
                    sources: provenance,
                })
            });
            if of_snapshot.is_none() {
                report.missing("news", error.reason(), NEWS);
            }
            of_snapshot
        }
    };
    if news.as_ref().is_none_or(Vec::is_empty) && social_block.is_none() && market.is_none() {
        return Err(nothing(&symbol, news.is_some(), &report));
    }
    let news = news.map(|articles| {
        let mut headlines = rank(articles, now).headlines;
        report.cut("news", headlines.len().min(MOST), headlines.len());
        headlines.truncate(MOST);
        let undated = undated("news", &headlines, news_source);
        report.unavailable.extend(undated);
        headlines
    });
    let data = json!({
        "symbol": symbol.as_str(),
        "price": paid,
        "news": news,
        "social": social_block,
        "derivatives": market,
    });
    let mut answered = Answered::of_parts(data, ages).with_report(report).origin(
        "news",
        news_source,
        Method::Derived,
    );
    answered.as_of = as_of;
    Ok(match social_source {
        "" => answered,
        source => answered.origin("social", source, Method::Direct),
    })
}

/// The first source of a result.
fn core<E>(told: Result<&[Provenance], E>) -> &'static str {
    let first = told.ok().and_then(<[Provenance]>::first);
    first.map_or("", |source| source.source)
}

/// The funding of this very coin. Venues list coins by their tickers, which two coins can share.
fn of_the_coin(
    funding: Result<(SymbolMarket, SourceReport), ErrorReply>,
    coin: Option<&Coin>,
) -> Result<(SymbolMarket, SourceReport), ErrorReply> {
    let (market, report) = funding?;
    let agreeing = market
        .venues
        .iter()
        .filter(|reading| !market.conflicting.contains(&reading.venue));
    let marks: Vec<_> = agreeing
        .filter_map(|reading| Some(reading.mark_px?.get()))
        .collect();
    match coin.and_then(|coin| coin.is_marked_at(&marks)) {
        Some(false) => Err(fault::core_missing(
            "derivatives",
            token_deep_dive::ANOTHER_COIN,
        )),
        Some(true) | None => Ok((market, report)),
    }
}

/// The mood, from the source with shares if it has one, otherwise from the source with counts
/// alone.
async fn mood(news: &News, symbol: &SymbolKey, call: &Call) -> Result<Sourced<Mood>, Error> {
    match news.desk.mood_of(symbol, call.max_age()).await {
        Ok(mood) => Ok(mood),
        Err(error) if news.lunarcrush.source().disabled().is_some() => Err(error),
        Err(error) => news.lunarcrush.mentions_of(symbol).await.map_err(|_| error),
    }
}

fn social(mood: &Mood) -> Value {
    let Some(token) = mood.tokens.first() else {
        return Value::Null;
    };
    json!({
        "window": mood.window,
        "mentions": token.mentions,
        "x_mentions": token.x_mentions,
        "news_mentions": token.news_mentions,
        "bullish_ratio": token.bullish_ratio,
        "bearish_ratio": token.bearish_ratio,
        "trend": token.trend,
    })
}

/// The funding block of the symbol, like that of `/funding-rates`.
fn market(
    funding: Result<(SymbolMarket, SourceReport), ErrorReply>,
    report: &mut SourceReport,
) -> Option<SymbolMarket> {
    let (market, of_market) = match funding {
        Ok(funding) => funding,
        Err(error) => {
            report.missing("derivatives", error.reason(), "");
            return None;
        }
    };
    report.accept(Sourced {
        value: (),
        sources: of_market.sources,
    });
    let moved = of_market.unavailable.into_iter().filter_map(|entry| {
        let rest = entry.field.strip_prefix("data.markets")?;
        let rest = rest.split_once(']').map_or(rest, |(_, rest)| rest);
        Some(Unavailable {
            field: format!("data.derivatives{rest}"),
            ..entry
        })
    });
    report.unavailable.extend(moved);
    Some(market)
}

/// The price of the coin with the symbol, if it has one.
fn price(coin: &Coin, report: &mut SourceReport) -> Option<Value> {
    if coin.price_usd.is_none() {
        report.missing("price", "not_named_by_source", "");
        return None;
    }
    Some(
        json!({ "id": coin.id, "price_usd": coin.price_usd, "change_24h_pct": coin.change_24h_pct }),
    )
}

/// The error without data. It differs when the sources know nothing of the symbol and when they did
/// not answer.
fn nothing(symbol: &SymbolKey, news_answered: bool, report: &SourceReport) -> ErrorReply {
    let social =
        |entry: &Unavailable| entry.field != "data.social" || entry.reason == "symbol_not_found";
    let unknown = news_answered && report.unavailable.iter().all(social);
    if unknown {
        let message = format!("nothing is known about {symbol}");
        return ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "symbol_not_found");
    }
    fault::core_missing("news_social_or_derivatives", "no_leg_answered")
}
