//! What accounts hold.

use data_sources::blockscout::Blockscout;
use data_sources::defillama::Defillama;
use data_sources::evm::EvmReader;
use data_sources::okx::Okx;

use super::connect::Connect;
use crate::error::ServeError;

/// Who knows balances: an index of all chains, their nodes, and their explorers; and what the
/// chains' own coins are worth.
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
