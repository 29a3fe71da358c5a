//! Coins that a ranking of altcoins leaves out: bitcoin, stablecoins, and forms of another coin.

use crate::symbol::SymbolKey;

/// Symbols of stablecoins whose names do not say that they are stablecoins.
const STABLE: [&str; 14] = [
    "DAI", "GHO", "FRAX", "USDT", "USDC", "FDUSD", "TUSD", "PYUSD", "USDG", "USDT0", "EURC",
    "EURS", "MIM", "LUSD",
];
/// Symbols of bitcoin, and of tokens that represent another coin.
const FORMS: [&str; 38] = [
    "BTC", "XBT", "WBTC", "CBBTC", "TBTC", "BTCB", "FBTC", "LBTC", "SOLVBTC", "XBTC", "KBTC",
    "WETH", "BETH", "XETH", "XBETH", "STETH", "WSTETH", "WEETH", "EETH", "RETH", "CBETH", "OSETH",
    "METH", "RSETH", "EZETH", "SFRXETH", "WBNB", "WSOL", "XSOL", "MSOL", "JITOSOL", "JUPSOL",
    "BNSOL", "OKSOL", "XOKSOL", "WOKB", "WAVAX", "WMATIC",
];
/// First words in the names of tokens that represent another coin.
const PREFIXES: [&str; 5] = [
    "WRAPPED ",
    "BRIDGED ",
    "BINANCE-PEG ",
    "STAKED ",
    "LIQUID STAKED ",
];

/// Whether a ranking of altcoins leaves out a coin with this symbol and this name.
#[must_use]
pub fn is_excluded(key: &SymbolKey, name: Option<&str>) -> bool {
    let symbol = key.as_str();
    let stable = STABLE.contains(&symbol) || symbol.contains("USD");
    let name = name.unwrap_or_default().to_uppercase();
    stable || FORMS.contains(&symbol) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_forms_are_left_out_and_altcoins_are_not() {
        let excluded =
            |symbol: &str, name: Option<&str>| is_excluded(&SymbolKey::new(symbol).unwrap(), name);
        for symbol in [
            "btc", "$BTC", "WBTC", "USD₮0", "usdc", "sUSDe", "crvUSD", "GHO", "wstETH", "WOKB",
        ] {
            assert!(excluded(symbol, None), "{symbol}");
        }
        assert!(
            excluded("axlFOO", Some("Bridged Foo")) && excluded("stX", Some("Liquid Staked X"))
        );
        for symbol in ["ETH", "SOL", "OKB", "BONK", "WIF", "W", "XRP", "BTCS"] {
            assert!(!excluded(symbol, Some(symbol)), "{symbol}");
        }
    }
}
