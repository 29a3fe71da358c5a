//! TLS of connections: the system's certificates, always checked.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// TLS as `sslmode` of the address asks for it. Where it is used, the server's certificate and name
/// are checked against the certificates of the system, whatever the mode.
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
