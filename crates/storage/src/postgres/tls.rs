//! TLS of connections, always checked with the system's certificates.

use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// Sets up TLS as `sslmode` of the address requires. With TLS, the server's certificate and name
/// are checked against the certificates of the system in every mode.
pub(super) fn connector() -> Result<MakeRustlsConnect, PostgresError> {
    let config = outbound_tls::config().map_err(|error| PostgresError::Unavailable {
        reason: format!("the system's certificates cannot be read: {error}"),
    })?;
    Ok(MakeRustlsConnect::new(config))
}
