#![doc = include_str!("../README.md")]

pub mod aave;
pub mod alternative_me;
pub mod anthropic;
mod attribution;
pub mod binance;
pub mod blockscout;
mod budget;
pub mod bybit;
mod cached;
pub mod cboe;
pub mod circle;
pub mod coindesk;
pub mod coingecko;
pub mod coinpaprika;
pub mod cryptopanic;
pub mod defillama;
pub mod dexscreener;
mod error;
pub mod evm;
pub mod fal;
pub mod fence_status;
pub mod fourbyte;
pub mod frankfurter;
pub mod fred;
pub mod gauges;
pub mod gemini;
mod generated;
pub mod goplus;
pub mod hyperliquid;
pub mod hyperliquid_info;
mod json;
pub mod lifi;
pub mod lunarcrush;
mod meter;
pub mod news;
pub mod okx;
pub mod okx_futures;
pub mod openai;
mod perpetuals;
pub mod perplexity;
pub mod polymarket;
pub mod probe;
mod provenance;
mod rail;
mod recent;
pub mod rpc;
pub mod rss;
mod slippage;
mod source;
pub mod sourcify;
mod tokens;
pub mod transport;
pub mod treasury;
mod wire;
pub mod worth;
pub mod x_api;
pub mod yahoo;

pub use calldata_checks::okx::{
    CHAIN_ID, NATIVE_COIN, Refusal, ReviewedContracts, SourceToken, Trim, TrimCharge,
};
use readings::text;

pub use self::{
    attribution::{Attribution, NAMED_IN_DATA, Why, attribution, attributions},
    budget::{
        BudgetState, Families, Family, QuotaSpec, QuotaState, QuotaStore, QuotaStoreError, Rate,
        Stored,
    },
    cached::{Ages, Cached, Failure},
    error::{Error, RequestError, SourceError, SourceErrorKind},
    meter::{Caller, Kept, Meter, Usage},
    provenance::{Clock, ClockFrom, Mode, Provenance, SourceStatus, Sourced, SystemClock},
    rail::VenueConfig,
    slippage::{SlippageError, SlippagePercent},
    source::{Conduct, KeyRule, Source, SourceConfig, UpstreamSpec},
    tokens::{
        Approval, RouteHop, SwapQuote, SwapRequest, Token, TokenPrice, TokenSnapshot, TokenStanding,
    },
};
