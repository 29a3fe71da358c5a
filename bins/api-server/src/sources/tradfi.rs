//! Markets outside of crypto.

use data_sources::cboe::Cboe;
use data_sources::frankfurter::Frankfurter;
use data_sources::fred::Fred;
use data_sources::treasury::Treasury;
use data_sources::yahoo::Yahoo;

use super::connect::Connect;
use crate::error::ServeError;

/// The sources of yields, indices, volatility, currencies and commodities.
#[derive(Debug)]
pub(crate) struct Tradfi {
    pub(crate) cboe: Cboe,
    pub(crate) frankfurter: Frankfurter,
    pub(crate) fred: Fred,
    pub(crate) treasury: Treasury,
    pub(crate) yahoo: Yahoo,
}

impl Tradfi {
    pub(super) fn connect(connect: &Connect<'_>) -> Result<Self, ServeError> {
        Ok(Self {
            cboe: connect.one("cboe", Cboe::new)?,
            frankfurter: connect.one("frankfurter", Frankfurter::new)?,
            fred: connect.one("fred", Fred::new)?,
            treasury: connect.one("treasury", Treasury::new)?,
            yahoo: connect.one("yahoo", Yahoo::new)?,
        })
    }
}
