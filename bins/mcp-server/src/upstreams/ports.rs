//! The ports of the plan builder, each over its venue.

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::Step;
use data_sources::{Caller, Meter};
use plan_builder::ports::{
    Accounts, BridgeFeeReading, BridgeFees, PerpAsset, PerpVenue, PmBuilderFee, PmMarket, PmVenue,
    PortError, SimulatedCall, Simulator, SwapAsk, SwapQuote, SwapQuotes,
};
use plan_builder::{Judgement, Refusal};

use super::Upstreams;

impl SwapQuotes for Upstreams {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.0.lifi.quote(&self.0.worth.guarded(ask)).await
    }

    /// Its requests do not count for the caller's share, which is one of the aggregator's limits:
    /// every judgement follows a quote that did.
    async fn judge_worth(&self, ask: &SwapAsk, quote: &SwapQuote) -> Result<Judgement, Refusal> {
        let judged = async {
            let (of_input, of_output) = tokio::join!(
                self.decimals(ask.chain_id, ask.from_token),
                self.decimals(ask.chain_id, ask.to_token),
            );
            let decimals = [of_input, of_output];
            self.0.worth.judge_quote(ask, quote, decimals).await
        };
        Meter::new(Caller::Newcomer).scope(judged).await
    }
}

/// The calldata of `decimals()`.
const DECIMALS: [u8; 4] = [0x31, 0x3c, 0xe5, 0x67];
/// The most decimals that are believed: more than any token has.
const MAX_DECIMALS: u8 = 36;

impl Upstreams {
    /// The decimals of a token: those that its contract states when there is a node of the chain,
    /// otherwise those of the sources of prices. The aggregator's own statement would let it choose
    /// the worth of its output.
    async fn decimals(&self, chain_id: u64, token: Address) -> Option<u8> {
        match self.0.rpc.call(chain_id, token, DECIMALS.into()).await {
            Ok(Some(word)) if word.len() == 32 => {
                let stated = u8::try_from(U256::from_be_slice(&word)).ok();
                stated.filter(|decimals| *decimals <= MAX_DECIMALS)
            }
            Ok(_) => None,
            Err(_) => self.0.worth.decimals(chain_id, token).await,
        }
    }
}

impl BridgeFees for Upstreams {
    async fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        let circle = &self.0.circle;
        circle
            .fees(source_domain, destination_domain, forward)
            .await
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        self.0.circle.fast_allowance().await
    }
}

impl Accounts for Upstreams {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        self.0.rpc.code(chain_id, address).await
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        self.0.rpc.call(chain_id, to, data).await
    }
}

impl PmVenue for Upstreams {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        self.0.polymarket.market(token_id).await
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        self.0.polymarket.builder_fee(code).await
    }
}

impl PerpVenue for Upstreams {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        self.0.hyperliquid.asset(coin).await
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        self.0.hyperliquid.max_builder_fee(user, builder).await
    }
}

impl Simulator for Upstreams {
    fn simulates(&self, chain_id: u64) -> bool {
        self.0.rpc.simulates(chain_id)
    }

    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        self.0.rpc.simulate(chain_id, account, calls).await
    }
}
