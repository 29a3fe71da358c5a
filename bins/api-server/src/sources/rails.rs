//! The services that quote, simulate and attest the actions of wallets.

use alloy_primitives::B256;
use calldata_checks::{BasisPoints, FeePolicy};
use data_sources::Source;
use data_sources::circle::Circle;
use data_sources::lifi::Lifi;
use data_sources::probe::{Probed, Question, Rail, Terms};
use data_sources::rpc::RpcReader;

use super::connect::Connect;
use crate::error::ServeError;

/// The aggregator of all chains but the home chain, the bridge's service, and the nodes of the
/// chains.
#[derive(Debug)]
pub(crate) struct Rails {
    pub(crate) aggregator: Aggregator,
    pub(crate) circle: Circle,
    pub(crate) nodes: RpcReader,
}

/// The aggregator, with the name and the fee of this service there.
#[derive(Debug)]
pub(crate) struct Aggregator {
    pub(crate) lifi: Lifi,
    /// The service's name and fee there, for the probe.
    terms: Terms,
}

impl Rails {
    /// Connects the services. `fees` are the fees in plans. Without them the service asks under its
    /// own name and for no fee.
    pub(super) fn connect(
        connect: &Connect<'_>,
        fees: Option<&FeePolicy>,
    ) -> Result<Self, ServeError> {
        let lifi = connect.one("lifi", |transport, settings, clock| {
            Lifi::new(transport, settings.into(), clock)
        })?;
        let circle = connect.one("circle", |transport, settings, clock| {
            Circle::new(transport, settings.into(), clock)
        })?;
        let own = fees.and_then(FeePolicy::own);
        let integrator = fees.map_or(connect.brand(), |fees| &fees.integrator);
        let terms = Terms {
            integrator: integrator.to_owned(),
            fee: own.map_or(BasisPoints::NONE, |own| own.bps),
            builder_code: B256::ZERO,
            builder: None,
        };
        Ok(Self {
            aggregator: Aggregator { lifi, terms },
            circle,
            nodes: connect.rpc()?,
        })
    }
}

impl Probed for Aggregator {
    fn source(&self) -> Option<&Source> {
        Some(self.lifi.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let Self { lifi, terms } = self;
        let rail = Rail {
            adapter: lifi,
            terms,
        };
        rail.asks()
    }
}
