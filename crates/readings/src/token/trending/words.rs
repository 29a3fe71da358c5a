//! Sentences, risks and links of a trending coin. The sentences come from templates and repeat no
//! text of a ranking.

use std::collections::BTreeMap;

use super::Candidate;
use crate::{Decimal, Figure};

const THIN_LIQUIDITY_USD: Decimal = Decimal::from_parts(100_000, 0, 0, false, 0);
const SMALL_MARKET_USD: Decimal = Decimal::from_parts(20_000_000, 0, 0, false, 0);
const CONCENTRATED_PCT: Decimal = Decimal::from_parts(40, 0, 0, false, 0);
const SHARP_MOVE_PCT: Decimal = Decimal::from_parts(30, 0, 0, false, 0);

/// Makes one sentence for each ranking that names the coin.
pub(super) fn why(candidate: &Candidate<'_>) -> Vec<String> {
    let mut why = Vec::new();
    if let Some((place, coin)) = candidate.searched {
        let market = coin
            .rank
            .map(|rank| format!(", market-cap rank {rank}"))
            .unwrap_or_default();
        why.push(format!("place {place} of trending searches{market}"));
    }
    if let Some((place, token)) = candidate.hot {
        let traders = token
            .traders_24h
            .map(|traders| format!(", {traders} traders in 24 h"))
            .unwrap_or_default();
        why.push(format!(
            "place {place} of hot tokens on chain {}{traders}",
            token.chain_id
        ));
    }
    if let Some((place, mention)) = candidate.mentioned {
        let bullish = percent(mention.bullish_ratio)
            .map(|pct| format!(", {pct} % of them bullish"))
            .unwrap_or_default();
        let mentions = mention.mentions;
        why.push(format!(
            "place {place} of symbols talked about: {mentions} mentions in 24 h{bullish}"
        ));
    }
    why
}

/// Returns the codes of its risks.
pub(super) fn risks(candidate: &Candidate<'_>) -> Vec<&'static str> {
    let mut risks = Vec::new();
    let mut risk = |applies: bool, code| {
        if applies {
            risks.push(code);
        }
    };
    let hot = candidate.hot.map(|(_, token)| token);
    let above = |figure: Option<Figure>, limit: Decimal| {
        figure.is_some_and(|figure| figure.get().abs() > limit)
    };
    let below =
        |figure: Option<Figure>, limit: Decimal| figure.is_some_and(|figure| figure.get() < limit);
    risk(candidate.places().len() == 1, "named_by_one_ranking");
    let cap = candidate.market_cap_usd();
    risk(cap.is_none(), "market_cap_unknown");
    risk(below(cap, SMALL_MARKET_USD), "small_market_cap");
    let change = candidate.of(|coin| coin.change_24h_pct, |token| token.change_24h_pct);
    risk(above(change, SHARP_MOVE_PCT), "sharp_move_24h");
    if let Some(token) = hot {
        risk(
            below(token.liquidity_usd, THIN_LIQUIDITY_USD),
            "thin_liquidity",
        );
        risk(
            above(token.top10_hold_pct, CONCENTRATED_PCT),
            "concentrated_holders",
        );
        risk(
            token.risk_level.is_none_or(|level| level == 0),
            "risk_not_assessed",
        );
        risk(
            token.risk_level.is_some_and(|level| level > 1),
            "risk_above_low",
        );
    }
    if let Some((_, mention)) = candidate.mentioned {
        risk(
            mention.bearish_ratio > mention.bullish_ratio,
            "mentions_mostly_bearish",
        );
    }
    risks
}

/// Makes links for further reading from checked identifiers. No link of an upstream is used.
pub(super) fn links(candidate: &Candidate<'_>) -> BTreeMap<&'static str, String> {
    let mut links = BTreeMap::new();
    if let Some((_, coin)) = candidate.searched {
        links.insert(
            "coingecko",
            format!("https://www.coingecko.com/en/coins/{}", coin.id),
        );
    }
    if let Some((_, token)) = candidate.hot {
        let plain = !token.contract.is_empty()
            && token
                .contract
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric());
        if plain {
            links.insert("contract", format!("{}:{}", token.chain_id, token.contract));
        }
    }
    links
}

fn percent(ratio: Option<Figure>) -> Option<Figure> {
    let percent = ratio?.get().checked_mul(Decimal::ONE_HUNDRED)?;
    Some(Figure(percent.round_dp(1)))
}
