//! One call to an upstream, built step by step. [`Source::ask`](super::Source::ask) makes it.

use std::time::Duration;

use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    error::SourceErrorKind,
    transport::{Limits, Media, Weigh},
};

/// One call: a GET, or a POST of JSON.
pub(crate) struct Ask<'a> {
    pub(super) source: &'static str,
    pub(super) url: Option<&'static str>,
    pub(super) path_and_query: &'a str,
    pub(super) body: Option<&'a str>,
    pub(super) headers: HeaderMap,
    pub(super) signed: Option<Sign<'a>>,
    pub(super) media: Media,
    pub(super) weight: u32,
    pub(super) weigh: Option<Weigh>,
    pub(super) free: bool,
    pub(super) accepts: Accepts,
    pub(super) limits: Limits,
}

/// The statuses that the adapter reads itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accepts {
    /// 2xx.
    Success,
    /// These in addition to 2xx.
    Also(&'static [u16]),
    /// All except 429.
    Any,
}

impl Accepts {
    pub(super) fn includes(self, status: StatusCode) -> bool {
        match self {
            Self::Success => false,
            Self::Also(statuses) => statuses.contains(&status.as_u16()),
            Self::Any => status != StatusCode::TOO_MANY_REQUESTS,
        }
    }
}

/// Headers that carry the time, built anew for each try.
pub(super) type Sign<'a> = Box<dyn Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync + 'a>;

impl<'a> Ask<'a> {
    /// Uses another address of the upstream, by its key.
    pub(crate) fn at(mut self, url: &'static str) -> Self {
        self.url = Some(url);
        self
    }

    /// Adds a header of the interface.
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    /// Adds a header with a key. A key that no header can carry is left out, and the upstream then
    /// refuses the call.
    pub(crate) fn secret_header(
        mut self,
        name: &'static str,
        prefix: &str,
        secret: Option<&SecretString>,
    ) -> Self {
        let value = secret.and_then(|secret| {
            HeaderValue::from_str(&format!("{prefix}{}", secret.expose_secret().trim())).ok()
        });
        if let Some(mut value) = value {
            value.set_sensitive(true);
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Adds headers that carry the time, built anew for each try.
    pub(crate) fn signed(
        mut self,
        sign: impl Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync + 'a,
    ) -> Self {
        self.signed = Some(Box::new(sign));
        self
    }

    /// Expects another body than JSON.
    pub(crate) fn media(mut self, media: Media) -> Self {
        self.media = media;
        self
    }

    /// Sets the greatest possible weight.
    pub(crate) fn weighing(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Computes the real weight from the reply.
    pub(crate) fn weighed_by(mut self, weigh: Option<Weigh>) -> Self {
        self.weigh = weigh;
        self
    }

    /// Marks a poll of work that an earlier call began: it takes nothing of the budget.
    pub(crate) fn follows_up(mut self) -> Self {
        self.weight = 0;
        self.free()
    }

    /// Marks a call as one that costs nothing, although the upstream's other calls do.
    pub(crate) fn free(mut self) -> Self {
        self.free = true;
        self
    }

    /// Accepts these statuses as answers, in addition to 2xx.
    pub(crate) fn accepts(mut self, statuses: &'static [u16]) -> Self {
        self.accepts = Accepts::Also(statuses);
        self
    }

    /// Accepts every status as an answer except "too many requests": the adapter judges them
    /// itself.
    pub(crate) fn accepts_any(mut self) -> Self {
        self.accepts = Accepts::Any;
        self
    }

    /// Sets the largest body.
    pub(crate) fn max_body_bytes(mut self, limit: usize) -> Self {
        self.limits.max_body_bytes = limit;
        self
    }

    /// Sets the time limit, retries included.
    pub(crate) fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// Allows one try only, because the call has effects.
    pub(crate) fn once(mut self) -> Self {
        self.limits.attempts = 1;
        self
    }
}
