//! Chains, and sources that help to read their data.

use data_sources::evm::EvmReader;
use data_sources::fourbyte::Fourbyte;
use data_sources::sourcify::Sourcify;

use super::connect::Connect;
use crate::error::ServeError;

/// The nodes of every chain, and the sources of contract interfaces.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) evm: EvmReader,
    pub(crate) fourbyte: Fourbyte,
    pub(crate) sourcify: Sourcify,
}

impl Chain {
    pub(super) fn connect(connect: &Connect<'_>, evm: EvmReader) -> Result<Self, ServeError> {
        Ok(Self {
            evm,
            fourbyte: connect.one("fourbyte", Fourbyte::new)?,
            sourcify: connect.one("sourcify", Sourcify::new)?,
        })
    }
}
