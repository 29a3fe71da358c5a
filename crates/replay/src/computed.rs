//! Answers that are computed from a recording, because they must fit the request: approvals, swaps
//! and quotes.
//!
//! This crate encodes the calldata itself, so no adapter's decoder is tested against its own code.

mod quote;

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256, hex};
use alloy_sol_types::SolCall;
use serde_json::Value;

use crate::recordings::RECORDED_AT;

use self::{
    abi::{approveCall, dagSwapByOrderIdCall},
    quote::Quote,
};

mod abi {
    #![allow(missing_docs, reason = "generated from the interface")]

    alloy_sol_types::sol! {
        function approve(address spender, uint256 amount);

        #[derive(Debug)]
        struct Base {
            uint256 fromToken;
            address toToken;
            uint256 fromTokenAmount;
            uint256 minReturnAmount;
            uint256 deadLine;
        }

        #[derive(Debug)]
        struct Path {
            address[] mixAdapters;
            address[] assetTo;
            uint256[] rawData;
            bytes[] extraData;
            uint256 fromToken;
        }

        #[derive(Debug)]
        function dagSwapByOrderId(uint256 orderId, Base base, Path[] paths);
    }
}

/// For so long after the recording a server counts as one that serves recordings at their own time.
const OWN_TIME_SECONDS: u64 = 86_400;
/// The time from a request to the deadline of its computed swap, in seconds.
const SWAP_SECONDS: u64 = 600;
/// One hundred percent, in the smallest unit of a percentage with six fraction digits.
const WHOLE: u64 = 100_000_000;
/// The length of the two trim words at the end of the recorded calldata, and the position of the
/// expected amount in them.
const TRIM_BYTES: usize = 64;
const TRIM_AMOUNT: std::ops::Range<usize> = 12..32;

/// A responder with the recording from which it computes.
#[derive(Clone, Debug)]
pub(crate) enum Computed {
    /// `approve`: the recorded spender with the amount of the request.
    Approve { answer: Value, spender: Address },
    /// `swap`: the recorded route and rate with the amount, wallet and slippage of the request.
    Swap(Box<Swap>),
    /// `prices`: the recorded prices, as old as when they were recorded.
    Prices { answer: Value },
    /// `lifi_quote`: the recorded legs and rate, with the other members from the request.
    Quote(Box<Quote>),
}

#[derive(Clone, Debug)]
pub(crate) struct Swap {
    answer: Value,
    call: dagSwapByOrderIdCall,
    trim: [u8; TRIM_BYTES],
    amount: U256,
    output: U256,
}

impl Computed {
    /// Makes the responder `name` for the recording `text`. `None` when the name is unknown or the
    /// recording does not fit it.
    pub(crate) fn read(name: &str, text: &str) -> Option<Self> {
        let answer: Value = serde_json::from_str(text).ok()?;
        match name {
            "approve" => {
                let spender = answer
                    .pointer("/data/0/dexContractAddress")?
                    .as_str()?
                    .parse()
                    .ok()?;
                Some(Self::Approve { answer, spender })
            }
            "prices" => {
                let has_coins = answer.get("coins").is_some_and(Value::is_object);
                has_coins.then_some(Self::Prices { answer })
            }
            "swap" => {
                let data = hex::decode(answer.pointer("/data/0/tx/data")?.as_str()?).ok()?;
                let (arguments, trim) = data.split_last_chunk::<TRIM_BYTES>()?;
                let call = dagSwapByOrderIdCall::abi_decode(arguments).ok()?;
                let amount = atoms(answer.pointer("/data/0/routerResult/fromTokenAmount")?)?;
                let output = atoms(answer.pointer("/data/0/routerResult/toTokenAmount")?)?;
                let usable = !amount.is_zero() && call.abi_encode() == arguments;
                let trim = *trim;
                usable.then(|| {
                    Self::Swap(Box::new(Swap {
                        answer,
                        call,
                        trim,
                        amount,
                        output,
                    }))
                })
            }
            "lifi_quote" => Some(Self::Quote(Box::new(Quote::read(answer)?))),
            _ => None,
        }
    }

    /// Computes the answer to a request with this query at Unix time `now`. `None` when the query
    /// lacks a needed member or has an unusable one.
    pub(crate) fn answer(&self, query: &BTreeMap<String, String>, now: u64) -> Option<String> {
        match self {
            Self::Approve { answer, spender } => {
                let amount = exact::parse_digits(query.get("approveAmount")?)?;
                let data = approveCall {
                    spender: *spender,
                    amount,
                }
                .abi_encode();
                let mut answer = answer.clone();
                set(&mut answer, "/data/0/data", hex::encode_prefixed(data))?;
                Some(answer.to_string())
            }
            Self::Prices { answer } => Some(prices(answer, now).to_string()),
            Self::Swap(swap) => swap.answer(query, now),
            Self::Quote(quote) => quote.answer(query),
        }
    }
}

impl Swap {
    fn answer(&self, query: &BTreeMap<String, String>, now: u64) -> Option<String> {
        let amount = exact::parse_digits(query.get("amount")?)?;
        let slippage = query.get("slippagePercent")?;
        let user: Address = query.get("userWalletAddress")?.parse().ok()?;
        let output = self.output.checked_mul(amount)?.checked_div(self.amount)?;
        let kept = WHOLE.checked_sub(millionths(slippage)?)?;
        let least = output
            .checked_mul(U256::from(kept))?
            .checked_div(U256::from(WHOLE))?;

        let mut call = self.call.clone();
        call.base.fromTokenAmount = amount;
        call.base.minReturnAmount = least;
        call.base.deadLine = U256::from(now.checked_add(SWAP_SECONDS)?);
        let mut trim = self.trim;
        let expected = output.to_be_bytes::<32>();
        trim.get_mut(TRIM_AMOUNT)?
            .copy_from_slice(expected.last_chunk::<20>()?);
        let data = [call.abi_encode().as_slice(), &trim].concat();

        let mut answer = self.answer.clone();
        for (place, value) in [
            ("/data/0/routerResult/fromTokenAmount", amount.to_string()),
            ("/data/0/routerResult/toTokenAmount", output.to_string()),
            ("/data/0/tx/minReceiveAmount", least.to_string()),
            ("/data/0/tx/slippagePercent", slippage.clone()),
            ("/data/0/tx/from", format!("{user:#x}")),
            ("/data/0/tx/data", hex::encode_prefixed(data)),
        ] {
            set(&mut answer, place, value)?;
        }
        Some(answer.to_string())
    }
}

/// Moves the times of prices with the time at which they are served. Recordings that are served at
/// their own time keep them, however long the server runs.
fn prices(answer: &Value, now: u64) -> Value {
    let mut answer = answer.clone();
    let moved = now.saturating_sub(RECORDED_AT);
    let coins = answer.get_mut("coins").and_then(Value::as_object_mut);
    let rows = coins.into_iter().flat_map(|coins| coins.values_mut());
    for time in rows.filter_map(|row| row.get_mut("timestamp")) {
        if let Some(recorded) = time.as_u64().filter(|_| moved >= OWN_TIME_SECONDS) {
            *time = recorded.saturating_add(moved).into();
        }
    }
    answer
}

fn set(answer: &mut Value, place: &str, value: String) -> Option<()> {
    *answer.pointer_mut(place)? = Value::String(value);
    Some(())
}

fn atoms(value: &Value) -> Option<U256> {
    exact::parse_digits(value.as_str()?)
}

/// Reads a plain decimal number and returns it in millionths.
fn millionths(number: &str) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 6 {
        return None;
    }
    u64::try_from(exact::parse_digits(&format!("{whole}{fraction:0<6}"))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::FILES;

    fn recorded(file: &str) -> &'static str {
        FILES.iter().find(|(name, _)| *name == file).unwrap().1
    }

    fn query(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn prices_are_as_old_as_when_they_were_recorded() {
        let text = recorded("defillama_coins/price_usdg.json");
        let computed = Computed::read("prices", text).unwrap();
        let key = "/coins/xlayer:0x4ae46a509f6b1d9056937ba4500cb143933d2dc8/timestamp";
        let served = |now: u64| {
            let answer = computed.answer(&query(&[]), now).unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            answer.pointer(key).unwrap().as_u64().unwrap()
        };
        let own = served(RECORDED_AT);
        assert_eq!(served(RECORDED_AT + 3_600), own);
        assert_eq!(served(RECORDED_AT + 700_000), own + 700_000);
        assert!(Computed::read("prices", "{}").is_none());
    }

    #[test]
    fn a_swap_for_the_recorded_request_is_the_recording() {
        for file in [
            "okx/swap_usdg_wokb.json",
            "okx/swap_usdg_usdt0.json",
            "okx/swap_usdt0_usdg.json",
            "okx/swap_usdt0_wokb.json",
        ] {
            let text = recorded(file);
            let computed = Computed::read("swap", text).unwrap();
            let asked = query(&[
                ("amount", "100000000"),
                ("slippagePercent", "1"),
                (
                    "userWalletAddress",
                    "0x1111111111111111111111111111111111111111",
                ),
            ]);
            let answer: Value =
                serde_json::from_str(&computed.answer(&asked, 1_795_222_800).unwrap()).unwrap();
            assert_eq!(
                answer,
                serde_json::from_str::<Value>(text).unwrap(),
                "{file}"
            );
        }
    }

    #[test]
    fn a_swap_follows_rate_and_slippage() {
        let computed = Computed::read("swap", recorded("okx/swap_usdt0_usdg.json")).unwrap();
        let asked = query(&[
            ("amount", "50000000"),
            ("slippagePercent", "0.5"),
            (
                "userWalletAddress",
                "0x2222222222222222222222222222222222222222",
            ),
        ]);
        let answer: Value = serde_json::from_str(&computed.answer(&asked, 0).unwrap()).unwrap();
        assert_eq!(
            answer["data"][0]["routerResult"]["toTokenAmount"],
            "49991170"
        );
        assert_eq!(answer["data"][0]["tx"]["minReceiveAmount"], "49741214");
        assert_eq!(
            answer["data"][0]["tx"]["from"],
            "0x2222222222222222222222222222222222222222"
        );
        for (amount, slippage) in [
            ("-1", "1"),
            ("1", "101"),
            ("1", "0.1234567"),
            ("1", "x"),
            ("", "1"),
        ] {
            let user = "0x2222222222222222222222222222222222222222";
            let asked = query(&[
                ("amount", amount),
                ("slippagePercent", slippage),
                ("userWalletAddress", user),
            ]);
            assert_eq!(computed.answer(&asked, 0), None, "{amount} {slippage}");
        }
    }

    #[test]
    fn an_approval_has_the_requested_amount() {
        let text = recorded("okx/approve_transaction_reviewed.json");
        let computed = Computed::read("approve", text).unwrap();
        let same = computed
            .answer(&query(&[("approveAmount", "10000000")]), 0)
            .unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&same).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
        let other = computed
            .answer(&query(&[("approveAmount", "255")]), 0)
            .unwrap();
        assert!(other.contains("00000000000000ff\""), "{other}");
    }
}
