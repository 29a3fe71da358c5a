//! Balances of accounts.

use data_sources::blockscout::Blockscout;
use data_sources::defillama::Defillama;
use data_sources::evm::EvmReader;
use data_sources::okx::Okx;

use super::connect::Connect;
use crate::error::ServeError;

/// The sources of balances: an index of all chains, the chains' nodes and explorers; and the prices
/// of the chains' own coins.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) okx: Okx,
    pub(crate) evm: EvmReader,
    pub(crate) blockscout: Blockscout,
    pub(crate) defillama: Defillama,
}

impl Accounts {
    pub(super) fn connect(
        connect: &Connect<'_>,
        okx: Okx,
        evm: EvmReader,
        defillama: Defillama,
    ) -> Result<Self, ServeError> {
        Ok(Self {
            okx,
            evm,
            defillama,
            blockscout: connect.one("blockscout", Blockscout::new)?,
        })
    }
}
