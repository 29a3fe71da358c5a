//! `GET /rwa-pulse`: markets of real-world assets, with macro readings and news. Each of the three
//! has its own age, and a missing one is named.

use std::sync::Arc;

use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::{Error, Meter, Sourced};
use jiff::Timestamp;
use readings::derivatives::PerpContext;
use readings::news::{Headline, Topic, rank};
use readings::rwa::{MacroCore, Omitted, tokenized};
use serde_json::json;
use tokio::task::JoinSet;

use super::crypto_news::{core_source, snapshot, undated};
use super::{fault, tradfi_data};
use crate::answer::{Answered, Method, Part};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, NewsDigest};
use crate::source_report::SourceReport;
use crate::sources::News;
use crate::sources::Tradfi;

/// For how many seconds the prices count as fresh. They are read again after a minute. The macro
/// readings and the news have bounds of their own.
const FRESH_SECONDS: u64 = 60;
/// The most dexes that are asked. Each costs the venue's allowance of a whole second.
const DEXES: usize = 16;
/// The headlines of an answer.
const HEADLINES: usize = 10;
const MARKETS: &str = "hyperliquid.markets";

pub(super) async fn answer(
    context: &Context,
    tradfi: &Tradfi,
    hyperliquid: &HyperliquidInfo,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let ((core, mut report, of_macro), markets, categories, news) = tokio::join!(
        tradfi_data::core(context, tradfi, call.max_age()),
        markets(hyperliquid, call),
        hyperliquid.categories(None),
        snapshot(context, news),
    );
    if !core.is_enough() {
        let reason = report
            .unavailable
            .first()
            .map_or("no_reading", |entry| entry.reason.as_str());
        return Err(fault::core_missing("macro", reason));
    }
    // Move the missing fields to the macro readings' place in this answer.
    for entry in &mut report.unavailable {
        entry.field = entry
            .field
            .replace("data.yields.10y", "data.macro.us10y")
            .replace("data.yields.2y", "data.macro.us2y")
            .replace("data.yields.spread", "data.macro.spread")
            .replace("data.volatility.vix", "data.macro.vix");
    }
    report
        .unavailable
        .retain(|entry| !entry.field.starts_with("data.yields"));
    let mut omitted = Vec::new();
    for (name, there) in [
        ("us10y", core.us10y.is_some()),
        ("us2y", core.us2y.is_some()),
        ("vix", core.vix.is_some()),
    ] {
        if !there {
            omitted.push(Omitted::new(format!("macro.{name}"), "source_unavailable"));
        }
    }
    let categories = match categories {
        Ok(categories) => report.accept(categories),
        // The names are known without the venue, but its own list is missing.
        Err(error) => {
            report.failed(context, &error);
            Default::default()
        }
    };
    let mut rows = Vec::new();
    let mut of_venue = SourceReport::default();
    match markets {
        Ok((answers, dexes)) => {
            if dexes > answers.len() {
                report.cut("tokenized.dexes", answers.len(), dexes);
                omitted.push(Omitted::new(
                    "tokenized",
                    format!("{} of {dexes} dexes were asked", answers.len()),
                ));
            }
            for (dex, answer) in answers {
                match answer {
                    Ok(markets) => rows.extend(of_venue.accept(markets).iter().cloned()),
                    Err(error) => {
                        of_venue.failed(context, &error);
                        of_venue.missing(&format!("tokenized[dex={dex}]"), error.reason(), MARKETS);
                        omitted.push(Omitted::new(format!("tokenized.{dex}"), error.reason()));
                    }
                }
            }
        }
        Err(error) => {
            of_venue.failed(context, &error);
            let source = error.source_id().unwrap_or(MARKETS);
            of_venue.missing("tokenized", error.reason(), source);
            omitted.push(Omitted::new("tokenized", error.reason()));
        }
    }
    let now = context.now();
    let mut parts = vec![of_macro];
    let told_by_venue = of_venue.has(MARKETS);
    if told_by_venue {
        parts.push(Part::of("tokenized", &of_venue.sources, FRESH_SECONDS));
    }
    report.unavailable.append(&mut of_venue.unavailable);
    report.accept(Sourced {
        value: (),
        sources: of_venue.sources,
    });
    let (assets, left_out) = tokenized(&rows, &categories, now);
    omitted.extend(left_out);
    for (class, rows) in assets.classes() {
        if rows.iter().any(|row| row.premium_bps.is_none()) {
            let field = format!("tokenized.{}[].premium_bps", class.as_str());
            report.missing(&field, "market_closed_or_not_traded", MARKETS);
        }
    }
    let mut as_of = None;
    let mut core_of_news = "";
    let news = match news {
        Ok(snapshot) => {
            let (headlines, total) = headlines(&snapshot.value, now);
            report.cut("news", headlines.len(), total);
            as_of = Some(snapshot.as_of);
            let fresh = NewsDigest::PACE.fresh.as_secs();
            parts.push(Part::at("news", snapshot.as_of, fresh));
            core_of_news = core_source(&snapshot);
            report.accept(Sourced {
                value: (),
                sources: snapshot.provenance(),
            });
            report
                .unavailable
                .extend(undated("news", &headlines, core_source(&snapshot)));
            headlines
        }
        Err(error) => {
            omitted.push(Omitted::new("news", error.reason()));
            report.missing("news", error.reason(), "");
            Vec::new()
        }
    };
    let origins = origins(&core);
    let data = json!({
        "macro": core,
        "tokenized": assets,
        "news": news,
        "omitted": omitted,
    });
    let mut answered = Answered::of_parts(data, parts).with_report(report);
    for (place, source, method) in origins {
        answered = answered.origin(place, source, method);
    }
    if told_by_venue {
        answered = answered.origin("tokenized", MARKETS, Method::Derived);
    }
    if !core_of_news.is_empty() {
        answered = answered.origin("news", core_of_news, Method::Derived);
    }
    answered.as_of = as_of;
    Ok(answered)
}

/// The sources of the macro readings.
fn origins(core: &MacroCore) -> Vec<(&'static str, &'static str, Method)> {
    let ten = core.us10y.as_ref();
    let spread = ten.filter(|_| core.spread_2s10s_bp.is_some());
    let of = [
        ("macro/us10y", ten, Method::Direct),
        ("macro/us2y", core.us2y.as_ref(), Method::Direct),
        ("macro/vix", core.vix.as_ref(), Method::Direct),
        ("macro/spread_2s10s_bp", spread, Method::Derived),
    ];
    let there = of.into_iter();
    there
        .filter_map(|(place, reading, method)| Some((place, reading?.source, method)))
        .collect()
}

/// The markets of one dex, or the failure.
type OfDex = (String, Result<Sourced<Arc<Vec<PerpContext>>>, Error>);

/// The markets of the dexes of other deployers, and the number of those dexes.
async fn markets(hyperliquid: &HyperliquidInfo, call: &Call) -> Result<(Vec<OfDex>, usize), Error> {
    let dexs = hyperliquid.dexs(None).await?;
    let max_age = call.max_age();
    let mut calls = JoinSet::new();
    for dex in dexs.value.iter().take(DEXES).cloned() {
        let venue = hyperliquid.clone();
        calls.spawn(Meter::carry(async move {
            let markets = venue.overview(&dex, max_age).await;
            (dex, markets)
        }));
    }
    let mut answers = calls.join_all().await;
    answers.sort_by(|one, other| one.0.cmp(&other.0));
    Ok((answers, dexs.value.len()))
}

/// The headlines about real-world assets, and their number. Without any, the most important
/// headlines.
fn headlines(digest: &readings::news::Digest, now: Timestamp) -> (Vec<Headline>, usize) {
    let topic = Topic::new("rwa");
    let about = |article: &&readings::news::Article| {
        topic
            .as_ref()
            .is_some_and(|topic| !topic.matches(article).is_empty())
    };
    let matching = digest.articles.iter().filter(about).cloned().collect();
    let mut headlines = rank(matching, now).headlines;
    if headlines.is_empty() {
        headlines = digest.headlines.clone();
    }
    let total = headlines.len();
    headlines.truncate(HEADLINES);
    (headlines, total)
}
