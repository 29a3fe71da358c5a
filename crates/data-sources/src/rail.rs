//! The shared parts of the adapters of the agent rail: their configuration, and their failures as
//! errors of the ports.

use std::{num::NonZeroU32, time::Duration};

use calldata_checks::UtcSeconds;
use plan_builder::ports::{PortError, PortErrorReason};

use crate::{
    budget::QuotaSpec,
    cached::Failure,
    error::{SourceError, SourceErrorKind},
    provenance::Mode,
    source::{self, Ask, Source, SourceConfig},
    transport::{Limits, Reply},
};

/// The operator's settings of a venue that every adapter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueConfig {
    /// Whether the venue may be asked at all.
    pub enabled: bool,
    /// Whether its addresses are the upstream or a recording of it.
    pub mode: Mode,
    /// Time, size and tries of a call. A rate limit is never waited for.
    pub limits: Limits,
    /// How many servers share the same address: each takes its share of the budget.
    pub servers: NonZeroU32,
    /// Calls in a calendar day and a calendar month; the servers share them like the budget.
    pub quota: QuotaSpec,
    /// As [`SourceConfig::quotas_are_shared`].
    pub quotas_are_shared: bool,
    /// As [`SourceConfig::reserved_percent`].
    pub reserved_percent: u8,
}

impl Default for VenueConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: Mode::Live,
            limits: Limits::default(),
            servers: NonZeroU32::MIN,
            quota: QuotaSpec::NONE,
            quotas_are_shared: false,
            reserved_percent: 0,
        }
    }
}

impl VenueConfig {
    /// Takes over the general settings of an upstream. The adapter handles addresses and keys.
    pub(crate) fn take(&mut self, said: &SourceConfig) {
        self.enabled = said.enabled;
        self.mode = said.mode;
        self.servers = said.servers;
        self.quotas_are_shared = said.quotas_are_shared;
        self.reserved_percent = said.reserved_percent;
        self.quota = QuotaSpec {
            daily: said.daily_quota.unwrap_or(0),
            monthly: said.monthly_quota.unwrap_or(0),
        };
        if let Some(timeout) = said.timeout {
            self.limits.timeout = timeout;
        }
    }

    /// The settings for a [`Source`]. The adapter handles addresses and keys.
    pub(crate) fn source(&self) -> SourceConfig {
        SourceConfig {
            enabled: self.enabled,
            mode: self.mode,
            servers: self.servers,
            quotas_are_shared: self.quotas_are_shared,
            reserved_percent: self.reserved_percent,
            daily_quota: Some(self.quota.daily),
            monthly_quota: Some(self.quota.monthly),
            ..SourceConfig::default()
        }
    }
}

/// The reason why a reply gives no value; an answer to the request is an error of the port.
pub(crate) type Fault = source::Fault<PortErrorReason>;

impl Source {
    /// [`Self::ask`] for a port: the plain value, or the port's error.
    pub(crate) async fn ask_port<T>(
        &self,
        ask: Ask<'_>,
        read: impl FnOnce(&Reply) -> Result<T, Fault> + Send,
    ) -> Result<T, PortError> {
        let told = self.ask(ask, read).await;
        told.map(|told| told.value)
            .map_err(|reason| self.port_error(reason))
    }

    /// `reason` with the name of this upstream.
    pub(crate) fn port_error(&self, reason: impl Into<PortErrorReason>) -> PortError {
        PortError {
            source_name: self.spec().name.into(),
            reason: reason.into(),
        }
    }

    /// The present time, as plans write it.
    pub(crate) fn now_utc(&self) -> UtcSeconds {
        UtcSeconds::from_timestamp(self.now())
    }
}

impl From<SourceError> for PortErrorReason {
    fn from(error: SourceError) -> Self {
        // The error around this one carries the upstream's name.
        let SourceError { source, kind } = error;
        let call = source.split_once('.').map_or(source, |(_, call)| call);
        match kind {
            SourceErrorKind::RateLimited { retry_after } => Self::RateLimited {
                retry_after: retry_after.map(Duration::from_secs),
            },
            SourceErrorKind::OverBudget { retry_after }
            | SourceErrorKind::QuotaSpent { retry_after } => Self::RateLimited {
                retry_after: Some(Duration::from_secs(retry_after)),
            },
            SourceErrorKind::Malformed {
                path,
                expected,
                observed,
            } => Self::Malformed {
                path,
                detail: format!("{call}: expected {expected}, got {observed}"),
            },
            SourceErrorKind::WrongContentType { .. } | SourceErrorKind::TooLarge { .. } => {
                Self::Malformed {
                    path: "$".to_owned(),
                    detail: format!("{call}: {kind}"),
                }
            }
            _ => Self::Unavailable {
                detail: format!("{call}: {kind}"),
            },
        }
    }
}

impl Failure for PortErrorReason {
    fn reason(&self) -> String {
        self.to_string()
    }

    fn is_absence(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    fn is_own_limit(&self) -> bool {
        // A pause that the venue asked for looks the same. It is refused again before it is sent.
        matches!(self, Self::RateLimited { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(source: &'static str, kind: &SourceErrorKind) -> PortErrorReason {
        let kind = kind.clone();
        SourceError { source, kind }.into()
    }

    #[test]
    fn reasons_keep_place_and_detail() {
        let malformed = SourceErrorKind::Malformed {
            path: "$.a[0]".to_owned(),
            expected: "an address",
            observed: "12".to_owned(),
        };
        assert_eq!(
            reason("lifi.quote", &malformed).to_string(),
            "malformed answer at $.a[0]: quote: expected an address, got 12"
        );
        let page = SourceErrorKind::WrongContentType {
            expected: "json",
            observed: "text/html".to_owned(),
        };
        assert_eq!(
            reason("lifi.quote", &page).to_string(),
            "malformed answer at $: quote: content type \"text/html\" instead of json"
        );
        assert_eq!(
            reason("lifi.quote", &SourceErrorKind::Timeout { limit_ms: 5 }).to_string(),
            "unavailable: quote: no answer within 5 ms"
        );
    }
}
