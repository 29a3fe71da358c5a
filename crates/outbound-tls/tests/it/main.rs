//! Connects to servers with certificates of a test's own authority.
//!
//! A process reads the certificates of its system once, so each test starts this program again,
//! with an authority in `SSL_CERT_FILE`.
#![allow(clippy::unwrap_used, missing_docs, reason = "test code")]

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConnection, ServerConfig, ServerConnection, Stream};

const PORT: &str = "OUTBOUND_TLS_PORT";
const EXPECTED: &str = "OUTBOUND_TLS_EXPECTED";

type Authority = CertifiedIssuer<'static, KeyPair>;

#[test]
fn http_2_is_negotiated_with_a_trusted_server() {
    let authority = authority();
    let port = serve(&authority, "localhost", &["h2", "http/1.1"]);

    connect(&authority, port, "h2");
}

#[test]
fn http_1_is_negotiated_when_the_server_knows_nothing_newer() {
    let authority = authority();
    let port = serve(&authority, "localhost", &["http/1.1"]);

    connect(&authority, port, "http/1.1");
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused() {
    let port = serve(&authority(), "localhost", &["h2"]);

    connect(&authority(), port, "invalid peer certificate");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let authority = authority();
    let port = serve(&authority, "other.example", &["h2"]);

    connect(&authority, port, "not valid for name");
}

#[test]
fn without_any_certificate_there_is_no_configuration() {
    let empty = tempfile::NamedTempFile::new().unwrap();

    start(empty.path().to_str().unwrap(), 0, "No CA certificates");
}

/// Runs in the process that a test has started.
#[test]
#[ignore = "a part of the other tests, which start it"]
fn child() {
    let port = env::var(PORT).unwrap().parse().unwrap();
    let expected = env::var(EXPECTED).unwrap();
    let observed = negotiate(port).unwrap_or_else(|error| error);
    assert!(observed.contains(&expected), "{observed}");
}

/// Connects as an HTTP client does. Returns the negotiated protocol, or the error's text.
fn negotiate(port: u16) -> Result<String, String> {
    let config = outbound_tls::http().map_err(|error| error.to_string())?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut stream = Stream::new(&mut connection, &mut socket);
    let mut greeting = [0];
    stream
        .read_exact(&mut greeting)
        .map_err(|error| error.to_string())?;
    let protocol = connection.alpn_protocol().unwrap();
    Ok(String::from_utf8(protocol.to_vec()).unwrap())
}

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Serves one connection, with a certificate for `name`. Returns the port.
fn serve(authority: &Authority, name: &str, protocols: &[&str]) -> u16 {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|each| each.as_bytes().to_vec())
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        // A client that refuses the certificate ends the handshake, which is an error here.
        let _ = Stream::new(&mut connection, &mut socket).write_all(b"!");
    });
    port
}

fn connect(trusted: &Authority, port: u16, expected: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), trusted.pem()).unwrap();
    start(file.path().to_str().unwrap(), port, expected);
}

fn start(certificates: &str, port: u16, expected: &str) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored"])
        .env("SSL_CERT_FILE", certificates)
        .env_remove("SSL_CERT_DIR")
        .env(PORT, port.to_string())
        .env(EXPECTED, expected)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("1 passed"), "{shown}");
}
