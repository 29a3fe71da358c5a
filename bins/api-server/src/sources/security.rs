//! Security of tokens.

use data_sources::goplus::Goplus;
use data_sources::okx::Okx;

use super::connect::Connect;
use crate::error::ServeError;

/// The scanners of tokens, and the sources of their holders, pools and quotes.
#[derive(Debug)]
pub(crate) struct Security {
    pub(crate) goplus: Goplus,
    pub(crate) okx: Okx,
}

impl Security {
    pub(super) fn connect(connect: &Connect<'_>, okx: Okx) -> Result<Self, ServeError> {
        Ok(Self {
            goplus: connect.one("goplus", Goplus::new)?,
            okx,
        })
    }
}
