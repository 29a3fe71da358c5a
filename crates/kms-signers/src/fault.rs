//! Turns the failures of a service into errors of the sender. The messages of a service name keys,
//! users and organisations, so the errors repeat only its codes.

use thiserror::Error;
use tx_sender::SignError;

/// The kind of a service's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A temporary failure.
    Unavailable,
    /// A lasting refusal. The text is a code of the service.
    Refused(String),
    /// The answer differs from the documented form.
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
    /// The service does not answer in time, or there are no credentials for it.
    #[error("the signing service cannot be reached, or there are no credentials for it")]
    Unavailable,
    /// The service refuses: the permission is missing, the key does not exist, or the key is
    /// disabled.
    #[error("the signing service refuses: {message}")]
    Refused {
        /// A code of the service.
        message: String,
    },
    /// The key is not on secp256k1, the curve of Ethereum's signatures.
    #[error("the signing service's key of this name is not on secp256k1")]
    NotAKey,
    /// The API key, which signs the requests to the service, is invalid. The message does not
    /// repeat the key.
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
