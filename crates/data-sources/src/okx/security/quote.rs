//! `GET /api/v6/dex/aggregator/quote`: the expected output of a swap, without calldata.

use alloy_primitives::{Address, U256};
use readings::{Figure, security::Quoted};

use super::{DATA, Okx, QUOTE, lower};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::Sourced,
    text::clean,
    transport::QUOTED_CHARS,
};

/// OKX's code for "insufficient liquidity".
const NO_LIQUIDITY: &str = "82000";
/// Most pools that are counted.
const MAX_HOPS: usize = 64;

impl Okx {
    pub(super) async fn fetch_quote(
        &self,
        from: Address,
        to: Address,
        amount: U256,
    ) -> Result<Sourced<Quoted>, Error> {
        let chain_id = self.config.reviewed.chain_id;
        let path = format!(
            "/api/v6/dex/aggregator/quote?chainIndex={chain_id}&amount={amount}&fromTokenAddress={}&toTokenAddress={}&swapMode=exactIn",
            lower(from),
            lower(to),
        );
        let (data, provenance) = self
            .ask(QUOTE, &path, None)
            .await
            .map_err(|error| match error.kind {
                SourceErrorKind::Business { code, .. } if code == NO_LIQUIDITY => {
                    Error::NoRoute { code }
                }
                kind => Error::Source(SourceError {
                    source: QUOTE,
                    kind,
                }),
            })?;
        let asked = Asked {
            chain_id,
            from,
            to,
            amount,
        };
        let value = asked
            .read(&Json::of(&data, DATA))
            .map_err(|kind| self.missed(QUOTE, kind))?;
        Ok(Sourced {
            value,
            sources: vec![provenance],
        })
    }
}

struct Asked {
    chain_id: u64,
    from: Address,
    to: Address,
    amount: U256,
}

impl Asked {
    /// Reads the quote, and checks that it is about the request.
    fn read(&self, data: &Json<'_>) -> Result<Quoted, SourceErrorKind> {
        let row = data.only()?;
        let (from, to) = (row.member("fromToken")?, row.member("toToken")?);
        let address = |token: &Json<'_>| token.member("tokenContractAddress")?.address();
        let chain = row.member("chainIndex")?.code()?;
        let amount_in_atoms = row.member("fromTokenAmount")?.digits()?;
        let observed = (address(&from)?, address(&to)?);
        let same = chain == self.chain_id.to_string()
            && observed == (self.from, self.to)
            && amount_in_atoms == self.amount;
        if !same {
            let observed = format!(
                "{chain}: {amount_in_atoms} {} to {}",
                observed.0, observed.1
            );
            return Err(SourceErrorKind::Malformed {
                path: row.path().to_owned(),
                expected: "the quote that was asked for",
                observed: clean(&observed, QUOTED_CHARS),
            });
        }
        let output = row.member("toTokenAmount")?;
        let amount_out_atoms = output.digits()?;
        if amount_out_atoms.is_zero() {
            return Err(output.malformed("an amount above zero"));
        }
        let hops = row
            .find("dexRouterList")
            .and_then(|hops| hops.elements().ok());
        let honeypot = |token: &Json<'_>| token.find("isHoneyPot")?.flag().ok();
        let honeypots = [honeypot(&from), honeypot(&to)];
        Ok(Quoted {
            amount_in_atoms,
            amount_out_atoms,
            price_impact_pct: row
                .find("priceImpactPercent")
                .and_then(|impact| signed(&impact)),
            hops: hops.map(|hops| hops.len().min(MAX_HOPS)),
            honeypot: honeypots
                .into_iter()
                .flatten()
                .reduce(|one, other| one || other),
            received_decimals: to
                .find("decimal")
                .and_then(|decimals| decimals.digits().ok())
                .and_then(|decimals| u8::try_from(decimals).ok()),
        })
    }
}

/// A plain decimal with an optional minus sign. The figure is only shown: no decision depends on
/// it.
fn signed(json: &Json<'_>) -> Option<Figure> {
    let text = json.text().ok()?;
    exact::DecimalText::parse(text.strip_prefix('-').unwrap_or(&text)).ok()?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const FROM: Address = Address::repeat_byte(0x11);
    const TO: Address = Address::repeat_byte(0x22);

    fn answer() -> Value {
        json!([{
            "chainIndex": "196",
            "fromToken": {"tokenContractAddress": lower(FROM), "decimal": "6", "isHoneyPot": false},
            "toToken": {"tokenContractAddress": lower(TO), "decimal": "18", "isHoneyPot": false},
            "fromTokenAmount": "1000",
            "toTokenAmount": "2000",
            "priceImpactPercent": "-0.06",
            "dexRouterList": [{}, {}],
        }])
    }

    fn read(answer: &Value) -> Result<Quoted, SourceErrorKind> {
        let asked = Asked {
            chain_id: 196,
            from: FROM,
            to: TO,
            amount: U256::from(1000),
        };
        let raw = serde_json::value::to_raw_value(answer).unwrap();
        asked.read(&Json::of(&raw, "$"))
    }

    #[test]
    fn the_quote_that_was_asked_for_is_read() {
        let quote = read(&answer()).unwrap();
        assert_eq!(quote.amount_out_atoms, U256::from(2000));
        assert_eq!(quote.price_impact_pct.unwrap().to_string(), "-0.06");
        assert_eq!(
            (quote.hops, quote.honeypot, quote.received_decimals),
            (Some(2), Some(false), Some(18))
        );
        let mut silent = answer();
        silent[0]["fromToken"]["isHoneyPot"] = json!("yes");
        silent[0]["toToken"]["isHoneyPot"] = json!(null);
        silent[0]["priceImpactPercent"] = json!("NaN");
        silent[0]["dexRouterList"] = json!(null);
        let quote = read(&silent).unwrap();
        assert_eq!(
            (quote.honeypot, quote.price_impact_pct, quote.hops),
            (None, None, None)
        );
    }

    #[test]
    fn any_other_quote_is_refused() {
        for (pointer, other) in [
            ("/0/chainIndex", json!("1")),
            ("/0/fromToken/tokenContractAddress", json!(lower(TO))),
            ("/0/toToken/tokenContractAddress", json!(lower(FROM))),
            ("/0/fromTokenAmount", json!("1001")),
            ("/0/fromTokenAmount", json!(1000)),
            ("/0/toTokenAmount", json!("0")),
            ("/0/toTokenAmount", json!("-5")),
            ("/0/toTokenAmount", json!("1e9")),
            ("/0/toToken", json!(null)),
        ] {
            let mut changed = answer();
            *changed.pointer_mut(pointer).unwrap() = other.clone();
            assert!(read(&changed).is_err(), "{pointer} {other}");
        }
        assert!(read(&json!([])).is_err());
    }
}
