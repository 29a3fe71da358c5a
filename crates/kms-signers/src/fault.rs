//! What can go wrong at a service, in the words of the sender. What the services say themselves
//! names keys, users and organisations, and is not repeated: only codes are.

use thiserror::Error;
use tx_sender::SignError;

/// What a service's failure means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It may pass.
    Unavailable,
    /// It will not pass by itself. The words are a code of the service.
    Refused(String),
    /// The answer is not in the documented form.
    Malformed,
}

impl From<Fault> for SignError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable => Self::Unavailable,
            Fault::Refused(message) => Self::Refused { message },
            Fault::Malformed => Self::Malformed,
        }
    }
}

/// Why a signer could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The service does not answer, or not in time, or there are no credentials for it.
    #[error("the signing service cannot be reached, or there are no credentials for it")]
    Unavailable,
    /// It refuses: no permission, no such key, key disabled.
    #[error("the signing service refuses: {message}")]
    Refused {
        /// A code of the service.
        message: String,
    },
    /// The key is not one that Ethereum transactions are signed with (secp256k1).
    #[error("what the signing service has under this name is no key on secp256k1")]
    NotAKey,
    /// The key that requests to the service are signed with cannot be used. It is not repeated.
    #[error("expected the API key as 32 bytes in hexadecimal digits that are a P-256 private key")]
    ApiKey,
}

impl ConnectError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable => "signer_unavailable",
            Self::Refused { .. } => "signer_refused",
            Self::NotAKey => "signer_not_a_key",
            Self::ApiKey => "signer_api_key",
        }
    }
}

impl From<Fault> for ConnectError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unavailable => Self::Unavailable,
            Fault::Refused(message) => Self::Refused { message },
            Fault::Malformed => Self::NotAKey,
        }
    }
}
