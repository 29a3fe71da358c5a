//! The members of a quote that the checks read, each with its place.

use alloy_primitives::U256;
use calldata_checks::{Decimal, UtcSeconds};
use plan_builder::ports::SwapQuote;

use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

/// Longest name of an exchange that is shown.
const MAX_TOOL_CHARS: usize = 64;
/// Longest integrator string that a quote may name.
const MAX_INTEGRATOR_CHARS: usize = 64;

/// Reads a step of type `lifi`. Amounts and addresses must be strings, chain ids numbers; the
/// numbers of the transaction may be hexadecimal.
pub(super) fn read(
    body: &Json<'_>,
    source: &str,
    read_at: UtcSeconds,
) -> Result<SwapQuote, SourceErrorKind> {
    let step = body.object()?;
    let action = step.member("action")?.object()?;
    let estimate = step.member("estimate")?.object()?;
    let transaction = step.member("transactionRequest")?.object()?;
    let from_token = action.member("fromToken")?.object()?;
    let to_token = action.member("toToken")?.object()?;
    Ok(SwapQuote {
        source: source.to_owned(),
        tool: step.member("tool")?.label(MAX_TOOL_CHARS)?,
        integrator: step.member("integrator")?.exact(MAX_INTEGRATOR_CHARS)?,
        from_chain_id: action.member("fromChainId")?.integer()?,
        to_chain_id: action.member("toChainId")?.integer()?,
        from_token: from_token.member("address")?.address()?,
        to_token: to_token.member("address")?.address()?,
        from_amount: action.member("fromAmount")?.digits()?,
        sender: action.member("fromAddress")?.address()?,
        receiver: action.member("toAddress")?.address()?,
        to_amount: estimate.member("toAmount")?.digits()?,
        to_amount_min: estimate.member("toAmountMin")?.digits()?,
        approval_address: estimate.member("approvalAddress")?.address()?,
        call_to: transaction.member("to")?.address()?,
        call_from: transaction
            .find("from")
            .map(|from| from.address())
            .transpose()?,
        call_chain_id: chain_id(&transaction.member("chainId")?)?,
        call_value: transaction
            .find("value")
            .map_or(Ok(U256::ZERO), |value| value.quantity())?,
        call_data: transaction.member("data")?.bytes()?,
        from_usd: worth(&estimate, "fromAmountUSD"),
        to_usd: worth(&estimate, "toAmountUSD"),
        read_at,
    })
}

/// A value in US dollars. It is shown, and the judgement of worth takes it as the quote's own
/// statement. An unreadable value counts as missing.
fn worth(estimate: &Object<'_>, name: &'static str) -> Option<Decimal> {
    estimate.find(name)?.decimal().ok()
}

/// A chain id of a transaction: a number, or a quantity as wallets write it.
fn chain_id(json: &Json<'_>) -> Result<u64, SourceErrorKind> {
    json.integer()
        .or_else(|_| u64::try_from(json.quantity()?).map_err(|_| json.malformed("a chain id")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORDED: &str = include_str!("../../../../fixtures/upstreams/lifi/quote_usdc_weth.json");

    proptest! {
        #[test]
        fn a_changed_byte_gives_a_quote_or_a_named_place(at in 0..RECORDED.len(), byte in any::<u8>()) {
            let mut body = RECORDED.as_bytes().to_vec();
            body[at] = byte;
            let outcome = Json::document(&body).and_then(|json| read(&json, "lifi", UtcSeconds::from_unix(0)));
            if let Err(error) = outcome {
                let named = matches!(&error, SourceErrorKind::Malformed { path, .. } if path.starts_with('$'));
                prop_assert!(named, "{}", error);
            }
        }
    }
}
