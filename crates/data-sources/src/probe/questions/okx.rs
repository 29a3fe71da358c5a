//! The aggregator of the home chain.

use alloy_primitives::U256;

use super::{ACCOUNT, NOW, USDT0, WOKB, btc, probed, questions};
use crate::{
    CHAIN_ID, Error, SwapRequest,
    news::SocialToken,
    okx::{Okx, defi::OkxDefi},
    probe::Question,
};

/// Ten dollars of USD₮0.
const TEN_USD: U256 = U256::from_limbs([10_000_000, 0, 0, 0]);
/// Wrapped ether on Ethereum, whose leaders OKX knows.
const ETH: SocialToken = SocialToken {
    symbol: "ETH",
    chain_index: 1,
    contract: "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
};

probed!(Okx, |this| {
    let mut all = market(this);
    all.extend(trade(this));
    all.extend(people(this));
    all
});

fn market(this: &Okx) -> Vec<Question<'_>> {
    questions! { "okx";
        ["okx.market-price"] => this.spot(WOKB, NOW),
        ["okx.all-tokens"] => this.tokens(NOW),
        ["okx.price-info"] => this.market(WOKB, NOW),
        ["okx.token-search"] => this.search_tokens("okb", CHAIN_ID, 20, None, NOW),
        ["okx.hot-tokens"] => this.hot_tokens(Some(CHAIN_ID), NOW),
        ["okx.top-liquidity"] => this.token_pools(WOKB, NOW),
        ["okx.advanced-info"] => this.token_origin(WOKB, NOW),
        ["okx.token-scan"] => this.token_scan(CHAIN_ID, WOKB, NOW),
        ["okx.token-holders"] => this.token_holders(WOKB, NOW),
    }
}

/// Asks for quotes and transactions. A quote binds nobody, and nobody signs the transactions.
fn trade(this: &Okx) -> Vec<Question<'_>> {
    questions! { "okx";
        ["okx.quote"] => this.shown_quote(USDT0, WOKB, TEN_USD, NOW),
        ["okx.approve-transaction"] => this.approval(USDT0, TEN_USD),
        ["okx.swap"] => async move {
            let reviewed = this.reviewed();
            let request = SwapRequest::parse(USDT0, WOKB, "10", ACCOUNT, None, reviewed);
            this.swap(&request?).await
        },
    }
}

fn people(this: &Okx) -> Vec<Question<'_>> {
    questions! { "okx";
        ["okx.news"] => this.latest_news(),
        ["okx.sentiment"] => this.moods(),
        ["okx.sentiment"] => async move {
            let symbol = btc().ok_or(Error::NotFound {
                reason: "symbol_not_found",
                message: String::new(),
            })?;
            this.mood_of(&symbol).await
        },
        ["okx.vibe"] => this.leaders_of(&ETH),
        ["okx.balance-chains"] => this.balance_chains(),
        ["okx.balances"] => this.balances(ACCOUNT, &[CHAIN_ID, 8453]),
        ["okx.defi"] => async move {
            let tokens = ["USDT0".to_owned()];
            OkxDefi::new(this.clone()).products(CHAIN_ID, &tokens, NOW).await
        },
        ["okx.defi"] => async move {
            OkxDefi::new(this.clone()).positions(ACCOUNT, &[CHAIN_ID, 8453], NOW).await
        },
    }
}
