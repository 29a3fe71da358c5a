//! Circle's interface for the bridge rail: the fees of a route, the remaining fast allowance, and
//! the attestations of burns.
//!
//! Fees are fractions of a basis point in JSON numbers, and are read from the number's own text.
//! Circle locks a client out for five minutes when it exceeds the rate limit, so no request is sent
//! in that time.

mod messages;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::U256;
use calldata_checks::{Decimal, UtcSeconds};
use plan_builder::ports::{BridgeFeeReading, BridgeFees, PortError, PortErrorReason};

pub use self::messages::AttestedMessage;
use crate::{
    budget::{Families, Rate},
    error::SourceErrorKind,
    json::{Json, Object},
    provenance::Clock,
    rail::{Fault, VenueConfig},
    source::{Conduct, KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Reply, Transport, TransportError},
};

/// Circle's public host.
pub const DEFAULT_BASE_URL: &str = "https://iris-api.circle.com";

/// Ids of the sources that this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 3] = [FEES, ALLOWANCE, MESSAGES];

const NAME: &str = "circle";
const FEES: &str = "circle.fees";
const ALLOWANCE: &str = "circle.allowance";
const MESSAGES: &str = "circle.messages";

/// Finality thresholds of the two rows that are read.
const FAST: u64 = 1000;
const STANDARD: u64 = 2000;
const USDC_DECIMALS: u8 = 6;
/// The whole of an amount, in basis points: no fee is higher.
const WHOLE: u128 = 10_000;
/// The budget of one address. Circle allows 35 requests in a second.
const RATE: Rate = Rate::per(30, 1);
const LOCKOUT: Duration = Duration::from_secs(300);

/// How Circle is reached. It takes no key.
#[derive(Clone, Debug)]
pub struct CircleConfig {
    /// Its base URL; a path is a prefix of every request.
    pub base_url: String,
    /// Settings that every venue has.
    pub common: VenueConfig,
}

impl Default for CircleConfig {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            common: VenueConfig::default(),
        }
    }
}

impl From<SourceConfig> for CircleConfig {
    fn from(said: SourceConfig) -> Self {
        let mut config = Self::default();
        config.common.take(&said);
        if let Some(url) = said.urls.get("base_url") {
            config.base_url.clone_from(url);
        }
        config
    }
}

/// Circle as a provider of [`BridgeFees`], and of the attestations of burns.
#[derive(Debug)]
pub struct Circle {
    source: Source,
}

impl Circle {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: NAME,
        urls: &[("base_url", DEFAULT_BASE_URL)],
        key: KeyRule::Keyless,
        sources: &SOURCES,
        families: Families::One(RATE),
        conduct: Conduct {
            usual_pause: LOCKOUT,
            shortest_pause: LOCKOUT,
            ..Conduct::PLANS
        },
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when the base URL cannot be used.
    pub fn new(
        transport: &Transport,
        config: CircleConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let said = SourceConfig {
            urls: BTreeMap::from([("base_url".to_owned(), config.base_url)]),
            ..config.common.source()
        };
        let source = Source::limited(transport, Self::SPEC, said, config.common.limits, clock)?;
        Ok(Self { source })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    async fn ask<T>(
        &self,
        source: &'static str,
        path: &str,
        subject: &str,
        not_found: Option<&(dyn Fn() -> Fault + Sync)>,
        read: impl FnOnce(&Json<'_>) -> Result<T, SourceErrorKind> + Send,
    ) -> Result<T, PortError> {
        let ask = self.source.get(source, path).accepts_any();
        self.source
            .ask_port(ask, |reply| {
                refused(reply, subject, not_found).map_or(Ok(()), Err)?;
                Ok(read(&Json::document(&reply.body)?)?)
            })
            .await
    }
}

impl BridgeFees for Circle {
    async fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        let query = if forward { "?forward=true" } else { "" };
        let path = format!("/v2/burn/USDC/fees/{source_domain}/{destination_domain}{query}");
        let subject = format!("route from domain {source_domain} to domain {destination_domain}");
        // The caller asks for existing routes only. When the service knows no fees for one, the
        // service is at fault, not the caller.
        let no_fees = || {
            Fault::Answer(PortErrorReason::Refused {
                detail: format!("no fees for the {subject}"),
            })
        };
        let read_at = self.source.now_utc();
        self.ask(FEES, &path, &subject, Some(&no_fees), |rows| {
            fees(rows, forward, read_at)
        })
        .await
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        let path = "/v2/fastBurn/USDC/allowance";
        self.ask(ALLOWANCE, path, "fast allowance", None, |body| {
            let allowance = body.object()?.member("allowance")?;
            allowance
                .decimal()?
                .atoms(USDC_DECIMALS)
                .ok_or_else(|| allowance.malformed("an amount of USDC with at most 6 decimals"))
        })
        .await
    }
}

/// The meaning of a status other than 2xx for the request or the upstream.
fn refused(
    reply: &Reply,
    subject: &str,
    not_found: Option<&(dyn Fn() -> Fault + Sync)>,
) -> Option<Fault> {
    let kind = reply.failure()?;
    Some(match (reply.status.as_u16(), not_found) {
        (404, Some(fault)) if is_own(reply) => fault(),
        (400 | 422, _) => Fault::Answer(PortErrorReason::Refused {
            detail: format!("{subject}: {kind}"),
        }),
        _ => Fault::Upstream(kind),
    })
}

/// Whether the service itself answered. A gateway answers 404 as well, with its own page: only the
/// service's own JSON says that there is no such thing.
fn is_own(reply: &Reply) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&reply.body).is_ok()
}

fn fees(
    rows: &Json<'_>,
    forward: bool,
    read_at: UtcSeconds,
) -> Result<BridgeFeeReading, SourceErrorKind> {
    let (mut fast_bps, mut standard_bps, mut forward_fee) = (None, None, None);
    for json in rows.elements()? {
        let row = json.object()?;
        let threshold: u64 = row.member("finalityThreshold")?.integer()?;
        let seen = match threshold {
            FAST => &mut fast_bps,
            STANDARD => &mut standard_bps,
            // No plan uses a threshold between the two.
            _ => continue,
        };
        // Routes without a fast transfer have a meaningless fast row: it is only required where a
        // plan asks for one.
        let fee = match threshold {
            FAST => bps(&row).ok(),
            _ => Some(bps(&row)?),
        };
        if seen.is_some() {
            return Err(json.malformed("one row for each finality threshold"));
        }
        *seen = fee;
        if forward && let Some(fee) = row.find("forwardFee") {
            forward_fee = forward_fee.max(Some(highest(&fee)?));
        }
    }
    if forward && forward_fee.is_none() {
        return Err(rows.malformed("a row with a forwardFee"));
    }
    Ok(BridgeFeeReading {
        fast_bps,
        standard_bps: standard_bps
            .ok_or_else(|| rows.malformed("a row with finality threshold 2000"))?,
        forward_fee,
        read_at,
    })
}

fn bps(row: &Object<'_>) -> Result<Decimal, SourceErrorKind> {
    let json = row.member("minimumFee")?;
    let bps = json.decimal()?;
    let within = Decimal::new(WHOLE, 0).is_ok_and(|whole| bps <= whole);
    within
        .then_some(bps)
        .ok_or_else(|| json.malformed("at most 10000 basis points"))
}

/// The highest forwarding fee in the smallest unit of USDC: the greatest of `{low, med, high}`, or
/// the sum of the older `{relayFee, destinationGasOverhead}`.
fn highest(fee: &Json<'_>) -> Result<U256, SourceErrorKind> {
    let members = fee.object()?;
    let units = |json: Json<'_>| {
        json.decimal()?
            .atoms(0)
            .ok_or_else(|| json.malformed("a whole number of the smallest unit of USDC"))
    };
    if let Some(relay) = members.find("relayFee") {
        let overhead = members.member("destinationGasOverhead")?;
        // Each has at most 36 digits.
        return Ok(units(relay)?.saturating_add(units(overhead)?));
    }
    let high = units(members.member("high")?)?;
    let lower = ["low", "med"]
        .into_iter()
        .filter_map(|key| members.find(key));
    lower
        .map(units)
        .try_fold(high, |highest, fee| Ok(highest.max(fee?)))
}
