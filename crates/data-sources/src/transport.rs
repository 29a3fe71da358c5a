//! The HTTP client of every upstream. It follows no redirects, limits time and body size, and
//! accepts only the expected content type.

mod call;
mod health;
mod limits;
mod reply;
mod retry_after;
mod upstream;

use reqwest::{Url, redirect::Policy};

pub(crate) use self::{
    call::{Call, Weigh},
    health::HealthBoard,
    reply::{Media, Reply, not_json},
    retry_after::{reported, retry_after},
};
pub use self::{
    health::{HealthState, SourceHealth},
    limits::Limits,
    upstream::Upstream,
};

/// Upstream text quoted in an error is cut to this many characters.
pub(crate) const QUOTED_CHARS: usize = 160;

/// The HTTP client that all upstreams of a process share.
#[derive(Clone, Debug)]
pub struct Transport {
    client: reqwest::Client,
}

impl Transport {
    /// Builds the client: no redirects (only the requested host may answer), no cookies, gzip, no
    /// `Referer`.
    ///
    /// # Errors
    ///
    /// [`TransportError`] when the TLS backend cannot be initialised.
    pub fn new() -> Result<Self, TransportError> {
        Self::named(concat!("data-sources/", env!("CARGO_PKG_VERSION")))
    }

    /// Like [`Self::new`], with this `User-Agent`, so that upstreams see who asks and whom to
    /// contact.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and when the name cannot be a header.
    pub fn named(user_agent: &str) -> Result<Self, TransportError> {
        let tls = outbound_tls::http().map_err(|_| TransportError::Client)?;
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            .referer(false)
            .user_agent(user_agent)
            .build()
            .map(|client| Self { client })
            .map_err(|_| TransportError::Client)
    }

    /// An upstream that uses this client. `base_url` is the prefix of every request.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when `base_url` is not an absolute `http` or `https` URL without
    /// query and fragment.
    pub fn upstream(&self, base_url: &str) -> Result<Upstream, TransportError> {
        let base = absolute(base_url)?;
        let prefix =
            base.query().is_none() && base.username().is_empty() && base.password().is_none();
        if !prefix {
            return Err(TransportError::BaseUrl);
        }
        Ok(self.over(base.as_str().trim_end_matches('/')))
    }

    /// An endpoint that uses this client: `url` is the whole address, and may carry a key.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when `url` is not an absolute `http` or `https` URL without
    /// fragment.
    pub(crate) fn endpoint(&self, url: &str) -> Result<Upstream, TransportError> {
        Ok(self.over(absolute(url)?.as_str()))
    }

    fn over(&self, base: &str) -> Upstream {
        Upstream {
            client: self.client.clone(),
            base: base.to_owned(),
        }
    }
}

fn absolute(url: &str) -> Result<Url, TransportError> {
    Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| url.host_str().is_some() && url.fragment().is_none())
        .ok_or(TransportError::BaseUrl)
}

/// A transport that could not be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The HTTP client could not be built.
    #[error("the http client cannot be built")]
    Client,
    /// The base URL cannot be used.
    #[error("base_url is not an absolute http or https url without user, query and fragment")]
    BaseUrl,
    /// A key cannot be sent in a header.
    #[error("a key contains characters that no header may")]
    Key,
}

impl TransportError {
    /// Stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Client => "http_client_unusable",
            Self::BaseUrl => "base_url_invalid",
            Self::Key => "key_invalid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_absolute_and_carry_no_secret() {
        let transport = Transport::new().unwrap();
        let parsed = |url: &str| transport.upstream(url);
        assert_eq!(
            parsed("https://web3.okx.com/").unwrap().base,
            "https://web3.okx.com"
        );
        assert_eq!(
            parsed("http://127.0.0.1:1/web3.okx.com").unwrap().base,
            "http://127.0.0.1:1/web3.okx.com"
        );
        for bad in [
            "web3.okx.com",
            "ftp://a",
            "https://a?k=1",
            "https://a#f",
            "https://u:p@a",
            "data:,x",
        ] {
            assert_eq!(parsed(bad).err(), Some(TransportError::BaseUrl), "{bad}");
        }
    }

    #[test]
    fn an_endpoint_may_carry_a_key_that_is_never_printed() {
        let transport = Transport::new().unwrap();
        let url = "https://user:password@node.example/v3/secret?apikey=hidden";
        let endpoint = transport.endpoint(url).unwrap();
        assert_eq!(endpoint.base, url);
        let printed = format!("{endpoint:?}");
        assert!(
            !["password", "secret", "hidden", "node"]
                .iter()
                .any(|word| printed.contains(word))
        );
        for bad in [
            "node.example",
            "ws://node.example",
            "https://node.example#f",
            "",
        ] {
            let refused = transport.endpoint(bad);
            assert_eq!(refused.err(), Some(TransportError::BaseUrl), "{bad}");
        }
    }
}
