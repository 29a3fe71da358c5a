//! Tokens: the lists of them, their prices, and their details.

use data_sources::Token;
use data_sources::coingecko::Coingecko;
use data_sources::coinpaprika::Coinpaprika;
use data_sources::defillama::Defillama;
use data_sources::dexscreener::Dexscreener;
use data_sources::okx::Okx;

use super::connect::Connect;
use crate::answer::LastRendered;
use crate::error::ServeError;

/// For how many seconds the list of tokens counts as fresh. It changes rarely, and is read again
/// every six hours.
pub(crate) const TOKEN_LIST_FRESH_SECONDS: u64 = 6 * 3600;

/// The chain's aggregator, catalogues of coins, and exchanges.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) coingecko: Coingecko,
    pub(crate) coinpaprika: Coinpaprika,
    pub(crate) defillama: Defillama,
    pub(crate) dexscreener: Dexscreener,
    pub(crate) okx: Okx,
    /// The last rendered list, by its first row and the row after the last.
    pub(crate) rendered: LastRendered<[Token], (usize, usize)>,
}

impl Tokens {
    pub(super) fn connect(
        connect: &Connect<'_>,
        okx: Okx,
        defillama: Defillama,
    ) -> Result<Self, ServeError> {
        Ok(Self {
            coingecko: connect.one("coingecko", Coingecko::new)?,
            coinpaprika: connect.one("coinpaprika", Coinpaprika::new)?,
            defillama,
            dexscreener: connect.one("dexscreener", Dexscreener::new)?,
            okx,
            rendered: LastRendered::default(),
        })
    }
}
