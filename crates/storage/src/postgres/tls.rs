//! TLS of connections. It always uses the certificates of the system.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// Makes the TLS configuration. The `sslmode` of the address decides whether TLS is used. With TLS,
/// the certificate and the name of the server are checked in every mode.
pub(super) fn connector() -> Result<MakeRustlsConnect, PostgresError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| PostgresError::Unavailable {
            reason: format!("the system's certificates cannot be read: {error}"),
        })?
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
