//! Venues of derivatives.

use jiff::SignedDuration;
use readings::derivatives::{HistoryKind, Window};

use super::{ACCOUNT, NOW, probed, questions};
use crate::{
    binance::Binance, bybit::Bybit, hyperliquid_info::HyperliquidInfo, okx_futures::OkxFutures,
    probe::Question,
};

const BTC: &str = "BTC";

probed!(Binance, |this| questions! { "binance";
    ["binance.funding", "binance.funding-intervals", "binance.open-interest", "binance.long-short"]
        => this.reading(BTC, NOW),
    ["binance.funding"] => this.all(NOW),
});

probed!(Bybit, |this| questions! { "bybit";
    ["bybit.tickers", "bybit.long-short"] => this.reading(BTC, NOW),
    ["bybit.tickers"] => this.all(NOW),
});

probed!(OkxFutures, |this| questions! { "okx_futures";
    ["okx-futures.funding", "okx-futures.open-interest", "okx-futures.mark-price", "okx-futures.long-short"]
        => this.reading(BTC, NOW),
    ["okx-futures.funding", "okx-futures.open-interest", "okx-futures.mark-price"] => this.all(NOW),
});

probed!(HyperliquidInfo, |this| {
    let mut all = venue(this);
    all.extend(account(this));
    all
});

fn venue(this: &HyperliquidInfo) -> Vec<Question<'_>> {
    questions! { "hyperliquid";
        ["hyperliquid.dexs"] => this.dexs(NOW),
        ["hyperliquid.markets"] => this.markets("", NOW),
        ["hyperliquid.categories"] => this.categories(NOW),
        ["hyperliquid.predicted-fundings"] => this.predicted(NOW),
        ["hyperliquid.book"] => this.book(BTC, NOW),
        ["hyperliquid.candles"] => this.candles(BTC, "1h", NOW),
    }
}

fn account(this: &HyperliquidInfo) -> Vec<Question<'_>> {
    let day = || {
        let end = this.source().now();
        let start = end.saturating_sub(SignedDuration::from_hours(24));
        Window {
            start: start.unwrap_or(end),
            end,
        }
    };
    questions! { "hyperliquid";
        ["hyperliquid.account"] => this.account(ACCOUNT, "", NOW),
        ["hyperliquid.spot-account"] => this.spot_balances(ACCOUNT, NOW),
        ["hyperliquid.open-orders"] => this.open_orders(ACCOUNT, "", NOW),
        ["hyperliquid.role"] => this.role(ACCOUNT, NOW),
        ["hyperliquid.history"] => this.history(ACCOUNT, HistoryKind::Fill, day()),
        ["hyperliquid.history"] => this.history(ACCOUNT, HistoryKind::Funding, day()),
        ["hyperliquid.history"] => this.history(ACCOUNT, HistoryKind::Ledger, day()),
    }
}
