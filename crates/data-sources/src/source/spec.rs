//! What is known of an upstream before it is asked.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use secrecy::SecretString;

use super::Conduct;
use crate::{
    budget::{Families, QuotaSpec},
    provenance::Mode,
    transport::Limits,
};

/// One upstream: its name, its addresses, its key, and how often it may be asked.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamSpec {
    /// Its table in a configuration: `[upstreams.NAME]`.
    pub name: &'static str,
    /// Its addresses: the key in that table and the public address. The first is the usual one.
    pub urls: &'static [(&'static str, &'static str)],
    /// Whether it needs a key.
    pub key: KeyRule,
    /// Its sources, as they appear in `meta.sources` and `/status`.
    pub sources: &'static [&'static str],
    /// How much of it we allow ourselves, below its own limits, and what each limit covers.
    pub families: Families,
    /// Its quotas of calls, unless the configuration says otherwise.
    pub quota: QuotaSpec,
    /// Whether a call sets a model to work, which costs more than reading data.
    pub models: bool,
    /// Time, size and tries of a call.
    pub limits: Limits,
    /// Pauses after a rate limit and after failures.
    pub conduct: Conduct,
}

/// Whether an upstream needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// It has none.
    Keyless,
    /// It gives more with one.
    Optional,
    /// Without one it is disabled.
    Required,
}

/// What an operator says of an upstream.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// Addresses that replace the public ones, by their keys.
    pub urls: BTreeMap<String, String>,
    /// What is chosen: models, lists.
    pub options: BTreeMap<String, String>,
    /// Its key.
    pub api_key: Option<SecretString>,
    /// The secret that signs, where requests are signed.
    pub secret_key: Option<SecretString>,
    /// The third secret, where there are three.
    pub passphrase: Option<SecretString>,
    /// Whether it may be asked at all.
    pub enabled: bool,
    /// Whether the addresses are the upstream or a recording of it.
    pub mode: Mode,
    /// Time for a call, instead of the usual one.
    pub timeout: Option<Duration>,
    /// Calls in a month, instead of the usual quota; 0 is none.
    pub monthly_quota: Option<u64>,
    /// Calls in a day, instead of the usual quota; 0 is none.
    pub daily_quota: Option<u64>,
    /// How many servers ask from the same address or with the same key: each takes its share of
    /// every budget and quota.
    pub servers: NonZeroU32,
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
        }
    }
}
