#![doc = include_str!("../README.md")]

pub mod aave;
mod adapter;
pub mod alternative_me;
pub mod anthropic;
pub mod binance;
pub mod blockscout;
mod budget;
pub mod bybit;
mod cached;
pub mod calldata;
pub mod cboe;
pub mod circle;
pub mod coindesk;
pub mod coingecko;
pub mod coinpaprika;
pub mod cryptopanic;
mod decimal;
pub mod defillama;
pub mod dexscreener;
mod error;
pub mod evm;
pub mod fal;
pub mod fourbyte;
pub mod frankfurter;
pub mod fred;
pub mod gemini;
mod generated;
pub mod goplus;
pub mod hyperliquid;
pub mod hyperliquid_info;
mod json;
mod kept;
pub mod lifi;
pub mod lunarcrush;
mod meter;
pub mod news;
mod node;
pub mod okx;
pub mod okx_futures;
pub mod openai;
pub mod perplexity;
pub mod polymarket;
mod ports;
mod provenance;
mod recent;
mod reviewed;
pub mod rpc;
pub mod rss;
mod source;
pub mod sourcify;
pub mod transport;
pub mod treasury;
pub mod x_api;
pub mod yahoo;

use readings::text;

pub use self::{
    budget::{
        BudgetState, Families, Family, QuotaSpec, QuotaState, QuotaStore, QuotaStoreError, Rate,
    },
    cached::{Ages, Cached},
    calldata::Refusal,
    decimal::{Decimal, DecimalError, SlippagePercent},
    error::{Error, RequestError, SourceError, SourceErrorKind},
    meter::{Meter, Usage},
    ports::{
        Approval, Approvals, RouteHop, SwapQuote, SwapRequest, Swaps, Token, TokenList, TokenPrice,
        TokenPrices, TokenSnapshot, TokenStanding,
    },
    provenance::{Clock, ClockFrom, Mode, Provenance, SourceStatus, Sourced, SystemClock},
    reviewed::{CHAIN_ID, NATIVE_COIN, ReviewedContracts, SourceToken},
    source::{KeyRule, Source, SourceConfig, UpstreamSpec},
};
