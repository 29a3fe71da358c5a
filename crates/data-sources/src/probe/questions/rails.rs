//! The venues of plans: their questions use the rail's own terms, because an aggregator and a
//! prediction market know their integrators.

use alloy_primitives::{Address, B256, U256, address, b256};
use calldata_checks::BasisPoints;
use plan_builder::ports::{BridgeFees, PerpVenue, PmVenue, SwapAsk, SwapQuotes};

use super::{ACCOUNT, WETH};
use crate::{
    Source,
    circle::Circle,
    hyperliquid::Hyperliquid,
    lifi::Lifi,
    polymarket::Polymarket,
    probe::{Probed, Question},
};

const USDC_ON_BASE: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
/// A hundred USDC.
const AMOUNT: U256 = U256::from_limbs([100_000_000, 0, 0, 0]);
/// One percent, in basis points.
const SLIPPAGE: u16 = 100;
/// Circle's numbers of Base and Ethereum.
const BASE_DOMAIN: u32 = 6;
const ETHEREUM_DOMAIN: u32 = 0;
/// A transaction whose messages are asked for. "Unknown" is a valid answer.
const BURN: B256 = b256!("c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1");

/// The rail's own terms: an aggregator knows an integrator and its fee.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The integrator's exact string.
    pub integrator: String,
    /// The service's own fee.
    pub fee: BasisPoints,
    /// The builder code at the prediction market; zero for none.
    pub builder_code: B256,
    /// The builder of perpetuals.
    pub builder: Option<Address>,
}

/// An adapter and the terms under which it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Rail<'a, A> {
    /// The adapter.
    pub adapter: &'a A,
    /// The terms.
    pub terms: &'a Terms,
}

impl<'a> Rail<'a, Lifi> {
    /// The questions to the aggregator, for a caller that builds the pair anew each time.
    #[must_use]
    pub fn asks(&self) -> Vec<Question<'a>> {
        let Self { adapter, terms } = *self;
        let ask = SwapAsk {
            chain_id: 8453,
            from_token: USDC_ON_BASE,
            to_token: WETH,
            from_amount: AMOUNT,
            account: ACCOUNT,
            max_slippage: BasisPoints::new(SLIPPAGE).unwrap_or(terms.fee),
            integrator: terms.integrator.clone(),
            fee: terms.fee,
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            max_price_impact: None,
        };
        let quote = async move { adapter.quote(&ask).await };
        vec![Question::plain("lifi", &["lifi.quote"], quote)]
    }
}

impl Probed for Rail<'_, Lifi> {
    fn source(&self) -> Option<&Source> {
        Some(self.adapter.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        self.asks()
    }
}

impl Probed for Circle {
    fn source(&self) -> Option<&Source> {
        Some(Self::source(self))
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let fees = self.fees(BASE_DOMAIN, ETHEREUM_DOMAIN, true);
        vec![
            Question::plain("circle", &["circle.fees"], fees),
            Question::plain("circle", &["circle.allowance"], self.fast_allowance()),
            Question::plain(
                "circle",
                &["circle.messages"],
                self.attestation(BASE_DOMAIN, BURN),
            ),
        ]
    }
}

impl Probed for Rail<'_, Polymarket> {
    fn source(&self) -> Option<&Source> {
        Some(self.adapter.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let market = async move {
            let token = self.adapter.traded_token().await?;
            self.adapter.market(token).await
        };
        let code = self.terms.builder_code;
        let sources = &[
            "polymarket.version",
            "polymarket.markets-by-token",
            "polymarket.clob-markets",
            "polymarket.tick-size",
            "polymarket.neg-risk",
            "polymarket.gamma",
        ];
        let mut questions = vec![Question::plain("polymarket", sources, market)];
        if !code.is_zero() {
            let fee = self.adapter.builder_fee(code);
            questions.push(Question::plain(
                "polymarket",
                &["polymarket.builder-fees"],
                fee,
            ));
        }
        questions
    }
}

impl Probed for Rail<'_, Hyperliquid> {
    fn source(&self) -> Option<&Source> {
        Some(self.adapter.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let universe = &["hyperliquid.meta", "hyperliquid.meta-and-asset-ctxs"];
        let deployed = &["hyperliquid.perp-dexs", "hyperliquid.spot-meta"];
        let builder = self.terms.builder.unwrap_or(ACCOUNT);
        let fee = self.adapter.max_builder_fee(ACCOUNT, builder);
        vec![
            Question::plain("hyperliquid", universe, self.adapter.asset("BTC")),
            Question::plain("hyperliquid", deployed, self.adapter.asset("xyz:TSLA")),
            Question::plain("hyperliquid", &["hyperliquid.max-builder-fee"], fee),
        ]
    }
}
