//! Who quotes, simulates and attests what wallets do.

use data_sources::Source;
use data_sources::circle::Circle;
use data_sources::lifi::Lifi;
use data_sources::probe::{Probed, Question, Rail, Terms};
use data_sources::rpc::RpcReader;
use plan_checks::FeePolicy;

use super::connect::Connect;
use crate::error::ServeError;

/// The aggregator, the bridge's service and the nodes of the chains.
#[derive(Debug)]
pub(crate) struct Rails {
    pub(crate) aggregator: Aggregator,
    pub(crate) bridge: Bridge,
    pub(crate) nodes: RpcReader,
}

/// The aggregator of all chains but the home chain, and who asks it.
#[derive(Debug)]
pub(crate) struct Aggregator {
    pub(crate) lifi: Lifi,
    /// The service's name and fee there; `None` where nothing is planned. Then it is not probed: few quotes are free.
    terms: Option<Terms>,
}

/// The service that attests burns.
#[derive(Debug)]
pub(crate) struct Bridge {
    pub(crate) circle: Circle,
    /// Whether anything is planned with it.
    is_used: bool,
}

impl Rails {
    pub(super) fn connect(
        connect: &Connect<'_>,
        fees: Option<&FeePolicy>,
    ) -> Result<Self, ServeError> {
        let lifi = connect.one("lifi", |transport, said, clock| {
            Lifi::new(transport, said.into(), clock)
        })?;
        let circle = connect.one("circle", |transport, said, clock| {
            Circle::new(transport, said.into(), clock)
        })?;
        Ok(Self {
            aggregator: Aggregator {
                lifi,
                terms: fees.and_then(terms),
            },
            bridge: Bridge {
                circle,
                is_used: fees.is_some(),
            },
            nodes: connect.rpc()?,
        })
    }
}

fn terms(fees: &FeePolicy) -> Option<Terms> {
    Some(Terms {
        integrator: fees.integrator.clone(),
        fee: fees.own()?.bps,
        builder_code: fees.pm_builder_code,
        builder: None,
    })
}

impl Probed for Aggregator {
    fn source(&self) -> Option<&Source> {
        Some(self.lifi.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let Some(terms) = &self.terms else {
            return Vec::new();
        };
        let adapter = &self.lifi;
        Rail { adapter, terms }.asks()
    }
}

impl Probed for Bridge {
    fn source(&self) -> Option<&Source> {
        Some(self.circle.source())
    }

    fn questions(&self) -> Vec<Question<'_>> {
        match self.is_used {
            true => self.circle.questions(),
            false => Vec::new(),
        }
    }
}
