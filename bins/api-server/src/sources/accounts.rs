//! What accounts hold.

use data_sources::blockscout::Blockscout;
use data_sources::evm::EvmReader;
use data_sources::okx::Okx;

use super::connect::Connect;
use crate::error::ServeError;

/// Who knows balances: an index of all chains, their nodes, and their explorers.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) okx: Okx,
    pub(crate) evm: EvmReader,
    pub(crate) blockscout: Blockscout,
}

impl Accounts {
    pub(super) fn connect(
        connect: &Connect<'_>,
        okx: Okx,
        evm: EvmReader,
    ) -> Result<Self, ServeError> {
        Ok(Self {
            okx,
            evm,
            blockscout: connect.one("blockscout", Blockscout::new)?,
        })
    }
}
