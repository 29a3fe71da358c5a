#![doc = include_str!("../README.md")]

#[cfg(feature = "aws-kms")]
mod aws;
mod fault;
#[cfg(feature = "gcp-kms")]
mod gcp;
mod parity;
#[cfg(feature = "turnkey")]
mod turnkey;

#[cfg(feature = "aws-kms")]
pub use aws::AwsKms;
pub use fault::ConnectError;
#[cfg(feature = "gcp-kms")]
pub use gcp::{GcpKey, GcpKms};
#[cfg(feature = "turnkey")]
pub use turnkey::{Turnkey, TurnkeyKey};

// The client libraries are exported for callers that set up a client themselves.
#[cfg(feature = "aws-kms")]
pub use alloy_signer_aws;
#[cfg(feature = "gcp-kms")]
pub use alloy_signer_gcp;
#[cfg(feature = "turnkey")]
pub use alloy_signer_turnkey;

#[cfg(all(feature = "gcp-kms", not(test)))]
use jsonwebtoken as _;

/// Chooses the TLS implementation of this process, unless one is chosen already. The clients are
/// compiled with two implementations, and some of them panic when none is chosen. The functions
/// named `connect` call this. A caller that sets up a client in another way must call it first.
pub fn choose_tls() {
    // An earlier choice stays.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
