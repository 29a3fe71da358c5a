//! Pools from DefiLlama's list, and the rules by which they are shown.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::assets;
use crate::Figure;

/// The least value locked of a pool that is shown, in dollars.
pub const MIN_TVL_USD: i64 = 1_000_000;
/// The fewest daily observations of a pool that is shown.
pub const MIN_DAYS: u32 = 14;
/// A yearly percentage above this is an error or a bait. It is not shown.
pub const MAX_APY_PCT: i64 = 1_000;
/// A value locked above this is an error, because it exceeds all money on chains.
const MAX_TVL_USD: i64 = 1_000_000_000_000;

/// A pool as its source describes it. `None` means unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Its id.
    pub id: String,
    /// Its chain's name.
    pub chain: String,
    /// Its chain's EIP-155 id, if the chain is supported.
    pub chain_id: Option<u64>,
    /// The protocol: `aave-v3`.
    pub project: String,
    /// Its assets: `USDC`, `WETH-USDC`.
    pub symbol: String,
    /// The value locked in it, in dollars. For a lending market, the part that is not lent out.
    pub tvl_usd: Figure,
    /// The yield of the activity itself, in percent a year.
    pub apy_base_pct: Option<Figure>,
    /// The yield that is paid in reward tokens, in percent a year.
    pub apy_reward_pct: Option<Figure>,
    /// Both together, as the source states the sum.
    pub apy_total_pct: Option<Figure>,
    /// The mean of the total over 30 days, in percent a year.
    pub mean_30d_pct: Option<Figure>,
    /// The addresses of the tokens in which rewards are paid.
    pub reward_tokens: Vec<String>,
    /// The addresses of the assets.
    pub underlying: Vec<String>,
    /// Whether it loses value when the prices of its assets diverge.
    pub il_risk: Option<bool>,
    /// Whether all of its assets are stablecoins.
    pub stablecoin: Option<bool>,
    /// Whether it holds one asset.
    pub single_asset: Option<bool>,
    /// Whether the source marks its figures as an outlier.
    pub outlier: Option<bool>,
    /// The number of daily observations.
    pub days: Option<u32>,
}

/// A yield that may be shown and ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedYield {
    /// The yield that counts, in percent a year.
    pub apy_pct: Decimal,
    /// The part of it that is a reward in a liquid token.
    pub reward_pct: Decimal,
    /// Whether there is a reward that does not count.
    pub left_out: bool,
}

/// Why a pool is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// The value locked is below [`MIN_TVL_USD`], or impossibly large.
    Tvl,
    /// The source marks the pool as an outlier, or does not state whether it is one.
    Outlier,
    /// There are fewer than [`MIN_DAYS`] observations, or their number is unknown.
    History,
    /// No yield counts, or it is a loss, or it is above [`MAX_APY_PCT`].
    Yield,
}

impl Pool {
    /// Returns the yield that counts: the base, and the reward if all of its tokens are on the
    /// reviewed list of liquid ones ([`assets::is_liquid_reward`]). A reward that cannot be sold is
    /// not a yield.
    ///
    /// `None` when no yield that counts is known.
    #[must_use]
    pub fn counted(&self) -> Option<CountedYield> {
        let stated = self.apy_reward_pct.map(|reward| reward.0);
        let reward = stated.filter(|reward| !reward.is_zero());
        let Some(reward) = reward else {
            // Some sources state only a total. Without a reward, the total is the base.
            let base = self.apy_base_pct.or(self.apy_total_pct)?;
            return Some(CountedYield {
                apy_pct: base.0,
                reward_pct: Decimal::ZERO,
                left_out: false,
            });
        };
        let chain = self.chain_id;
        let liquid = !self.reward_tokens.is_empty()
            && self
                .reward_tokens
                .iter()
                .all(|token| chain.is_some_and(|chain| assets::is_liquid_reward(chain, token)));
        let base = self.apy_base_pct.map(|base| base.0);
        match (base, liquid) {
            (Some(base), true) => Some(CountedYield {
                apy_pct: base.checked_add(reward)?,
                reward_pct: reward,
                left_out: false,
            }),
            (None, true) => Some(CountedYield {
                apy_pct: reward,
                reward_pct: reward,
                left_out: false,
            }),
            (Some(base), false) => Some(CountedYield {
                apy_pct: base,
                reward_pct: Decimal::ZERO,
                left_out: true,
            }),
            (None, false) => None,
        }
    }

    /// Returns the yield to show, or why the pool is not shown.
    ///
    /// # Errors
    ///
    /// The first [`Exclusion`] that applies.
    pub fn admit(&self) -> Result<CountedYield, Exclusion> {
        let tvl = self.tvl_usd.0;
        if tvl < Decimal::from(MIN_TVL_USD) || tvl > Decimal::from(MAX_TVL_USD) {
            return Err(Exclusion::Tvl);
        }
        if self.outlier != Some(false) {
            return Err(Exclusion::Outlier);
        }
        if self.days.is_none_or(|days| days < MIN_DAYS) {
            return Err(Exclusion::History);
        }
        let counted = self.counted().ok_or(Exclusion::Yield)?;
        let plausible = counted.apy_pct > Decimal::ZERO
            && counted.apy_pct <= Decimal::from(MAX_APY_PCT)
            && !counted.reward_pct.is_sign_negative();
        plausible.then_some(counted).ok_or(Exclusion::Yield)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn pool(symbol: &str) -> Pool {
        Pool {
            id: format!("pool-{symbol}"),
            chain: "X Layer".to_owned(),
            chain_id: Some(196),
            project: "aave-v3".to_owned(),
            symbol: symbol.to_owned(),
            tvl_usd: "31234567".parse().unwrap(),
            apy_base_pct: Some("4.12".parse().unwrap()),
            apy_reward_pct: None,
            apy_total_pct: Some("4.12".parse().unwrap()),
            mean_30d_pct: Some("3.9".parse().unwrap()),
            reward_tokens: Vec::new(),
            underlying: Vec::new(),
            il_risk: Some(false),
            stablecoin: Some(true),
            single_asset: Some(true),
            outlier: Some(false),
            days: Some(120),
        }
    }

    fn figure(text: &str) -> Option<Figure> {
        Some(text.parse().unwrap())
    }

    fn rewarded(base: Option<Figure>, token: &str) -> Pool {
        Pool {
            apy_base_pct: base,
            apy_reward_pct: figure("2.5"),
            apy_total_pct: figure("6.62"),
            reward_tokens: vec![token.to_owned()],
            ..pool("USDT0")
        }
    }

    const WOKB: &str = "0xe538905cf8410324e03a5a23c1c177a474d59b2b";
    const UNKNOWN: &str = "0x9999999999999999999999999999999999999999";

    #[test]
    fn a_reward_counts_only_in_a_liquid_token() {
        let apy = |pool: &Pool| pool.counted().map(|counted| counted.apy_pct.to_string());
        let liquid = rewarded(figure("4.12"), WOKB);
        assert_eq!(apy(&liquid).as_deref(), Some("6.62"));
        let illiquid = rewarded(figure("4.12"), UNKNOWN);
        assert_eq!(apy(&illiquid).as_deref(), Some("4.12"));
        assert!(illiquid.counted().unwrap().left_out);
        assert_eq!(apy(&rewarded(None, WOKB)).as_deref(), Some("2.5"));
        assert_eq!(rewarded(None, UNKNOWN).counted(), None);
        // The same address on another chain is another token.
        let elsewhere = Pool {
            chain_id: Some(8453),
            ..liquid.clone()
        };
        assert!(elsewhere.counted().unwrap().left_out);
        // One illiquid token disqualifies a reward that is paid in two tokens.
        let mixed = Pool {
            reward_tokens: vec![WOKB.to_owned(), UNKNOWN.to_owned()],
            ..liquid.clone()
        };
        assert!(mixed.counted().unwrap().left_out);
        // A reward in an unknown token does not count as liquid.
        let unnamed = Pool {
            reward_tokens: Vec::new(),
            ..liquid
        };
        assert!(unnamed.counted().unwrap().left_out);
    }

    #[test]
    fn a_total_alone_is_the_base_when_there_is_no_reward() {
        let only_total = Pool {
            apy_base_pct: None,
            ..pool("USDT0")
        };
        assert_eq!(only_total.counted().unwrap().apy_pct.to_string(), "4.12");
        let nothing = Pool {
            apy_total_pct: None,
            ..only_total
        };
        assert_eq!(nothing.counted(), None);
    }

    #[test]
    fn every_filter_excludes_on_its_own() {
        assert!(pool("USDT0").admit().is_ok());
        let least = Pool {
            tvl_usd: "1000000".parse().unwrap(),
            days: Some(14),
            ..pool("A")
        };
        assert!(least.admit().is_ok());
        let cases = [
            (
                Pool {
                    tvl_usd: "999999.99".parse().unwrap(),
                    ..pool("A")
                },
                Exclusion::Tvl,
            ),
            (
                Pool {
                    tvl_usd: "1000000000001".parse().unwrap(),
                    ..pool("A")
                },
                Exclusion::Tvl,
            ),
            (
                Pool {
                    outlier: Some(true),
                    ..pool("A")
                },
                Exclusion::Outlier,
            ),
            (
                Pool {
                    outlier: None,
                    ..pool("A")
                },
                Exclusion::Outlier,
            ),
            (
                Pool {
                    days: Some(13),
                    ..pool("A")
                },
                Exclusion::History,
            ),
            (
                Pool {
                    days: None,
                    ..pool("A")
                },
                Exclusion::History,
            ),
            (
                Pool {
                    apy_base_pct: figure("0"),
                    ..pool("A")
                },
                Exclusion::Yield,
            ),
            (
                Pool {
                    apy_base_pct: figure("-3"),
                    ..pool("A")
                },
                Exclusion::Yield,
            ),
            (
                Pool {
                    apy_base_pct: figure("1000.01"),
                    ..pool("A")
                },
                Exclusion::Yield,
            ),
            (
                Pool {
                    apy_reward_pct: figure("-3"),
                    ..rewarded(figure("4"), WOKB)
                },
                Exclusion::Yield,
            ),
        ];
        for (pool, expected) in cases {
            assert_eq!(pool.admit(), Err(expected), "{pool:?}");
        }
    }
}
