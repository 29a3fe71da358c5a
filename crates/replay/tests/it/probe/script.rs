//! A server that gives recorded answers, with another body for one of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use data_sources::probe::Exchange;
use url::Url;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// The status, the content type and the body.
type Answer = (u16, String, Vec<u8>);

/// The answer to each request.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Mutex<BTreeMap<String, Answer>>>);

impl Script {
    pub(crate) async fn serve(&self) -> MockServer {
        let server = MockServer::builder()
            .disable_request_recording()
            .start()
            .await;
        Mock::given(any())
            .respond_with(self.clone())
            .mount(&server)
            .await;
        server
    }

    /// Answers as in `exchanges`. The exchange at `place` gets `body` instead of its own.
    pub(crate) fn set(&self, exchanges: &[Exchange], place: usize, body: &str) {
        let mut answers = BTreeMap::new();
        for (index, exchange) in exchanges.iter().enumerate() {
            let Some(reply) = &exchange.reply else {
                continue;
            };
            let mut answer = (reply.status, reply.content_type.clone(), reply.body.clone());
            if index == place {
                answer.2 = body.as_bytes().to_vec();
            }
            answers.entry(key_of(exchange)).or_insert(answer.clone());
            if index == place {
                answers.insert(key_of(exchange), answer);
            }
        }
        *self.0.lock().unwrap() = answers;
    }
}

/// Returns the key of an exchange's request. Recordings omit the addresses of nodes, so a node's
/// key has only the question.
fn key_of(exchange: &Exchange) -> String {
    let sent = exchange.sent.as_deref().unwrap_or_default();
    match &exchange.base {
        Some((_, path)) => {
            let url = format!("http://x{path}{}", exchange.path_and_query);
            key(&Url::parse(&url).unwrap(), sent)
        }
        None => format!("node {sent}"),
    }
}

fn key(url: &Url, sent: &str) -> String {
    format!("{}?{} {sent}", url.path(), url.query().unwrap_or_default())
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let sent = String::from_utf8_lossy(&request.body);
        let answers = self.0.lock().unwrap();
        let url = Url::parse(request.url.as_str()).unwrap();
        let found = answers
            .get(&key(&url, &sent))
            .or_else(|| answers.get(&format!("node {sent}")));
        match found {
            Some((status, media, body)) => {
                ResponseTemplate::new(*status).set_body_raw(body.clone(), media)
            }
            None => ResponseTemplate::new(404),
        }
    }
}
