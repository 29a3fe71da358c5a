//! The opinion leaders' statements about one token.

use readings::symbol::SymbolKey;
use serde_json::{Value, json};

use crate::answer::{Answered, Object};

/// Restricts the opinion leaders' statements to this token.
pub(super) fn about_token(mut answered: Answered, symbol: &SymbolKey) -> Answered {
    let names = |row: &&Value| {
        let named = row
            .get("symbol")
            .or_else(|| row.get("token"))
            .and_then(Value::as_str);
        named.is_some_and(|named| symbol.names(named))
    };
    let rows = answered.data.get("by_token").and_then(Value::as_array);
    let token = rows.and_then(|rows| rows.iter().find(names)).cloned();
    let leaders = answered.data.get("leaders").and_then(Value::as_array);
    // Each leader with an opinion of this token, and no other opinion of theirs.
    let voices = leaders.into_iter().flatten().filter_map(|leader| {
        let tokens = leader.get("tokens").and_then(Value::as_array)?;
        let opinion = tokens.iter().find(names)?;
        Some(json!({
            "handle": leader.get("handle"),
            "followers": leader.get("followers"),
            "score": opinion.get("score"),
            "label": opinion.get("label"),
            "evidence_urls": leader.get("evidence_urls"),
        }))
    });
    let voices: Vec<Value> = voices.collect();
    answered.cut.clear();
    answered.data = Object::from(json!({
        "coverage": answered.data.get("coverage"),
        "window": answered.data.get("window"),
        "overall": answered.data.get("overall"),
        "mentioned": token.is_some(),
        "token": token,
        "voices": voices,
    }));
    answered.unavailable.clear();
    // A `null` token means that no leader talks about it.
    answered.none = &["token"];
    answered.origins.clear();
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_about_the_token_are_kept() {
        let answered = || Answered {
            data: Object::from(json!({
                "coverage": {"leaders": 3}, "window": "24h", "overall": {"score": "0.4"},
                "by_token": [{"symbol": "BTC", "score": "0.1"}, {"symbol": "usd₮0", "score": "0.2"}],
                "leaders": [
                    {"handle": "a", "tokens": [{"symbol": "ETH", "score": "0.3"}]},
                    {"handle": "b", "tokens": [{"symbol": "BTC", "score": "0.1"}]},
                ],
            })),
            ..Answered::default()
        };
        let about = |symbol: &str| about_token(answered(), &SymbolKey::new(symbol).unwrap()).data;
        assert_eq!(
            about("$btc")["token"],
            json!({"symbol": "BTC", "score": "0.1"})
        );
        let handles = |symbol: &str| {
            let voices = about(symbol)["voices"].as_array().unwrap().clone();
            voices
                .iter()
                .map(|voice| voice["handle"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(handles("BTC"), [json!("b")]);
        assert_eq!(about("USDT0")["mentioned"], true);
        let unmentioned = about("OKB");
        assert_eq!(
            (&unmentioned["mentioned"], &unmentioned["token"]),
            (&json!(false), &Value::Null)
        );
        assert_eq!(unmentioned["voices"], json!([]));
    }
}
