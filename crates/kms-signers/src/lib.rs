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

// The clients themselves, for those who set one up in their own way.
#[cfg(feature = "aws-kms")]
pub use alloy_signer_aws;
#[cfg(feature = "gcp-kms")]
pub use alloy_signer_gcp;
#[cfg(feature = "turnkey")]
pub use alloy_signer_turnkey;

#[cfg(all(feature = "gcp-kms", not(test)))]
use jsonwebtoken as _;

/// Chooses the process's implementation of TLS where nobody has: the clients are compiled with two,
/// and some of them panic when none is chosen. The functions named `connect` call it; who sets up a
/// client in another way calls it before.
pub fn choose_tls() {
    // Whoever was first is the choice.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
