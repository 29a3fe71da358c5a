//! Protocols, pools and explorers.

use super::{ACCOUNT, NOW, WOKB, probed, questions};
use crate::{blockscout::Blockscout, defillama::Defillama};

/// A pool that has existed for years.
const POOL: &str = "aa70268e-4b52-42bf-a116-608b370f9501";

probed!(Defillama, |this| questions! { "defillama";
    ["defillama.protocols"] => this.protocols(NOW),
    ["defillama.chains"] => this.chains(NOW),
    ["defillama.pools"] => this.pools(),
    ["defillama.chart"] => this.history(POOL, NOW),
    ["defillama.coins"] => this.token_price("xlayer", WOKB, NOW),
});

probed!(Blockscout, |this| questions! { "blockscout";
    ["blockscout.token-balances"] => this.tokens(8453, ACCOUNT),
});
