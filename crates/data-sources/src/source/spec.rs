//! The description of an upstream: its addresses, limits and quotas.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use secrecy::SecretString;

use super::Conduct;
use crate::{
    budget::{Families, QuotaSpec},
    provenance::Mode,
    transport::Limits,
};

/// One upstream: its name, its addresses, its key, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamSpec {
    /// Its table in a configuration: `[upstreams.NAME]`.
    pub name: &'static str,
    /// Its addresses: the key in that table and the public address. The first one is the default.
    pub urls: &'static [(&'static str, &'static str)],
    /// Whether it needs a key.
    pub key: KeyRule,
    /// Its sources, as they appear in `meta.sources` and `/status`.
    pub sources: &'static [&'static str],
    /// The limits that we keep, below its own, and what each of them covers.
    pub families: Families,
    /// Its quotas of calls, unless the configuration says otherwise.
    pub quota: QuotaSpec,
    /// Whether a call starts work of a model, which costs more than reading data.
    pub models: bool,
    /// Time, size and tries of a call.
    pub limits: Limits,
    /// Pauses after a rate limit and after failures.
    pub conduct: Conduct,
}

impl UpstreamSpec {
    /// The usual rules of a source of data, for a specification to end with. What an upstream has
    /// of its own is empty here.
    pub(crate) const DATA: Self = Self {
        name: "",
        urls: &[],
        key: KeyRule::Keyless,
        sources: &[],
        families: Families::UNLIMITED,
        quota: QuotaSpec::NONE,
        models: false,
        limits: Limits::USUAL,
        conduct: Conduct::DATA,
    };
}

/// Whether an upstream needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// It takes no key.
    Keyless,
    /// A key raises its limits.
    Optional,
    /// Without a key it is disabled.
    Required,
}

/// An operator's settings of an upstream.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// Addresses that replace the public ones, by their keys.
    pub urls: BTreeMap<String, String>,
    /// Choices such as models and lists.
    pub options: BTreeMap<String, String>,
    /// Its key.
    pub api_key: Option<SecretString>,
    /// The secret that signs requests, where requests are signed.
    pub secret_key: Option<SecretString>,
    /// The third secret, where an upstream has three.
    pub passphrase: Option<SecretString>,
    /// Whether the upstream may be asked at all.
    pub enabled: bool,
    /// Whether the addresses are the upstream or a recording of it.
    pub mode: Mode,
    /// Time for a call, instead of the default.
    pub timeout: Option<Duration>,
    /// Calls in a month, instead of the default quota; 0 means no quota.
    pub monthly_quota: Option<u64>,
    /// Calls in a day, instead of the default quota; 0 means no quota.
    pub daily_quota: Option<u64>,
    /// How many servers share the same address or key: each takes its share of every budget and
    /// quota.
    pub servers: NonZeroU32,
    /// Whether these servers count their calls in one store: a quota is then that of all of them,
    /// and only budgets are divided.
    pub quotas_are_shared: bool,
    /// The percentage of every budget and quota that is not for newcomers
    /// ([`Caller`](crate::Caller)).
    pub reserved_percent: u8,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self {
            urls: BTreeMap::new(),
            options: BTreeMap::new(),
            api_key: None,
            secret_key: None,
            passphrase: None,
            enabled: true,
            mode: Mode::Live,
            timeout: None,
            monthly_quota: None,
            daily_quota: None,
            servers: NonZeroU32::MIN,
            quotas_are_shared: false,
            reserved_percent: 0,
        }
    }
}
