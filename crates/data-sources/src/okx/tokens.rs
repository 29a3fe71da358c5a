//! `GET /api/v6/dex/aggregator/all-tokens`, kept for hours, because the list changes rarely. It
//! names the tokens that can be traded, and says nothing about their safety.

use std::time::Duration;

use jiff::Timestamp;
use readings::token::{https, undisputed};

use super::{DATA, Okx};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::Sourced,
    text::clean,
    tokens::{Token, TokenSnapshot},
};

pub(super) const SOURCE: &str = "okx.all-tokens";
const MAX_SYMBOL_CHARS: usize = 32;
const MAX_NAME_CHARS: usize = 64;

impl Okx {
    /// The tokens that can be traded, at most `max_age` old when that is given; the adapter's own
    /// time to live holds as well.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no list is young enough.
    pub async fn tokens(&self, max_age: Option<Duration>) -> Result<Sourced<TokenSnapshot>, Error> {
        let fetch = || {
            let okx = self.clone();
            async move { Ok(okx.fetch().await?) }
        };
        self.tokens.get((), max_age, fetch).await
    }

    /// When the kept token list was fetched; `None` before the first one.
    pub async fn token_list_fetched_at(&self) -> Option<Timestamp> {
        Some(self.tokens.peek(&())?.0)
    }

    async fn fetch(&self) -> Result<Sourced<TokenSnapshot>, SourceError> {
        let chain_id = self.config.reviewed.chain_id;
        let path = format!("/api/v6/dex/aggregator/all-tokens?chainIndex={chain_id}");
        let (data, provenance) = self.ask(SOURCE, &path, None).await?;
        let (tokens, rejected) =
            read(&Json::of(&data, DATA)).map_err(|kind| self.reject_response(SOURCE, kind))?;
        if rejected > 0 {
            tracing::warn!(
                source = SOURCE,
                rejected,
                "rows of the token list were left out"
            );
        }
        Ok(Sourced {
            value: TokenSnapshot {
                chain_id,
                tokens: tokens.into(),
                rejected,
            },
            sources: vec![provenance],
        })
    }
}

/// The usable rows, and how many were left out. Rows that disagree about one address are all left
/// out, because nothing shows which is right.
fn read(rows: &Json<'_>) -> Result<(Vec<Token>, usize), SourceErrorKind> {
    let rows_read = rows.elements()?;
    let total = rows_read.len();
    let read: Vec<Token> = rows_read.iter().filter_map(|row| token(row).ok()).collect();
    let same = |a: &Token, b: &Token| a.decimals == b.decimals && a.symbol == b.symbol;
    let tokens = undisputed(read, |token| token.address, same);
    if tokens.is_empty() {
        return Err(rows.malformed("a list with at least one usable token"));
    }
    let rejected = total - tokens.len();
    Ok((tokens, rejected))
}

fn token(row: &Json<'_>) -> Result<Token, SourceErrorKind> {
    let address = row.member("tokenContractAddress")?;
    let parsed = address.address()?;
    if parsed.is_zero() {
        return Err(address.malformed("an address other than zero"));
    }
    let symbol = clean(&row.member("tokenSymbol")?.text()?, MAX_SYMBOL_CHARS);
    if symbol.is_empty() {
        return Err(row.malformed("a symbol"));
    }
    let name = row
        .find("tokenName")
        .map(|name| name.text().map(|name| clean(&name, MAX_NAME_CHARS)))
        .transpose()?;
    let decimals = match row.find("decimals") {
        Some(json) => {
            let decimals =
                u8::try_from(json.digits()?).map_err(|_| json.malformed("at most 255 decimals"))?;
            Some(decimals)
        }
        None => None,
    };
    let logo_url = row
        .find("tokenLogoUrl")
        .and_then(|logo| logo.text().ok())
        .and_then(|logo| https(&logo));
    Ok(Token {
        address: parsed,
        symbol,
        name: name.filter(|name| !name.is_empty()),
        decimals,
        logo_url,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(address: &str, symbol: &str, decimals: Value) -> Value {
        json!({"decimals": decimals, "tokenContractAddress": address, "tokenLogoUrl": "", "tokenName": "n", "tokenSymbol": symbol})
    }

    fn read(rows: &Value) -> Result<(Vec<Token>, usize), SourceErrorKind> {
        let raw = serde_json::value::to_raw_value(rows).unwrap();
        super::read(&Json::of(&raw, "$"))
    }

    const A: &str = "0x779ded0c9e1022225f8e0630b35a9b54be713736";
    const B: &str = "0x4ae46a509f6b1d9056937ba4500cb143933d2dc8";

    #[test]
    fn unknown_decimals_are_not_zero() {
        let rows = json!([row(A, "USD₮0", json!("")), row(B, "USDG", json!("0"))]);
        let (tokens, rejected) = read(&rows).unwrap();
        assert_eq!(
            (tokens[0].decimals, tokens[1].decimals, rejected),
            (None, Some(0), 0)
        );
        assert_eq!(
            tokens[0].address.to_string(),
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
        );
    }

    #[test]
    fn a_missing_name_is_no_empty_name() {
        let mut rows = json!([row(A, "USD₮0", json!("6")), row(B, "USDG", json!("6"))]);
        rows[0]["tokenName"] = json!("");
        rows[1]["tokenName"] = json!("Global Dollar");
        let (tokens, _) = read(&rows).unwrap();
        let names: Vec<_> = tokens.iter().map(|token| token.name.as_deref()).collect();
        assert_eq!(names, [None, Some("Global Dollar")]);
    }

    #[test]
    fn rows_that_cannot_be_trusted_are_counted_and_left_out() {
        let rows = json!([
            row(A, "USD₮0", json!("6")),
            row(A, "USD₮0", json!("18")),
            row(B, "USDG", json!("6")),
            row("0x12", "X", json!("6")),
            row(
                "0x0000000000000000000000000000000000000000",
                "Z",
                json!("6")
            ),
            row(
                "0xe538905cf8410324e03a5a23c1c177a474d59b2b",
                "\u{202e}",
                json!("18")
            ),
            row(
                "0xe538905cf8410324e03a5a23c1c177a474d59b2b",
                "WOKB",
                json!(18)
            ),
            row(
                "0xe538905cf8410324e03a5a23c1c177a474d59b2b",
                "WOKB",
                json!("999")
            ),
        ]);
        let (tokens, rejected) = read(&rows).unwrap();
        assert_eq!(
            tokens.iter().map(|t| t.symbol.as_str()).collect::<Vec<_>>(),
            ["USDG"]
        );
        assert_eq!(rejected, 7);
        for empty in [
            json!([]),
            json!([row("0x12", "X", json!("6"))]),
            json!({}),
            json!(null),
        ] {
            assert!(matches!(
                read(&empty),
                Err(SourceErrorKind::Malformed { .. })
            ));
        }
    }
}
