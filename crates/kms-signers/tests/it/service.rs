//! The common parts of the stand-ins: a server for HTTP/1 and HTTP/2, two keys, and signatures in
//! every form that a service may return.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, U256};
use alloy_signer::utils::public_key_to_address;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, body::Incoming, http::request::Parts};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;

use k256::ecdsa::signature::hazmat::{PrehashSigner as _, RandomizedPrehashSigner as _};
use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use rand_core::OsRng;
use tokio::net::TcpListener;

use crate::conformance::Behaviour;

/// The keys of a service, and its present behaviour.
pub(crate) struct Service {
    behaviour: Mutex<Behaviour>,
    requests: Mutex<Vec<String>>,
    /// The first key, and the key after a rotation.
    keys: [SigningKey; 2],
}

/// The answer of a stand-in, with trailers for gRPC.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(&'static str, String)>,
}

impl Answer {
    pub(crate) fn json(status: u16, content_type: &'static str, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type)],
            body: body.to_string().into_bytes(),
            trailers: Vec::new(),
        }
    }
}

/// Answers a request as a stand-in.
pub(crate) type Handler = fn(&Service, &Parts, &[u8]) -> Answer;

impl Service {
    pub(crate) fn new() -> Arc<Self> {
        let key = |byte| SigningKey::from_slice(&[byte; 32]).unwrap();
        Arc::new(Self {
            behaviour: Mutex::new(Behaviour::Signs),
            requests: Mutex::default(),
            keys: [key(0x11), key(0x22)],
        })
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn behaviour(&self) -> Behaviour {
        *self.behaviour.lock().unwrap()
    }

    pub(crate) fn note(&self, request: impl Into<String>) {
        self.requests.lock().unwrap().push(request.into());
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The key that the name has now.
    fn key(&self) -> &SigningKey {
        &self.keys[usize::from(self.behaviour() == Behaviour::Rotated)]
    }

    pub(crate) fn public_key(&self) -> VerifyingKey {
        *self.key().verifying_key()
    }

    /// The account before any rotation.
    pub(crate) fn account(&self) -> Address {
        public_key_to_address(self.keys[0].verifying_key())
    }

    /// Makes a signature with the service's present behaviour.
    pub(crate) fn sign(&self, digest: &[u8]) -> (Signature, RecoveryId) {
        let mut digest = digest.to_vec();
        assert_eq!(digest.len(), 32);
        let behaviour = self.behaviour();
        if behaviour == Behaviour::OtherHash {
            digest[0] ^= 1;
        }
        let key = self.key();
        let low: Signature = match behaviour {
            Behaviour::ShortR => loop {
                let signature: Signature = key.sign_prehash_with_rng(&mut OsRng, &digest).unwrap();
                if signature.to_bytes()[0] == 0 {
                    break signature;
                }
            },
            _ => key.sign_prehash(&digest).unwrap(),
        };
        let low = low.normalize_s().unwrap_or(low);
        let id = RecoveryId::trial_recovery_from_prehash(key.verifying_key(), &digest, &low);
        let id = id.unwrap();
        if behaviour != Behaviour::HighS {
            return (low, id);
        }
        let high = Signature::from_scalars(low.r(), -*low.s()).unwrap();
        (high, RecoveryId::new(!id.is_y_odd(), id.is_x_reduced()))
    }

    /// Serves requests, and returns the base URL.
    pub(crate) async fn serve(self: &Arc<Self>, handler: Handler) -> String {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = Arc::clone(&service);
                tokio::spawn(async move {
                    let answer = service_fn(move |request: Request<Incoming>| {
                        let service = Arc::clone(&service);
                        async move { service.answer(handler, request).await }
                    });
                    let server = auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        url
    }

    async fn answer(
        &self,
        handler: Handler,
        request: Request<Incoming>,
    ) -> Result<
        Response<http_body_util::combinators::UnsyncBoxBody<Bytes, std::convert::Infallible>>,
        &'static str,
    > {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        match self.behaviour() {
            Behaviour::Silent => std::future::pending().await,
            // An error closes the connection.
            Behaviour::Closes => return Err("closed"),
            _ => {}
        }
        let answer = handler(self, &parts, &body);
        let mut response = Response::builder().status(answer.status);
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        if answer.trailers.is_empty() {
            return Ok(response
                .body(Full::from(answer.body).boxed_unsync())
                .unwrap());
        }
        let mut trailers = HeaderMap::new();
        for (name, value) in answer.trailers {
            trailers.insert(name, value.parse().unwrap());
        }
        let frames = [
            Frame::data(Bytes::from(answer.body)),
            Frame::trailers(trailers),
        ];
        let frames = frames.into_iter().map(Ok);
        let body = StreamBody::new(futures_util::stream::iter(frames));
        Ok(response.body(body.boxed_unsync()).unwrap())
    }
}

/// A scalar of a signature as 64 hexadecimal digits.
pub(crate) fn word(bytes: &[u8]) -> String {
    format!("{:064x}", U256::from_be_slice(bytes))
}
