//! Computes swap quotes of the aggregator. A quote has two legs: one pays the fees, the other
//! swaps.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256, hex};
use alloy_sol_types::SolCall;
use serde_json::Value;

use self::abi::{forwardERC20FeesCall, snwapCall, swapTokensMultipleV3ERC20ToERC20Call};
use super::{atoms, millionths, set};

mod abi {
    #![allow(missing_docs, reason = "generated from the interface")]

    alloy_sol_types::sol! {
        #[derive(Debug)]
        struct SwapData {
            address callTo;
            address approveTo;
            address sendingAssetId;
            address receivingAssetId;
            uint256 fromAmount;
            bytes callData;
            bool requiresDeposit;
        }

        #[derive(Debug)]
        function swapTokensMultipleV3ERC20ToERC20(
            bytes32 transactionId,
            string integrator,
            string referrer,
            address receiver,
            uint256 minAmountOut,
            SwapData[] swapData
        );

        #[derive(Debug)]
        struct Distribution {
            address recipient;
            uint256 amount;
        }

        #[derive(Debug)]
        function forwardERC20Fees(address token, Distribution[] distributions);

        #[derive(Debug)]
        function snwap(
            address tokenIn,
            uint256 amountIn,
            address recipient,
            address tokenOut,
            uint256 amountOutMin,
            address executor,
            bytes executorData
        );
    }
}

/// The number 1 in millionths.
const ONE: u64 = 1_000_000;
/// The aggregator's share of the gross input, in millionths: 25 basis points.
const AGGREGATOR: u64 = 2_500;

/// A recorded quote with two legs. The first leg pays the aggregator and then the integrator.
#[derive(Clone, Debug)]
pub(crate) struct Quote {
    answer: Value,
    call: swapTokensMultipleV3ERC20ToERC20Call,
    fees: forwardERC20FeesCall,
    exchange: snwapCall,
    account: Address,
    /// The amount that the exchange takes, and the amount that it gives.
    rate: (U256, U256),
}

impl Quote {
    /// Reads the recording. `None` when it has another shape or its calldata is not canonical.
    pub(super) fn read(answer: Value) -> Option<Self> {
        let data = hex::decode(text(&answer, "/transactionRequest/data")?).ok()?;
        let call = swapTokensMultipleV3ERC20ToERC20Call::abi_decode(&data).ok()?;
        let [fee_leg, exchange_leg] = call.swapData.as_slice() else {
            return None;
        };
        let fees = forwardERC20FeesCall::abi_decode(&fee_leg.callData).ok()?;
        let exchange = snwapCall::abi_decode(&exchange_leg.callData).ok()?;
        let output = atoms(answer.pointer("/estimate/toAmount")?)?;
        let canonical = call.abi_encode() == data
            && fees.abi_encode() == fee_leg.callData
            && exchange.abi_encode() == exchange_leg.callData;
        let usable = canonical && fees.distributions.len() == 2 && !exchange.amountIn.is_zero();
        let account = text(&answer, "/action/fromAddress")?.parse().ok()?;
        let rate = (exchange.amountIn, output);
        usable.then_some(Self {
            answer,
            call,
            fees,
            exchange,
            account,
            rate,
        })
    }

    /// Computes the quote for another account, amount, slippage, integrator and fee. An error of
    /// the recording remains: a receiver that differs from the recording's account is kept.
    pub(super) fn answer(&self, query: &BTreeMap<String, String>) -> Option<String> {
        let gross = exact::parse_digits(query.get("fromAmount")?)?;
        let account: Address = query.get("fromAddress")?.parse().ok()?;
        let slippage = query.get("slippage")?;
        let integrator = query.get("integrator")?;
        let fee = query.get("fee").map_or(Some(0), |fee| millionths(fee))?;

        let shares = [part(gross, AGGREGATOR)?, part(gross, fee)?];
        let net = gross.checked_sub(shares[0])?.checked_sub(shares[1])?;
        let output = self.rate.1.checked_mul(net)?.checked_div(self.rate.0)?;
        let least = part(output, ONE.checked_sub(millionths(slippage)?)?)?;

        let mut fees = self.fees.clone();
        for (distribution, share) in fees.distributions.iter_mut().zip(shares) {
            distribution.amount = share;
        }
        // An integrator that charges no fee gets no payment.
        fees.distributions
            .retain(|distribution| !distribution.amount.is_zero());
        let mut exchange = self.exchange.clone();
        (exchange.amountIn, exchange.amountOutMin) = (net, least);
        let mut call = self.call.clone();
        call.integrator.clone_from(integrator);
        call.minAmountOut = least;
        if call.receiver == self.account {
            call.receiver = account;
        }
        let legs = [(gross, fees.abi_encode()), (net, exchange.abi_encode())];
        for (leg, (amount, data)) in call.swapData.iter_mut().zip(legs) {
            (leg.fromAmount, leg.callData) = (amount, data.into());
        }

        let mut answer = self.answer.clone();
        let account = format!("{account:#x}");
        for (place, value) in [
            ("/action/fromAmount", gross.to_string()),
            ("/action/fromAddress", account.clone()),
            ("/action/toAddress", account.clone()),
            ("/estimate/fromAmount", gross.to_string()),
            ("/estimate/toAmount", output.to_string()),
            ("/estimate/toAmountMin", least.to_string()),
            ("/estimate/feeCosts/0/amount", shares[0].to_string()),
            (
                "/estimate/feeCosts/0/feeSplit/lifiFee",
                shares[0].to_string(),
            ),
            ("/estimate/feeCosts/1/amount", shares[1].to_string()),
            (
                "/estimate/feeCosts/1/percentage",
                query.get("fee").cloned().unwrap_or("0".to_owned()),
            ),
            (
                "/estimate/feeCosts/1/feeSplit/integratorFee",
                shares[1].to_string(),
            ),
            ("/integrator", integrator.clone()),
            ("/transactionRequest/from", account),
            (
                "/transactionRequest/data",
                hex::encode_prefixed(call.abi_encode()),
            ),
        ] {
            set(&mut answer, place, value)?;
        }
        *answer.pointer_mut("/action/slippage")? = serde_json::from_str(slippage).ok()?;
        Some(answer.to_string())
    }
}

/// Computes `floor(amount * millionths / 1000000)`.
fn part(amount: U256, millionths: u64) -> Option<U256> {
    amount
        .checked_mul(U256::from(millionths))?
        .checked_div(U256::from(ONE))
}

fn text<'a>(answer: &'a Value, place: &str) -> Option<&'a str> {
    answer.pointer(place)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::FILES;

    const ACCOUNT: &str = "0x1111111111111111111111111111111111111111";

    fn recorded(file: &str) -> Value {
        let text = FILES.iter().find(|(name, _)| *name == file).unwrap().1;
        serde_json::from_str(text).unwrap()
    }

    fn answer(file: &str, changed: &[(&str, &str)]) -> Option<Value> {
        let mut query: BTreeMap<String, String> = [
            ("fromAmount", "1000000000"),
            ("fromAddress", ACCOUNT),
            ("slippage", "0.005"),
            ("integrator", "svc"),
            ("fee", "0.003"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        for (name, value) in changed {
            query.insert((*name).to_owned(), (*value).to_owned());
        }
        let answer = Quote::read(recorded(file))?.answer(&query)?;
        Some(serde_json::from_str(&answer).unwrap())
    }

    #[test]
    fn a_quote_for_the_recorded_request_is_the_recording() {
        for file in [
            "lifi/quote_usdc_weth.json",
            "lifi/quote_usdc_weth_arbitrum.json",
            "lifi/quote_receiver_changed.json",
        ] {
            assert_eq!(answer(file, &[]), Some(recorded(file)), "{file}");
        }
    }

    #[test]
    fn a_quote_follows_amount_slippage_fee_and_account() {
        let other = "0x3333333333333333333333333333333333333333";
        let changed = [
            ("fromAmount", "7777777"),
            ("fromAddress", other),
            ("slippage", "0.01"),
            ("fee", "0.01"),
            ("integrator", "other"),
        ];
        let quote = answer("lifi/quote_usdc_weth.json", &changed).unwrap();
        let data = hex::decode(text(&quote, "/transactionRequest/data").unwrap()).unwrap();
        let call = swapTokensMultipleV3ERC20ToERC20Call::abi_decode(&data).unwrap();
        let fees = forwardERC20FeesCall::abi_decode(&call.swapData[0].callData).unwrap();
        let amounts: Vec<u64> = fees.distributions.iter().map(|d| d.amount.to()).collect();
        // floor(7777777 * 0.0025) and floor(7777777 * 0.01).
        assert_eq!(amounts, [19_444, 77_777]);
        assert_eq!(call.swapData[0].fromAmount, U256::from(7_777_777));
        let net = 7_777_777 - 19_444 - 77_777;
        assert_eq!(call.swapData[1].fromAmount, U256::from(net));
        let output = u64::try_from(net).unwrap() * 400_000_000;
        assert_eq!(quote["estimate"]["toAmount"], output.to_string());
        assert_eq!(call.minAmountOut, U256::from(output * 99 / 100));
        assert_eq!(
            (call.receiver, call.integrator.as_str()),
            (other.parse().unwrap(), "other")
        );
        assert_eq!(quote["action"]["slippage"], 0.01);

        let hostile = answer("lifi/quote_receiver_changed.json", &changed).unwrap();
        assert_eq!(hostile["action"]["toAddress"], other);
        assert_ne!(
            hostile["transactionRequest"]["data"],
            quote["transactionRequest"]["data"]
        );
    }

    #[test]
    fn a_nonsensical_request_gets_no_quote() {
        for changed in [
            ("fromAmount", "-1"),
            ("fromAmount", ""),
            ("fromAddress", "0x11"),
            ("slippage", "1.5"),
            ("slippage", "x"),
            ("fee", "0.0000001"),
            ("fee", "1"),
            ("fromAmount", &U256::MAX.to_string()),
        ] {
            assert_eq!(
                answer("lifi/quote_usdc_weth.json", &[changed]),
                None,
                "{changed:?}"
            );
        }
    }

    #[test]
    fn a_recording_of_another_shape_is_refused() {
        for (place, value) in [
            ("/transactionRequest/data", "0x5fd9ae2e"),
            ("/estimate/toAmount", "much"),
            ("/action/fromAddress", "nobody"),
        ] {
            let mut recording = recorded("lifi/quote_usdc_weth.json");
            set(&mut recording, place, value.to_owned()).unwrap();
            assert!(Quote::read(recording).is_none(), "{place}");
        }
    }
}
