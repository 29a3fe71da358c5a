//! The HTTP client of tests.

/// Returns a client without a proxy, with the TLS that all connections of this workspace have.
///
/// # Panics
/// When the certificates of the system cannot be read.
#[must_use]
#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
pub fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(outbound_tls::http().expect("the system's certificates"))
        .build()
        .expect("an HTTP client")
}
