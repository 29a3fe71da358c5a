//! `GET /mega-report`: a daily briefing, composed of the answers of other routes.
//!
//! Each section has the age, the sources and the warnings of its route. A section that fails is
//! listed and does not end the report.

mod change;
mod draft;
mod levels;
mod moods;

use data_sources::Sourced;
use readings::Extent;
use readings::macro_data::{reach, upcoming};
use readings::news::rank;
use route_catalog::Operation;
use serde_json::{Value, json};

use self::draft::Draft;
use super::crypto_news::{core_source, no_index, snapshot, undated};
use super::token_deep_dive::DECISIONS_UNKNOWN;
use super::{
    boxed, defi_analytics, fault, finish, funding_rates, kol_sentiment, tradfi_data,
    trending_altcoins, twitter_summary, yield_alpha,
};
use crate::answer::{Answered, Method, Part};
use crate::call::Call;
use crate::context::Context;
use crate::memory::Memory;
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, NewsDigest};
use crate::sources::{Defi, Derivatives, News, Tokens, Tradfi};

/// The days ahead for which scheduled events are shown.
const CATALYST_DAYS: usize = 14;

/// A section that comes from the answer of another route: its name, the route, and the members that
/// are taken over.
struct Section {
    name: &'static str,
    operation: Operation,
    /// The only list that the section takes over; `None` takes every member.
    list: Option<&'static str>,
}

const KOL_ALPHA: Section = Section {
    name: "kol_alpha",
    operation: Operation::KolSentiment,
    list: None,
};
const TRENDING: Section = Section {
    name: "trending",
    operation: Operation::TrendingAltcoins,
    list: Some("altcoins"),
};
const YIELD: Section = Section {
    name: "yield",
    operation: Operation::YieldAlpha,
    list: Some("pools"),
};
const DERIVATIVES: Section = Section {
    name: "derivatives",
    operation: Operation::FundingRates,
    list: Some("markets"),
};
const MACRO: Section = Section {
    name: "macro",
    operation: Operation::TradfiData,
    list: None,
};

const LEADERS_SAID: Section = Section {
    name: "leaders_said",
    operation: Operation::TwitterSummary,
    list: None,
};
const DEFI: Section = Section {
    name: "defi",
    operation: Operation::DefiAnalytics,
    list: None,
};

/// The inputs of a report.
#[derive(Clone, Copy)]
pub(super) struct Reads<'a> {
    pub(super) news: &'a News,
    pub(super) tokens: &'a Tokens,
    pub(super) defi: &'a Defi,
    pub(super) derivatives: &'a Derivatives,
    pub(super) tradfi: &'a Tradfi,
    pub(super) memory: &'a Memory,
}

pub(super) async fn answer(
    context: &Context,
    sources: Reads<'_>,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Reads {
        news,
        tokens,
        defi,
        derivatives,
        tradfi,
        memory,
    } = sources;
    let whole = Extent::Whole;
    let sections = [
        KOL_ALPHA,
        TRENDING,
        YIELD,
        DERIVATIVES,
        MACRO,
        LEADERS_SAID,
        DEFI,
    ];
    let [one, two, three, four, five, six, seven] = sections.map(|section| section.call(call));
    let hyperliquid = &derivatives.hyperliquid;
    let (digest, kols, altcoins, pools, markets, readings, statements, protocols, levels) = tokio::join!(
        snapshot(context, news),
        boxed(|| finished(context, &one, kol_sentiment::answer(context, news, &one))),
        boxed(|| finished(
            context,
            &two,
            trending_altcoins::answer(context, tokens, news, &two, whole)
        )),
        boxed(|| finished(
            context,
            &three,
            yield_alpha::answer(context, defi, &three, whole)
        )),
        boxed(|| finished(
            context,
            &four,
            funding_rates::answer(context, derivatives, &four, whole)
        )),
        boxed(|| finished(
            context,
            &five,
            tradfi_data::answer(context, tradfi, hyperliquid, &five)
        )),
        boxed(|| finished(
            context,
            &six,
            twitter_summary::answer(context, news, &six, whole)
        )),
        boxed(|| finished(
            context,
            &seven,
            defi_analytics::answer(context, defi, &seven, whole)
        )),
        boxed(|| levels::of_majors(context, hyperliquid, call)),
    );
    let now = context.now();
    let mut draft = Draft::default();
    let mut headlines_source = "";
    let mut news_change = Value::Null;
    match &digest {
        Ok(snapshot) => {
            let digest = &snapshot.value;
            // Every story counts, not only the ones that the edition shows.
            let headlines = rank(digest.articles.clone(), now).headlines;
            news_change = moods::news_change(digest, now);
            draft
                .sections
                .insert("headlines".to_owned(), json!(headlines));
            draft
                .sections
                .insert("sentiment".to_owned(), json!(digest.brief));
            draft.as_of = Some(snapshot.as_of);
            let fresh = NewsDigest::PACE.fresh.as_secs();
            draft
                .ages
                .push(Part::at("headlines", snapshot.as_of, fresh));
            draft.report.accept(Sourced {
                value: (),
                sources: snapshot.provenance(),
            });
            headlines_source = core_source(snapshot);
            draft.report.unavailable.extend(undated(
                "sections.headlines",
                &headlines,
                headlines_source,
            ));
            if digest.brief.fear_greed.is_none() {
                draft
                    .report
                    .unavailable
                    .push(no_index("sections.sentiment.fear_greed", snapshot));
            }
        }
        Err(error) => {
            draft.missing("headlines", error);
            draft.missing("sentiment", error);
        }
    }
    let no_trend = altcoins.is_err();
    for (section, answered) in [
        (KOL_ALPHA, kols),
        (TRENDING, altcoins),
        (YIELD, pools),
        (DERIVATIVES, markets),
        (MACRO, readings),
        (LEADERS_SAID, statements),
        (DEFI, protocols),
    ] {
        draft.add(&section, answered, now);
    }
    levels::add(&mut draft, levels, now);
    if digest.is_err() && no_trend {
        return Err(fault::core_missing(
            "headlines_or_trending",
            "headlines_and_trending_missing",
        ));
    }
    let change = change::since_yesterday(memory, &mut draft, news_change, headlines_source, now);
    let calendar = reach(now, CATALYST_DAYS);
    if !calendar.complete {
        draft.report.missing("catalysts", DECISIONS_UNKNOWN, "");
    }
    let data = json!({
        "cross_checks": moods::cross_checks(&draft.sections),
        "change": change,
        "catalysts": upcoming(now, CATALYST_DAYS),
        "catalyst_calendar": calendar,
        "sections": draft.sections,
        "missing": draft.missing,
    });
    let mut answered = Answered::of_parts(data, draft.ages).with_report(draft.report);
    answered.as_of = draft.as_of;
    answered.warnings = draft.warnings;
    Ok(match headlines_source {
        "" => answered,
        source => answered.origin("sections/headlines", source, Method::Derived),
    })
}

impl Section {
    /// The call of the section's route without parameters, with the caller's age limit. A section
    /// that is too old is missing, and the others are still there. The call shares the route's
    /// caches, which refresh data that is too old.
    fn call(&self, call: &Call) -> Call {
        let parsed = self.operation.route().parse(None, b"");
        Call {
            operation: self.operation,
            parameters: parsed.unwrap_or_default(),
            payer: call.payer,
            payment: call.payment,
            claim: None,
            is_beside_undecidable: false,
            kept: None,
            sub_wallet: None,
            request_id: call.request_id,
            max_age: call.max_age_seconds(),
        }
    }
}

/// The answer of a section's route, finished as for a sale.
async fn finished(
    context: &Context,
    call: &Call,
    answering: impl Future<Output = Result<Answered, ErrorReply>>,
) -> Result<Answered, ErrorReply> {
    finish(context, call, answering.await?)
}
