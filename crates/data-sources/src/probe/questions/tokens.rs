//! Catalogues and markets of tokens, and scanners.

use super::{NOW, WETH, WOKB, btc, probed, questions};
use crate::{
    Error, coingecko::Coingecko, coinpaprika::Coinpaprika, dexscreener::Dexscreener, goplus::Goplus,
};

/// The home chain by the catalogues' name.
const PLATFORM: &str = "xlayer";

pub(super) fn symbol() -> Result<readings::symbol::SymbolKey, Error> {
    btc().ok_or(Error::NotFound {
        reason: "symbol_not_found",
        message: String::new(),
    })
}

probed!(Coingecko, |this| questions! { "coingecko";
    ["coingecko.markets"] => async move { this.coins(&symbol()?, NOW).await },
    ["coingecko.contracts"] => this.contracts("okb"),
    ["coingecko.trending"] => this.trending(NOW),
    ["coingecko.token-list"] => this.tokens(NOW),
});

probed!(Coinpaprika, |this| questions! { "coinpaprika";
    ["coinpaprika.search", "coinpaprika.ticker"] => async move { this.coin(&symbol()?, NOW).await },
});

probed!(Dexscreener, |this| questions! { "dexscreener";
    ["dexscreener.pairs"] => this.pairs(PLATFORM, WOKB, NOW),
    ["dexscreener.search"] => this.search("WOKB", NOW),
});

probed!(Goplus, |this| questions! { "goplus";
    ["goplus.token-security"] => this.token_security(8453, WETH, NOW),
    ["goplus.supported-chains"] => this.supported_chains(),
});
