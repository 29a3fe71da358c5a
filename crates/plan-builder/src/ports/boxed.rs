//! The companions of the ports, which can be trait objects.

use std::{future::Future, pin::Pin, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::Step;

use super::{
    Accounts, BridgeFeeReading, BridgeFees, PerpAsset, PerpVenue, PmBuilderFee, PmMarket, PmVenue,
    PortError, SimulatedCall, Simulator, SwapAsk, SwapQuote, SwapQuotes,
};
use crate::{Judgement, Refusal};

/// The future of a port's companion.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The future of a port's companion that may fail.
pub type PortAnswer<'a, T> = PortFuture<'a, Result<T, PortError>>;

/// [`SwapQuotes`] as a trait object.
pub trait DynSwapQuotes: Send + Sync {
    /// [`SwapQuotes::quote`]
    fn boxed_quote<'a>(&'a self, ask: &'a SwapAsk) -> PortAnswer<'a, SwapQuote>;

    /// [`SwapQuotes::judge_worth`]
    fn boxed_worth<'a>(
        &'a self,
        ask: &'a SwapAsk,
        quote: &'a SwapQuote,
    ) -> PortFuture<'a, Result<Judgement, Refusal>>;
}

impl<P: SwapQuotes> DynSwapQuotes for P {
    fn boxed_quote<'a>(&'a self, ask: &'a SwapAsk) -> PortAnswer<'a, SwapQuote> {
        Box::pin(self.quote(ask))
    }

    fn boxed_worth<'a>(
        &'a self,
        ask: &'a SwapAsk,
        quote: &'a SwapQuote,
    ) -> PortFuture<'a, Result<Judgement, Refusal>> {
        Box::pin(self.judge_worth(ask, quote))
    }
}

impl SwapQuotes for dyn DynSwapQuotes + '_ {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.boxed_quote(ask).await
    }

    async fn judge_worth(&self, ask: &SwapAsk, quote: &SwapQuote) -> Result<Judgement, Refusal> {
        self.boxed_worth(ask, quote).await
    }
}

/// [`BridgeFees`] as a trait object.
pub trait DynBridgeFees: Send + Sync {
    /// [`BridgeFees::fees`]
    fn boxed_fees(
        &self,
        source: u32,
        destination: u32,
        forward: bool,
    ) -> PortAnswer<'_, BridgeFeeReading>;

    /// [`BridgeFees::fast_allowance`]
    fn boxed_allowance(&self) -> PortAnswer<'_, U256>;
}

impl<P: BridgeFees> DynBridgeFees for P {
    fn boxed_fees(
        &self,
        source: u32,
        destination: u32,
        forward: bool,
    ) -> PortAnswer<'_, BridgeFeeReading> {
        Box::pin(self.fees(source, destination, forward))
    }

    fn boxed_allowance(&self) -> PortAnswer<'_, U256> {
        Box::pin(self.fast_allowance())
    }
}

impl BridgeFees for dyn DynBridgeFees + '_ {
    async fn fees(
        &self,
        source: u32,
        destination: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        self.boxed_fees(source, destination, forward).await
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        self.boxed_allowance().await
    }
}

/// [`Accounts`] as a trait object.
pub trait DynAccounts: Send + Sync {
    /// [`Accounts::code`]
    fn boxed_code(&self, chain_id: u64, address: Address) -> PortAnswer<'_, Bytes>;

    /// [`Accounts::call`]
    fn boxed_call(&self, chain_id: u64, to: Address, data: Bytes) -> PortAnswer<'_, Option<Bytes>>;
}

impl<P: Accounts> DynAccounts for P {
    fn boxed_code(&self, chain_id: u64, address: Address) -> PortAnswer<'_, Bytes> {
        Box::pin(self.code(chain_id, address))
    }

    fn boxed_call(&self, chain_id: u64, to: Address, data: Bytes) -> PortAnswer<'_, Option<Bytes>> {
        Box::pin(self.call(chain_id, to, data))
    }
}

impl Accounts for dyn DynAccounts + '_ {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        self.boxed_code(chain_id, address).await
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        self.boxed_call(chain_id, to, data).await
    }
}

/// [`PmVenue`] as a trait object.
pub trait DynPmVenue: Send + Sync {
    /// [`PmVenue::market`]
    fn boxed_market(&self, token_id: U256) -> PortAnswer<'_, PmMarket>;

    /// [`PmVenue::builder_fee`]
    fn boxed_builder_fee(&self, code: B256) -> PortAnswer<'_, PmBuilderFee>;
}

impl<P: PmVenue> DynPmVenue for P {
    fn boxed_market(&self, token_id: U256) -> PortAnswer<'_, PmMarket> {
        Box::pin(self.market(token_id))
    }

    fn boxed_builder_fee(&self, code: B256) -> PortAnswer<'_, PmBuilderFee> {
        Box::pin(self.builder_fee(code))
    }
}

impl PmVenue for dyn DynPmVenue + '_ {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        self.boxed_market(token_id).await
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        self.boxed_builder_fee(code).await
    }
}

/// [`PerpVenue`] as a trait object.
pub trait DynPerpVenue: Send + Sync {
    /// [`PerpVenue::asset`]
    fn boxed_asset<'a>(&'a self, coin: &'a str) -> PortAnswer<'a, PerpAsset>;

    /// [`PerpVenue::max_builder_fee`]
    fn boxed_max_builder_fee(&self, user: Address, builder: Address) -> PortAnswer<'_, u64>;
}

impl<P: PerpVenue> DynPerpVenue for P {
    fn boxed_asset<'a>(&'a self, coin: &'a str) -> PortAnswer<'a, PerpAsset> {
        Box::pin(self.asset(coin))
    }

    fn boxed_max_builder_fee(&self, user: Address, builder: Address) -> PortAnswer<'_, u64> {
        Box::pin(self.max_builder_fee(user, builder))
    }
}

impl PerpVenue for dyn DynPerpVenue + '_ {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        self.boxed_asset(coin).await
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        self.boxed_max_builder_fee(user, builder).await
    }
}

/// [`Simulator`] as a trait object.
pub trait DynSimulator: Send + Sync {
    /// [`Simulator::simulates`]
    fn knows(&self, chain_id: u64) -> bool;

    /// [`Simulator::simulate`]
    fn boxed_simulate<'a>(
        &'a self,
        chain_id: u64,
        account: Address,
        calls: &'a [Step],
    ) -> PortAnswer<'a, Option<Vec<SimulatedCall>>>;
}

impl<P: Simulator> DynSimulator for P {
    fn knows(&self, chain_id: u64) -> bool {
        self.simulates(chain_id)
    }

    fn boxed_simulate<'a>(
        &'a self,
        chain_id: u64,
        account: Address,
        calls: &'a [Step],
    ) -> PortAnswer<'a, Option<Vec<SimulatedCall>>> {
        Box::pin(self.simulate(chain_id, account, calls))
    }
}

impl Simulator for dyn DynSimulator + '_ {
    fn simulates(&self, chain_id: u64) -> bool {
        self.knows(chain_id)
    }

    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        self.boxed_simulate(chain_id, account, calls).await
    }
}

/// Implements a port for pointers to its companion.
macro_rules! through_pointers {
    ($port:ident $methods:tt) => {
        through_pointer! { &P, $port $methods }
        through_pointer! { Box<P>, $port $methods }
        through_pointer! { Arc<P>, $port $methods }
    };
}

macro_rules! through_pointer {
    ($pointer:ty, $port:ident {
        $(async fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)+
        $(fn $plain:ident($plain_argument:ident: $plain_type:ty) -> $plain_output:ty;)?
    }) => {
        impl<P: $port + ?Sized> $port for $pointer {
            $(async fn $name(&self, $($argument: $type),*) -> $output {
                (**self).$name($($argument),*).await
            })+
            $(fn $plain(&self, $plain_argument: $plain_type) -> $plain_output {
                (**self).$plain($plain_argument)
            })?
        }
    };
}

through_pointers! { SwapQuotes {
    async fn quote(ask: &SwapAsk) -> Result<SwapQuote, PortError>;
    async fn judge_worth(ask: &SwapAsk, quote: &SwapQuote) -> Result<Judgement, Refusal>;
}}
through_pointers! { BridgeFees {
    async fn fees(source: u32, destination: u32, forward: bool) -> Result<BridgeFeeReading, PortError>;
    async fn fast_allowance() -> Result<U256, PortError>;
}}
through_pointers! { Accounts {
    async fn code(chain_id: u64, address: Address) -> Result<Bytes, PortError>;
    async fn call(chain_id: u64, to: Address, data: Bytes) -> Result<Option<Bytes>, PortError>;
}}
through_pointers! { PmVenue {
    async fn market(token_id: U256) -> Result<PmMarket, PortError>;
    async fn builder_fee(code: B256) -> Result<PmBuilderFee, PortError>;
}}
through_pointers! { PerpVenue {
    async fn asset(coin: &str) -> Result<PerpAsset, PortError>;
    async fn max_builder_fee(user: Address, builder: Address) -> Result<u64, PortError>;
}}
through_pointers! { Simulator {
    async fn simulate(chain_id: u64, account: Address, calls: &[Step]) -> Result<Option<Vec<SimulatedCall>>, PortError>;
    fn simulates(chain_id: u64) -> bool;
}}
