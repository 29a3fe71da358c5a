//! Generates swaps: quotes of an aggregator, whose calldata `ethers-core` encodes.

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::Rail;
use calldata_checks::fees::ReviewedChain;
use ethers_core::abi::{Token, encode};
use plan_builder::ports::{PortError, Simulator, SwapAsk, SwapQuote, SwapQuotes};
use plan_builder::{Moment, Policy, Refusal, Request, Sealed, swap};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{Case, addresses, amounts, now, policy, share};

/// The selector of `swapTokensMultipleV3ERC20ToERC20`.
pub(crate) const SWAP: [u8; 4] = [0x5f, 0xd9, 0xae, 0x2e];
/// The selector of `forwardERC20Fees`.
pub(crate) const FORWARD_FEES: [u8; 4] = [0x33, 0x2d, 0x74, 0x6b];

const NO_REFERRER: &str = "0x0000000000000000000000000000000000000000";

/// A swap: the request, and the content of the quote's calldata.
#[derive(Debug, Clone)]
pub(crate) struct SwapCase {
    pub(crate) account: Address,
    pub(crate) kind: &'static str,
    pub(crate) chain_id: u64,
    pub(crate) from_token: Address,
    pub(crate) to_token: Address,
    pub(crate) from_amount: U256,
    pub(crate) max_bps: u16,
    pub(crate) min_amount_out: Option<U256>,
    pub(crate) to_amount: U256,
    pub(crate) to_amount_min: U256,
    pub(crate) transaction_id: B256,
    pub(crate) referrer: &'static str,
    pub(crate) distributions: Vec<(Address, U256)>,
    pub(crate) legs: Vec<Leg>,
}

/// A leg of the swap after the one that pays the fee.
#[derive(Debug, Clone)]
pub(crate) struct Leg {
    pub(crate) target: Address,
    pub(crate) spender: Address,
    pub(crate) sending: Address,
    pub(crate) receiving: Address,
    pub(crate) amount: U256,
    pub(crate) data: Bytes,
}

impl Case for SwapCase {
    const RAIL: Rail = Rail::Swap;

    fn arguments(&self) -> Value {
        let mut arguments = json!({
            "accountProfile": {"kind": self.kind, "address": self.account, "chainId": self.chain_id},
            "chainId": self.chain_id,
            "fromToken": self.from_token,
            "toToken": self.to_token,
            "fromAmount": self.from_amount.to_string(),
            "slippage": {"maxBps": self.max_bps},
        });
        if let Some(least) = self.min_amount_out {
            arguments["minAmountOut"] = json!(least.to_string());
        }
        arguments
    }

    async fn build(
        &self,
        request: &Request,
        simulator: &impl Simulator,
        policy: &Policy,
        moment: &Moment,
    ) -> Result<Sealed, Refusal> {
        let Request::Swap(request) = request else {
            panic!("a swap")
        };
        swap::build(request, self, simulator, policy, moment).await
    }
}

impl SwapQuotes for SwapCase {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        assert_eq!(
            (ask.from_token, ask.from_amount),
            (self.from_token, self.from_amount)
        );
        Ok(SwapQuote {
            source: "lifi".to_owned(),
            tool: "composed".to_owned(),
            integrator: ask.integrator.clone(),
            from_chain_id: self.chain_id,
            to_chain_id: self.chain_id,
            from_token: self.from_token,
            to_token: self.to_token,
            from_amount: self.from_amount,
            sender: self.account,
            receiver: self.account,
            to_amount: self.to_amount,
            to_amount_min: self.to_amount_min,
            approval_address: self.reviewed().router,
            call_to: self.reviewed().router,
            call_from: Some(self.account),
            call_chain_id: self.chain_id,
            call_value: U256::ZERO,
            call_data: self.calldata(&ask.integrator),
            from_usd: None,
            to_usd: None,
            read_at: now(),
        })
    }
}

impl SwapCase {
    pub(crate) fn reviewed(&self) -> ReviewedChain {
        reviewed(self.chain_id)
    }

    /// The calldata of the quote's transaction, encoded by `ethers-core`.
    pub(crate) fn calldata(&self, integrator: &str) -> Bytes {
        let forwarder = self.reviewed().forwarder;
        let fee_leg = leg_token(
            &Leg {
                target: forwarder,
                spender: forwarder,
                sending: self.from_token,
                receiving: self.from_token,
                amount: self.from_amount,
                data: self.fee_calldata(),
            },
            true,
        );
        let legs =
            std::iter::once(fee_leg).chain(self.legs.iter().map(|leg| leg_token(leg, false)));
        call(
            SWAP,
            &[
                Token::FixedBytes(self.transaction_id.to_vec()),
                Token::String(integrator.to_owned()),
                Token::String(self.referrer.to_owned()),
                address(self.account),
                integer(self.to_amount_min),
                Token::Array(legs.collect()),
            ],
        )
    }

    fn fee_calldata(&self) -> Bytes {
        let parts = self
            .distributions
            .iter()
            .map(|(recipient, amount)| Token::Tuple(vec![address(*recipient), integer(*amount)]));
        call(
            FORWARD_FEES,
            &[address(self.from_token), Token::Array(parts.collect())],
        )
    }
}

fn reviewed(chain_id: u64) -> ReviewedChain {
    policy()
        .fees
        .chain(chain_id)
        .expect("a reviewed chain")
        .clone()
}

fn call(selector: [u8; 4], arguments: &[Token]) -> Bytes {
    [&selector[..], &encode(arguments)].concat().into()
}

fn leg_token(leg: &Leg, deposit: bool) -> Token {
    Token::Tuple(vec![
        address(leg.target),
        address(leg.spender),
        address(leg.sending),
        address(leg.receiving),
        integer(leg.amount),
        Token::Bytes(leg.data.to_vec()),
        Token::Bool(deposit),
    ])
}

fn address(address: Address) -> Token {
    Token::Address(address.into_array().into())
}

fn integer(value: U256) -> Token {
    Token::Uint(ethers_core::types::U256::from_big_endian(
        &value.to_be_bytes::<32>(),
    ))
}

/// The random values from which a [`SwapCase`] is computed.
#[derive(Debug, Clone)]
struct Drawn {
    account: Address,
    safe: bool,
    chain: Index,
    tokens: [Address; 4],
    from_amount: U256,
    max_bps: u16,
    to_amount: U256,
    above_floor: u16,
    least: Option<u16>,
    transaction_id: [u8; 32],
    names_no_referrer: bool,
    aggregator_first: bool,
    legs: Vec<(Index, Index, Vec<u8>)>,
}

/// Swaps that pass every check.
pub(crate) fn swaps() -> impl Strategy<Value = SwapCase> {
    let request = (
        addresses(),
        any::<bool>(),
        any::<Index>(),
        [addresses(), addresses(), addresses(), addresses()],
        amounts(240),
        0u16..=5000,
    );
    let quote = (
        amounts(240),
        any::<u16>(),
        proptest::option::of(any::<u16>()),
        any::<[u8; 32]>(),
        any::<bool>(),
        any::<bool>(),
    );
    let legs = proptest::collection::vec(
        (
            any::<Index>(),
            any::<Index>(),
            proptest::collection::vec(any::<u8>(), 1..200),
        ),
        1..=3,
    );
    (request, quote, legs).prop_filter_map("tokens that differ", |(request, quote, legs)| {
        let (account, safe, chain, tokens, from_amount, max_bps) = request;
        let (to_amount, above_floor, least, transaction_id, names_no_referrer, aggregator_first) =
            quote;
        Drawn {
            account,
            safe,
            chain,
            tokens,
            from_amount,
            max_bps,
            to_amount,
            above_floor,
            least,
            transaction_id,
            names_no_referrer,
            aggregator_first,
            legs,
        }
        .case()
    })
}

impl Drawn {
    fn case(self) -> Option<SwapCase> {
        let fees = policy().fees;
        let reviewed = self.chain.get(&fees.chains);
        let mut distinct = vec![self.account, reviewed.router, reviewed.forwarder];
        for token in self.tokens {
            if distinct.contains(&token) {
                return None;
            }
            distinct.push(token);
        }
        // Below this amount, the aggregator's fee would be zero.
        let from_amount = self.from_amount.max(U256::from(10_000));
        let mut distributions = fees
            .recipients
            .iter()
            .map(|recipient| Some((recipient.address, recipient.bps.floor_of(from_amount)?)))
            .collect::<Option<Vec<_>>>()?;
        if self.aggregator_first {
            distributions.reverse();
        }
        let total: U256 = distributions.iter().map(|(_, amount)| *amount).sum();

        let to_amount = self.to_amount.max(U256::from(10));
        let kept = U256::from(10_000 - self.max_bps);
        let floor = share_of(to_amount, kept);
        let to_amount_min = floor + share(to_amount - floor, self.above_floor);

        let last = self.legs.len() - 1;
        let hops: Vec<Address> = std::iter::once(self.tokens[0])
            .chain(self.tokens[2..].iter().copied().take(last))
            .chain([self.tokens[1]])
            .collect();
        let legs = self
            .legs
            .iter()
            .enumerate()
            .map(|(at, (target, selector, data))| {
                let target = target.get(&reviewed.legs);
                let selector = selector.get(&target.selectors);
                Leg {
                    target: target.contract,
                    spender: target.spender,
                    sending: hops[at],
                    receiving: hops[at + 1],
                    amount: if at == 0 {
                        from_amount - total
                    } else {
                        U256::from(at)
                    },
                    data: [&selector[..], data].concat().into(),
                }
            })
            .collect();
        Some(SwapCase {
            account: self.account,
            kind: if self.safe { "safe" } else { "eoa" },
            chain_id: reviewed.chain_id,
            from_token: self.tokens[0],
            to_token: self.tokens[1],
            from_amount,
            max_bps: self.max_bps,
            min_amount_out: self.least.map(|part| share(to_amount_min, part)),
            to_amount,
            to_amount_min,
            transaction_id: self.transaction_id.into(),
            referrer: if self.names_no_referrer {
                NO_REFERRER
            } else {
                ""
            },
            distributions,
            legs,
        })
    }
}

/// `floor(amount * ten_thousandths / 10000)`.
fn share_of(amount: U256, ten_thousandths: U256) -> U256 {
    amount / U256::from(10_000) * ten_thousandths
        + amount % U256::from(10_000) * ten_thousandths / U256::from(10_000)
}
