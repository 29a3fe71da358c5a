//! Words of markets that a general lexicon does not know or takes for something else.

/// Valences as VADER has them, in tenths, −40 … 40.
const WORDS: &[(i64, &[&str])] = &[
    (20, &["surge", "surges", "surged", "surging"]),
    (15, &["inflow", "inflows"]),
    (18, &["breakout", "breakouts"]),
    (20, &["ath", "aths"]),
    (22, &["bullish", "bullishly"]),
    (20, &["rally", "rallies", "rallied", "rallying"]),
    (-22, &["bearish", "bearishly"]),
    (-24, &["exploit", "exploits", "exploited", "exploiting", "exploiter"]),
    (-26, &["drain", "drains", "drained", "draining", "drainer"]),
    (-18, &["halt", "halts", "halted", "halting"]),
    (-28, &["depeg", "depegs", "depegged", "depegging"]),
    (-28, &["rug", "rugs", "rugged", "rugpull", "rugpulls"]),
    (-20, &["liquidated", "liquidation", "liquidations", "liquidates"]),
    (-20, &["delist", "delists", "delisted", "delisting"]),
    (-15, &["outflow", "outflows"]),
];

/// The valence of a lower-case word, in tenths.
pub(super) fn valence(word: &str) -> Option<i64> {
    let found = WORDS.iter().find(|(_, words)| words.contains(&word));
    found.map(|(valence, _)| *valence)
}
