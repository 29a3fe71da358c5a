//! The errors of a configuration.

use thiserror::Error;

/// The unusable member of a [`TurnkeyConfig`](crate::TurnkeyConfig). No key is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TurnkeyConfigError {
    /// The URL.
    #[error("expected an https URL with a host, or an http URL of this machine")]
    BaseUrl,
    /// The organisation.
    #[error("expected the organisation's id: a UUID")]
    OrganizationId,
    /// The public half of the API key.
    #[error("expected a public key on P-256 as hexadecimal digits")]
    ApiPublicKey,
    /// The private half.
    #[error("expected a private key on P-256: 64 hexadecimal digits")]
    ApiPrivateKey,
    /// The two halves do not belong together.
    #[error("the private key belongs to another public key")]
    ApiKeyPair,
    /// The system has no usable TLS.
    #[error("no TLS client can be set up")]
    Tls,
}

impl TurnkeyConfigError {
    /// The configuration's member.
    #[must_use]
    pub const fn member(&self) -> &'static str {
        match self {
            Self::BaseUrl | Self::Tls => "base_url",
            Self::OrganizationId => "organization_id",
            Self::ApiPublicKey => "api_public_key",
            Self::ApiPrivateKey | Self::ApiKeyPair => "api_private_key",
        }
    }
}
