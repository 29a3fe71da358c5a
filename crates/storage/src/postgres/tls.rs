//! TLS of connections. It always uses the certificates of the system.

use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// Makes the TLS configuration. The `sslmode` of the address decides whether TLS is used. With TLS,
/// the certificate and the name of the server are checked in every mode.
pub(super) fn connector() -> Result<MakeRustlsConnect, PostgresError> {
    let config = outbound_tls::config().map_err(|error| PostgresError::Unavailable {
        reason: format!("the system's certificates cannot be read: {error}"),
    })?;
    Ok(MakeRustlsConnect::new(config))
}
