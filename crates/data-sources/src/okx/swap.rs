//! `GET /api/v6/dex/aggregator/swap`: sends the request, reads the answer, and has
//! [`calldata_checks::okx`] judge it. An answer that fails a check is never passed on.

use alloy_primitives::{Address, U256};
use calldata_checks::UtcSeconds;
use calldata_checks::okx::{self, OfferedCall, SwapFacts, judge};

use super::{DATA, Okx, lower};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    json::Json,
    provenance::{Provenance, Sourced},
    text::clean,
    tokens::{RouteHop, SwapQuote, SwapRequest, TokenStanding},
};

pub(super) const SOURCE: &str = "okx.swap";
/// OKX's code for "insufficient liquidity".
const NO_LIQUIDITY: &str = "82000";
/// OKX's code for a loss above `priceImpactProtectionPercent`.
const IMPACT_GUARD: &str = "82112";
const MAX_HOPS: usize = 64;
const MAX_TEXT_CHARS: usize = 48;

impl Okx {
    /// A quote for `request`, whose calldata does exactly what the request says.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoute`], [`Error::Refused`] with the check that failed, or [`Error::Source`].
    pub async fn swap(&self, request: &SwapRequest) -> Result<Sourced<SwapQuote>, Error> {
        let reviewed = &self.config.reviewed;
        let path = format!(
            "/api/v6/dex/aggregator/swap?chainIndex={}&amount={}&fromTokenAddress={}&toTokenAddress={}&slippagePercent={}&userWalletAddress={}{}",
            reviewed.chain_id,
            request.amount,
            lower(request.from_token),
            lower(request.to_token),
            request.slippage,
            lower(request.user),
            impact_guard(request.max_price_impact_bps),
        );
        let (data, provenance) =
            self.ask(SOURCE, &path, None)
                .await
                .map_err(|error| match error.kind {
                    SourceErrorKind::Business { code, .. } if code == NO_LIQUIDITY => {
                        Error::NoRoute { code }
                    }
                    SourceErrorKind::Business { code, .. } if code == IMPACT_GUARD => {
                        Error::PriceImpact
                    }
                    kind => Error::Source(SourceError {
                        source: SOURCE,
                        kind,
                    }),
                })?;
        let failed = |kind| self.reject_response(SOURCE, kind);
        let quote = Quote::read(&Json::of(&data, DATA)).map_err(failed)?;
        let now = UtcSeconds::from_unix(self.now_seconds());
        let facts = judge(&quote.as_judged(), &request.asked(), reviewed, now)?;
        Ok(self.checked(quote, facts, request, provenance))
    }

    fn checked(
        &self,
        quote: Quote,
        facts: SwapFacts,
        request: &SwapRequest,
        provenance: Provenance,
    ) -> Sourced<SwapQuote> {
        let reviewed = &self.config.reviewed;
        let value = SwapQuote {
            request: request.clone(),
            amount_out: quote.output,
            min_amount_out: facts.min_output,
            price_impact_pct: quote.price_impact_pct,
            route: quote.route,
            from_token: quote.from.standing,
            to_token: quote.to.standing,
            to: quote.call_target,
            data: quote.data.into(),
            gas_limit: quote.gas_limit,
            chain_id: reviewed.chain_id,
            function: facts.function,
            deadline: facts
                .deadline
                .and_then(|deadline| u64::try_from(deadline).ok()),
            trim: facts.trim,
            trailing_bytes: facts.trailing_bytes,
            reviewed_version: reviewed.version.clone(),
        };
        Sourced {
            value,
            sources: vec![provenance],
        }
    }
}

/// The used members of OKX's answer: read, and not yet judged.
struct Quote {
    chain: String,
    from: QuotedToken,
    to: QuotedToken,
    from_decimals: U256,
    amount: U256,
    output: U256,
    price_impact_pct: Option<String>,
    route: Vec<RouteHop>,
    sender: Address,
    call_target: Address,
    value: U256,
    data: Vec<u8>,
    min_output: U256,
    max_spend: Option<U256>,
    slippage: Option<String>,
    gas_limit: Option<u64>,
}

/// The parameter of the aggregator's own guard. Without a limit its default holds, 90 percent.
fn impact_guard(max_bps: Option<u32>) -> String {
    let percent = |bps: u32| exact::format_units(U256::from(bps), 2);
    max_bps.map_or_else(String::new, |bps| {
        format!("&priceImpactProtectionPercent={}", percent(bps))
    })
}

struct QuotedToken {
    address: Address,
    standing: TokenStanding,
}

impl Quote {
    fn read(data: &Json<'_>) -> Result<Self, SourceErrorKind> {
        let row = data.only()?;
        let result = row.member("routerResult")?;
        let tx = row.member("tx")?;
        let from = result.member("fromToken")?;
        Ok(Self {
            chain: result.member("chainIndex")?.code()?,
            from_decimals: from.member("decimal")?.digits()?,
            from: QuotedToken::read(&from)?,
            to: QuotedToken::read(&result.member("toToken")?)?,
            amount: result.member("fromTokenAmount")?.digits()?,
            output: result.member("toTokenAmount")?.digits()?,
            price_impact_pct: result
                .find("priceImpactPercent")
                .map(|impact| signed_decimal(&impact))
                .transpose()?,
            route: result
                .find("dexRouterList")
                .map(|list| route(&list))
                .unwrap_or_default(),
            sender: tx.member("from")?.address()?,
            call_target: tx.member("to")?.address()?,
            value: tx.member("value")?.digits()?,
            data: tx.member("data")?.bytes()?.to_vec(),
            min_output: tx.member("minReceiveAmount")?.digits()?,
            max_spend: tx
                .find("maxSpendAmount")
                .map(|spend| spend.digits())
                .transpose()?,
            slippage: tx
                .find("slippagePercent")
                .map(|slippage| slippage.text())
                .transpose()?,
            gas_limit: tx
                .find("gas")
                .and_then(|gas| gas.digits().ok())
                .and_then(|gas| u64::try_from(gas).ok()),
        })
    }

    fn as_judged(&self) -> okx::Quote<'_> {
        okx::Quote {
            chain_index: &self.chain,
            from_token: self.from.address,
            from_decimals: self.from_decimals,
            to_token: self.to.address,
            amount: self.amount,
            max_spend: self.max_spend,
            slippage_percent: self.slippage.as_deref(),
            call: OfferedCall {
                to: self.call_target,
                from: self.sender,
                value: self.value,
                data: &self.data,
                quoted_output: self.output,
                min_output: self.min_output,
            },
        }
    }
}

impl QuotedToken {
    fn read(token: &Json<'_>) -> Result<Self, SourceErrorKind> {
        let address = token.member("tokenContractAddress")?.address()?;
        // A danger that cannot be read must not pass as unknown: the answer is refused.
        let standing = TokenStanding {
            symbol: token
                .find("tokenSymbol")
                .and_then(|symbol| symbol.text().ok())
                .map(|symbol| clean(&symbol, 32)),
            decimals: token
                .find("decimal")
                .and_then(|n| n.digits().ok())
                .and_then(|n| u8::try_from(n).ok()),
            is_honeypot: token
                .find("isHoneyPot")
                .map(|flag| flag.flag_or_text())
                .transpose()?,
            tax_rate: token
                .find("taxRate")
                .map(|rate| rate.decimal_text())
                .transpose()?,
        };
        Ok(Self { address, standing })
    }
}

/// A plain decimal with an optional minus sign.
fn signed_decimal(json: &Json<'_>) -> Result<String, SourceErrorKind> {
    let text = json.text()?;
    exact::DecimalText::parse(text.strip_prefix('-').unwrap_or(&text))
        .map_err(|_| json.malformed("a string with a decimal number"))?;
    Ok(text)
}

/// Venues and shares for people. They decide nothing: the calldata does.
fn route(list: &Json<'_>) -> Vec<RouteHop> {
    let hops = list.elements().unwrap_or_default();
    hops.iter()
        .take(MAX_HOPS)
        .filter_map(|hop| {
            let protocol = hop.find("dexProtocol")?;
            Some(RouteHop {
                venue: clean(&protocol.find("dexName")?.text().ok()?, MAX_TEXT_CHARS),
                share_pct: protocol
                    .find("percent")
                    .and_then(|share| share.decimal_text().ok())
                    .map(|d| d.to_string()),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::NATIVE_COIN;

    #[test]
    fn an_impact_that_is_no_number_is_an_error() {
        let of = |value: Value| {
            let raw = serde_json::value::to_raw_value(&value).unwrap();
            signed_decimal(&Json::of(&raw, "$")).ok()
        };
        assert_eq!(of(json!("-0.12")).as_deref(), Some("-0.12"));
        assert_eq!(of(json!("1e-7")), None);
        assert_eq!(of(json!("--1")), None);
        assert_eq!(of(json!(0.5)), None);
    }

    #[test]
    fn the_native_coin_prints_as_okx_writes_it() {
        assert_eq!(
            lower(NATIVE_COIN),
            "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
        );
    }
}
