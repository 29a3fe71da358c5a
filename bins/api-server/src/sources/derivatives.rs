//! Venues of derivatives.

use data_sources::binance::Binance;
use data_sources::bybit::Bybit;
use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::okx_futures::OkxFutures;

use super::connect::Connect;
use crate::error::ServeError;

/// The venues whose perpetuals are compared.
#[derive(Debug)]
pub(crate) struct Derivatives {
    pub(crate) binance: Binance,
    pub(crate) bybit: Bybit,
    pub(crate) hyperliquid: HyperliquidInfo,
    pub(crate) okx_futures: OkxFutures,
}

impl Derivatives {
    pub(super) fn connect(connect: &Connect<'_>) -> Result<Self, ServeError> {
        Ok(Self {
            binance: connect.one("binance", Binance::new)?,
            bybit: connect.one("bybit", Bybit::new)?,
            hyperliquid: connect.one("hyperliquid", HyperliquidInfo::new)?,
            okx_futures: connect.one("okx_futures", OkxFutures::new)?,
        })
    }
}
