//! `GET /mega-report`.

mod moods;

use data_sources::Sourced;
use jiff::Timestamp;
use readings::macro_data::{reach, upcoming};
use route_catalog::Operation;
use serde_json::{Map, Value, json};

use super::crypto_news::{core_source, no_index, snapshot, undated};
use super::token_deep_dive::{DECISIONS_UNKNOWN, drop_none};
use super::{
    boxed, defi_analytics, fault, finish, funding_rates, kol_sentiment, tradfi_data,
    trending_altcoins, twitter_summary, yield_alpha,
};
use crate::answer::{Answered, Cut, Method, Part, Unavailable, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, NewsDigest};
use crate::source_report::SourceReport;
use crate::sources::{Defi, Derivatives, News, Tokens, Tradfi};

/// Days ahead of which scheduled events are told.
const CATALYST_DAYS: usize = 14;

/// A section that is taken from the answer of another route: its name, the route, and the members that are taken, whole.
struct Section {
    name: &'static str,
    operation: Operation,
    /// The one list that the section is, or nothing for all members.
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

pub(super) async fn answer(
    context: &Context,
    news: &News,
    tokens: &Tokens,
    defi: &Defi,
    derivatives: &Derivatives,
    tradfi: &Tradfi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
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
    let (digest, kols, altcoins, pools, markets, readings, said, protocols) = tokio::join!(
        snapshot(context, news),
        boxed(|| finished(context, &one, kol_sentiment::answer(context, news, &one))),
        boxed(|| finished(
            context,
            &two,
            trending_altcoins::answer(context, tokens, news, &two)
        )),
        boxed(|| finished(context, &three, yield_alpha::answer(context, defi, &three))),
        boxed(|| finished(
            context,
            &four,
            funding_rates::answer(context, derivatives, &four)
        )),
        boxed(|| finished(
            context,
            &five,
            tradfi_data::answer(context, tradfi, &derivatives.hyperliquid, &five)
        )),
        boxed(|| finished(context, &six, twitter_summary::answer(context, news, &six))),
        boxed(|| finished(
            context,
            &seven,
            defi_analytics::answer(context, defi, &seven)
        )),
    );
    let now = context.now();
    let mut draft = Draft::default();
    let mut headlines_source = "";
    let mut news_change = Value::Null;
    match &digest {
        Ok(snapshot) => {
            let digest = &snapshot.value;
            let headlines = &digest.headlines;
            let total = digest.headlines_total.max(headlines.len());
            draft
                .report
                .cut("sections.headlines", headlines.len(), total);
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
            draft.report.got(Sourced {
                value: (),
                sources: snapshot.provenance(),
            });
            headlines_source = core_source(snapshot);
            draft.report.unavailable.extend(undated(
                "sections.headlines",
                headlines,
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
        (LEADERS_SAID, said),
        (DEFI, protocols),
    ] {
        draft.add(&section, answered, now);
    }
    if digest.is_err() && no_trend {
        return Err(fault::core_missing(
            "headlines_or_trending",
            "headlines_and_trending_missing",
        ));
    }
    let of_leaders = draft
        .sections
        .get("leaders_said")
        .and_then(|said| said.get("change"));
    let change = json!({ "news": news_change, "leaders": of_leaders });
    for (field, reason) in [
        ("change.news", "no_snapshot"),
        ("change.leaders", "yesterday_not_covered"),
        ("change.news.tone", "no_article_of_the_day"),
        ("change.news.tone_yesterday", "no_article_of_the_day"),
    ] {
        let place = format!("/{}", field.replace('.', "/"));
        let there = json!({ "change": &change });
        if there.pointer(&place).is_some_and(Value::is_null) {
            draft.report.missing(field, reason, headlines_source);
        }
    }
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

/// A report in the making.
#[derive(Default)]
struct Draft {
    sections: Map<String, Value>,
    missing: Vec<&'static str>,
    report: SourceReport,
    /// What the sections' routes say about their data, each once.
    warnings: Vec<Warning>,
    /// How old each section is, and up to which age it is fresh.
    ages: Vec<Part>,
    /// The time of the oldest section.
    as_of: Option<Timestamp>,
}

impl Draft {
    fn add(&mut self, section: &Section, answered: Result<Answered, ErrorReply>, now: Timestamp) {
        let answered = match answered {
            Ok(answered) => answered,
            Err(error) => return self.missing(section.name, &error),
        };
        self.ages.extend(answered.as_parts(section.name, now));
        self.as_of = self.as_of.into_iter().chain([answered.as_of(now)]).min();
        for warning in answered.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let place = format!("data.sections.{}", section.name);
        let (mut value, inner) = match section.list {
            Some(list) => (
                answered.data.get(list).cloned().unwrap_or_default(),
                format!("data.{list}"),
            ),
            None => (answered.data.into_value(), "data".to_owned()),
        };
        // What the section's own answer had cut is cut here, too.
        for cut in answered.cut {
            if let Some(rest) = cut.field.strip_prefix(&inner) {
                let field = format!("{place}{rest}");
                self.report.cut.push(Cut { field, ..cut });
            }
        }
        drop_none(&mut value, answered.none);
        self.sections.insert(section.name.to_owned(), value);
        self.report.got(Sourced {
            value: (),
            sources: answered.sources,
        });
        let moved = answered.unavailable.into_iter().filter_map(|gap| {
            let rest = gap.field.strip_prefix(&inner)?;
            Some(Unavailable {
                field: format!("{place}{rest}"),
                ..gap
            })
        });
        self.report.unavailable.extend(moved);
    }

    fn missing(&mut self, name: &'static str, error: &ErrorReply) {
        self.sections.insert(name.to_owned(), Value::Null);
        self.missing.push(name);
        self.report
            .missing(&format!("sections.{name}"), error.reason(), "");
    }
}

impl Section {
    /// The call of its route without parameters, for data that is not older than the caller of the report takes: an older
    /// section is missing, and the others are still there. It shares that route's caches, which ask for what they do not
    /// hold young enough.
    fn call(&self, call: &Call) -> Call {
        let parsed = self.operation.route().parse(None, b"");
        Call {
            operation: self.operation,
            parameters: parsed.unwrap_or_default(),
            payer: call.payer,
            sub_wallet: None,
            request_id: call.request_id,
            max_age: call.max_age_seconds(),
        }
    }
}

/// What a section's route answers, as it would be sold.
async fn finished(
    context: &Context,
    call: &Call,
    answering: impl Future<Output = Result<Answered, ErrorReply>>,
) -> Result<Answered, ErrorReply> {
    finish(context, call, answering.await?)
}
