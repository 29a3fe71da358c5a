//! The opinion leaders' statements about one token.

use readings::symbol::SymbolKey;
use serde_json::{Value, json};

use crate::answer::{Answered, Object};

/// Restricts the opinion leaders' statements to this token.
pub(super) fn about_token(mut told: Answered, symbol: &SymbolKey) -> Answered {
    let names = |row: &&Value| {
        let named = row
            .get("symbol")
            .or_else(|| row.get("token"))
            .and_then(Value::as_str);
        named.is_some_and(|named| symbol.names(named))
    };
    let rows = told.data.get("by_token").and_then(Value::as_array);
    let token = rows.and_then(|rows| rows.iter().find(names)).cloned();
    let leaders = told.data.get("leaders").and_then(Value::as_array);
    // Each leader with an opinion of this token, with that opinion alone.
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
    told.cut.clear();
    told.data = Object::from(json!({
        "coverage": told.data.get("coverage"),
        "window": told.data.get("window"),
        "overall": told.data.get("overall"),
        "mentioned": token.is_some(),
        "token": token,
        "voices": voices,
    }));
    told.unavailable.clear();
    // `null` means that no leader talks about it.
    told.none = &["token"];
    told.origins.clear();
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_are_told_as_far_as_they_talk_about_the_token() {
        let told = || Answered {
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
        let about = |symbol: &str| about_token(told(), &SymbolKey::new(symbol).unwrap()).data;
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
        let silent = about("OKB");
        assert_eq!(
            (&silent["mentioned"], &silent["token"]),
            (&json!(false), &Value::Null)
        );
        assert_eq!(silent["voices"], json!([]));
    }
}
