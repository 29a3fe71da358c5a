//! One call to an upstream, put together step by step.

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

/// Which statuses the adapter reads itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accepts {
    /// 2xx.
    Success,
    /// These as well.
    Also(&'static [u16]),
    /// All but 429.
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

/// Headers that carry the time, made anew for each try.
pub(super) type Sign<'a> = Box<dyn Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync + 'a>;

impl<'a> Ask<'a> {
    /// Another of the upstream's addresses, by its key.
    pub(crate) fn at(mut self, url: &'static str) -> Self {
        self.url = Some(url);
        self
    }

    /// A header of the interface.
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    /// A header with a key. A key that no header can carry is left out; the upstream then says so.
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

    /// Headers that carry the time, made anew for each try.
    pub(crate) fn signed(
        mut self,
        sign: impl Fn() -> Result<HeaderMap, SourceErrorKind> + Send + Sync + 'a,
    ) -> Self {
        self.signed = Some(Box::new(sign));
        self
    }

    /// What the body is, if not JSON.
    pub(crate) fn media(mut self, media: Media) -> Self {
        self.media = media;
        self
    }

    /// The most that it can weigh.
    pub(crate) fn weighing(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// What it weighed, as its reply shows.
    pub(crate) fn weighed_by(mut self, weigh: Option<Weigh>) -> Self {
        self.weigh = weigh;
        self
    }

    /// It looks at work that an earlier call began: it takes nothing of the budget.
    pub(crate) fn follows_up(mut self) -> Self {
        self.weight = 0;
        self.free()
    }

    /// It costs nothing although the upstream's other calls do.
    pub(crate) fn free(mut self) -> Self {
        self.free = true;
        self
    }

    /// Statuses other than 2xx that are answers.
    pub(crate) fn accepts(mut self, statuses: &'static [u16]) -> Self {
        self.accepts = Accepts::Also(statuses);
        self
    }

    /// Every status is an answer but "too many": the adapter sorts them itself.
    pub(crate) fn accepts_any(mut self) -> Self {
        self.accepts = Accepts::Any;
        self
    }

    /// A larger or smaller body.
    pub(crate) fn max_body_bytes(mut self, limit: usize) -> Self {
        self.limits.max_body_bytes = limit;
        self
    }

    /// More or less time, retries included.
    pub(crate) fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// One try only: the call does something.
    pub(crate) fn once(mut self) -> Self {
        self.limits.attempts = 1;
        self
    }
}
