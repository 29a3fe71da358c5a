#![doc = include_str!("../README.md")]

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
pub use rustls::Error;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;

/// The configuration for HTTP: the server may choose HTTP/2 or HTTP/1.1.
///
/// # Errors
/// As [`config`].
pub fn http() -> Result<ClientConfig, Error> {
    let mut config = config()?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The configuration for a protocol that is not negotiated.
///
/// Cheap after the first call: all configurations share the certificates and the sessions to
/// resume.
///
/// # Errors
/// When the certificates of the system cannot be read. The next call tries again.
pub fn config() -> Result<ClientConfig, Error> {
    static SHARED: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(shared) = SHARED.get() {
        return Ok(shared.clone());
    }
    let read = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(SHARED.get_or_init(|| read).clone())
}
